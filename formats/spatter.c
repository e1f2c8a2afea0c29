/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Spatter's patterns (JSONParser.cc), written only: not the stream but what spatter_runs.h finds in
 * the loads, and in the stores, of each region (pattern_states.h). A configuration is {name,
 * kernel, pattern, delta, count}: access j of repetition i is to element pattern[j] + delta * i, of
 * 8 bytes. Both are at least 0, so a pattern begins at its lowest element, and runs that go down
 * are mirrored. `count` is the longest run, for Spatter's buffer is as large as that; the name says
 * how many runs and accesses there were.
 *
 * A region without a pattern has its first window of accesses as one, which advances so that all
 * windows together are in the range that the region's accesses are in. Buffers have at most
 * ELEMENTS_MAX elements: distances are modulo that.
 */
#include <inttypes.h>

#include "formats/base/json.h"
#include "formats/pattern_states.h"
#include "formats/spatter_runs.h"
#include "formats/trace.h"

#define ELEMENT 8u
#define ELEMENTS_MAX (UINT64_C(1) << 30)
enum { WIDE = 8 }; /* a constant stride is written so many at a time, as Spatter's own UNIFORM is */

struct region {
    struct spatter_region runs;
    uint64_t loads;
};

static void spatter_take(void *state, const struct psnap_access *access)
{
    struct region *region = state;

    region->loads += access->kind == PSNAP_LOAD;
    spatter_add(&region->runs, access->address);
}

/* A configuration, up to its pattern. */
static void begin(struct psnap_json *json, const struct pattern_sink *sink, size_t i,
                  const char *what)
{
    const struct region *region = sink->all[i].state;
    const bool is_load = 2 * region->loads >= region->runs.accesses;
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
                        const struct spatter_piece *piece)
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
    const struct spatter_region *runs = &region->runs;
    const uint64_t windows = (runs->irregular_accesses - 1) / runs->irregular_used + 1;
    const uint64_t delta = (runs->high - runs->low) / ELEMENT / windows % ELEMENTS_MAX;
    uint64_t low = UINT64_MAX;
    char what[128];

    snprintf(what, sizeof what, "irregular, %" PRIu64 " accesses", runs->irregular_accesses);
    begin(json, sink, index, what);
    for (uint32_t i = 0; i < runs->irregular_used; i++)
        low = runs->irregular[i] < low ? runs->irregular[i] : low;
    low -= low % ELEMENT;
    for (uint32_t i = 0; i < runs->irregular_used; i++)
        psnap_json_u64(json, NULL, (runs->irregular[i] - low) / ELEMENT % ELEMENTS_MAX);
    end(json, delta, windows);
}

static enum psnap_status spatter_print(struct pattern_sink *sink, struct psnap_error *error)
{
    struct psnap_json json;

    (void)error;
    psnap_json_init(&json, sink->file);
    psnap_json_begin_array(&json, NULL);
    for (size_t i = 0; i < sink->count; i++) {
        struct region *region = sink->all[i].state;
        spatter_end(&region->runs);
        for (uint32_t k = 0; k < region->runs.piece_count; k++)
            print_piece(&json, sink, i, &region->runs.pieces[k]);
        if (region->runs.irregular_accesses)
            print_irregular(&json, sink, i);
        sink->left_out += region->runs.left_out;
    }
    psnap_json_end_array(&json);
    return PSNAP_OK;
}

static struct psnap_sink *spatter_create(const struct psnap_format *format, FILE *file,
                                         struct psnap_program *program, const uint64_t *clock,
                                         struct psnap_error *error)
{
    static const struct pattern_format patterns = {sizeof(struct region), spatter_take,
                                                   spatter_print};

    (void)format, (void)clock;
    return pattern_sink_new(&patterns, file, program, error);
}

static const struct psnap_format_ops spatter_ops = {.create = spatter_create};

const struct psnap_format psnap_format_spatter = {
    .name = "spatter",
    .summary = "gather and scatter patterns for Spatter, JSON",
    .description =
        "For Spatter 2.0 and later, 'spatter -f FILE'. It is not the stream but the\n"
        "patterns in it: of each loop's accesses to a region with a name, as 'psnap sim\n"
        "--by region' has them, the loads as gathers, the stores and atomics as\n"
        "scatters. Where no name is known, each reference of the program stands for a\n"
        "region. There are up to eight patterns each, of up to 32 accesses that repeat\n"
        "themselves at a constant distance, in elements of 8 bytes: access j of\n"
        "repetition i is to element pattern[j] + delta * i. count is the longest run of\n"
        "a pattern; the name has the loop, the region or reference, and how many runs\n"
        "and accesses there were. Smaller elements share one, runs that go down are\n"
        "mirrored, all patterns begin at element 0. A constant stride is written as\n"
        "eight accesses. What has no such pattern is its first 64 accesses, advanced\n"
        "through the range of all. Buffers have at most 2^30 elements. What is behind a\n"
        "run's last whole repetition, and of a ninth pattern, is left out; how many\n"
        "accesses that are is said when the file is written.\n\n"
        "    [\n"
        "      {\"name\": \"main:12 x: 100 runs, 6400 accesses\", \"kernel\": \"Gather\",\n"
        "       \"pattern\": [0, 1, 2, 3, 4, 5, 6, 7], \"delta\": 8, \"count\": 8}\n"
        "    ]\n",
    .loses = "order of regions, addresses of patterns, size, atomic, thread, what repeats no "
             "pattern but its first 64 accesses",
    .writable = true,
    .is_text = true,
    .ops = &spatter_ops,
};
