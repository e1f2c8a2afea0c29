/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Spatter's patterns (JSONParser.cc), written only: not the stream but the patterns that are
 * found in the loads, and in the stores, of each region (pattern_states.h). A configuration is
 * {name, kernel, pattern, delta, count}: access j of repetition i is to element pattern[j] + delta
 * * i, of 8 bytes. Both are at least 0, so a pattern begins at its lowest element, and runs that go
 * down are mirrored. `count` is the longest run, for Spatter's buffer is as large as that; the name
 * says how many runs and accesses there were.
 *
 * A region without a pattern has its first window of accesses as one, which advances so that all
 * windows together are in the range that the region's accesses are in. Buffers have at most
 * ELEMENTS_MAX elements: distances are modulo that.
 *
 * A region's accesses are collected until there is a window full of them. The shortest pattern
 * that repeats itself at a constant step, a multiple of 8 bytes, over the most of the window is
 * taken if it does so for at least half of it: then further accesses are only compared, until one
 * is another. What has no such pattern is irregular. Two runs are the same pattern when their
 * offsets from the lowest address and their steps are; runs of a ninth pattern, what remains of a
 * run behind its last whole repetition, and patterns of fewer than LEAST accesses are left out, and
 * counted.
 */
#include <inttypes.h>
#include <string.h>

#include "formats/base/json.h"
#include "formats/pattern_states.h"
#include "formats/trace.h"

#define ELEMENT 8u
#define ELEMENTS_MAX (UINT64_C(1) << 30)
enum {
    WINDOW = 64,  /* accesses in which a pattern is looked for */
    PATTERN = 32, /* the longest that repeats */
    PIECES = 8,   /* different patterns of a region */
    WIDE = 8,     /* elements of a pattern of one stride, as many as Spatter's own UNIFORM has */
    LEAST = 64    /* accesses of a pattern: fewer are over before they can be measured */
};

/* Repetitions of a pattern: access j of repetition i is to `first[j]` + i * step. */
struct piece {
    uint32_t length;
    uint64_t step;             /* in bytes, as a number with sign; a multiple of 8 */
    uint64_t offsets[PATTERN]; /* in elements of 8 bytes from the lowest on */
    uint64_t longest;          /* repetitions of the longest run */
    uint64_t runs, accesses;   /* in whole repetitions, of all of them */
};

struct region {
    uint64_t accesses, loads, left_out;
    uint64_t window[WINDOW]; /* addresses: not looked at yet, or */
    uint32_t used;
    uint32_t length;      /* those of the last repetition, if not 0: so many */
    uint64_t step, count; /* what is repeated, and accesses of it so far */
    uint64_t begin[PATTERN];
    struct piece pieces[PIECES];
    uint32_t piece_count;
    uint64_t irregular[WINDOW]; /* addresses of the first window without a pattern */
    uint32_t irregular_used;
    uint64_t irregular_accesses, low, high; /* of all such */
};

/* How many of the window's first accesses repeat a pattern of `length`. */
static uint32_t repeated(const struct region *region, uint32_t length)
{
    const uint64_t *window = region->window;
    const uint64_t step = window[length] - window[0];
    uint32_t n = length;

    if (step % ELEMENT)
        return 0;
    while (n < region->used && window[n] - window[n - length] == step)
        n++;
    return n;
}

static struct piece *piece_of(struct region *region, const struct piece *wanted)
{
    for (uint32_t i = 0; i < region->piece_count; i++) {
        struct piece *piece = &region->pieces[i];
        if (piece->length == wanted->length && piece->step == wanted->step &&
            !memcmp(piece->offsets, wanted->offsets, sizeof piece->offsets))
            return piece;
    }
    if (region->piece_count == PIECES)
        return NULL;
    region->pieces[region->piece_count] = *wanted;
    return &region->pieces[region->piece_count++];
}

/* Puts down a run of `count` accesses that began with the pattern `begin`. */
static void put_down(struct region *region, const uint64_t *begin, uint32_t length, uint64_t step,
                     uint64_t count)
{
    struct piece wanted = {.length = length, .step = step}, *piece;
    const uint64_t repetitions = count / length;
    uint64_t low = UINT64_MAX;

    for (uint32_t i = 0; i < length; i++)
        low = begin[i] < low ? begin[i] : low;
    low -= low % ELEMENT;
    for (uint32_t i = 0; i < length; i++)
        wanted.offsets[i] = (begin[i] - low) / ELEMENT;
    piece = piece_of(region, &wanted);
    if (!piece) {
        region->left_out += count;
        return;
    }
    region->left_out += count % length;
    piece->runs++;
    piece->accesses += repetitions * length;
    piece->longest = repetitions > piece->longest ? repetitions : piece->longest;
}

static void put_irregular(struct region *region)
{
    if (!region->irregular_used) {
        memcpy(region->irregular, region->window, sizeof region->window);
        region->irregular_used = region->used;
        region->low = region->high = region->window[0];
    }
    for (uint32_t i = 0; i < region->used; i++) {
        const uint64_t address = region->window[i];
        region->low = address < region->low ? address : region->low;
        region->high = address > region->high ? address : region->high;
    }
    region->irregular_accesses += region->used;
    region->used = 0;
}

/* Looks at a window, and takes at least one access from it. */
static void look(struct region *region)
{
    uint64_t last[PATTERN];
    uint32_t most = 0, length = 0;

    for (uint32_t p = 1; p <= PATTERN && 2 * p <= region->used; p++) {
        const uint32_t n = repeated(region, p);
        if (n > most) {
            most = n;
            length = p;
        }
        if (most == region->used)
            break;
    }
    if (most < 2 * length || 2 * most < region->used || !length) {
        put_irregular(region);
        return;
    }
    memcpy(region->begin, region->window, length * sizeof region->begin[0]);
    region->step = region->window[length] - region->window[0];
    if (most < region->used) {
        put_down(region, region->begin, length, region->step, most);
        region->used -= most;
        memmove(region->window, region->window + most, region->used * sizeof region->window[0]);
        return;
    }
    region->length = length;
    region->count = most;
    for (uint32_t i = most - length; i < most; i++) /* access i of the run is in place i % length */
        last[i % length] = region->window[i];
    memcpy(region->window, last, length * sizeof last[0]);
    region->used = 0;
}

static void take(void *state, const struct psnap_access *access)
{
    struct region *region = state;
    const uint64_t address = access->address;

    region->loads += access->kind == PSNAP_LOAD;
    region->accesses++;
    if (region->length) {
        uint64_t *before = &region->window[region->count % region->length];
        if (address - *before == region->step) {
            *before = address;
            region->count++;
            return;
        }
        put_down(region, region->begin, region->length, region->step, region->count);
        region->length = 0;
    }
    region->window[region->used++] = address;
    if (region->used == WINDOW)
        look(region);
}

/* The stream has ended. */
static void end_region(struct region *region)
{
    if (region->length)
        put_down(region, region->begin, region->length, region->step, region->count);
    region->length = 0;
    while (region->used) {
        look(region);
        if (region->length)
            put_down(region, region->begin, region->length, region->step, region->count);
        region->length = 0;
    }
}

/* A configuration, up to its pattern. */
static void begin(struct psnap_json *json, const struct pattern_sink *sink, size_t i,
                  const char *what)
{
    const struct region *region = sink->all[i].state;
    const bool is_load = 2 * region->loads >= region->accesses;
    char name[512], place[384];

    snprintf(name, sizeof name, "%s: %s", pattern_name(sink, i, place, sizeof place), what);
    psnap_json_begin_object(json, NULL);
    psnap_json_text(json, "name", name);
    psnap_json_text(json, "kernel", is_load ? "Gather" : "Scatter");
    psnap_json_begin_array(json, "pattern");
}

static void end(struct psnap_json *json, uint64_t delta, uint64_t count)
{
    const uint64_t most = delta ? ELEMENTS_MAX / delta + 1 : count;

    psnap_json_end_array(json);
    psnap_json_u64(json, "delta", delta);
    psnap_json_u64(json, "count", count < most ? count : most);
    psnap_json_end_object(json);
}

static void print_piece(struct psnap_json *json, const struct pattern_sink *sink, size_t index,
                        const struct piece *piece)
{
    const bool goes_down = piece->step >> 63;
    const uint64_t delta = (goes_down ? 0 - piece->step : piece->step) / ELEMENT % ELEMENTS_MAX;
    const bool is_wide = piece->length == 1 && piece->longest >= 2 * WIDE;
    char what[128];

    snprintf(what, sizeof what, "%" PRIu64 " runs, %" PRIu64 " accesses%s", piece->runs,
             piece->accesses, goes_down ? ", downwards" : "");
    begin(json, sink, index, what);
    for (uint32_t i = 0; i < (is_wide ? WIDE : piece->length); i++)
        psnap_json_u64(json, NULL, (is_wide ? i * delta : piece->offsets[i]) % ELEMENTS_MAX);
    end(json, is_wide ? delta * WIDE : delta, is_wide ? piece->longest / WIDE : piece->longest);
}

/* The first window stands for all of them. */
static void print_irregular(struct psnap_json *json, const struct pattern_sink *sink, size_t index)
{
    const struct region *region = sink->all[index].state;
    const uint64_t windows = (region->irregular_accesses - 1) / region->irregular_used + 1;
    const uint64_t delta = (region->high - region->low) / ELEMENT / windows % ELEMENTS_MAX;
    uint64_t low = UINT64_MAX;
    char what[128];

    snprintf(what, sizeof what, "irregular, %" PRIu64 " accesses", region->irregular_accesses);
    begin(json, sink, index, what);
    for (uint32_t i = 0; i < region->irregular_used; i++)
        low = region->irregular[i] < low ? region->irregular[i] : low;
    low -= low % ELEMENT;
    for (uint32_t i = 0; i < region->irregular_used; i++)
        psnap_json_u64(json, NULL, (region->irregular[i] - low) / ELEMENT % ELEMENTS_MAX);
    end(json, delta, windows);
}

static enum psnap_status print(struct pattern_sink *sink, struct psnap_error *error)
{
    struct psnap_json json;

    (void)error;
    psnap_json_init(&json, sink->file);
    psnap_json_begin_array(&json, NULL);
    for (size_t i = 0; i < sink->count; i++) {
        struct region *region = sink->all[i].state;
        end_region(region);
        for (uint32_t k = 0; k < region->piece_count; k++)
            if (region->pieces[k].accesses >= LEAST)
                print_piece(&json, sink, i, &region->pieces[k]);
            else
                sink->left_out += region->pieces[k].accesses;
        if (region->irregular_accesses >= LEAST)
            print_irregular(&json, sink, i);
        else
            sink->left_out += region->irregular_accesses;
        sink->left_out += region->left_out;
    }
    psnap_json_end_array(&json);
    return PSNAP_OK;
}

const struct psnap_format psnap_format_spatter = {
    .name = "spatter",
    .summary = "gather and scatter patterns for Spatter, JSON",
    .loses = "order of regions, addresses of patterns, size, atomic, thread, what repeats no "
             "pattern but its first 64 accesses",
    .writable = true,
    .is_text = true,
    .ops = &(const struct psnap_format_ops){.state_bytes = sizeof(struct region),
                                            .take = take,
                                            .print = print},
};
