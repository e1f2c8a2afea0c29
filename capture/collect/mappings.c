/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A mapping is a line: "LOW-HIGH PERMISSIONS OFFSET MAJOR:MINOR INODE PATH".
 */
#include "capture/collect/mappings.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void psnap_mappings_open(struct psnap_mappings *mappings, pid_t pid)
{
    char name[64];

    snprintf(name, sizeof name, "/proc/%ld/maps", (long)pid);
    *mappings = (struct psnap_mappings){.file = fopen(name, "re")};
}

bool psnap_mappings_next(struct psnap_mappings *mappings, struct psnap_mapping *mapping)
{
    unsigned major, minor;
    int at = 0;

    if (!mappings->file || getline(&mappings->line, &mappings->size, mappings->file) <= 0 ||
        sscanf(mappings->line, "%" SCNx64 "-%" SCNx64 " %7s %*s %x:%x %" SCNu64 " %n",
               &mapping->low, &mapping->high, mapping->permissions, &major, &minor, &mapping->inode,
               &at) < 6)
        return false;
    mapping->device = (uint64_t)major << 32 | minor;
    mappings->line[strcspn(mappings->line, "\n")] = '\0';
    mapping->path = at > 0 ? mappings->line + at : "";
    mapping->name = mapping->path[0];
    return true;
}

void psnap_mappings_close(struct psnap_mappings *mappings)
{
    if (mappings->file)
        fclose(mappings->file);
    free(mappings->line);
    *mappings = (struct psnap_mappings){0};
}
