/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libyaml's events to a tree and back; the one file that includes libyaml.
 *
 * The input is read whole (its size is limited), since libyaml gives only a
 * byte offset for what is not UTF-8 and a person wants line and column. Limits
 * are checked as events arrive, so neither depth nor number of nodes grows
 * beyond them; aliases are refused, so nothing expands.
 *
 * Both directions walk the tree by parent links: no recursion, whatever the
 * depth.
 */
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "formats/base/arena.h"
#include "formats/base/room.h"
#include "formats/base/text.h"
#include "formats/base/yaml_tree.h"

#define WIDTH 100

struct reader {
    struct psnap_yaml_doc *doc;
    struct psnap_yaml_node *current; /* the container whose children come, NULL outside */
    unsigned depth;
    const char *key; /* the key whose value comes next, in a map */
    yaml_mark_t key_mark;
    struct psnap_error *error;
};

static enum psnap_status fail_at(const struct reader *reader, yaml_mark_t mark, const char *message)
{
    psnap_error_set(reader->error, PSNAP_ERROR_SYNTAX, "%s", message);
    psnap_error_at(reader->error, reader->doc->name, (uint32_t)mark.line + 1,
                   (uint32_t)mark.column + 1);
    return PSNAP_ERROR_SYNTAX;
}

static enum psnap_status out_of_memory(const struct reader *reader)
{
    psnap_error_set(reader->error, PSNAP_ERROR_MEMORY, "out of memory");
    psnap_error_at(reader->error, reader->doc->name, 0, 0);
    return PSNAP_ERROR_MEMORY;
}

/* The place of a byte offset, for what libyaml's own reader refuses. */
static yaml_mark_t find_mark(const char *text, size_t size, size_t offset)
{
    yaml_mark_t mark = {0, 0, 0};

    for (size_t i = 0; i < size && i < offset; i++) {
        if (text[i] == '\n') {
            mark.line++;
            mark.column = 0;
        } else if (((unsigned char)text[i] & 0xc0) != 0x80) {
            mark.column++;
        }
    }
    return mark;
}

static enum psnap_status parser_failed(const struct reader *reader, const yaml_parser_t *parser,
                                       const char *text, size_t size)
{
    const yaml_mark_t end = find_mark(text, size, size), at = parser->problem_mark;
    char message[256];

    if (parser->error == YAML_MEMORY_ERROR)
        return out_of_memory(reader);
    if (parser->error == YAML_READER_ERROR)
        return fail_at(reader, find_mark(text, size, parser->problem_offset),
                       parser->problem ? parser->problem : "input that is no text");
    snprintf(message, sizeof message, "%s%s%s%s",
             at.line > end.line || (at.line == end.line && at.column >= end.column)
                 ? "the text ends in the middle: "
                 : "",
             parser->problem ? parser->problem : "not well formed", parser->context ? " " : "",
             parser->context ? parser->context : "");
    return fail_at(reader, parser->problem_mark, message);
}

static char *copy_scalar(const struct reader *reader, const yaml_event_t *event)
{
    return psnap_arena_strndup(reader->doc->arena, (const char *)event->data.scalar.value,
                               event->data.scalar.length);
}

/* What no node of ours may have. */
static enum psnap_status check_properties(const struct reader *reader, const yaml_event_t *event)
{
    const bool is_scalar = event->type == YAML_SCALAR_EVENT;
    const bool is_list = event->type == YAML_SEQUENCE_START_EVENT;
    const yaml_char_t *anchor = is_scalar ? event->data.scalar.anchor
                                : is_list ? event->data.sequence_start.anchor
                                          : event->data.mapping_start.anchor;
    const yaml_char_t *tag = is_scalar ? event->data.scalar.tag
                             : is_list ? event->data.sequence_start.tag
                                       : event->data.mapping_start.tag;

    if (is_scalar && memchr(event->data.scalar.value, '\0', event->data.scalar.length))
        return fail_at(reader, event->start_mark, "text with a NUL character");
    if (anchor)
        return fail_at(reader, event->start_mark, "anchors are not allowed");
    if (tag)
        return fail_at(reader, event->start_mark, "tags are not allowed");
    if (reader->doc->nodes >= PSNAP_YAML_NODES)
        return fail_at(reader, event->start_mark, "too many values");
    return PSNAP_OK;
}

static enum psnap_status take_key(struct reader *reader, const yaml_event_t *event)
{
    if (event->type != YAML_SCALAR_EVENT)
        return fail_at(reader, event->start_mark, "a key must be plain text");
    reader->key = copy_scalar(reader, event);
    reader->key_mark = event->start_mark;
    return reader->key ? PSNAP_OK : out_of_memory(reader);
}

/* Fills in what differs between scalars, sequences and maps, and steps into containers. */
static enum psnap_status enter_node(struct reader *reader, struct psnap_yaml_node *node,
                                    const yaml_event_t *event)
{
    bool flow;

    if (event->type == YAML_SCALAR_EVENT) {
        node->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
        node->text = copy_scalar(reader, event);
        return node->text ? PSNAP_OK : out_of_memory(reader);
    }
    if (reader->depth == PSNAP_YAML_DEPTH)
        return fail_at(reader, event->start_mark, "nested too deeply");
    if (event->type == YAML_SEQUENCE_START_EVENT)
        flow = event->data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE;
    else
        flow = event->data.mapping_start.style == YAML_FLOW_MAPPING_STYLE;
    node->style = flow ? PSNAP_YAML_FLOW : PSNAP_YAML_BLOCK;
    reader->current = node;
    reader->depth++;
    return PSNAP_OK;
}

static enum psnap_status take_node(struct reader *reader, const yaml_event_t *event)
{
    const enum psnap_yaml_kind kind = event->type == YAML_SCALAR_EVENT ? PSNAP_YAML_SCALAR
                                      : event->type == YAML_SEQUENCE_START_EVENT
                                          ? PSNAP_YAML_SEQUENCE
                                          : PSNAP_YAML_MAP;
    const enum psnap_status status = check_properties(reader, event);
    struct psnap_yaml_node *node;

    if (status != PSNAP_OK)
        return status;
    if (reader->current && reader->current->kind == PSNAP_YAML_MAP && !reader->key)
        return take_key(reader, event);
    node = psnap_yaml_append(reader->doc, reader->current, reader->key, kind);
    if (!node)
        return out_of_memory(reader);
    if (reader->key) {
        node->key_line = (uint32_t)reader->key_mark.line + 1;
        node->key_column = (uint32_t)reader->key_mark.column + 1;
        reader->key = NULL;
    }
    node->src_line = (uint32_t)event->start_mark.line + 1;
    node->column = (uint32_t)event->start_mark.column + 1;
    return enter_node(reader, node, event);
}

static enum psnap_status take_event(struct reader *reader, const yaml_event_t *event)
{
    const struct psnap_yaml_node *ended;

    switch (event->type) {
    case YAML_SCALAR_EVENT:
    case YAML_SEQUENCE_START_EVENT:
    case YAML_MAPPING_START_EVENT:
        return take_node(reader, event);
    case YAML_ALIAS_EVENT:
        return fail_at(reader, event->start_mark, "aliases are not allowed");
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        ended = reader->current;
        assert(ended); /* libyaml ends what it has begun */
        reader->current = ended->parent;
        reader->depth--;
        return ended->kind == PSNAP_YAML_MAP
                   ? psnap_yaml_unique_keys(reader->doc, ended, reader->error)
                   : PSNAP_OK;
    case YAML_DOCUMENT_START_EVENT:
        if (reader->doc->root)
            return fail_at(reader, event->start_mark, "a second document is not allowed");
        return PSNAP_OK;
    case YAML_STREAM_END_EVENT:
        if (!reader->doc->root)
            return fail_at(reader, (yaml_mark_t){0, 0, 0}, "the input is empty");
        return PSNAP_OK;
    default:
        return PSNAP_OK;
    }
}

static enum psnap_status read_events(struct reader *reader, const char *text, size_t size)
{
    enum psnap_status status = PSNAP_OK;
    yaml_parser_t parser;
    bool ended = false;

    if (!yaml_parser_initialize(&parser))
        return out_of_memory(reader);
    yaml_parser_set_input_string(&parser, (const unsigned char *)(text ? text : ""), size);
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING); /* no guessing: UTF-16 is an error */
    while (status == PSNAP_OK && !ended) {
        yaml_event_t event;
        if (!yaml_parser_parse(&parser, &event)) {
            status = parser_failed(reader, &parser, text, size);
            break;
        }
        ended = event.type == YAML_STREAM_END_EVENT;
        status = take_event(reader, &event);
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    return status;
}

static enum psnap_status too_large(const char *name, struct psnap_error *error)
{
    psnap_error_set(error, PSNAP_ERROR_MEMORY, "larger than %u MiB",
                    (unsigned)(PSNAP_YAML_BYTES >> 20));
    psnap_error_at(error, name, 0, 0);
    return PSNAP_ERROR_MEMORY;
}

struct psnap_yaml_doc *psnap_yaml_read_text(const char *text, size_t size, const char *name,
                                            struct psnap_error *error)
{
    struct reader reader = {.doc = psnap_yaml_doc_new(name), .error = error};

    if (!reader.doc) {
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        return NULL;
    }
    if (size >= 3 && size <= PSNAP_YAML_BYTES &&
        !memcmp(text, "\xef\xbb\xbf", 3)) { /* a byte order mark, as some editors do */
        text += 3;
        size -= 3;
    }
    if (size > PSNAP_YAML_BYTES)
        too_large(name, error);
    else if (read_events(&reader, text, size) == PSNAP_OK)
        return reader.doc;
    psnap_yaml_doc_free(reader.doc);
    return NULL;
}

struct psnap_yaml_doc *psnap_yaml_read(FILE *file, const char *name, struct psnap_error *error)
{
    struct psnap_yaml_doc *doc = NULL;
    size_t size = 0, room = 0;
    char *text = NULL;

    while (!feof(file) && !ferror(file) && size <= PSNAP_YAML_BYTES) {
        if (!psnap_make_room(&text, &room, size + BUFSIZ, 1)) {
            psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
            goto out;
        }
        errno = 0;
        size += fread(text + size, 1, room - size, file);
    }
    if (ferror(file))
        psnap_error_file(error, errno ? errno : EIO, "read", name);
    else
        doc = psnap_yaml_read_text(text, size, name, error);
    if (doc && size)
        doc->is_cut = text[size - 1] != '\n';
out:
    free(text);
    return doc;
}

/* Writing */

static int write_bytes(void *file, unsigned char *bytes, size_t size)
{
    return fwrite(bytes, 1, size, file) == size;
}

/* Whether a text is to be escaped. To libyaml some of such characters are printable, unless all
 * beyond ASCII are not, from here on: events that it has not written yet have none. */
static bool has_hidden(yaml_emitter_t *emitter, const char *text)
{
    bool has_one = false;

    for (; *text; text = psnap_text_next(text)) {
        const bool is_hidden = !psnap_text_shown(text);
        has_one |= is_hidden;
        if (is_hidden && (unsigned char)*text > 0x7f)
            yaml_emitter_set_unicode(emitter, 0);
    }
    return has_one;
}

/* libyaml may still quote what is to be plain, where plain would not read back. */
static int scalar_event(yaml_emitter_t *emitter, yaml_event_t *event, const char *text, bool quoted)
{
    const yaml_scalar_style_t style = has_hidden(emitter, text) ? YAML_DOUBLE_QUOTED_SCALAR_STYLE
                                      : quoted                  ? YAML_SINGLE_QUOTED_SCALAR_STYLE
                                                                : YAML_PLAIN_SCALAR_STYLE;

    return yaml_scalar_event_initialize(event, NULL, NULL, (const yaml_char_t *)text,
                                        (int)strlen(text), 1, 1, style);
}

static int start_event(yaml_emitter_t *emitter, yaml_event_t *event,
                       const struct psnap_yaml_node *node)
{
    const bool flow = node->style == PSNAP_YAML_FLOW;

    switch (node->kind) {
    case PSNAP_YAML_SEQUENCE:
        return yaml_sequence_start_event_initialize(
            event, NULL, NULL, 1, flow ? YAML_FLOW_SEQUENCE_STYLE : YAML_BLOCK_SEQUENCE_STYLE);
    case PSNAP_YAML_MAP:
        return yaml_mapping_start_event_initialize(
            event, NULL, NULL, 1, flow ? YAML_FLOW_MAPPING_STYLE : YAML_BLOCK_MAPPING_STYLE);
    default:
        return scalar_event(emitter, event, node->text, node->quoted);
    }
}

static int end_event(yaml_event_t *event, const struct psnap_yaml_node *node)
{
    return node->kind == PSNAP_YAML_MAP ? yaml_mapping_end_event_initialize(event)
                                        : yaml_sequence_end_event_initialize(event);
}

/* A key is always text to our readers, so one that is a number stays readable: {8: 100}. */
static bool quoted_key(const char *key)
{
    const char *digits = key + (*key == '-');
    const size_t n = strspn(digits, "0123456789");

    if (n && !digits[n] && (*digits != '0' || n == 1)) /* a leading 0 is octal to some */
        return false;
    return psnap_yaml_looks_typed(key);
}

/* A node without its children, after its key. */
static int emit_start(yaml_emitter_t *emitter, const struct psnap_yaml_node *node)
{
    yaml_event_t event;

    if (node->key && !(scalar_event(emitter, &event, node->key, quoted_key(node->key)) &&
                       yaml_emitter_emit(emitter, &event)))
        return 0;
    return start_event(emitter, &event, node) && yaml_emitter_emit(emitter, &event);
}

/* Items of a sequence that are made while they are written. */
struct items {
    const struct psnap_yaml_node *list;
    void (*make)(void *context, struct psnap_yaml_doc *doc);
    void *context;
    size_t count;
};

static int emit_tree(yaml_emitter_t *emitter, const struct psnap_yaml_node *root,
                     const struct items *items);

/* The items of a list; 0 with the emitter's error, out of memory if it has none. What they have in
 * flow style stands in one line each, however long: there may be very many. */
static int emit_items(yaml_emitter_t *emitter, const struct items *items)
{
    int is_done = 1;

    yaml_emitter_set_width(emitter, INT_MAX);
    for (size_t i = 0; i < items->count && is_done; i++) {
        struct psnap_yaml_doc *doc = psnap_yaml_doc_new("");
        if (doc)
            items->make(items->context, doc);
        is_done = doc && !doc->out_of_memory && emit_tree(emitter, doc->root, NULL);
        psnap_yaml_doc_free(doc);
    }
    yaml_emitter_set_width(emitter, WIDTH);
    return is_done;
}

static int emit_tree(yaml_emitter_t *emitter, const struct psnap_yaml_node *root,
                     const struct items *items)
{
    const struct psnap_yaml_node *node = root;
    yaml_event_t event;

    for (;;) {
        if (!emit_start(emitter, node))
            return 0;
        if (node->first) {
            node = node->first;
            continue;
        }
        if (items && node == items->list && !emit_items(emitter, items))
            return 0;
        if (node->kind != PSNAP_YAML_SCALAR &&
            !(end_event(&event, node) && yaml_emitter_emit(emitter, &event)))
            return 0;
        while (node != root && !node->next) {
            node = node->parent;
            if (!(end_event(&event, node) && yaml_emitter_emit(emitter, &event)))
                return 0;
        }
        if (node == root)
            return 1;
        node = node->next;
    }
}

static int emit_document(yaml_emitter_t *emitter, const struct psnap_yaml_node *root,
                         const struct items *items)
{
    /* a document of one empty value would vanish without its "---" */
    const int implicit = root->kind != PSNAP_YAML_SCALAR || root->quoted || *root->text;
    yaml_event_t event;

    return yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING) &&
           yaml_emitter_emit(emitter, &event) &&
           yaml_document_start_event_initialize(&event, NULL, NULL, NULL, implicit) &&
           yaml_emitter_emit(emitter, &event) && emit_tree(emitter, root, items) &&
           yaml_document_end_event_initialize(&event, 1) && yaml_emitter_emit(emitter, &event) &&
           yaml_stream_end_event_initialize(&event) && yaml_emitter_emit(emitter, &event);
}

static enum psnap_status write_document(const struct psnap_yaml_doc *doc, const struct items *items,
                                        FILE *file, struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;
    yaml_emitter_t emitter;

    if (doc->out_of_memory || !yaml_emitter_initialize(&emitter))
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    if (!doc->root) {
        yaml_emitter_delete(&emitter);
        return psnap_error_set(error, PSNAP_ERROR_USAGE, "a document without content");
    }
    yaml_emitter_set_output(&emitter, write_bytes, file);
    yaml_emitter_set_unicode(&emitter, 1);
    yaml_emitter_set_width(&emitter, WIDTH);
    errno = 0;
    if (!emit_document(&emitter, doc->root, items)) {
        if (emitter.error == YAML_WRITER_ERROR)
            status = psnap_error_system(error, errno ? errno : EIO, "cannot write");
        else
            status = psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    } else if (fflush(file) != 0) {
        status = psnap_error_system(error, errno, "cannot write");
    }
    yaml_emitter_delete(&emitter);
    return status;
}

enum psnap_status psnap_yaml_write(const struct psnap_yaml_doc *doc, FILE *file,
                                   struct psnap_error *error)
{
    return write_document(doc, NULL, file, error);
}

enum psnap_status psnap_yaml_write_list(const struct psnap_yaml_doc *doc,
                                        const struct psnap_yaml_node *list,
                                        void (*item)(void *context, struct psnap_yaml_doc *doc),
                                        void *context, size_t count, FILE *file,
                                        struct psnap_error *error)
{
    const struct items items = {list, item, context, count};

    return write_document(doc, &items, file, error);
}
