/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A ranking for people: run times and relative speeds with a column for each machine, in the order
 * in which the machines came; pairs in the order of the ranking.
 */
#include <math.h>
#include <stdlib.h>

#include "formats/base/cmd.h"
#include "predict/rank/cmd_rank.h"

static const char *const adjectives[TIMES_KINDS] = {"measured", "predicted"};

/* One column for cases, then one for each machine; ends the program when out of memory, as tables
 * do. */
static struct psnap_table *machines_table(const struct times *times, const char *what)
{
    const char *headings[TIMES_MACHINES_MAX + 1] = {what};
    struct psnap_table *table;

    for (size_t m = 0; m < times->machine_count; m++)
        headings[m + 1] = times->machines[m];
    table = psnap_table_new(times->machine_count + 1, headings);
    for (size_t m = 0; m < times->machine_count; m++)
        psnap_table_align_right(table, m + 1);
    return table;
}

static void case_cell(struct psnap_table *table, const struct times *times, size_t index)
{
    char name[300];

    psnap_table_cell(table, "%s", times_case_name(&times->cases[index], name, sizeof name));
}

static void real_cell(struct psnap_table *table, int digits, double value)
{
    if (isnan(value))
        psnap_table_cell(table, "-");
    else
        psnap_table_cell(table, "%.*f", digits, value);
}

static bool has_case(const struct times *times, size_t index, enum times_kind kind)
{
    for (size_t m = 0; m < times->machine_count; m++)
        if (!isnan(times_get(times, index, m, kind)))
            return true;
    return false;
}

static void finish(struct psnap_table *table, FILE *file)
{
    psnap_table_print(table, file);
    psnap_table_free(table);
    putc('\n', file);
}

/* ----------------------------------------------------------------------- run times */

static void time_cell(struct psnap_table *table, const struct times *times, size_t index, size_t m,
                      enum times_kind kind)
{
    const double seconds = times_get(times, index, m, kind),
                 measured = times_get(times, index, m, TIMES_MEASURED);

    if (kind == TIMES_PREDICTED && !isnan(seconds) && !isnan(measured))
        psnap_table_cell(table, "%.6g (%+.1f %%)", seconds, 100 * (seconds / measured - 1));
    else if (isnan(seconds))
        psnap_table_cell(table, "-");
    else
        psnap_table_cell(table, "%.6g", seconds);
}

static void print_times(const struct times *times, enum times_kind kind, FILE *file)
{
    struct psnap_table *table =
        machines_table(times, kind == TIMES_MEASURED ? "run times (s)" : "predicted (s)");

    for (size_t i = 0; i < times->case_count; i++) {
        if (!has_case(times, i, kind))
            continue;
        case_cell(table, times, i);
        for (size_t m = 0; m < times->machine_count; m++)
            time_cell(table, times, i, m, kind);
    }
    finish(table, file);
}

/* -------------------------------------------------------------------------- speeds */

static void print_summary(struct psnap_table *table, const struct times *times,
                          const struct ranking *ranking, enum times_kind kind)
{
    static const char *const names[] = {"geometric mean", "geometric sd", "lowest", "highest"};

    for (int row = 0; row < 4; row++) {
        psnap_table_cell(table, "%s", names[row]);
        for (size_t m = 0; m < times->machine_count; m++) {
            const struct ranking_speed *speed = &ranking->machines[m].speeds[kind];

            real_cell(
                table, 3,
                (double[]){speed->mean, speed->deviation, speed->lowest, speed->highest}[row]);
        }
    }
}

static void print_speeds(const struct times *times, const struct ranking *ranking,
                         enum times_kind kind, FILE *file)
{
    char heading[64];
    struct psnap_table *table;

    snprintf(heading, sizeof heading, "%s speeds", adjectives[kind]);
    table = machines_table(times, heading);
    for (size_t i = 0; i < times->case_count; i++) {
        if (!has_case(times, i, kind))
            continue;
        case_cell(table, times, i);
        for (size_t m = 0; m < times->machine_count; m++)
            real_cell(table, 3, ranking_case_speed(ranking, times, i, m, kind));
    }
    print_summary(table, times, ranking, kind);
    psnap_table_print(table, file);
    psnap_table_free(table);
    psnap_print(file,
                "relative to %s; means are of the %zu case%s of %zu that all machines have\n\n",
                times->machines[ranking->base], ranking->common[kind],
                psnap_plural(ranking->common[kind]), times->case_count);
}

/* --------------------------------------------------------------------------- pairs */

static void pair_cells(struct psnap_table *table, const struct ranking *ranking,
                       const struct ranking_pair *pair)
{
    psnap_table_cell(table, "%zu", pair->cases);
    psnap_table_cell(table, "%zu", pair->first_faster);
    real_cell(table, 3, pair->ratio);
    real_cell(table, 4, pair->probability);
    real_cell(table, 4, pair->order_probability);
    real_cell(table, 2, pair->expected);
    if (!ranking->has_both)
        return;
    psnap_table_cell(table, "%zu", pair->compared);
    psnap_table_cell(table, "%zu", pair->observed);
    psnap_table_cell(table, "%zu", pair->over_threshold);
}

static void print_pairs(const struct times *times, const struct ranking *ranking, FILE *file)
{
    static const char *const headings[] = {"faster",   "slower",   "cases",         "faster in",
                                           "by",       "P(case)",  "P(order)",      "expected",
                                           "compared", "inverted", "over threshold"};
    const size_t columns = ranking->has_both ? 11 : 8;
    struct psnap_table *table = psnap_table_new(columns, headings);

    for (size_t i = 2; i < columns; i++)
        psnap_table_align_right(table, i);
    for (size_t i = 0; i < ranking->pair_count; i++) {
        psnap_table_cell(table, "%s", times->machines[ranking->pairs[i].first]);
        psnap_table_cell(table, "%s", times->machines[ranking->pairs[i].second]);
        pair_cells(table, ranking, &ranking->pairs[i]);
    }
    finish(table, file);
}

/* ---------------------------------------------------------------------------- rest */

static void print_order(const struct times *times, const struct ranking *ranking, FILE *file)
{
    psnap_print(file, "order by %s times: ", adjectives[ranking->kind]);
    for (size_t i = 0; i < times->machine_count; i++)
        psnap_print(file, "%s%s", i ? " > " : "", times->machines[ranking->order[i]]);
    fputs(ranking->is_by_wins
              ? "\n(by how many others each is faster than in most cases of both, as no case is "
                "common to all)\n"
              : "\n",
          file);
}

static void print_error(const struct ranking *ranking, FILE *file)
{
    const struct ranking_error *error = &ranking->error;

    if (error->pairs)
        fprintf(file, "error of %zu predictions: %.1f %% on average; bias %+.1f %%", error->pairs,
                100 * error->mean_absolute, 100 * expm1(error->bias));
    if (error->pairs && !isnan(error->deviation))
        fprintf(file, "; standard deviation of ln(predicted / measured) %.4f", error->deviation);
    if (error->pairs)
        putc('\n', file);
    if (isnan(error->sigma))
        fputs("inversions have no probabilities, as the error is not known: --error gives it\n",
              file);
    else
        psnap_print(file, "probabilities of inversions are for independent errors of %.4g%s\n",
                    error->sigma, error->is_given ? ", as given" : "");
}

static void print_inversions(const struct ranking *ranking, FILE *file)
{
    const struct ranking_pair *total = &ranking->total;

    if (!isnan(total->expected))
        fprintf(file, "expected: %.2f of %zu pairs inverted\n", total->expected, total->cases);
    if (!total->compared)
        return;
    fprintf(file, "observed: %zu of %zu pairs inverted", total->observed, total->compared);
    if (ranking->threshold > 0)
        fprintf(file, ", %zu by more than %g %%", total->over_threshold, 100 * ranking->threshold);
    putc('\n', file);
    if (!isnan(ranking->mean_tau))
        fprintf(file, "Kendall's tau of predicted and measured times: %.3f on average over cases",
                ranking->mean_tau);
    if (!isnan(ranking->mean_tau) && !isnan(ranking->order_tau))
        fprintf(file, ", %.3f of geometric means", ranking->order_tau);
    if (!isnan(ranking->mean_tau))
        putc('\n', file);
}

void rank_print(const struct times *times, const struct ranking *ranking, FILE *file)
{
    for (int kind = 0; kind < TIMES_KINDS; kind++)
        if (times->has[kind])
            print_times(times, (enum times_kind)kind, file);
    for (int kind = 0; kind < TIMES_KINDS; kind++)
        if (times->has[kind])
            print_speeds(times, ranking, (enum times_kind)kind, file);
    print_pairs(times, ranking, file);
    print_order(times, ranking, file);
    print_error(ranking, file);
    print_inversions(ranking, file);
}
