/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Task lists from arbitrary bytes: an error with its place, or a list that comes out the same when
 * it is written and read again.
 */
#include "predict/multicore/tasks.h"
#include "tests/fuzz/fuzz.h"

static char *text_of(const struct tasks *tasks)
{
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    must(file && tasks_write(tasks, file, NULL) == PSNAP_OK);
    fclose(file);
    return text;
}

static enum psnap_status read_from(struct tasks *tasks, const void *text, size_t size,
                                   struct psnap_error *error)
{
    FILE *file = open_text(text, size);
    const enum psnap_status status = tasks_read(tasks, file, "in", error);

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
        must_refuse(&error);
        return 0;
    }
    once = text_of(&tasks);
    must(read_from(&back, once, strlen(once), &error) == PSNAP_OK);
    twice = text_of(&back);
    must(!strcmp(once, twice));
    free(once);
    free(twice);
    tasks_release(&tasks);
    tasks_release(&back);
    return 0;
}
