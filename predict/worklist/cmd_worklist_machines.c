/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The machines of a work list: those that were named, and with parameters as many variants of each
 * as there are combinations of their values. A parameter is a field of a machine file and values,
 *
 *     levels[L2].size_bytes=512K,1M,2M        memory.latency_cycles=200,300
 *
 * A level is named as reports do, or by its number from 0. A variant is called by its machine's
 * name and the fields that it has.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/yaml.h"
#include "predict/worklist/cmd_worklist.h"
#include "profile/edit/cmd_edit.h"

enum { MACHINES_MAX = 10000, PATH_ROOM = 512 };

char *worklist_machine_text(const struct psnap_machine *machine, size_t *size,
                            struct psnap_error *error)
{
    char *text = NULL;
    FILE *file = open_memstream(&text, size);
    enum psnap_status status = file ? psnap_machine_write(machine, file, error)
                                    : psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");

    if (file && fclose(file) != 0 && !status)
        status = psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    if (!status)
        return text;
    free(text);
    return NULL;
}

static enum psnap_status no_level(const struct psnap_machine *machine, const char *level,
                                  size_t length, struct psnap_error *error)
{
    char levels[PSNAP_LEVELS_MAX * (PSNAP_LEVEL_NAME_ROOM + 2)] = "";
    char name[PSNAP_LEVEL_NAME_ROOM];

    for (uint32_t l = 0; l < machine->level_count; l++) {
        psnap_machine_level_name(machine, l, name);
        strcat(strcat(levels, l ? ", " : ""), name);
    }
    return psnap_error_set(error, PSNAP_ERROR_VALUE,
                           "machine '%.200s' has no level '%.*s'; its levels are %s", machine->name,
                           length < 64 ? (int)length : 64, level, levels);
}

/* "levels[L2].ways" as edit_set() has it: "machine.levels.1.ways". */
static enum psnap_status path_of(const struct psnap_machine *machine, const char *field,
                                 size_t length, char path[PATH_ROOM], struct psnap_error *error)
{
    const char *open = memchr(field, '[', length);
    const char *close = open ? memchr(open, ']', length - (size_t)(open - field)) : NULL;
    const char *rest = close ? close + 1 : field;
    const size_t n = close ? (size_t)(close - open - 1) : 0;
    char name[PSNAP_LEVEL_NAME_ROOM], number[16];
    uint32_t l = 0;
    int used;

    for (; close && l < machine->level_count; l++) {
        psnap_machine_level_name(machine, l, name);
        snprintf(number, sizeof number, "%" PRIu32, l);
        if ((strlen(name) == n && !strncmp(name, open + 1, n)) ||
            (strlen(number) == n && !strncmp(number, open + 1, n)))
            break;
    }
    if (close && l == machine->level_count)
        return no_level(machine, open + 1, n, error);
    if (close)
        used = snprintf(path, PATH_ROOM, "machine.%.*s.%" PRIu32 "%.*s", (int)(open - field), field,
                        l, (int)(length - (size_t)(rest - field)), rest);
    else
        used = snprintf(path, PATH_ROOM, "machine.%.*s", (int)length, field);
    return used < PATH_ROOM ? PSNAP_OK
                            : psnap_error_set(error, PSNAP_ERROR_VALUE, "a parameter is too long");
}

/* A machine with a field's value, which are so many bytes. */
static enum psnap_status vary(const struct psnap_machine *machine, const char *field,
                              size_t field_length, const char *value, size_t value_length,
                              struct psnap_machine *variant, struct psnap_error *error)
{
    char path[PATH_ROOM], assignment[2 * PATH_ROOM], *changed = NULL;
    size_t size = 0, changed_size = 0;
    char *text = worklist_machine_text(machine, &size, error);
    struct psnap_yaml_doc *doc =
        text ? psnap_yaml_read_text(text, size, machine->name, error) : NULL;
    enum psnap_status status = doc ? PSNAP_OK : error->code;
    FILE *file = NULL;

    if (!status)
        status = path_of(machine, field, field_length, path, error);
    if (!status && value_length > PATH_ROOM)
        status = psnap_error_set(error, PSNAP_ERROR_VALUE, "a parameter is too long");
    if (!status) {
        snprintf(assignment, sizeof assignment, "%s=%.*s", path, (int)value_length, value);
        status = edit_set(doc, assignment, error);
    }
    if (!status && !(file = open_memstream(&changed, &changed_size)))
        status = psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    if (!status)
        status = psnap_yaml_write(doc, file, error);
    if (file && fclose(file) != 0 && !status)
        status = psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    file = status ? NULL : fmemopen(changed, changed_size, "r");
    if (!status)
        status = file ? psnap_machine_read(file, machine->name, variant, error)
                      : psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    if (file)
        fclose(file);
    if (!status &&
        snprintf(variant->name, sizeof variant->name, "%s %.*s=%.*s", machine->name,
                 (int)field_length, field, (int)value_length, value) >= (int)sizeof variant->name)
        status = psnap_error_set(error, PSNAP_ERROR_VALUE, "a machine's name becomes too long");
    psnap_yaml_doc_free(doc);
    free(changed);
    free(text);
    return status;
}

/* All machines of the list with each value of a parameter. */
static enum psnap_status vary_all(struct worklist *list, const char *parameter,
                                  struct psnap_error *error)
{
    const char *equals = strchr(parameter, '=');
    enum psnap_status status = PSNAP_OK;
    struct psnap_machine *variants;
    size_t values = 1, count = 0;

    if (!equals || equals == parameter || !equals[1])
        return psnap_error_set(error, PSNAP_ERROR_USAGE,
                               "a parameter is FIELD=VALUE,VALUE..., not '%.200s'", parameter);
    for (const char *at = equals; *at; at++)
        values += *at == ',';
    if (values > MACHINES_MAX / list->machine_count)
        return psnap_error_set(error, PSNAP_ERROR_USAGE, "parameters make more than %d machines",
                               MACHINES_MAX);
    variants = calloc(values * list->machine_count, sizeof *variants);
    if (!variants)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for machines");
    for (size_t m = 0; m < list->machine_count && !status; m++)
        for (const char *value = equals + 1, *end; value && !status;
             value = *end ? end + 1 : NULL) {
            end = value + strcspn(value, ",");
            status = vary(&list->machines[m], parameter, (size_t)(equals - parameter), value,
                          (size_t)(end - value), &variants[count++], error);
        }
    free(list->machines);
    list->machines = variants;
    list->machine_count = count;
    return status;
}

enum psnap_status worklist_machines(struct worklist *list, struct psnap_error *error)
{
    enum psnap_status status;

    list->machines = side_machines(&list->machine_names, &list->machine_count, error);
    status = list->machines ? PSNAP_OK : error->code;
    for (size_t i = 0; i < list->parameters.count && !status; i++)
        status = vary_all(list, list->parameters.items[i], error);
    for (size_t i = 0; i < list->machine_count && !status; i++)
        for (size_t k = 0; k < i && !status; k++)
            if (!strcmp(list->machines[i].name, list->machines[k].name))
                status =
                    psnap_error_set(error, PSNAP_ERROR_USAGE, "two machines are called '%.200s'",
                                    list->machines[i].name);
    return status;
}
