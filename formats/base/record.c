/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records by their tables (record.h), and values with the first failure remembered. A map is gone
 * through once, in its own order; fields are looked for from the one behind the last that was
 * found, so that maps in the order in which they are written cost no search.
 */
#include "formats/base/record.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- values ---- */

void psnap_read_fail_as(struct psnap_reading *r, const struct psnap_yaml_node *node,
                        enum psnap_status code, const char *format, ...)
{
    char message[sizeof r->error->message];
    va_list arguments;

    if (r->status)
        return;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    r->status = psnap_yaml_fail(r->doc, node, r->error, code, "%s", message);
}

bool psnap_read_has(struct psnap_reading *r, const void *memory)
{
    if (!r->status && !memory)
        r->status = psnap_error_set(r->error, PSNAP_ERROR_MEMORY, "out of memory");
    return !r->status;
}

static void *alloc(struct psnap_reading *r, struct psnap_arena *arena, size_t count, size_t size)
{
    void *items = r->status || count > SIZE_MAX / size - 1
                      ? NULL
                      : psnap_arena_alloc(arena, (count + 1) * size);

    return psnap_read_has(r, items) ? items : NULL;
}

void *psnap_read_alloc(struct psnap_reading *r, size_t count, size_t size)
{
    return alloc(r, r->arena, count, size);
}

void *psnap_read_scratch(struct psnap_reading *r, size_t count, size_t size)
{
    return alloc(r, r->scratch, count, size);
}

bool psnap_read_heap(struct psnap_reading *r, void *array, size_t count, size_t size)
{
    void *items = r->status ? NULL : calloc(count + 1, size);

    memcpy(array, &items, sizeof items);
    return psnap_read_has(r, items);
}

/* Readers of numbers, each by the function of yaml.h of the same name. */
#define READER(type, name)                                                                         \
    type psnap_read_##name(struct psnap_reading *r, const struct psnap_yaml_node *node, type low,  \
                           type high)                                                              \
    {                                                                                              \
        type value = 0;                                                                            \
                                                                                                   \
        if (!r->status)                                                                            \
            r->status = psnap_yaml_##name(r->doc, node, low, high, &value, r->error);              \
        return value;                                                                              \
    }

READER(uint64_t, u64)
READER(uint64_t, size)
READER(int64_t, i64)
READER(double, real)

const char *psnap_read_text(struct psnap_reading *r, const struct psnap_yaml_node *node)
{
    const char *text = "";

    if (!r->status)
        r->status = psnap_yaml_text(r->doc, node, &text, r->error);
    return text;
}

const char *psnap_read_copy(struct psnap_reading *r, const struct psnap_yaml_node *node)
{
    const char *text = psnap_read_text(r, node);
    const char *copy = r->status ? "" : psnap_arena_strndup(r->arena, text, strlen(text));

    return psnap_read_has(r, copy) ? copy : "";
}

const struct psnap_yaml_node *psnap_read_require(struct psnap_reading *r,
                                                 const struct psnap_yaml_node *map, const char *key)
{
    const struct psnap_yaml_node *node =
        r->status ? NULL : psnap_yaml_require(r->doc, map, key, r->error);

    if (!node && !r->status)
        r->status = PSNAP_ERROR_VALUE;
    return node;
}

bool psnap_read_is(struct psnap_reading *r, const struct psnap_yaml_node *node,
                   enum psnap_yaml_kind kind, const char *what)
{
    if (!r->status && node)
        r->status = psnap_yaml_expect(r->doc, node, kind, what, r->error);
    return !r->status && node;
}

const struct psnap_yaml_node *psnap_read_list(struct psnap_reading *r,
                                              const struct psnap_yaml_node *node, const char *what)
{
    return psnap_read_is(r, node, PSNAP_YAML_SEQUENCE, what) ? node->first : NULL;
}

const struct psnap_yaml_node *psnap_read_map(struct psnap_reading *r,
                                             const struct psnap_yaml_node *node, const char *what)
{
    return psnap_read_is(r, node, PSNAP_YAML_MAP, what) ? node->first : NULL;
}

const struct psnap_yaml_node *psnap_read_next(const struct psnap_reading *r,
                                              const struct psnap_yaml_node *node)
{
    return r->status ? NULL : node->next;
}

void psnap_read_key_list(struct psnap_reading *r, const struct psnap_yaml_node *node,
                         const char *what, const char *const *keys)
{
    if (!r->status)
        r->status = psnap_yaml_expect_keys(r->doc, node, what, keys, r->error);
}

/* ---- tables ---- */

/* A member as a number, and back; reals and pointers are their bits. */
static void set(const struct psnap_field *field, void *record, uint64_t bits)
{
    char *member = (char *)record + field->offset;

    if (field->size == 1)
        *(uint8_t *)member = (uint8_t)bits;
    else if (field->size == 2)
        memcpy(member, &(uint16_t){(uint16_t)bits}, 2);
    else if (field->size == 4)
        memcpy(member, &(uint32_t){(uint32_t)bits}, 4);
    else
        memcpy(member, &bits, 8);
}

static uint64_t get(const struct psnap_field *field, const void *record)
{
    const char *member = (const char *)record + field->offset;
    union {
        uint8_t byte;
        uint16_t half;
        uint32_t word;
        uint64_t bits;
    } value;

    memcpy(&value, member, field->size);
    return field->size == 1   ? value.byte
           : field->size == 2 ? value.half
           : field->size == 4 ? value.word
                              : value.bits;
}

static double real_of(uint64_t bits)
{
    double real;

    memcpy(&real, &bits, sizeof real);
    return real;
}

static uint64_t bits_of(double real)
{
    uint64_t bits;

    memcpy(&bits, &real, sizeof bits);
    return bits;
}

static uint32_t *count_of(const struct psnap_field *field, const void *record)
{
    return (uint32_t *)((uintptr_t)record + field->count_at);
}

/* ---- tables: reading ---- */

static const char *const *read_texts(struct psnap_reading *r, const struct psnap_yaml_node *list,
                                     const char *key)
{
    const struct psnap_yaml_node *node = psnap_read_list(r, list, key);
    const char **texts = psnap_read_alloc(r, list->count, sizeof *texts);
    size_t n = 0;

    for (; node && texts; node = psnap_read_next(r, node))
        texts[n++] = psnap_read_copy(r, node);
    return texts;
}

static const void *read_list(struct psnap_reading *r, const struct psnap_yaml_node *list,
                             const struct psnap_field *field, void *to)
{
    const struct psnap_yaml_node *node = psnap_read_list(r, list, field->key);
    const size_t size = field->record->size;
    char *items = NULL;

    if (field->rules & PSNAP_FIELD_HEAP)
        psnap_read_heap(r, &items, list->count, size);
    else
        items = psnap_read_alloc(r, list->count, size);
    set(field, to, (uintptr_t)items); /* also when an item is wrong, so that its owner frees it */
    for (; node && !r->status; node = node->next) {
        r->outer = to;
        psnap_record_read(r, node, field->record, items + (*count_of(field, to))++ * size);
    }
    return items;
}

static char *own_text(struct psnap_reading *r, const char *text)
{
    char *copy = r->status ? NULL : strdup(text);

    return psnap_read_has(r, copy) ? copy : NULL;
}

static void read_value(struct psnap_reading *r, const struct psnap_yaml_node *node,
                       const struct psnap_field *field, void *to)
{
    uint64_t bits = 0;

    r->field = field;
    if (field->rules & PSNAP_FIELD_TAGGED)
        *((uint8_t *)to + field->tag_at) = field->tag;
    if (field->kind == PSNAP_FIELD_UINT)
        bits = psnap_read_u64(r, node, field->low, field->high);
    else if (field->kind == PSNAP_FIELD_SIZE)
        bits = psnap_read_size(r, node, field->low, field->high);
    else if (field->kind == PSNAP_FIELD_INT)
        bits = (uint64_t)psnap_read_i64(r, node, INT64_MIN, INT64_MAX);
    else if (field->kind == PSNAP_FIELD_REAL)
        bits = bits_of(psnap_read_real(r, node, (double)field->low, (double)field->high));
    else if (field->kind == PSNAP_FIELD_TEXT && field->rules & PSNAP_FIELD_HEAP)
        bits = (uintptr_t)own_text(r, psnap_read_text(r, node));
    else if (field->kind == PSNAP_FIELD_TEXT)
        bits = (uintptr_t)psnap_read_copy(r, node);
    else if (field->kind == PSNAP_FIELD_TEXTS)
        bits = (uintptr_t)read_texts(r, node, field->key);
    else if (field->kind == PSNAP_FIELD_LIST)
        bits = (uintptr_t)read_list(r, node, field, to);
    else if (field->kind == PSNAP_FIELD_RECORD)
        psnap_record_read(r, node, field->record, (char *)to + field->offset);
    else if (field->read)
        field->read(r, node, to);
    if (field->kind < PSNAP_FIELD_RECORD)
        set(field, to, bits);
}

static void set_missing(struct psnap_reading *r, const struct psnap_yaml_node *map,
                        const struct psnap_field *field, void *to)
{
    if (field->rules & PSNAP_FIELD_NEEDED)
        psnap_read_require(r, map, field->key);
    else if (field->kind == PSNAP_FIELD_RECORD)
        for (size_t i = 0; i < field->record->count; i++) {
            if (!(field->record->fields[i].rules & PSNAP_FIELD_NEEDED))
                set_missing(r, map, &field->record->fields[i], (char *)to + field->offset);
        }
    else if (field->kind < PSNAP_FIELD_LIST && !(field->rules & PSNAP_FIELD_TAGGED))
        set(field, to,
            field->kind == PSNAP_FIELD_TEXT && !(field->rules & PSNAP_FIELD_HEAP) ? (uintptr_t)""
                                                                                  : field->missing);
}

void psnap_record_read(struct psnap_reading *r, const struct psnap_yaml_node *map,
                       const struct psnap_record *record, void *to)
{
    const struct psnap_yaml_node *nodes[PSNAP_FIELDS_MAX] = {NULL};
    const struct psnap_yaml_node *node = psnap_read_map(r, map, record->what);
    const char *keys[PSNAP_FIELDS_MAX + 1] = {NULL};
    size_t at = 0;

    for (; node && !r->status; node = node->next) {
        size_t tries = 0;
        while (tries < record->count && strcmp(record->fields[at].key, node->key) != 0) {
            at = at + 1 < record->count ? at + 1 : 0;
            tries++;
        }
        nodes[at] = node;
        if (tries < record->count)
            continue;
        for (size_t i = 0; i < record->count; i++)
            keys[i] = record->fields[i].key;
        psnap_read_key_list(r, map, record->what, keys);
    }
    for (size_t i = 0; i < record->count && !r->status; i++) {
        const struct psnap_field *field = &record->fields[i];
        if (!nodes[i])
            set_missing(r, map, field, to);
        else if (!(field->rules & PSNAP_FIELD_LATER))
            read_value(r, nodes[i], field, to);
    }
    if (record->check && !r->status)
        record->check(r, map, to);
}

const struct psnap_yaml_node *psnap_record_differs(struct psnap_reading *r,
                                                   const struct psnap_yaml_node *map,
                                                   const struct psnap_record *record,
                                                   const void *from, uint64_t *stated,
                                                   uint64_t *has)
{
    for (size_t i = 0; i < record->count; i++) {
        const struct psnap_field *field = &record->fields[i];
        const struct psnap_yaml_node *node =
            field->kind == PSNAP_FIELD_UINT ? psnap_yaml_get(map, field->key) : NULL;
        if (!node)
            continue;
        *stated = psnap_read_u64(r, node, field->low, field->high);
        *has = get(field, from);
        if (!r->status && *stated != *has)
            return node;
    }
    return NULL;
}

/* ---- tables: writing ---- */

/* Returns whether a field is written; forms decide that themselves. */
static bool is_something(const struct psnap_field *field, const void *from)
{
    const bool is_forced =
        field->rules & (PSNAP_FIELD_NEEDED | PSNAP_FIELD_ALWAYS | PSNAP_FIELD_TAGGED);
    const uint64_t bits = field->kind < PSNAP_FIELD_LIST ? get(field, from) : 0;
    const char *text = (const char *)(uintptr_t)bits;

    if (field->rules & PSNAP_FIELD_TAGGED && ((const uint8_t *)from)[field->tag_at] != field->tag)
        return false;
    for (size_t i = 0; field->kind == PSNAP_FIELD_RECORD && i < field->record->count; i++)
        if (is_something(&field->record->fields[i], (const char *)from + field->offset))
            return true;
        else if (field->record->fields[i].rules & PSNAP_FIELD_NEEDED)
            return false;
    switch (field->kind) {
    case PSNAP_FIELD_RECORD:
        return false;
    case PSNAP_FIELD_LIST:
        return is_forced || *count_of(field, from);
    case PSNAP_FIELD_TEXT:
        return text && (is_forced || *text);
    case PSNAP_FIELD_REAL:
        return field->missing ? !isnan(real_of(bits)) : real_of(bits) > 0;
    default:
        return is_forced || field->kind > PSNAP_FIELD_SIZE || bits != field->missing;
    }
}

static void write_list(struct psnap_writing w, const struct psnap_field *field, const void *from)
{
    const char *items = (const char *)(uintptr_t)get(field, from);

    w.map = psnap_yaml_add_sequence(w.doc, w.map, field->key, field->style);
    w.outer = from;
    for (uint32_t i = 0; i < *count_of(field, from); i++)
        psnap_record_write(&w, w.map, NULL, field->record, items + i * field->record->size);
}

static void write_texts(struct psnap_yaml_doc *doc, struct psnap_yaml_node *list,
                        const char *const *texts)
{
    for (; *texts; texts++)
        psnap_yaml_add_text(doc, list, NULL, *texts);
}

static void write_value(const struct psnap_writing *w, const struct psnap_field *field,
                        const void *from)
{
    const uint64_t bits = field->kind < PSNAP_FIELD_LIST ? get(field, from) : 0;
    const void *pointer = (const void *)(uintptr_t)bits;

    if (field->kind == PSNAP_FIELD_INT)
        psnap_yaml_add_i64(w->doc, w->map, field->key, (int64_t)bits);
    else if (field->kind == PSNAP_FIELD_REAL)
        psnap_yaml_add_real(w->doc, w->map, field->key, real_of(bits));
    else if (field->kind == PSNAP_FIELD_TEXT)
        psnap_yaml_add_text(w->doc, w->map, field->key, pointer);
    else if (field->kind == PSNAP_FIELD_LIST)
        write_list(*w, field, from);
    else if (field->kind == PSNAP_FIELD_RECORD)
        psnap_record_write(w, w->map, field->key, field->record,
                           (const char *)from + field->offset);
    else if (field->kind == PSNAP_FIELD_TEXTS && pointer)
        write_texts(w->doc, psnap_write_list(w), pointer);
    else if (field->kind < PSNAP_FIELD_INT)
        psnap_yaml_add_u64(w->doc, w->map, field->key, bits);
    else if (field->kind == PSNAP_FIELD_FORM && field->write)
        field->write(w, from);
}

struct psnap_yaml_node *psnap_record_write(const struct psnap_writing *w,
                                           struct psnap_yaml_node *parent, const char *key,
                                           const struct psnap_record *record, const void *from)
{
    struct psnap_writing inner = *w;

    inner.map = psnap_yaml_add_map(w->doc, parent, key, record->style);
    for (size_t i = 0; i < record->count; i++) {
        inner.field = &record->fields[i];
        if (is_something(inner.field, from))
            write_value(&inner, inner.field, from);
    }
    return inner.map;
}

struct psnap_yaml_node *psnap_write_map(const struct psnap_writing *w)
{
    return psnap_yaml_add_map(w->doc, w->map, w->field->key, PSNAP_YAML_FLOW);
}

struct psnap_yaml_node *psnap_write_list(const struct psnap_writing *w)
{
    return psnap_yaml_add_sequence(w->doc, w->map, w->field->key, PSNAP_YAML_FLOW);
}
