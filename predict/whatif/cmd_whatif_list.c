/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The list of a session's scenarios, from the command line and from a file:
 *
 *     edits:
 *       - regions[a].working_set *= 2
 *       - name: rows padded by a line
 *         edit: regions[a].pad += 64
 *       - name: twice as large, and as long
 *         edits: [ "regions[a].working_set *= 2", "loops[f:12].iterations *= 2" ]
 */
#include <stdlib.h>
#include <string.h>

#include "formats/base/yaml.h"
#include "predict/whatif/cmd_whatif.h"

static struct scenario *new_scenario(struct session *session, const char *name)
{
    struct scenario *scenario;

    if (session->count == session->room) {
        const size_t room = 2 * session->room + 8;
        scenario = realloc(session->scenarios, room * sizeof *scenario);
        if (!scenario)
            return NULL;
        session->scenarios = scenario;
        session->room = room;
    }
    scenario = &session->scenarios[session->count];
    *scenario = (struct scenario){.name = strdup(name)};
    if (!scenario->name)
        return NULL;
    session->count++;
    return scenario;
}

static bool add_edit(struct scenario *scenario, const char *edit, size_t length)
{
    char **edits = realloc(scenario->edits, (scenario->edit_count + 1) * sizeof *edits);

    if (!edits)
        return false;
    scenario->edits = edits;
    edits[scenario->edit_count] = strndup(edit, length);
    if (!edits[scenario->edit_count])
        return false;
    scenario->edit_count++;
    return true;
}

bool session_add(struct session *session, const char *name, const char *edits)
{
    struct scenario *scenario = new_scenario(session, name ? name : edits);

    while (scenario && edits) {
        const size_t length = strcspn(edits, ";");
        if (length > strspn(edits, " \t") && !add_edit(scenario, edits, length))
            return false;
        edits = edits[length] ? edits + length + 1 : NULL;
    }
    return scenario;
}

static enum psnap_status out_of_memory(struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for scenarios");
}

/* The edits of a scenario that is a map. */
static enum psnap_status read_map(struct session *session, const struct psnap_yaml_doc *doc,
                                  const struct psnap_yaml_node *map, struct psnap_error *error)
{
    static const char *const keys[] = {"name", "edit", "edits", NULL};
    const struct psnap_yaml_node *name = psnap_yaml_get(map, "name");
    const struct psnap_yaml_node *edit = psnap_yaml_get(map, "edit");
    const struct psnap_yaml_node *edits = psnap_yaml_get(map, "edits");
    struct scenario *scenario;
    const char *text = NULL, *title = NULL;
    enum psnap_status status = psnap_yaml_expect_keys(doc, map, "a scenario", keys, error);

    if (!status && !edit == !edits)
        status = psnap_yaml_fail(doc, map, error, PSNAP_ERROR_VALUE,
                                 "a scenario has an edit, or a list of edits");
    if (!status && edit)
        status = psnap_yaml_text(doc, edit, &text, error);
    if (!status && edits)
        status = psnap_yaml_expect(doc, edits, PSNAP_YAML_SEQUENCE, "edits", error);
    if (!status && name)
        status = psnap_yaml_text(doc, name, &title, error);
    if (!status && !edit && (!name || !edits->count))
        status = psnap_yaml_fail(doc, map, error, PSNAP_ERROR_VALUE,
                                 "a list of edits has a name, and is not empty");
    if (status)
        return status;
    if (edit)
        return session_add(session, title, text) ? PSNAP_OK : out_of_memory(error);
    scenario = new_scenario(session, title);
    if (!scenario)
        return out_of_memory(error);
    for (const struct psnap_yaml_node *item = edits->first; item && !status; item = item->next) {
        status = psnap_yaml_text(doc, item, &text, error);
        if (!status && !add_edit(scenario, text, strlen(text)))
            status = out_of_memory(error);
    }
    return status;
}

static enum psnap_status read_list(struct session *session, const struct psnap_yaml_doc *doc,
                                   struct psnap_error *error)
{
    static const char *const keys[] = {"edits", NULL};
    const struct psnap_yaml_node *root = psnap_yaml_root(doc), *list;
    enum psnap_status status =
        psnap_yaml_expect_keys(doc, root, "a list of scenarios", keys, error);

    if (status)
        return status;
    list = psnap_yaml_require(doc, root, "edits", error);
    status = list ? psnap_yaml_expect(doc, list, PSNAP_YAML_SEQUENCE, "edits", error) : error->code;
    for (const struct psnap_yaml_node *item = status ? NULL : list->first; item && !status;
         item = item->next) {
        const char *text;
        if (item->kind == PSNAP_YAML_MAP) {
            status = read_map(session, doc, item, error);
            continue;
        }
        status = psnap_yaml_text(doc, item, &text, error);
        if (!status && !session_add(session, NULL, text))
            status = out_of_memory(error);
    }
    return status;
}

enum psnap_status session_read(struct session *session, const char *path, struct psnap_error *error)
{
    FILE *file = psnap_input_file(path, error);
    struct psnap_yaml_doc *doc =
        file ? psnap_yaml_read(file, file == stdin ? "stdin" : path, error) : NULL;
    const enum psnap_status status = doc ? read_list(session, doc, error) : error->code;

    if (file && file != stdin)
        fclose(file);
    psnap_yaml_doc_free(doc);
    return status;
}

void session_release(struct session *session)
{
    for (size_t i = 0; i < session->count; i++) {
        struct scenario *scenario = &session->scenarios[i];
        for (size_t k = 0; k < scenario->edit_count; k++)
            free(scenario->edits[k]);
        free(scenario->edits);
        free(scenario->name);
        side_release(&scenario->side);
    }
    free(session->scenarios);
    free(session->machines);
}
