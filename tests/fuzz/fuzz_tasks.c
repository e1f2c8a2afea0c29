/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Task lists from arbitrary bytes: an error with its place, or a list that comes out the same when
 * it is written and read again.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predict/multicore/tasks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *text_of(const struct tasks *tasks)
{
    struct psnap_error error;
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    if (!file || tasks_write(tasks, file, &error) != PSNAP_OK)
        abort();
    fclose(file);
    return text;
}

static enum psnap_status read_from(struct tasks *tasks, const void *text, size_t size,
                                   struct psnap_error *error)
{
    FILE *file = fmemopen((void *)(uintptr_t)text, size, "r");
    enum psnap_status status;

    if (!file)
        abort();
    status = tasks_read(tasks, file, "in", error);
    fclose(file);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct psnap_error error = {0};
    struct tasks tasks, back;
    char *once, *twice;

    if (!size)
        return 0;
    if (read_from(&tasks, data, size, &error) != PSNAP_OK) {
        if (error.code >= 0 || !error.message[0])
            abort();
        return 0;
    }
    once = text_of(&tasks);
    if (read_from(&back, once, strlen(once), &error) != PSNAP_OK)
        abort();
    twice = text_of(&back);
    if (strcmp(once, twice) != 0)
        abort();
    free(once);
    free(twice);
    tasks_release(&tasks);
    tasks_release(&back);
    return 0;
}
