/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Limits of control groups, as Linux has them (Documentation/admin-guide/cgroup-v2.rst and
 * cgroup-v1/memory.rst). /proc/self/cgroup has a line for each hierarchy, NUMBER:CONTROLLERS:PATH;
 * version 2 is number 0, without controllers. A group has the limits of those above it as well. A
 * container often sees its own group at the mount and a path that is not there: so all parts of the
 * path are tried, up to the mount.
 */
#include "simcore/memory_limit.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "formats/base/text.h"

enum { PATH_BYTES = 4096 };

static uint64_t smaller_of_file(const char *path, uint64_t bytes)
{
    char line[64];
    uint64_t limit;
    FILE *file = fopen(path, "re");

    if (!file)
        return bytes;
    if (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        if (psnap_text_u64(line, &limit) && limit < bytes) /* "max" is no number */
            bytes = limit;
    }
    fclose(file);
    return bytes;
}

/* The limits of a group, "/a/b", and of those above it, which it is cut to. */
static uint64_t smaller_of_groups(const char *root, const char *mount, char *group,
                                  const char *name, uint64_t bytes)
{
    char path[PATH_BYTES];

    for (;;) {
        char *slash = strrchr(group, '/');
        if ((size_t)snprintf(path, sizeof path, "%s%s%s/%s", root, mount, group, name) <
            sizeof path)
            bytes = smaller_of_file(path, bytes);
        if (!slash)
            return bytes;
        *slash = '\0';
    }
}

static bool has_word(const char *list, const char *word)
{
    const size_t length = strlen(word);

    for (; *list; list += strcspn(list, ","), list += *list == ',')
        if (strcspn(list, ",") == length && !strncmp(list, word, length))
            return true;
    return false;
}

uint64_t memory_limit(const char *root, uint64_t bytes)
{
    char line[PATH_BYTES];
    FILE *file;

    snprintf(line, sizeof line, "%s/proc/self/cgroup", root);
    file = fopen(line, "re");
    while (file && fgets(line, sizeof line, file)) {
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        *controllers++ = *group++ = '\0';
        group[strcspn(group, "\n")] = '\0';
        if (!strcmp(line, "0") && !*controllers)
            bytes = smaller_of_groups(root, "/sys/fs/cgroup", group, "memory.max", bytes);
        else if (has_word(controllers, "memory"))
            bytes = smaller_of_groups(root, "/sys/fs/cgroup/memory", group, "memory.limit_in_bytes",
                                      bytes);
    }
    if (file)
        fclose(file);
    return bytes;
}
