/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A part from its file (cmd_reuse_part.h has the layout). The sum is looked at first: what is read
 * behind it is as it was written. What it says is checked nevertheless, as anybody can make a sum.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "predict/reuse/cmd_reuse_part.h"
#include "predict/reuse/measure_parts.h"
#include "predict/reuse/table.h"
#include "replay/cmd_input.h"

/* A place in a part; once something makes no sense all that follows is 0. */
struct cursor {
    const uint8_t *at, *end;
    const uint8_t *wrong; /* where, NULL: nothing */
    bool is_short;        /* of memory */
};

static void mark(struct cursor *cursor, const uint8_t *where)
{
    if (!cursor->wrong)
        cursor->wrong = where;
    cursor->at = cursor->end;
}

static uint64_t get(struct cursor *cursor)
{
    const uint8_t *begin = cursor->at;
    uint64_t value = 0;

    for (unsigned digits = 0; digits < 64 && cursor->at < cursor->end; digits += 7) {
        const uint8_t byte = *cursor->at++;
        if (digits == 63 && byte > 1)
            break;
        value |= (uint64_t)(byte & 0x7f) << digits;
        if (!(byte & 0x80))
            return value;
    }
    mark(cursor, begin);
    return 0;
}

/* A number up to `most`. */
static uint64_t get_below(struct cursor *cursor, uint64_t most)
{
    const uint8_t *begin = cursor->at;
    const uint64_t value = get(cursor);

    if (value <= most)
        return value;
    mark(cursor, begin);
    return 0;
}

static uint64_t get_signed(struct cursor *cursor)
{
    const uint64_t value = get(cursor);

    return value >> 1 ^ (0 - (value & 1));
}

/* The number of things that follow, of a byte or more each. */
static uint64_t get_count(struct cursor *cursor)
{
    return get_below(cursor, (uint64_t)(cursor->end - cursor->at));
}

/* The caller's to free; NULL: there is none. */
static char *get_text(struct cursor *cursor)
{
    const size_t size = (size_t)get_count(cursor);
    char *text;

    if (cursor->wrong || size > (size_t)(cursor->end - cursor->at)) {
        mark(cursor, cursor->at);
        return NULL;
    }
    text = strndup((const char *)cursor->at, size);
    cursor->at += size;
    cursor->is_short = cursor->is_short || !text;
    return text;
}

static enum psnap_status ended(const struct cursor *cursor, const struct part *part,
                               const char *path, struct psnap_error *error)
{
    if (cursor->wrong) {
        psnap_error_set(error, PSNAP_ERROR_CORRUPT, "the part of reuse distances makes no sense");
        psnap_error_at_offset(error, path, (uint64_t)(cursor->wrong - part->bytes.data));
        return PSNAP_ERROR_CORRUPT;
    }
    if (cursor->is_short) {
        psnap_error_set(error, PSNAP_ERROR_MEMORY,
                        "out of memory for a part, or there are too many lines");
        psnap_error_at(error, path, 0, 0);
        return PSNAP_ERROR_MEMORY;
    }
    return PSNAP_OK;
}

/* --------------------------------------------------------------------- the file */

static struct cursor cursor_of(const struct part *part)
{
    return (struct cursor){part->bytes.data + part->at,
                           part->bytes.data + part->bytes.size - PART_SUM, NULL, false};
}

static enum psnap_status read_file(struct part *part, const char *path, struct psnap_error *error)
{
    enum { PIECE = 1 << 16 };
    FILE *file = psnap_input_file(path, error);
    enum psnap_status status = PSNAP_OK;
    size_t got = 1;

    if (!file)
        return error->code;
    while (got) {
        uint8_t *room = repo_bytes_room(&part->bytes, PIECE);
        got = room ? fread(room, 1, PIECE, file) : 0;
        part->bytes.size += got;
    }
    if (part->bytes.is_short)
        status = psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for '%.200s'", path);
    else if (ferror(file))
        status = psnap_error_file(error, errno, "read", path);
    if (file != stdin)
        fclose(file);
    return status;
}

/* Magic, version and sum. */
static enum psnap_status check_file(const struct part *part, const char *path,
                                    struct psnap_error *error)
{
    const uint8_t *data = part->bytes.data;
    const size_t size = part->bytes.size;
    const uint32_t version = size >= PART_START ? repo_get_u32(data + PART_MAGIC_BYTES) : 0;

    if (size < PART_MAGIC_BYTES || memcmp(data, PART_MAGIC, PART_MAGIC_BYTES) != 0)
        psnap_error_set(error, PSNAP_ERROR_VALUE,
                        "no part of reuse distances: 'psnap reuse INPUT --part K/N' makes them");
    else if (size >= PART_START && version != PART_VERSION)
        psnap_error_set(error, PSNAP_ERROR_VERSION,
                        "a part of version %" PRIu32 ", and this psnap reads version %d", version,
                        PART_VERSION);
    else if (size < PART_START + PART_SUM ||
             repo_get_u64(data + size - PART_SUM) != repo_sum_of(data, size - PART_SUM))
        psnap_error_set(error, PSNAP_ERROR_CORRUPT,
                        "the part is damaged, or cut off: make it again");
    else
        return PSNAP_OK;
    psnap_error_at(error, path, 0, 0);
    return error->code;
}

static void get_facts(struct cursor *cursor, struct part_facts *facts)
{
    uint64_t *const numbers[] = {&facts->part,       &facts->parts,  &facts->first,
                                 &facts->accesses,   &facts->total,  &facts->bytes,
                                 &facts->seed,       &facts->skip,   &facts->count,
                                 &facts->line_bytes, &facts->scopes, &facts->nanoseconds};
    const uint8_t *begin = cursor->at;

    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        *numbers[i] = get(cursor);
    if ((size_t)(cursor->end - cursor->at) < sizeof facts->id.bytes)
        mark(cursor, begin);
    else
        memcpy(facts->id.bytes, cursor->at, sizeof facts->id.bytes);
    if (!cursor->wrong)
        cursor->at += sizeof facts->id.bytes;
    facts->path = get_text(cursor);
    facts->from = get_text(cursor);
    if (!facts->part || facts->part > facts->parts || facts->parts > PARTS_MAX ||
        facts->first > facts->total || facts->accesses > facts->total - facts->first ||
        !facts->line_bytes || facts->line_bytes & (facts->line_bytes - 1) ||
        facts->line_bytes > PSNAP_REUSE_LINE_MAX || !facts->scopes ||
        facts->scopes >> PSNAP_SCOPE_COUNT)
        mark(cursor, begin);
}

enum psnap_status part_open(struct part *part, const char *path, struct psnap_error *error)
{
    struct cursor cursor;
    enum psnap_status status;

    *part = (struct part){.at = PART_START};
    status = read_file(part, path, error);
    if (!status)
        status = check_file(part, path, error);
    if (status)
        return status;
    cursor = cursor_of(part);
    get_facts(&cursor, &part->facts);
    part->at = (size_t)(cursor.at - part->bytes.data);
    return ended(&cursor, part, path, error);
}

void part_release(struct part *part)
{
    repo_bytes_release(&part->bytes);
    free(part->facts.path);
    free(part->facts.from);
    *part = (struct part){.at = PART_START};
}

/* ------------------------------------------------------------------- what it has */

struct loading {
    struct cursor cursor;
    const struct part_facts *facts;
    struct measure *chunk;
    struct names *names;
    uint32_t *tags; /* of the part to those of the whole */
    uint64_t tag_count;
    bool is_other; /* a row has another name than in a part before */
};

/* The rows of a scope: numbers of the part to those of the whole. */
static void load_names(struct loading *loading, enum psnap_scope scope)
{
    struct cursor *cursor = &loading->cursor;
    struct names *names = &loading->names[scope];
    const uint64_t count = get_count(cursor);
    uint32_t *rows = malloc((count + 1) * sizeof *rows), *of = malloc((count + 1) * sizeof *of);
    uint64_t known = 0;

    cursor->is_short = cursor->is_short || !rows || !of;
    for (uint64_t i = 0; i < count && !cursor->wrong && !cursor->is_short; i++) {
        const uint64_t row = get_below(cursor, known);
        enum psnap_status status;
        if (row == known) {
            char *id = get_text(cursor), *name = get_text(cursor);
            rows[known++] = id && name ? names_add(names, id, name) : PSNAP_NONE;
            cursor->is_short = cursor->is_short || (id && name && rows[row] == PSNAP_NONE);
            free(id);
            free(name);
        }
        of[i] = rows[row];
        if (of[i] == PSNAP_NONE)
            break;
        status = names_map(names, scope == PSNAP_SCOPE_REGION ? of[i] : (uint32_t)i, of[i]);
        loading->is_other = loading->is_other || status == PSNAP_ERROR_VALUE;
        cursor->is_short = cursor->is_short || status == PSNAP_ERROR_MEMORY;
    }
    free(rows);
    if (scope == PSNAP_SCOPE_REGION) {
        loading->tags = of;
        loading->tag_count = count;
    } else {
        free(of);
    }
}

/* The row that the chunk has of one of the part's; NULL: something is wrong. */
static struct measure_row *row_of(struct loading *loading, enum psnap_view view, uint64_t i)
{
    struct measure_row *row;

    if (view == PSNAP_VIEW_TAG && i >= loading->tag_count)
        mark(&loading->cursor, loading->cursor.at);
    if (loading->cursor.wrong || loading->cursor.is_short)
        return NULL;
    row = measure_new_row(&loading->chunk->views[view],
                          view == PSNAP_VIEW_TAG ? loading->tags[i] : (uint32_t)i);
    loading->cursor.is_short = !row;
    return row;
}

static uint64_t load_counts(struct loading *loading, enum psnap_view view)
{
    struct cursor *cursor = &loading->cursor;
    const uint64_t rows = get_count(cursor);
    uint64_t accesses = 0;

    for (uint64_t i = 0; i < rows; i++) {
        struct measure_row *row = row_of(loading, view, i);
        uint64_t from = 0, count;
        while (row && (count = get(cursor)) != 0) {
            const uint64_t distance =
                from + get_below(cursor, from <= TABLE_CELLS_MAX ? TABLE_CELLS_MAX - from : 0);
            if (!cursor->wrong && !measure_add(&row->known, distance, count))
                cursor->is_short = true;
            if (cursor->is_short)
                return 0;
            from = distance + 1;
            accesses += count;
        }
    }
    return accesses;
}

/* The accesses that the first touches are of. */
static uint64_t load_firsts(struct loading *loading)
{
    struct cursor *cursor = &loading->cursor;
    const struct measure_view *views = loading->chunk->views;
    const uint64_t count = get_count(cursor);
    struct first first = {.ref = PSNAP_NONE};
    uint64_t accesses = 0;

    for (uint64_t i = 0; i < count && !cursor->wrong && !cursor->is_short; i++) {
        const uint8_t *begin = cursor->at;
        const uint64_t form = get_below(cursor, PART_SAME);
        if (!form) {
            first.ref = (uint32_t)get_below(cursor, UINT32_MAX);
            first.thread = (uint16_t)get_below(cursor, UINT16_MAX);
            first.tag = (uint32_t)get_below(cursor, UINT32_MAX);
            if (loading->tags)
                first.tag = first.tag < loading->tag_count ? loading->tags[first.tag] : PSNAP_NONE;
        }
        first.line += get_signed(cursor);
        first.joins = form == PART_JOINS;
        accesses += !first.joins;
        if (first.ref >= views[PSNAP_VIEW_REF].count || (first.joins && !i) ||
            (loading->chunk->options->by_thread &&
             first.thread >= views[PSNAP_VIEW_THREAD].count) ||
            (loading->tags && first.tag >= views[PSNAP_VIEW_TAG].count))
            mark(cursor, begin);
        if (!cursor->wrong && !measure_keep_first(loading->chunk, &first))
            cursor->is_short = true;
    }
    return accesses;
}

static void load_lines(struct loading *loading)
{
    struct cursor *cursor = &loading->cursor;
    const uint64_t memories = get_below(cursor, PSNAP_THREADS_MAX);

    for (uint64_t i = 0; i < memories && !cursor->wrong && !cursor->is_short; i++) {
        const uint16_t thread = (uint16_t)get_below(cursor, UINT16_MAX);
        const uint64_t lines = get_count(cursor);
        const struct memory *memory = cursor->wrong ? NULL : measure_memory(loading->chunk, thread);
        uint64_t line = 0;
        cursor->is_short = !cursor->wrong && !memory;
        for (uint64_t k = 0; k < lines && memory && !cursor->wrong && !cursor->is_short; k++) {
            line += get_signed(cursor);
            cursor->is_short = stack_touch(memory->stack, line) == STACK_FAILED;
        }
    }
}

enum psnap_status part_load(const struct part *part, const char *path, struct measure *chunk,
                            struct names names[PSNAP_SCOPE_COUNT], struct psnap_error *error)
{
    struct loading loading = {
        .cursor = cursor_of(part), .facts = &part->facts, .chunk = chunk, .names = names};
    uint64_t accesses = 0;
    enum psnap_status status;

    for (int i = 0; i < PSNAP_SCOPE_COUNT; i++)
        if (part->facts.scopes >> i & 1)
            load_names(&loading, (enum psnap_scope)i);
    for (int view = 0; view < PSNAP_VIEW_COUNT; view++)
        if (part_has_view(&part->facts, (enum psnap_view)view)) {
            const uint64_t of_view = load_counts(&loading, (enum psnap_view)view);
            accesses += view == PSNAP_VIEW_REF ? of_view : 0;
        }
    accesses += load_firsts(&loading);
    load_lines(&loading);
    if (accesses != part->facts.accesses || loading.cursor.at != loading.cursor.end)
        mark(&loading.cursor, loading.cursor.at);
    status = ended(&loading.cursor, part, path, error);
    free(loading.tags);
    if (status || !loading.is_other)
        return status;
    psnap_error_set(error, PSNAP_ERROR_VALUE,
                    "the program of this part has other loops, blocks or regions than that of "
                    "the parts before");
    psnap_error_at(error, path, 0, 0);
    return PSNAP_ERROR_VALUE;
}
