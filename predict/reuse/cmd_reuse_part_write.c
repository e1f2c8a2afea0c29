/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A part to bytes (cmd_reuse_part.h has the layout).
 */
#include <stdlib.h>

#include "predict/reuse/cmd_reuse_part.h"
#include "predict/reuse/measure_parts.h"

static void put(struct repo_bytes *bytes, uint64_t value)
{
    uint8_t digits[10];
    size_t n = 0;

    for (; value >= 0x80; value >>= 7)
        digits[n++] = (uint8_t)(value | 0x80);
    digits[n++] = (uint8_t)value;
    repo_bytes_add(bytes, digits, n);
}

static void put_signed(struct repo_bytes *bytes, uint64_t value)
{
    put(bytes, value << 1 ^ (0 - (value >> 63)));
}

static void put_text(struct repo_bytes *bytes, const char *text)
{
    put(bytes, strlen(text));
    repo_bytes_add(bytes, text, strlen(text));
}

static void put_facts(struct repo_bytes *bytes, const struct part_facts *facts)
{
    const uint64_t numbers[] = {facts->part,  facts->parts,      facts->first,  facts->accesses,
                                facts->total, facts->bytes,      facts->seed,   facts->skip,
                                facts->count, facts->line_bytes, facts->scopes, facts->nanoseconds};

    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        put(bytes, numbers[i]);
    repo_bytes_add(bytes, facts->id.bytes, sizeof facts->id.bytes);
    put_text(bytes, facts->path);
    put_text(bytes, facts->from);
}

static void put_names(struct repo_bytes *bytes, const struct names *names)
{
    uint32_t next = 0; /* rows are numbered as they occur */

    put(bytes, names->of_count);
    for (size_t i = 0; i < names->of_count; i++) {
        const uint32_t row = names->row_of[i];
        put(bytes, row);
        if (row < next)
            continue;
        put_text(bytes, names->rows[row].id);
        put_text(bytes, names->rows[row].name);
        next++;
    }
}

static void put_counts(struct repo_bytes *bytes, const struct measure_view *view)
{
    put(bytes, view->count);
    for (uint32_t i = 0; i < view->count; i++) {
        struct psnap_distance_count each = {0};
        uint64_t from = 0;

        while (view->rows[i].known && psnap_distances_next(view->rows[i].known, &each)) {
            put(bytes, each.count);
            put(bytes, each.distance - from);
            from = each.distance + 1;
        }
        put(bytes, 0);
    }
}

static void put_firsts(struct repo_bytes *bytes, const struct first *firsts, size_t count)
{
    struct first last = {.ref = PSNAP_NONE};

    put(bytes, count);
    for (size_t i = 0; i < count; i++) {
        const struct first *first = &firsts[i];
        const bool is_same =
            first->ref == last.ref && first->thread == last.thread && first->tag == last.tag;

        put(bytes, first->joins ? PART_JOINS : is_same ? PART_SAME : 0);
        if (!first->joins && !is_same) {
            put(bytes, first->ref);
            put(bytes, first->thread);
            put(bytes, first->tag);
        }
        put_signed(bytes, first->line - last.line);
        last = *first;
    }
}

static void put_lines(struct repo_bytes *bytes, const struct stack *stack)
{
    const uint64_t count = stack_lines(stack);
    uint64_t *lines = malloc((count + 1) * sizeof *lines), last = 0;

    if (!lines || !stack_list(stack, lines)) {
        bytes->is_short = true;
        free(lines);
        return;
    }
    put(bytes, count);
    for (uint64_t i = 0; i < count; i++) {
        put_signed(bytes, lines[i] - last);
        last = lines[i];
    }
    free(lines);
}

void part_write(struct repo_bytes *bytes, const struct part_facts *facts,
                const struct names names[PSNAP_SCOPE_COUNT], const struct measure *measure)
{
    uint8_t version[4];

    repo_put_u32(version, PART_VERSION);
    repo_bytes_add(bytes, PART_MAGIC, PART_MAGIC_BYTES);
    repo_bytes_add(bytes, version, sizeof version);
    put_facts(bytes, facts);
    for (int i = 0; i < PSNAP_SCOPE_COUNT; i++)
        if (facts->scopes >> i & 1)
            put_names(bytes, &names[i]);
    for (int view = 0; view < PSNAP_VIEW_COUNT; view++)
        if (part_has_view(facts, (enum psnap_view)view))
            put_counts(bytes, &measure->views[view]);
    put_firsts(bytes, measure->firsts, measure->first_count);
    put(bytes, measure->thread_count);
    for (uint32_t i = 0; i < measure->thread_count; i++) {
        put(bytes, measure->threads[i]);
        put_lines(bytes, measure->memories[measure->threads[i]].stack);
    }
}
