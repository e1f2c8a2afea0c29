/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A part of a stream that was measured for itself, as a file: psnap reuse --part K/N makes them,
 * psnap reuse --merge measures the whole with them. Integers are little-endian, or varints: seven
 * bits a byte, low ones first, the high bit set on all bytes but the last; "signed" ones are n < 0
 * as -2n - 1, else 2n. Texts are a varint for their length, and bytes.
 *
 *     8 bytes    magic: 89 50 52 50 0d 0a 1a 0a
 *     4 bytes    version: 1
 *     facts      varints: part, parts; first access, accesses and those of all parts; length of the
 *                input; seed, skip, count, bytes of a line, scopes as bits, nanoseconds; 16 bytes:
 *                XXH3 of the input; texts: the input's path and format as they were given
 *     names      of each scope: rows of its view, and of each the number of a row of the scope,
 *                which counts from 0 in the order of their first occurrence; there its id and name
 *     counts     of each view: rows, and of each pairs (count, distance - the one before - 1), the
 *                first one is behind -1, up to a count of 0
 *     firsts     their number, and of each a byte: 1: of the access of the one before, 2: ref,
 *                thread and tag as before; if neither ref, thread and tag; signed: the line - the
 *                one before
 *     memories   their number, and of each the thread, lines and these, the one touched last at the
 *                end, signed: the line - the one before
 *     8 bytes    XXH3 of all bytes before
 */
#ifndef PSNAP_PREDICT_CMD_REUSE_PART_H
#define PSNAP_PREDICT_CMD_REUSE_PART_H

#include "predict/cmd_content.h"
#include "predict/reuse/cmd_reuse_names.h"

#define PART_MAGIC "\x89PRP\r\n\x1a\n"

enum { PART_MAGIC_BYTES = 8, PART_VERSION = 1, PART_START = 12, PART_SUM = 8, PARTS_MAX = 1 << 20 };

enum { PART_JOINS = 1, PART_SAME = 2 }; /* of a first touch */

struct part_facts {
    uint64_t part, parts;            /* 1 to parts */
    uint64_t first, accesses, total; /* of the window that is cut into parts */
    uint64_t bytes;
    uint64_t seed, skip, count, line_bytes, scopes, nanoseconds;
    struct repo_id id;
    char *path, *from; /* "": recognised */
};

/* The view is in a part that has this scope. */
static inline bool part_has_view(const struct part_facts *facts, enum psnap_view view)
{
    for (int i = 0; i < PSNAP_SCOPE_COUNT; i++)
        if (facts->scopes >> i & 1 && psnap_scope_view((enum psnap_scope)i) == view)
            return true;
    return view == PSNAP_VIEW_REF;
}

/* Appends a part, without its sum. names[] are those of the scopes, measure->views has all that
 * its first touches are of. */
void part_write(struct repo_bytes *bytes, const struct part_facts *facts,
                const struct names names[PSNAP_SCOPE_COUNT], const struct measure *measure);

/* A part's file in memory, checked. */
struct part {
    struct repo_bytes bytes;
    struct part_facts facts; /* owned */
    size_t at;               /* of what follows them */
};

/* Reads a file; the caller releases it, also when this fails. */
enum psnap_status part_open(struct part *part, const char *path, struct psnap_error *error);
void part_release(struct part *part);

/* What it has measured, to an empty chunk; its names are added to those of the whole. Rows of
 * PSNAP_VIEW_TAG get the number that they have in the whole: names[PSNAP_SCOPE_REGION]. */
enum psnap_status part_load(const struct part *part, const char *path, struct measure *chunk,
                            struct names names[PSNAP_SCOPE_COUNT], struct psnap_error *error);

#endif
