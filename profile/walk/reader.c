/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The numbers of a nest in their order (reader.h).
 */
#include "profile/walk/reader.h"

void reader_release(struct reader *reader)
{
    nest_cursor_free(&reader->cursor);
}

static void begin(struct reader *reader, const struct nest_pattern *run, const uint64_t *values)
{
    const bool is_constant = reader->terms->count == 1 && !reader->is_inside && !run->steps[0];

    reader->left = is_constant ? UINT64_MAX : values[0];
    reader->next = values[1];
    reader->stride = run->steps[0];
}

bool reader_fill(struct reader *reader)
{
    const struct nest_terms *terms = reader->terms;
    size_t passed = 0; /* terms without numbers, one after the other */

    while (passed <= terms->count) {
        const struct nest_pattern *pattern;
        const uint64_t *values;
        if (reader->is_inside) {
            struct nest_leaf leaf;
            const int more = nest_cursor_next(&reader->cursor, &leaf);
            reader->has_failed |= more < 0;
            if (more < 0)
                return false;
            if (more) {
                begin(reader, leaf.pattern, leaf.values);
                return true;
            }
            reader->is_inside = false;
        }
        passed++;
        if (reader->term >= terms->count)
            reader->term = 0;
        if (!terms->count)
            return false;
        pattern = terms->terms[reader->term].pattern;
        values = nest_term_values(terms, reader->term++);
        if ((int64_t)values[0] <= 0)
            continue;
        if (!pattern->body_count) {
            begin(reader, pattern, values);
            return true;
        }
        reader->is_inside = nest_cursor_start(&reader->cursor, pattern, values, 0, values[0]);
        reader->has_failed |= !reader->is_inside;
        if (reader->has_failed)
            return false;
    }
    return false;
}
