/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The work list laid out. Its machines are those that were named, and with parameters a variant of
 * each for every combination of their values. A parameter is a field of a machine file and values,
 *
 *     levels[L2].size_bytes=512K,1M,2M        memory.latency_cycles=200,300
 *
 * with levels by their names in reports. A variant is called by its machine's name and its values.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "formats/base/text.h"
#include "formats/base/yaml.h"
#include "predict/worklist/cmd_worklist.h"
#include "profile/edit/cmd_edit.h"
#include "simcore/cmd_side.h"

static enum psnap_status out_of_memory(struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for the work list");
}

/* ------------------------------------------------------------------ inputs */

/* Looks at a file, which is to be a regular one. */
static enum psnap_status look(const struct worklist *list, const char *path, struct input *input,
                              struct psnap_error *error)
{
    FILE *file = psnap_input_file(path, error);
    enum psnap_status status = PSNAP_OK;
    struct stat about;

    if (!file)
        return error->code;
    input->path = path;
    input->is_profile = psnap_input_is_profile(file);
    if (file == stdin || fstat(fileno(file), &about) != 0 || !S_ISREG(about.st_mode))
        status = psnap_error_set(error, PSNAP_ERROR_VALUE, "a work list's inputs are files");
    else if (!input->is_profile && list->edits.count)
        status = psnap_error_set(error, PSNAP_ERROR_USAGE,
                                 "a trace, and edits are of profiles; "
                                 "'psnap profile' makes one of it");
    if (status)
        psnap_error_at(error, path, 0, 0);
    fclose(file);
    return status;
}

/* ---------------------------------------------------------------- machines */

/* Finds a level by its name, which ends at ']'. */
static enum psnap_status find_level(const struct psnap_machine *machine, const char *wanted,
                                    uint32_t *level, struct psnap_error *error)
{
    char levels[PSNAP_LEVELS_MAX * (PSNAP_LEVEL_NAME_ROOM + 2)] = "", name[PSNAP_LEVEL_NAME_ROOM];
    const size_t length = strcspn(wanted, "]");

    for (*level = 0; *level < machine->level_count; ++*level) {
        psnap_machine_level_name(machine, *level, name);
        if (strlen(name) == length && !strncmp(name, wanted, length))
            return PSNAP_OK;
        strcat(strcat(levels, *level ? ", " : ""), name);
    }
    return psnap_error_set(error, PSNAP_ERROR_VALUE,
                           "machine '%.200s' has no level '%.*s'; its levels are %s", machine->name,
                           length < 64 ? (int)length : 64, wanted, levels);
}

/* Makes a variant of a machine. "levels[L2].ways" is machine.levels.1.ways for edit_set(). */
static enum psnap_status vary(const struct psnap_machine *machine, const char *field,
                              const char *value, struct psnap_machine *variant,
                              struct psnap_error *error)
{
    const char *open = strchr(field, '['), *close = open ? strchr(open, ']') : NULL;
    struct psnap_yaml_doc *doc;
    char assignment[512];
    enum psnap_status status;
    uint32_t level;

    if (close && find_level(machine, open + 1, &level, error))
        return error->code;
    doc = psnap_yaml_doc_new(machine->name);
    if (!doc)
        return out_of_memory(error);
    psnap_machine_add(machine, doc, psnap_yaml_add_map(doc, NULL, NULL, PSNAP_YAML_BLOCK));
    if (close)
        snprintf(assignment, sizeof assignment, "machine.%.*s.%" PRIu32 "%s=%s",
                 (int)(open - field), field, level, close + 1, value);
    else
        snprintf(assignment, sizeof assignment, "machine.%s=%s", field, value);
    status = edit_set(doc, assignment, error);
    if (!status)
        status = psnap_machine_take(doc, psnap_yaml_get(psnap_yaml_root(doc), "machine"), variant,
                                    error);
    if (!status && snprintf(variant->name, sizeof variant->name, "%s %s=%s", machine->name, field,
                            value) >= (int)sizeof variant->name)
        status = psnap_error_set(error, PSNAP_ERROR_VALUE, "a machine's name becomes too long");
    psnap_yaml_doc_free(doc);
    return status;
}

/* Replaces the machines by their variants. */
static enum psnap_status vary_all(struct worklist *list, const char *parameter,
                                  struct psnap_error *error)
{
    char *field = strdup(parameter), *values = field ? strchr(field, '=') : NULL;
    struct psnap_machine *variants = NULL;
    enum psnap_status status = PSNAP_OK;
    size_t count = 1, made = 0;

    if (!values || values == field || !values[1]) {
        free(field);
        return psnap_error_set(error, PSNAP_ERROR_USAGE,
                               "a parameter is FIELD=VALUE,VALUE..., not '%.200s'", parameter);
    }
    *values++ = '\0';
    for (char *at = values; (at = strchr(at, ',')); count++)
        *at++ = '\0';
    variants = calloc(count * list->machine_count, sizeof *variants);
    if (!variants)
        status = out_of_memory(error);
    for (size_t m = 0; m < list->machine_count; m++) {
        const char *value = values;
        for (size_t i = 0; i < count && !status; i++, value += strlen(value) + 1)
            status = vary(&list->machines[m], field, value, &variants[made++], error);
    }
    free(field);
    free(list->machines);
    list->machines = variants;
    list->machine_count = made;
    return status;
}

static enum psnap_status make_machines(struct worklist *list, struct psnap_error *error)
{
    enum psnap_status status;
    char *text = NULL;
    size_t size = 0;
    FILE *file;

    list->machines = side_machines(&list->machine_names, &list->machine_count, error);
    status = list->machines ? PSNAP_OK : error->code;
    for (size_t i = 0; i < list->parameters.count && !status; i++)
        status = vary_all(list, list->parameters.items[i], error);
    file = open_memstream(&text, &size);
    for (size_t i = 0; i < list->machine_count && file && !status; i++) {
        list->machines[i].tlb_level_count = 0;
        status = psnap_machine_write(&list->machines[i], file, error);
    }
    if ((!file || fclose(file) != 0) && !status)
        status = out_of_memory(error);
    if (!status)
        list->machine_hash = worklist_hash(text, size);
    free(text);
    return status;
}

/* ------------------------------------------------------------------- items */

/* Adds an input's items: of a profile as it is and with each edit, with each seed; one of a trace.
 */
static enum psnap_status add_items(struct worklist *list, struct input *input,
                                   struct psnap_error *error)
{
    const size_t edits = input->is_profile ? list->edits.count : 0;
    const size_t seeds = input->is_profile && list->seeds.count ? list->seeds.count : 1;
    struct item *items = realloc(list->items, (list->count + (edits + 1) * seeds) * sizeof *items);

    if (!items)
        return out_of_memory(error);
    list->items = items;
    for (size_t e = 0; e <= edits; e++)
        for (size_t s = 0; s < seeds; s++) {
            const char *seed = input->is_profile && list->seeds.count ? list->seeds.items[s] : "0";
            struct item *item = &items[list->count++];
            *item = (struct item){input, e ? list->edits.items[e - 1] : "", 0, s == 0};
            if (!psnap_text_u64(seed, &item->seed))
                return psnap_error_set(error, PSNAP_ERROR_USAGE, "--seed: '%.200s' is no number",
                                       seed);
        }
    return PSNAP_OK;
}

enum psnap_status worklist_lay_out(struct worklist *list, char *const *paths, size_t count,
                                   struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;

    list->inputs = calloc(count, sizeof *list->inputs);
    if (!list->inputs)
        return out_of_memory(error);
    for (; list->input_count < count && !status; list->input_count++)
        status = look(list, paths[list->input_count], &list->inputs[list->input_count], error);
    if (!status)
        status = make_machines(list, error);
    for (size_t i = 0; i < list->input_count && !status; i++)
        status = add_items(list, &list->inputs[i], error);
    return status;
}

void worklist_release(struct worklist *list)
{
    free(list->inputs);
    free(list->items);
    free(list->machines);
    psnap_text_list_release(&list->machine_names);
    psnap_text_list_release(&list->parameters);
    psnap_text_list_release(&list->edits);
    psnap_text_list_release(&list->seeds);
}
