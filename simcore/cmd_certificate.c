/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A comparison as a certificate: per level over all machines, per machine and level, and the loop
 * that is furthest apart; and whether a comparison finds what a certificate claims.
 */
#include "simcore/cmd_certificate.h"

#include <math.h>
#include <string.h>

#define WHOLLY 100.0 /* points, between what is known and what is not */

/* ---- made ---- */

static struct psnap_certificate_row place(const char *machine, uint32_t level)
{
    return (struct psnap_certificate_row){
        .machine = machine,
        .level = 1 + (level < COMPARE_TLB ? level : level - COMPARE_TLB),
        .is_tlb = level >= COMPARE_TLB};
}

/* The errors of one machine at a level. */
static struct psnap_certificate_row row_of(const struct compare *compare, size_t machine,
                                           const char *name, uint32_t level)
{
    struct psnap_certificate_row row = place(name, level);
    double sum = 0, most = 0;
    size_t loops = 0;

    for (size_t i = 0; i < compare->count; i++) {
        const struct compare_row *from = &compare->rows[i];
        const double points = from->levels[level].error_points;
        if (from->machine != machine || !from->relevant)
            continue;
        if (from->scope == PSNAP_SCOPE_TOTAL) {
            row.total_points = psnap_certificate_points(points);
            continue;
        }
        sum += points;
        most = fmax(most, points);
        loops++;
    }
    row.mean_points = loops ? psnap_certificate_points(sum / (double)loops) : NAN;
    row.max_points = loops ? psnap_certificate_points(most) : NAN;
    return row;
}

/* The level at which a loop is furthest apart on a machine. */
static uint32_t worst_level(const struct compare *compare, const char *id, size_t machine)
{
    uint32_t worst = 0;

    for (size_t i = 0; i < compare->count; i++) {
        const struct compare_row *row = &compare->rows[i];
        if (row->machine != machine || row->scope != PSNAP_SCOPE_LOOP || strcmp(row->id, id) != 0)
            continue;
        for (uint32_t level = 0; level < COMPARE_LEVELS; level++)
            if (compare_machine_has(&compare->machines[machine], level) &&
                row->levels[level].error_points > row->levels[worst].error_points)
                worst = level;
    }
    return worst;
}

/* Copies of texts that live as long as the profile; NULL: out of memory. */
static const char *keep(struct psnap_profile *profile, const char *text)
{
    return psnap_arena_strndup(profile->arena, text, strlen(text));
}

/* Loops are ordered by their error: the first relevant one has the largest. */
static bool fill_worst(const struct compare *compare, struct psnap_profile *profile,
                       struct psnap_certificate *to)
{
    const struct compare_loop *loop = compare->loops;
    size_t machine;

    while (loop < compare->loops + compare->loop_count && !loop->relevant)
        loop++;
    if (loop == compare->loops + compare->loop_count)
        return true;
    machine = loop->worst_machine;
    to->worst_loop = keep(profile, loop->id);
    to->worst = place(keep(profile, compare->machines[machine].name),
                      worst_level(compare, loop->id, machine));
    to->worst.max_points = psnap_certificate_points(loop->worst_points);
    return to->worst_loop && to->worst.machine;
}

/* False: out of memory. */
static bool fill_rows(const struct compare *compare, struct psnap_profile *profile,
                      struct psnap_certificate *to)
{
    const size_t most = COMPARE_LEVELS * (compare->machine_count + 1);

    to->rows = psnap_arena_alloc(profile->arena, most * sizeof *to->rows);
    to->levels = psnap_arena_alloc(profile->arena, COMPARE_LEVELS * sizeof *to->levels);
    if (!to->rows || !to->levels)
        return false;
    for (uint32_t level = 0; level < COMPARE_LEVELS; level++) {
        struct psnap_certificate_row *row;
        if (!compare_has(compare, level))
            continue;
        row = &to->levels[to->level_count++];
        *row = place(NULL, level);
        row->mean_points = psnap_certificate_points(compare->mean_points[level]);
        row->max_points = psnap_certificate_points(compare->max_points[level]);
        row->total_points = psnap_certificate_points(compare->total_points[level]);
    }
    for (size_t i = 0; i < compare->machine_count; i++) {
        const char *name = keep(profile, compare->machines[i].name);
        if (!name)
            return false;
        for (uint32_t level = 0; level < COMPARE_LEVELS; level++)
            if (compare_machine_has(&compare->machines[i], level))
                to->rows[to->row_count++] = row_of(compare, i, name, level);
    }
    return true;
}

static bool is_bundled(const char *name)
{
    const struct psnap_machine *machine;

    for (size_t i = 0; (machine = psnap_machine_bundled(i)); i++)
        if (!strcmp(machine->name, name))
            return true;
    return false;
}

/* What is behind names that psnap does not define: host, a file, sizes. False: out of memory. */
static bool fill_machines(const struct compare *compare, struct psnap_profile *profile,
                          struct psnap_certificate *to)
{
    char shape[512];

    to->machines =
        psnap_arena_alloc(profile->arena, (compare->machine_count + 1) * sizeof *to->machines);
    if (!to->machines)
        return false;
    for (size_t i = 0; i < compare->machine_count; i++) {
        const struct psnap_machine *machine = &compare->machines[i];
        struct psnap_certificate_machine *row = &to->machines[to->machine_count];
        scope_machine_shape(machine, shape, sizeof shape);
        if (is_bundled(machine->name) || !strcmp(machine->name, shape))
            continue;
        row->name = keep(profile, machine->name);
        row->caches = keep(profile, shape);
        if (!row->name || !row->caches)
            return false;
        to->machine_count++;
    }
    return true;
}

enum psnap_status certificate_of(const struct compare *compare, struct psnap_profile *profile,
                                 uint64_t seed, struct psnap_certificate **certificate,
                                 struct psnap_error *error)
{
    struct psnap_certificate *to = psnap_arena_alloc(profile->arena, sizeof *to);

    if (!to || !fill_machines(compare, profile, to) || !fill_rows(compare, profile, to) ||
        !fill_worst(compare, profile, to))
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for the certificate");
    to->version = PSNAP_VERSION;
    to->seed = seed;
    to->relevant_loops = compare->relevant_loops;
    *certificate = to;
    return psnap_profile_content(profile, &to->content, error);
}

/* ---- checked ---- */

static bool is_same(double claimed, double found)
{
    const double least = 1e-4; /* one of the last place */

    if (isnan(claimed) || isnan(found))
        return isnan(claimed) && isnan(found);
    return fabs(claimed - found) < 1.5 * least;
}

static bool is_machine_of(const struct psnap_certificate *certificate, const char *machine)
{
    for (uint32_t i = 0; i < certificate->row_count; i++)
        if (!strcmp(certificate->rows[i].machine, machine))
            return true;
    return false;
}

/* The first machine that has other caches than one of the same name, or NULL. */
static const struct psnap_certificate_machine *
other_machine(const struct psnap_certificate *claimed, const struct psnap_certificate *found)
{
    for (uint32_t i = 0; i < claimed->machine_count; i++)
        for (uint32_t j = 0; j < found->machine_count; j++)
            if (!strcmp(claimed->machines[i].name, found->machines[j].name) &&
                strcmp(claimed->machines[i].caches, found->machines[j].caches) != 0)
                return &claimed->machines[i];
    return NULL;
}

/* The found row of the same machine and level, or NULL. */
static const struct psnap_certificate_row *find_row(const struct psnap_certificate *found,
                                                    const struct psnap_certificate_row *claimed)
{
    for (uint32_t i = 0; i < found->row_count; i++) {
        const struct psnap_certificate_row *row = &found->rows[i];
        if (!strcmp(row->machine, claimed->machine) && row->level == claimed->level &&
            row->is_tlb == claimed->is_tlb)
            return row;
    }
    return NULL;
}

/* How far a claim is from what was found; negative: not at all. */
static double distance(const struct psnap_certificate_row *claimed,
                       const struct psnap_certificate_row *found)
{
    const double claims[] = {claimed->mean_points, claimed->max_points, claimed->total_points};
    const double finds[] = {found->mean_points, found->max_points, found->total_points};
    double most = -1;

    for (size_t i = 0; i < 3; i++)
        if (!is_same(claims[i], finds[i]))
            most = fmax(most, isnan(claims[i] - finds[i]) ? WHOLLY : fabs(claims[i] - finds[i]));
    return most;
}

struct certificate_check certificate_check(const struct psnap_certificate *claimed,
                                           const struct psnap_certificate *found)
{
    struct certificate_check check = {.has_other_seed = claimed->seed != found->seed,
                                      .other_machine = other_machine(claimed, found)};
    double most = -1;

    for (uint32_t i = 0; i < claimed->row_count; i++) {
        const struct psnap_certificate_row *row = find_row(found, &claimed->rows[i]);
        double apart = row ? distance(&claimed->rows[i], row) : WHOLLY;
        if (!row && !is_machine_of(found, claimed->rows[i].machine))
            continue;
        check.compared++;
        check.different += apart >= 0;
        if (apart > most) {
            most = apart;
            check.claimed = &claimed->rows[i];
            check.found = row;
        }
    }
    return check;
}
