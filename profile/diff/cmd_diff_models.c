/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What differs of two profiles' models and schedules, by the canonical text of both: an edit of
 * what is drawn changes no number of a loop. Items of `models` are compared one by one, in their
 * order.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/yaml.h"
#include "profile/diff/cmd_diff.h"

enum { NAMED = 6 /* items, at most */ };

/* The profile as it is written; NULL: out of memory. */
static struct psnap_yaml_doc *document_of(const struct psnap_profile *profile)
{
    struct psnap_error error;
    struct psnap_yaml_doc *doc = NULL;
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);

    if (file) {
        const bool is_written = !psnap_profile_write(profile, file, &error);
        if (!fclose(file) && is_written)
            doc = psnap_yaml_read_text(text, size, "", &error);
    }
    free(text);
    return doc;
}

static bool is_equal_text(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

static bool is_equal(const struct psnap_yaml_node *a, const struct psnap_yaml_node *b)
{
    if (!a || !b)
        return a == b;
    if (a->kind != b->kind || a->count != b->count || !is_equal_text(a->key, b->key) ||
        (a->kind == PSNAP_YAML_SCALAR && !is_equal_text(a->text, b->text)))
        return false;
    a = a->first;
    b = b->first;
    for (; a && b; a = a->next, b = b->next)
        if (!is_equal(a, b))
            return false;
    return true;
}

/* An item's name, and its loop, if it is of one: "d4 of merge:43". */
static void print_item(const struct psnap_yaml_node *item, uint32_t n)
{
    const struct psnap_yaml_node *loop = psnap_yaml_get(item, "loop");

    printf("%s%s", n ? ", " : "", item->first && item->first->text ? item->first->text : "one");
    if (loop && loop->text)
        printf(" of %s", loop->text);
}

/* Names the items of a list that differ, or are in one only; adds them to *count. */
static void compare_lists(const struct psnap_yaml_node *a, const struct psnap_yaml_node *b,
                          uint32_t *count)
{
    const struct psnap_yaml_node *x = a ? a->first : NULL, *y = b ? b->first : NULL;

    while (x || y) {
        if (!is_equal(x, y)) {
            if (*count < NAMED)
                print_item(x ? x : y, *count);
            ++*count;
        }
        x = x ? x->next : NULL;
        y = y ? y->next : NULL;
    }
}

void diff_print_models(const struct psnap_profile *a, const struct psnap_profile *b)
{
    static const char *const lists[] = {"walks", "draws", "counts", "mixes"};
    struct psnap_yaml_doc *docs[2] = {document_of(a), document_of(b)};
    const struct psnap_yaml_node *models[2] = {NULL, NULL}, *schedules[2] = {NULL, NULL};
    uint32_t count = 0;

    for (int i = 0; i < 2 && docs[0] && docs[1]; i++) {
        models[i] = psnap_yaml_get(psnap_yaml_root(docs[i]), "models");
        schedules[i] = psnap_yaml_get(psnap_yaml_root(docs[i]), "schedule");
    }
    if (!is_equal(schedules[0], schedules[1]))
        puts("the schedule differs");
    if (!is_equal(models[0], models[1])) {
        fputs("what is drawn differs: ", stdout);
        for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
            compare_lists(models[0] ? psnap_yaml_get(models[0], lists[i]) : NULL,
                          models[1] ? psnap_yaml_get(models[1], lists[i]) : NULL, &count);
        if (count > NAMED)
            printf(" and %" PRIu32 " more", count - NAMED);
        puts(" ('psnap compare' says by how much the streams do)");
    }
    psnap_yaml_doc_free(docs[0]);
    psnap_yaml_doc_free(docs[1]);
}
