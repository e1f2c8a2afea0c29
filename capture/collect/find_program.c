/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A folder of the PATH that is empty is the current one.
 */
#include "capture/collect/find_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool psnap_find_program(const char *name, char *path, size_t size)
{
    const char *folders = getenv("PATH");
    int written = snprintf(path, size, "%s", name);

    if (strchr(name, '/'))
        return (size_t)written < size;
    for (folders = folders ? folders : "/usr/bin:/bin"; *folders;) {
        const size_t length = strcspn(folders, ":");
        written = snprintf(path, size, "%.*s%s%s", (int)length, folders, length ? "/" : "", name);
        if (written > 0 && (size_t)written < size && access(path, X_OK) == 0)
            return true;
        folders += length + (folders[length] == ':');
    }
    return false;
}
