/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What commands that measure this computer have in common.
 */
#include "simcore/cmd_host.h"

#include <stdio.h>
#include <string.h>

#include "formats/base/text.h"

bool host_parse_seconds(const char *text, double *seconds)
{
    static const struct {
        const char *unit;
        double seconds;
    } units[] = {{"ms", 1e-3}, {"s", 1}, {"m", 60}, {"", 1}};
    const size_t length = strlen(text);

    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        const size_t unit = strlen(units[i].unit);
        char number[32];

        if (length <= unit || length - unit >= sizeof number ||
            strcmp(text + length - unit, units[i].unit))
            continue;
        memcpy(number, text, length - unit);
        number[length - unit] = '\0';
        if (!psnap_text_real(number, seconds))
            return false;
        *seconds *= units[i].seconds;
        return *seconds > 0 && *seconds <= 3600;
    }
    return false;
}

void host_processor(char *name, size_t size)
{
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[256];

    snprintf(name, size, "unknown processor");
    while (file && fgets(line, sizeof line, file)) {
        const char *colon = strchr(line, ':');

        if (strncmp(line, "model name", 10) || !colon || !colon[1])
            continue;
        snprintf(name, size, "%s", colon + 2);
        name[strcspn(name, "\n")] = '\0';
        break;
    }
    if (file)
        fclose(file);
    for (; *name; name++)
        if (*name < ' ' || *name > '~')
            *name = '?';
}
