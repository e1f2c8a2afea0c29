/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap show --json: the profile's file as JSON, by the keys of profile/FORMAT.md, and whether its
 * certificate holds. With --loop the loops are those asked for alone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/cmd.h"
#include "formats/base/json.h"
#include "formats/base/yaml.h"
#include "profile/cmd_show.h"

/* Writes the loops of `summaries`, which are in the file's order. */
static void json_loops(struct psnap_json *json, const struct psnap_yaml_node *loops,
                       const struct show_summary *summaries, uint32_t count)
{
    const struct psnap_yaml_node *loop = loops->first;
    uint32_t index = 0;

    psnap_json_begin_array(json, "loops");
    for (uint32_t i = 0; i < count; i++) {
        for (; index < summaries[i].index; index++)
            loop = loop->next;
        psnap_cmd_json_node(json, loop);
    }
    psnap_json_end_array(json);
}

/* Returns the file that the profile is written as, for the caller to free; NULL without memory. */
static struct psnap_yaml_doc *written(const struct psnap_profile *profile)
{
    struct psnap_yaml_doc *doc = NULL;
    struct psnap_error error;
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);

    if (!file)
        return NULL;
    if (!psnap_profile_write(profile, file, &error) && !fflush(file))
        doc = psnap_yaml_read_text(text, size, "profile", &error);
    fclose(file);
    free(text);
    return doc;
}

bool show_print_json(const struct psnap_profile *profile, const struct show_summary *summaries,
                     uint32_t count)
{
    struct psnap_yaml_doc *doc = written(profile);
    struct psnap_json json;

    if (!doc)
        return false;
    psnap_cmd_begin_json(&json, stdout, "show");
    if (profile->certificate)
        psnap_json_bool(&json, "certificate_holds", psnap_certificate_holds(profile, NULL) == 1);
    for (const struct psnap_yaml_node *part = psnap_yaml_root(doc)->first; part; part = part->next)
        if (!strcmp(part->key, "loops"))
            json_loops(&json, part, summaries, count);
        else if (strcmp(part->key, "psnap") != 0)
            psnap_cmd_json_node(&json, part);
    psnap_json_end_object(&json);
    psnap_yaml_doc_free(doc);
    return true;
}
