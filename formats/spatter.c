/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Spatter's patterns (JSONParser.cc), written only: not the stream but what spatter_runs.h finds in
 * each reference's accesses. A configuration is {name, kernel, pattern, delta, count}: access j of
 * repetition i is to element pattern[j] + delta * i, of 8 bytes. Both are at least 0, so a pattern
 * begins at its lowest element, and runs that go down are mirrored. `count` is the longest run, for
 * Spatter's buffer is as large as that; the name says how many runs and accesses there were.
 *
 * A reference without a pattern has its first window of accesses as one, which advances so that all
 * windows together are in the range that the reference is in. Buffers have at most ELEMENTS_MAX
 * elements: distances are modulo that.
 */
#include <errno.h>
#include <inttypes.h>

#include "formats/base/access.h"
#include "formats/base/json.h"
#include "formats/base/program.h"
#include "formats/ref_states.h"
#include "formats/spatter_runs.h"
#include "formats/trace.h"

#define ELEMENT 8u
#define ELEMENTS_MAX (UINT64_C(1) << 30)
enum { WIDE = 8 }; /* a constant stride is written so many at a time, as Spatter's own UNIFORM is */

struct reference {
    struct spatter_reference runs;
    uint64_t loads;
};

struct spatter {
    struct psnap_sink base;
    FILE *file;
    const struct psnap_program *program;
    struct ref_states references;
};

static enum psnap_status spatter_put(struct psnap_sink *self, const struct psnap_access *block,
                                     size_t n, struct psnap_error *error)
{
    struct spatter *spatter = (struct spatter *)self;

    for (size_t i = 0; i < n; i++) {
        struct reference *reference = ref_states_get(&spatter->references, block[i].ref);
        if (!reference)
            return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        reference->loads += block[i].kind == PSNAP_LOAD;
        spatter_take(&reference->runs, block[i].address);
    }
    return PSNAP_OK;
}

/* A configuration, up to its pattern. */
static void begin(struct psnap_json *json, const struct spatter *spatter, uint32_t ref,
                  const struct reference *reference, const char *what)
{
    const struct psnap_program *program = spatter->program;
    const bool known = ref < program->ref_count;
    const bool is_load = 2 * reference->loads >= reference->runs.accesses;
    char name[512];

    snprintf(name, sizeof name, "%.300s ref %" PRIu32 ": %s",
             known ? program->loops[program->refs[ref].loop].id : "?", ref, what);
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

static void print_piece(struct psnap_json *json, const struct spatter *spatter, uint32_t ref,
                        const struct reference *reference, const struct spatter_piece *piece)
{
    const bool goes_down = piece->step >> 63;
    const uint64_t delta = (goes_down ? 0 - piece->step : piece->step) / ELEMENT % ELEMENTS_MAX;
    const bool is_wide = piece->length == 1 && piece->longest >= 2 * WIDE;
    char what[128];

    snprintf(what, sizeof what, "%" PRIu64 " runs, %" PRIu64 " accesses%s", piece->runs,
             piece->accesses, goes_down ? ", downwards" : "");
    begin(json, spatter, ref, reference, what);
    for (uint32_t i = 0; i < (is_wide ? WIDE : piece->length); i++)
        psnap_json_u64(json, NULL, (is_wide ? i * delta : piece->offsets[i]) % ELEMENTS_MAX);
    end(json, is_wide ? delta * WIDE : delta, is_wide ? piece->longest / WIDE : piece->longest);
}

/* The first window stands for all of them. */
static void print_irregular(struct psnap_json *json, const struct spatter *spatter, uint32_t ref,
                            const struct reference *reference)
{
    const struct spatter_reference *runs = &reference->runs;
    const uint64_t windows = (runs->irregular_accesses - 1) / runs->irregular_used + 1;
    const uint64_t delta = (runs->high - runs->low) / ELEMENT / windows % ELEMENTS_MAX;
    uint64_t low = UINT64_MAX;
    char what[128];

    snprintf(what, sizeof what, "irregular, %" PRIu64 " accesses", runs->irregular_accesses);
    begin(json, spatter, ref, reference, what);
    for (uint32_t i = 0; i < runs->irregular_used; i++)
        low = runs->irregular[i] < low ? runs->irregular[i] : low;
    low -= low % ELEMENT;
    for (uint32_t i = 0; i < runs->irregular_used; i++)
        psnap_json_u64(json, NULL, (runs->irregular[i] - low) / ELEMENT % ELEMENTS_MAX);
    end(json, delta, windows);
}

static enum psnap_status spatter_finish(struct psnap_sink *self, struct psnap_error *error)
{
    struct spatter *spatter = (struct spatter *)self;
    struct psnap_json json;

    psnap_json_init(&json, spatter->file);
    psnap_json_begin_array(&json, NULL);
    for (size_t i = 0; i < spatter->references.count; i++) {
        const uint32_t ref = spatter->references.order[i];
        struct reference *reference = spatter->references.by_ref[ref];
        spatter_end(&reference->runs);
        for (uint32_t k = 0; k < reference->runs.piece_count; k++)
            print_piece(&json, spatter, ref, reference, &reference->runs.pieces[k]);
        if (reference->runs.irregular_accesses)
            print_irregular(&json, spatter, ref, reference);
    }
    psnap_json_end_array(&json);
    if (ferror(spatter->file) || fflush(spatter->file) != 0)
        return psnap_error_system(error, errno, "cannot write");
    return PSNAP_OK;
}

static void spatter_free(struct psnap_sink *self)
{
    ref_states_release(&((struct spatter *)self)->references);
    free(self);
}

static struct psnap_sink *spatter_create(FILE *file, struct psnap_program *program,
                                         struct psnap_error *error)
{
    static const struct psnap_sink_ops ops = {
        .put = spatter_put, .finish = spatter_finish, .free = spatter_free};
    struct spatter *spatter = calloc(1, sizeof *spatter);

    if (!spatter) {
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        return NULL;
    }
    spatter->base.ops = &ops;
    spatter->file = file;
    spatter->program = program;
    spatter->references.bytes = sizeof(struct reference);
    return &spatter->base;
}

static const struct psnap_format_ops spatter_ops = {.create = spatter_create};

const struct psnap_format psnap_format_spatter = {
    .name = "spatter",
    .summary = "gather and scatter patterns for Spatter, JSON",
    .description =
        "For Spatter 2.0 and later, 'spatter -f FILE'. It is not the stream but the\n"
        "patterns in it: of each reference up to eight patterns of up to 32 accesses\n"
        "that repeat themselves at a constant distance, loads as gathers, stores and\n"
        "atomics as scatters, in elements of 8 bytes: access j of repetition i is to\n"
        "element pattern[j] + delta * i. count is the longest run of a pattern; the\n"
        "name has the loop, the reference, and how many runs and accesses there were.\n"
        "Smaller elements share one, runs that go down are mirrored, all patterns begin\n"
        "at element 0. A constant stride is written as eight accesses. What has no such\n"
        "pattern is its first 64 accesses, advanced through the reference's range.\n"
        "Buffers have at most 2^30 elements. What is behind a run's last whole\n"
        "repetition, and of a ninth pattern, is left out.\n\n"
        "    [\n"
        "      {\"name\": \"main:12 ref 3: 100 runs, 6400 accesses\", \"kernel\": \"Gather\",\n"
        "       \"pattern\": [0, 1, 2, 3, 4, 5, 6, 7], \"delta\": 8, \"count\": 8}\n"
        "    ]\n",
    .loses = "order of references, addresses of patterns, size, atomic, thread, what repeats no "
             "pattern but its first 64 accesses",
    .writable = true,
    .is_text = true,
    .ops = &spatter_ops,
};
