/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tree of a YAML document: its nodes, typed values out of them with errors that name file,
 * line, column and key, and documents that are made or changed. libyaml is not needed here.
 *
 * Texts that a YAML reader (1.1 or 1.2) would take for a number, a bool, null or a date are marked
 * to be quoted, so that a text reads back as a text; bytes that are not UTF-8 become U+FFFD, since
 * YAML has no raw bytes. A change has the place of what it stands for, so that errors still name
 * lines of the document. Out of memory is remembered in the document: later additions do nothing
 * and psnap_yaml_write fails, so a builder needs no checks of its own.
 *
 * Invariants: a child is linked once, in order; children of a map have keys,
 * others have none; nodes and strings live in the document's arena and never
 * move.
 */
#include "formats/base/yaml_tree.h"

#include <assert.h>
#include <inttypes.h>
#include <search.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/arena.h"
#include "formats/base/text.h"

struct psnap_yaml_doc *psnap_yaml_doc_new(const char *name)
{
    struct psnap_yaml_doc *doc = calloc(1, sizeof *doc);

    if (!doc)
        return NULL;
    doc->arena = psnap_arena_new();
    doc->name = doc->arena ? psnap_arena_strndup(doc->arena, name, strlen(name)) : NULL;
    if (!doc->name) {
        psnap_yaml_doc_free(doc);
        return NULL;
    }
    return doc;
}

void psnap_yaml_doc_free(struct psnap_yaml_doc *doc)
{
    if (!doc)
        return;
    psnap_arena_free(doc->arena);
    free(doc);
}

struct psnap_yaml_node *psnap_yaml_root(const struct psnap_yaml_doc *doc)
{
    return doc->root;
}

const char *psnap_yaml_name(const struct psnap_yaml_doc *doc)
{
    return doc->name;
}

struct psnap_yaml_node *psnap_yaml_append(struct psnap_yaml_doc *doc,
                                          struct psnap_yaml_node *parent, const char *key,
                                          enum psnap_yaml_kind kind)
{
    struct psnap_yaml_node *node = psnap_arena_alloc(doc->arena, sizeof *node);

    if (!node) {
        doc->out_of_memory = true;
        return NULL;
    }
    node->kind = kind;
    node->key = key;
    node->parent = parent;
    doc->nodes++;
    if (!parent) {
        doc->root = node;
        return node;
    }
    if (parent->last)
        parent->last->next = node;
    else
        parent->first = node;
    parent->last = node;
    parent->count++;
    return node;
}

/* Errors */

enum psnap_status psnap_yaml_fail(const struct psnap_yaml_doc *doc,
                                  const struct psnap_yaml_node *node, struct psnap_error *error,
                                  enum psnap_status code, const char *format, ...)
{
    if (error) {
        char message[sizeof error->message];
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(message, sizeof message, format, arguments);
        va_end(arguments);
        psnap_error_set(error, code, "%s%s", message,
                        doc->is_cut ? "; the text ends in the middle of a line" : "");
        psnap_error_at(error, doc->name, node ? node->src_line : 0, node ? node->column : 0);
    }
    return code;
}

/* The same at the node's key instead of its value. */
static void move_to_key(const struct psnap_yaml_node *node, struct psnap_error *error)
{
    psnap_error_at(error, NULL, node->key_line, node->key_column);
}

static int compare_keys(const void *a, const void *b)
{
    return strcmp(((const struct psnap_yaml_node *)a)->key,
                  ((const struct psnap_yaml_node *)b)->key);
}

static void keep(void *node)
{
    (void)node; /* the document's */
}

enum psnap_status psnap_yaml_unique_keys(const struct psnap_yaml_doc *doc,
                                         const struct psnap_yaml_node *map,
                                         struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;
    void *known = NULL;

    for (struct psnap_yaml_node *child = map->first; child && !status; child = child->next) {
        struct psnap_yaml_node *const *first = tsearch(child, &known, compare_keys);
        if (!first) {
            status = psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        } else if (*first != child) {
            status = psnap_yaml_fail(doc, child, error, PSNAP_ERROR_SYNTAX,
                                     "the key '%.100s' is there already, in line %" PRIu32,
                                     child->key, (*first)->key_line);
            move_to_key(child, error);
        }
    }
    tdestroy(known, keep);
    return status;
}

/* Looking */

struct psnap_yaml_node *psnap_yaml_get(const struct psnap_yaml_node *map, const char *key)
{
    if (!map || map->kind != PSNAP_YAML_MAP)
        return NULL;
    for (struct psnap_yaml_node *child = map->first; child; child = child->next)
        if (!strcmp(child->key, key))
            return child;
    return NULL;
}

struct psnap_yaml_node *psnap_yaml_require(const struct psnap_yaml_doc *doc,
                                           const struct psnap_yaml_node *map, const char *key,
                                           struct psnap_error *error)
{
    struct psnap_yaml_node *child = psnap_yaml_get(map, key);

    if (!child)
        psnap_yaml_fail(doc, map, error, PSNAP_ERROR_VALUE, "the key '%s' is missing", key);
    return child;
}

static const char *kind_name(enum psnap_yaml_kind kind)
{
    return kind == PSNAP_YAML_MAP ? "a map" : kind == PSNAP_YAML_SEQUENCE ? "a list" : "one value";
}

enum psnap_status psnap_yaml_expect(const struct psnap_yaml_doc *doc,
                                    const struct psnap_yaml_node *node, enum psnap_yaml_kind kind,
                                    const char *what, struct psnap_error *error)
{
    if (!node)
        return psnap_yaml_fail(doc, NULL, error, PSNAP_ERROR_VALUE, "%s: missing", what);
    if (node->kind == kind)
        return PSNAP_OK;
    return psnap_yaml_fail(doc, node, error, PSNAP_ERROR_VALUE, "%s must be %s, not %s", what,
                           kind_name(kind), kind_name(node->kind));
}

enum psnap_status psnap_yaml_known_keys(const struct psnap_yaml_doc *doc,
                                        const struct psnap_yaml_node *map, const char *const *keys,
                                        struct psnap_error *error)
{
    size_t count = 0;

    while (keys[count])
        count++;
    for (const struct psnap_yaml_node *child = map->first; child; child = child->next) {
        const char *nearest;
        size_t i = 0;
        while (i < count && strcmp(keys[i], child->key))
            i++;
        if (i < count)
            continue;
        nearest = psnap_text_nearest(child->key, keys, count);
        psnap_yaml_fail(doc, child, error, PSNAP_ERROR_VALUE,
                        nearest ? "no key '%.100s' here; did you mean '%s'?"
                                : "no key '%.100s' here",
                        child->key, nearest);
        move_to_key(child, error);
        return PSNAP_ERROR_VALUE;
    }
    return PSNAP_OK;
}

enum psnap_status psnap_yaml_expect_keys(const struct psnap_yaml_doc *doc,
                                         const struct psnap_yaml_node *node, const char *what,
                                         const char *const *keys, struct psnap_error *error)
{
    enum psnap_status status = psnap_yaml_expect(doc, node, PSNAP_YAML_MAP, what, error);

    return status ? status : psnap_yaml_known_keys(doc, node, keys, error);
}

/* "'ways'", "an item of 'sizes'": what messages call a node. */
static void name_node(const struct psnap_yaml_node *node, char *text, size_t size)
{
    if (node->key)
        snprintf(text, size, "'%.60s'", node->key);
    else if (node->parent && node->parent->key)
        snprintf(text, size, "an item of '%.60s'", node->parent->key);
    else
        snprintf(text, size, "the value");
}

/* A value that is no good, or missing: `format` says what it must be. */
static enum psnap_status wrong_value(const struct psnap_yaml_doc *doc,
                                     const struct psnap_yaml_node *node, struct psnap_error *error,
                                     const char *format, ...) PSNAP_PRINTF(4, 5);
static enum psnap_status wrong_value(const struct psnap_yaml_doc *doc,
                                     const struct psnap_yaml_node *node, struct psnap_error *error,
                                     const char *format, ...)
{
    char name[96], wanted[96];
    va_list arguments;

    if (!node)
        return psnap_yaml_fail(doc, NULL, error, PSNAP_ERROR_VALUE, "a required value is missing");
    va_start(arguments, format);
    vsnprintf(wanted, sizeof wanted, format, arguments);
    va_end(arguments);
    name_node(node, name, sizeof name);
    if (node->kind != PSNAP_YAML_SCALAR)
        return psnap_yaml_fail(doc, node, error, PSNAP_ERROR_VALUE, "%s must be %s, not %s", name,
                               wanted, kind_name(node->kind));
    return psnap_yaml_fail(doc, node, error, PSNAP_ERROR_VALUE, "%s must be %s, not %s'%.60s'",
                           name, wanted, node->quoted ? "the text " : "", node->text);
}

static bool is_plain(const struct psnap_yaml_node *node)
{
    return node && node->kind == PSNAP_YAML_SCALAR && !node->quoted;
}

static enum psnap_status whole(const struct psnap_yaml_doc *doc, const struct psnap_yaml_node *node,
                               uint64_t low, uint64_t high, uint64_t *value,
                               bool (*read)(const char *text, uint64_t *value), const char *what,
                               struct psnap_error *error)
{
    uint64_t number;

    if (!is_plain(node) || !read(node->text, &number) || number < low || number > high)
        return wrong_value(doc, node, error, "%s from %" PRIu64 " to %" PRIu64, what, low, high);
    *value = number;
    return PSNAP_OK;
}

enum psnap_status psnap_yaml_u64(const struct psnap_yaml_doc *doc,
                                 const struct psnap_yaml_node *node, uint64_t low, uint64_t high,
                                 uint64_t *value, struct psnap_error *error)
{
    return whole(doc, node, low, high, value, psnap_text_u64, "a whole number", error);
}

enum psnap_status psnap_yaml_i64(const struct psnap_yaml_doc *doc,
                                 const struct psnap_yaml_node *node, int64_t low, int64_t high,
                                 int64_t *value, struct psnap_error *error)
{
    int64_t number;

    if (!is_plain(node) || !psnap_text_i64(node->text, &number) || number < low || number > high)
        return wrong_value(doc, node, error, "a whole number from %" PRId64 " to %" PRId64, low,
                           high);
    *value = number;
    return PSNAP_OK;
}

enum psnap_status psnap_yaml_real(const struct psnap_yaml_doc *doc,
                                  const struct psnap_yaml_node *node, double low, double high,
                                  double *value, struct psnap_error *error)
{
    char from[32], to[32];
    double number;

    if (!is_plain(node) || !psnap_text_real(node->text, &number) || number < low || number > high)
        return wrong_value(doc, node, error, "a number from %s to %s",
                           psnap_text_from_real(low, from), psnap_text_from_real(high, to));
    *value = number;
    return PSNAP_OK;
}

enum psnap_status psnap_yaml_size(const struct psnap_yaml_doc *doc,
                                  const struct psnap_yaml_node *node, uint64_t low, uint64_t high,
                                  uint64_t *value, struct psnap_error *error)
{
    return whole(doc, node, low, high, value, psnap_text_size, "a size (4096, 32K, 1M)", error);
}

enum psnap_status psnap_yaml_text(const struct psnap_yaml_doc *doc,
                                  const struct psnap_yaml_node *node, const char **text,
                                  struct psnap_error *error)
{
    if (!node || node->kind != PSNAP_YAML_SCALAR)
        return wrong_value(doc, node, error, "one value");
    *text = node->text;
    return PSNAP_OK;
}

/* Building */

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
    char *copy = psnap_arena_alloc(doc->arena, strlen(PSNAP_TEXT_HIDDEN) * strlen(text) + 1);
    char *to = copy;
    uint32_t code;

    doc->out_of_memory |= !copy;
    while (copy && *text) {
        const size_t n = psnap_text_utf8(text, &code);
        to = mempcpy(to, n ? text : PSNAP_TEXT_HIDDEN, n ? n : strlen(PSNAP_TEXT_HIDDEN));
        text += n ? n : 1;
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

static struct psnap_yaml_node *add_container(struct psnap_yaml_doc *doc,
                                             struct psnap_yaml_node *parent, const char *key,
                                             enum psnap_yaml_kind kind, enum psnap_yaml_style style)
{
    struct psnap_yaml_node *node = add(doc, parent, key, kind);

    if (node)
        node->style = style;
    return node;
}

struct psnap_yaml_node *psnap_yaml_add_map(struct psnap_yaml_doc *doc,
                                           struct psnap_yaml_node *parent, const char *key,
                                           enum psnap_yaml_style style)
{
    return add_container(doc, parent, key, PSNAP_YAML_MAP, style);
}

struct psnap_yaml_node *psnap_yaml_add_sequence(struct psnap_yaml_doc *doc,
                                                struct psnap_yaml_node *parent, const char *key,
                                                enum psnap_yaml_style style)
{
    return add_container(doc, parent, key, PSNAP_YAML_SEQUENCE, style);
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

/* Changing */

static const char *copy_of(struct psnap_yaml_doc *doc, const char *text)
{
    const char *copy = text ? psnap_arena_strndup(doc->arena, text, strlen(text)) : NULL;

    doc->out_of_memory |= text && !copy;
    return copy;
}

/* Children of `from` as children of `to`; a YAML document is 64 levels deep at most. */
static bool copy_children(struct psnap_yaml_doc *doc, struct psnap_yaml_node *to,
                          const struct psnap_yaml_node *from)
{
    for (const struct psnap_yaml_node *child = from->first; child; child = child->next) {
        const char *key = copy_of(doc, child->key);
        struct psnap_yaml_node *made = psnap_yaml_append(doc, to, key, child->kind);
        if (!made || doc->out_of_memory)
            return false;
        made->style = child->style;
        made->quoted = child->quoted;
        made->text = copy_of(doc, child->text);
        made->src_line = made->key_line = to->src_line;
        made->column = made->key_column = to->column;
        if (!copy_children(doc, made, child))
            return false;
    }
    return !doc->out_of_memory;
}

bool psnap_yaml_assign(struct psnap_yaml_doc *doc, struct psnap_yaml_node *node,
                       const struct psnap_yaml_node *value)
{
    node->kind = value->kind;
    node->style = value->style;
    node->quoted = value->quoted;
    node->text = copy_of(doc, value->text);
    node->first = node->last = NULL;
    node->count = 0;
    return copy_children(doc, node, value);
}

struct psnap_yaml_node *psnap_yaml_add_key(struct psnap_yaml_doc *doc, struct psnap_yaml_node *map,
                                           const char *key)
{
    const char *copy = copy_of(doc, key);
    struct psnap_yaml_node *node =
        copy ? psnap_yaml_append(doc, map, copy, PSNAP_YAML_SCALAR) : NULL;

    if (node) {
        node->src_line = node->key_line = map->src_line;
        node->column = node->key_column = map->column;
    }
    return node;
}

void psnap_yaml_remove(struct psnap_yaml_node *node)
{
    struct psnap_yaml_node *parent = node->parent, *before = NULL;

    for (struct psnap_yaml_node *child = parent->first; child != node; child = child->next)
        before = child;
    if (before)
        before->next = node->next;
    else
        parent->first = node->next;
    if (parent->last == node)
        parent->last = before;
    parent->count--;
}
