/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap show --json: the profile's file as JSON, by the keys of profile/FORMAT.md, and whether its
 * certificate holds. With --loop the loops are those asked for alone.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/cmd.h"
#include "formats/base/json.h"
#include "formats/base/yaml.h"
#include "profile/cmd_show.h"

/* Writes a plain scalar that is a number as a number, any other one as text. */
static void json_scalar(struct psnap_json *json, const struct psnap_yaml_node *node)
{
    const char *text = node->text;
    char *end;

    if (node->quoted || !*text || strspn(text, "+-.0123456789eE") != strlen(text)) {
        psnap_json_text(json, node->key, text);
        return;
    }
    errno = 0;
    if (*text == '-') {
        const long long value = strtoll(text, &end, 10);
        if (!*end && !errno) {
            psnap_json_i64(json, node->key, value);
            return;
        }
    } else {
        const unsigned long long value = strtoull(text, &end, 10);
        if (!*end && !errno) {
            psnap_json_u64(json, node->key, value);
            return;
        }
    }
    psnap_json_real(json, node->key, strtod(text, NULL));
}

static void json_node(struct psnap_json *json, const struct psnap_yaml_node *node)
{
    if (node->kind == PSNAP_YAML_SCALAR) {
        json_scalar(json, node);
    } else if (node->kind == PSNAP_YAML_MAP) {
        psnap_json_begin_object(json, node->key);
        for (const struct psnap_yaml_node *child = node->first; child; child = child->next)
            json_node(json, child);
        psnap_json_end_object(json);
    } else {
        psnap_json_begin_array(json, node->key);
        for (const struct psnap_yaml_node *child = node->first; child; child = child->next)
            json_node(json, child);
        psnap_json_end_array(json);
    }
}

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
        json_node(json, loop);
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
            json_node(&json, part);
    psnap_json_end_object(&json);
    psnap_yaml_doc_free(doc);
    return true;
}
