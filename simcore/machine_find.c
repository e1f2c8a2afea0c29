/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds a machine by what a user wrote: a bundled name, `host`, a file, or the inline form.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "formats/base/text.h"
#include "simcore/machine.h"

static enum psnap_status no_such_machine(const char *text, int reason, struct psnap_error *error)
{
    const char *names[MACHINE_BUNDLED_MAX + 1] = {"host"};
    const char *nearest;
    size_t count = 1;

    if (strchr(text, '/') || reason != ENOENT)
        return psnap_error_file(error, reason, "open", text);
    for (const struct psnap_machine *machine; (machine = psnap_machine_bundled(count - 1));)
        names[count++] = machine->name;
    nearest = psnap_text_nearest(text, names, count);
    return psnap_error_set(error, PSNAP_ERROR_VALUE,
                           "no machine '%.200s'%s%s%s ('psnap machines' lists the bundled ones; a "
                           "file or size:line:ways,... will do too)",
                           text, nearest ? ": did you mean '" : "", nearest ? nearest : "",
                           nearest ? "'?" : "");
}

enum psnap_status psnap_machine_find(const char *text, struct psnap_machine *machine,
                                     struct psnap_error *error)
{
    const struct psnap_machine *bundled;
    enum psnap_status status;
    FILE *file;
    int reason;

    for (size_t i = 0; (bundled = psnap_machine_bundled(i)); i++) {
        if (!strcmp(text, bundled->name)) {
            *machine = *bundled;
            return PSNAP_OK;
        }
    }
    if (!strcmp(text, "host"))
        return psnap_machine_host(NULL, machine, error);
    file = fopen(text, "r");
    reason = errno;
    if (file) {
        status = psnap_machine_read(file, text, machine, error);
        fclose(file);
        return status;
    }
    if (isdigit((unsigned char)text[0]) && strchr(text, ':'))
        return psnap_machine_parse_inline(text, machine, error);
    return no_such_machine(text, reason, error);
}
