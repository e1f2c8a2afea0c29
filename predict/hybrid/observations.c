/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A table of observations, and its rows with names for codes and machines.
 */
#include "predict/hybrid/observations.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/arena.h"
#include "formats/base/room.h"
#include "formats/base/text.h"

enum psnap_status observations_init(struct observations *observations, struct psnap_error *error)
{
    *observations = (struct observations){.arena = psnap_arena_new()};
    return observations->arena
               ? PSNAP_OK
               : psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for observations");
}

void observations_release(struct observations *observations)
{
    free(observations->rows);
    free(observations->codes.names);
    free(observations->machines.names);
    free(observations->sizes.names);
    psnap_arena_free(observations->arena);
}

uint32_t observations_name(struct observations *observations, struct names *names, const char *name)
{
    const char **grown;
    const char *copy;

    for (size_t i = 0; i < names->count; i++)
        if (!strcmp(names->names[i], name))
            return (uint32_t)i;
    grown = names->count < UINT32_MAX - 1
                ? psnap_with_room(names->names, &names->room, names->count + 1, sizeof *grown)
                : NULL;
    if (!grown)
        return UINT32_MAX;
    names->names = grown;
    copy = psnap_arena_strndup(observations->arena, name, strlen(name));
    if (!copy)
        return UINT32_MAX;
    grown[names->count] = copy;
    return (uint32_t)names->count++;
}

const char *observations_size(const struct observations *observations, double size, char buffer[32])
{
    if (observations->sizes.count)
        return observations->sizes.names[(size_t)size - 1];
    return psnap_text_from_real(size, buffer);
}

enum psnap_status observations_add(struct observations *observations, const struct observation *row,
                                   struct psnap_error *error)
{
    struct observation *rows = psnap_with_room(observations->rows, &observations->room,
                                               observations->count + 1, sizeof *rows);

    if (!rows)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for observations");
    observations->rows = rows;
    rows[observations->count++] = *row;
    return PSNAP_OK;
}

/* ---------------------------------------------------------------------- doubts */

/* A warning to fill, of the place of an observation; NULL: there are enough of them. */
static struct psnap_error *new_warning(struct observations *observations)
{
    return observations->warning_count < OBSERVED_WARNINGS_MAX
               ? &observations->warnings[observations->warning_count++]
               : NULL;
}

/* Where a latency of a machine differs from its first one. */
static void doubt_latency(struct observations *observations, uint32_t machine, uint32_t level)
{
    const struct observation *first = NULL, *other = NULL;
    struct psnap_error *warning;

    for (size_t i = 0; i < observations->count && !other; i++) {
        const struct observation *row = &observations->rows[i];
        if (row->machine != machine || isnan(row->latencies[level]))
            continue;
        if (!first)
            first = row;
        else if (row->latencies[level] != first->latencies[level])
            other = row;
    }
    warning = other ? new_warning(observations) : NULL;
    if (!warning)
        return;
    psnap_error_set(warning, PSNAP_ERROR_VALUE,
                    "latency%" PRIu32 " of machine '%.60s' is %g, but %g on line %" PRIu32
                    " of '%.120s': each observation counts with its own",
                    level + 2, observations->machines.names[machine], other->latencies[level],
                    first->latencies[level], first->src_line, first->path ? first->path : "-");
    psnap_error_at(warning, other->path, other->src_line, 0);
}

/* More than one hit beyond level 1 per instruction: counts, or percent? */
static void doubt_hits(struct observations *observations)
{
    const struct observation *first = NULL;
    double of_first = 0;
    size_t count = 0;
    struct psnap_error *warning;

    for (size_t i = 0; i < observations->count; i++) {
        const struct observation *row = &observations->rows[i];
        double sum = 0;
        for (uint32_t l = 0; l < row->levels; l++)
            sum += row->hits[l];
        if (sum > 1 && !count++) {
            first = row;
            of_first = sum;
        }
    }
    warning = first ? new_warning(observations) : NULL;
    if (!warning)
        return;
    psnap_error_set(warning, PSNAP_ERROR_VALUE,
                    "%g hits per instruction beyond level 1, and more than one in %zu "
                    "observation%s: are they per instruction, or counts or percent?",
                    of_first, count, count == 1 ? "" : "s");
    psnap_error_at(warning, first->path, first->src_line, 0);
}

void observations_doubt(struct observations *observations)
{
    for (uint32_t m = 0; m < observations->machines.count; m++)
        for (uint32_t l = 0; l < OBSERVED_LEVELS_MAX; l++)
            doubt_latency(observations, m, l);
    doubt_hits(observations);
}

/* ------------------------------------------------------------------ duplicates */

/* Orders observations by code, machine, size and replicate, then as they came. */
static int compare_observations(const void *left, const void *right)
{
    const struct observation *a = *(const struct observation *const *)left;
    const struct observation *b = *(const struct observation *const *)right;
    int order;

    if (a->code != b->code)
        return a->code < b->code ? -1 : 1;
    if (a->machine != b->machine)
        return a->machine < b->machine ? -1 : 1;
    if (a->size != b->size)
        return a->size < b->size ? -1 : 1;
    order = strcmp(a->replicate ? a->replicate : "", b->replicate ? b->replicate : "");
    if (order)
        return order;
    return (a > b) - (a < b);
}

static bool is_same(const struct observation *a, const struct observation *b)
{
    return a->code == b->code && a->machine == b->machine && a->size == b->size && a->replicate &&
           b->replicate && !strcmp(a->replicate, b->replicate);
}

/* An error: that an observation is the same as one before. */
static enum psnap_status refuse(const struct observations *observations,
                                const struct observation *row, const struct observation *before,
                                struct psnap_error *error)
{
    const char *const code = observations->codes.names[row->code];
    const char *const machine = observations->machines.names[row->machine];
    const char *const path = before->path ? before->path : "-";
    char buffer[32];
    const char *const size = observations_size(observations, row->size, buffer);

    if (before->src_line)
        psnap_error_set(error, PSNAP_ERROR_VALUE,
                        "replicate '%.60s' of code '%.60s', machine '%.60s', size %.30s is on line "
                        "%" PRIu32 " of '%.120s' already: number replicates, or leave one out",
                        row->replicate, code, machine, size, before->src_line, path);
    else
        psnap_error_set(error, PSNAP_ERROR_VALUE,
                        "size %.30s of code '%.60s' on machine '%.60s' is predicted from '%.120s' "
                        "already: leave one out, or give sizes by --sizes",
                        size, code, machine, path);
    psnap_error_at(error, row->path, row->src_line, 0);
    return PSNAP_ERROR_VALUE;
}

enum psnap_status observations_check(const struct observations *observations,
                                     struct psnap_error *error)
{
    const struct observation **sorted = calloc(observations->count + 1, sizeof *sorted);
    enum psnap_status status = PSNAP_OK;

    if (!sorted)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for observations");
    for (size_t i = 0; i < observations->count; i++)
        sorted[i] = &observations->rows[i];
    if (observations->count)
        qsort(sorted, observations->count, sizeof *sorted, compare_observations);
    for (size_t i = 1; i < observations->count && !status; i++)
        if (is_same(sorted[i], sorted[i - 1]))
            status = refuse(observations, sorted[i], sorted[i - 1], error);
    free(sorted);
    return status;
}
