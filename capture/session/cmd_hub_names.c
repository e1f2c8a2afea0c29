/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names of a recording's files, of which no two processes get the same: the pattern's, with the
 * process's number behind it where that names one process alone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/session/cmd_hub_parts.h"
#include "capture/session/cmd_names.h"
#include "formats/base/cmd.h"
#include "formats/base/output.h"
#include "formats/base/room.h"

static bool is_taken(const struct psnap_hub_names *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++)
        if (!strcmp(names->all[i], name))
            return true;
    return !names->force && access(name, F_OK) == 0;
}

const char *psnap_hub_visible_name(const char *pattern)
{
    return psnap_output_is_stdout(pattern) ? "stdout.psnap" : pattern;
}

static bool is_shared(const char *name)
{
    return !strncmp(name, "/dev/", 5);
}

bool psnap_hub_names_add(struct psnap_hub_names *names, const char *name)
{
    char *copy =
        psnap_resize(&names->all, names->count + 1, sizeof *names->all) ? strdup(name) : NULL;

    if (copy)
        names->all[names->count++] = copy;
    return copy;
}

void psnap_hub_names_release(struct psnap_hub_names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->all[i]);
    free(names->all);
    *names = (struct psnap_hub_names){0};
}

char *psnap_hub_names_choose(struct psnap_hub_names *names, const char *pattern,
                             const struct psnap_process *process)
{
    struct psnap_error error = {0};
    bool is_late = false;
    char *plain = psnap_name_expand(psnap_hub_visible_name(pattern), process, &error), *name = NULL;

    psnap_name_check(pattern, &is_late, NULL);
    if (!plain)
        psnap_cmd_fail("record", &error);
    if (!plain || is_shared(plain))
        return plain;
    for (unsigned n = 0; n < 100000; n++) {
        free(name);
        if ((n == 0   ? asprintf(&name, "%s", plain)
             : n == 1 ? asprintf(&name, "%s.%ld", plain, (long)process->pid)
                      : asprintf(&name, "%s.%ld.%u", plain, (long)process->pid, n)) < 0) {
            name = NULL;
            break;
        }
        if ((is_late || n > 0) && !is_taken(names, name))
            break;
    }
    free(plain);
    if (name && psnap_hub_names_add(names, name))
        return name;
    free(name);
    return NULL;
}
