/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Documents made by the program. Texts that a YAML reader (1.1 or 1.2) would
 * take for a number, a bool, null or a date are marked to be quoted, so that a
 * text reads back as a text; bytes that are not UTF-8 become U+FFFD, since
 * YAML has no raw bytes.
 *
 * Out of memory is remembered in the document: later additions do nothing and
 * psnap_yaml_write fails, so a builder needs no checks of its own.
 */
#include "formats/base/yaml_tree.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "formats/base/arena.h"
#include "formats/base/text.h"

bool psnap_yaml_looks_typed(const char *text)
{
    static const char *const words[] = {"~",    "null",  "Null",  "NULL",  "true", "True",
                                        "TRUE", "false", "False", "FALSE", "yes",  "Yes",
                                        "YES",  "no",    "No",    "NO",    "on",   "On",
                                        "ON",   "off",   "Off",   "OFF",   "=",    "<<"};
    const char *start = text + (*text == '+' || *text == '-');

    /* numbers of every base, .inf, .nan, dates, times: all begin like this */
    if (!*text || (*start >= '0' && *start <= '9') || *start == '.')
        return true;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (!strcmp(text, words[i]))
            return true;
    return false;
}

/* A copy in which each byte that is not UTF-8 became U+FFFD, as YAML has no raw bytes. */
static char *copy_text(struct psnap_yaml_doc *doc, const char *text)
{
    size_t wrong = 0, length = 0;
    uint32_t code;
    char *copy, *to;

    for (const char *from = text; *from;) {
        const size_t n = psnap_text_utf8(from, &code);
        wrong += n == 0;
        length += n ? n : 1;
        from += n ? n : 1;
    }
    copy = to = psnap_arena_alloc(doc->arena, length + 2 * wrong + 1);
    if (!copy) {
        doc->out_of_memory = true;
        return NULL;
    }
    for (const char *from = text; *from;) {
        const size_t n = psnap_text_utf8(from, &code);
        memcpy(to, n ? from : PSNAP_TEXT_HIDDEN, n ? n : 3);
        to += n ? n : 3;
        from += n ? n : 1;
    }
    return copy;
}

static struct psnap_yaml_node *add(struct psnap_yaml_doc *doc, struct psnap_yaml_node *parent,
                                   const char *key, enum psnap_yaml_kind kind)
{
    if (doc->out_of_memory)
        return NULL; /* the parent may be missing for that reason */
    assert(parent ? (parent->kind == PSNAP_YAML_MAP) == (key != NULL) : !doc->root && !key);
    if (key) {
        key = copy_text(doc, key);
        if (!key)
            return NULL;
    }
    return psnap_yaml_append(doc, parent, key, kind);
}

struct psnap_yaml_node *psnap_yaml_add_map(struct psnap_yaml_doc *doc,
                                           struct psnap_yaml_node *parent, const char *key,
                                           enum psnap_yaml_style style)
{
    struct psnap_yaml_node *node = add(doc, parent, key, PSNAP_YAML_MAP);

    if (node)
        node->style = style;
    return node;
}

struct psnap_yaml_node *psnap_yaml_add_sequence(struct psnap_yaml_doc *doc,
                                                struct psnap_yaml_node *parent, const char *key,
                                                enum psnap_yaml_style style)
{
    struct psnap_yaml_node *node = add(doc, parent, key, PSNAP_YAML_SEQUENCE);

    if (node)
        node->style = style;
    return node;
}

static struct psnap_yaml_node *add_scalar(struct psnap_yaml_doc *doc,
                                          struct psnap_yaml_node *parent, const char *key,
                                          const char *text, bool quoted)
{
    struct psnap_yaml_node *node = add(doc, parent, key, PSNAP_YAML_SCALAR);

    if (!node)
        return NULL;
    node->quoted = quoted;
    node->text = copy_text(doc, text);
    return node->text ? node : NULL;
}

struct psnap_yaml_node *psnap_yaml_add_text(struct psnap_yaml_doc *doc,
                                            struct psnap_yaml_node *parent, const char *key,
                                            const char *text)
{
    return add_scalar(doc, parent, key, text, psnap_yaml_looks_typed(text));
}

struct psnap_yaml_node *psnap_yaml_add_u64(struct psnap_yaml_doc *doc,
                                           struct psnap_yaml_node *parent, const char *key,
                                           uint64_t value)
{
    char text[32];

    snprintf(text, sizeof text, "%" PRIu64, value);
    return add_scalar(doc, parent, key, text, false);
}

struct psnap_yaml_node *psnap_yaml_add_i64(struct psnap_yaml_doc *doc,
                                           struct psnap_yaml_node *parent, const char *key,
                                           int64_t value)
{
    char text[32];

    snprintf(text, sizeof text, "%" PRId64, value);
    return add_scalar(doc, parent, key, text, false);
}

struct psnap_yaml_node *psnap_yaml_add_real(struct psnap_yaml_doc *doc,
                                            struct psnap_yaml_node *parent, const char *key,
                                            double value)
{
    char text[32];

    return add_scalar(doc, parent, key, psnap_text_from_real(value, text), false);
}
