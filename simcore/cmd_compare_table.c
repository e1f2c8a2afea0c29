/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A comparison as a person reads it: what the two sides are, a table of loops (one machine: hit
 * rates, several: errors summed up over them), one of the whole stream, one of the errors, and
 * what became of the synthetic side's certificate. Two profiles are called a and b, as psnap diff
 * does, for neither is the truth, and what is between them is no error. Loops that are not
 * relevant, and more than ROWS_SHOWN, are counted and not shown unless all is asked for.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "formats/base/cmd.h"
#include "simcore/cmd_compare.h"
#include "simcore/cmd_turns.h"

#define ROWS_SHOWN 20

/* What sides, and what is between them, are called. */
struct words {
    const char *sides[2];     /* in front of their paths */
    const char *per_level[4]; /* columns */
    const char *streams[2];   /* "loop x is only in" */
    const char *error;
};

static const struct words truth = {{"observed ", "synthetic"},
                                   {"obs. %", "syn. %", "points", NULL},
                                   {"the observed stream", "the synthetic stream"},
                                   "error"};
static const struct words profiles = {
    {"a", "b"}, {"a %", "b %", "points", NULL}, {"a", "b"}, "difference"};

static void percent_cell(struct psnap_table *table, double fraction)
{
    if (isnan(fraction))
        psnap_table_cell(table, "-");
    else
        psnap_table_cell(table, "%.2f", 100 * fraction);
}

/*
 * A table of some fixed columns, some for each level ("L1 obs. %"), and perhaps
 * one after them; the lists end in NULL. The columns of levels are numbers.
 */
static struct psnap_table *levels_table(const struct compare *compare, const char *const *fixed,
                                        const char *const *per_level, const char *last)
{
    enum { FIXED_MAX = 4, PER_LEVEL_MAX = 3 };
    const char *headings[FIXED_MAX + COMPARE_LEVELS * PER_LEVEL_MAX + 1];
    char texts[COMPARE_LEVELS * PER_LEVEL_MAX][32], name[16];
    size_t columns = 0, of_levels = 0;
    struct psnap_table *table;

    for (size_t i = 0; fixed[i]; i++)
        headings[columns++] = fixed[i];
    for (uint32_t level = 0; level < COMPARE_LEVELS; level++)
        for (size_t i = 0; compare_has(compare, level) && per_level[i]; i++) {
            char *text = texts[of_levels++];
            snprintf(text, sizeof texts[0], "%s %s", compare_level_name(level, name, sizeof name),
                     per_level[i]);
            headings[columns++] = text;
        }
    if (last)
        headings[columns++] = last;
    table = psnap_table_new(columns, headings);
    for (size_t i = columns - of_levels - !!last; i < columns - !!last; i++)
        psnap_table_align_right(table, i);
    return table;
}

/* Of the loops or the totals: what a row is, then three columns for each level. */
static struct psnap_table *rows_table(const struct compare *compare, const struct words *words,
                                      enum psnap_scope scope)
{
    static const char *const total[] = {"machine", NULL};
    static const char *const loop[] = {"machine", "loop", "name", "share %", NULL};
    struct psnap_table *table =
        levels_table(compare, scope == PSNAP_SCOPE_TOTAL ? total : loop, words->per_level, NULL);

    for (size_t i = 1; scope != PSNAP_SCOPE_TOTAL && i < 3; i++)
        psnap_table_shorten(table, i);
    if (scope != PSNAP_SCOPE_TOTAL)
        psnap_table_align_right(table, 3);
    return table;
}

static void table_row(struct psnap_table *table, const struct compare *compare,
                      const struct compare_row *row)
{
    psnap_table_cell(table, "%s", compare->machines[row->machine].name);
    if (row->scope != PSNAP_SCOPE_TOTAL) {
        psnap_table_cell(table, "%s", row->id);
        psnap_table_cell(table, "%s", row->name);
        percent_cell(table, row->share);
    }
    for (uint32_t i = 0; i < COMPARE_LEVELS; i++) {
        const struct compare_level *level = &row->levels[i];

        if (!compare_has(compare, i))
            continue;
        if (!compare_machine_has(&compare->machines[row->machine], i)) {
            for (int blank = 0; blank < 3; blank++)
                psnap_table_cell(table, "%s", "");
            continue;
        }
        percent_cell(table, level->observed);
        percent_cell(table, level->synthetic);
        psnap_table_cell(table, "%.2f", level->error_points);
    }
}

static void print_rows(const struct compare *compare, const struct words *words,
                       enum psnap_scope scope, bool all)
{
    struct psnap_table *table = rows_table(compare, words, scope);
    size_t shown = 0, hidden = 0;

    for (size_t i = 0; i < compare->count; i++) {
        if (compare->rows[i].scope != scope)
            continue;
        if (!all && (shown == ROWS_SHOWN || !compare->rows[i].relevant)) {
            hidden++;
            continue;
        }
        table_row(table, compare, &compare->rows[i]);
        shown++;
    }
    psnap_table_print(table, stdout);
    psnap_table_free(table);
    if (hidden)
        printf("(%zu more rows: --all shows them)\n", hidden);
}

/* Several machines: a loop once, its errors summed up over them. */
static void print_loops(const struct compare *compare, const struct words *words, bool all)
{
    static const char *const fixed[] = {"loop", "name", "share %", NULL};
    static const char *const per_level[] = {"mean", "largest", NULL};
    struct psnap_table *table = levels_table(compare, fixed, per_level, "worst on");
    size_t shown = 0;

    psnap_table_shorten(table, 0);
    psnap_table_shorten(table, 1);
    psnap_table_align_right(table, 2);
    for (size_t i = 0; i < compare->loop_count; i++) {
        const struct compare_loop *loop = &compare->loops[i];
        if (!all && (shown == ROWS_SHOWN || !loop->relevant))
            continue;
        psnap_table_cell(table, "%s", loop->id);
        psnap_table_cell(table, "%s", loop->name);
        percent_cell(table, loop->share);
        for (uint32_t level = 0; level < COMPARE_LEVELS; level++) {
            if (!compare_has(compare, level))
                continue;
            psnap_table_cell(table, "%.2f", loop->mean_points[level]);
            psnap_table_cell(table, "%.2f", loop->max_points[level]);
        }
        psnap_table_cell(table, "%s",
                         loop->worst_points > 0 ? compare->machines[loop->worst_machine].name : "");
        shown++;
    }
    psnap_print(stdout,
                "points of %s over %zu machine%s; -m with one of them shows the hit rates\n\n",
                words->error, compare->machine_count, psnap_plural(compare->machine_count));
    psnap_table_print(table, stdout);
    psnap_table_free(table);
    if (shown < compare->loop_count)
        psnap_print(stdout, "(%zu more loop%s: --all shows them)\n", compare->loop_count - shown,
                    psnap_plural(compare->loop_count - shown));
}

/* The relative error of the miss count at a level, in percent: the mean over the rows of a scope
 * that are relevant and have misses. */
static double mean_miss_error(const struct compare *compare, enum psnap_scope scope, uint32_t level)
{
    double sum = 0;
    size_t n = 0;

    for (size_t i = 0; i < compare->count; i++) {
        const struct compare_row *row = &compare->rows[i];
        if (row->scope != scope || !row->relevant ||
            !compare_machine_has(&compare->machines[row->machine], level) ||
            isnan(row->levels[level].relative_miss_error))
            continue;
        sum += 100 * row->levels[level].relative_miss_error;
        n++;
    }
    return n ? sum / (double)n : NAN;
}

static void print_misses(const struct compare *compare, struct psnap_table *table)
{
    static const enum psnap_scope scopes[] = {PSNAP_SCOPE_LOOP, PSNAP_SCOPE_TOTAL};
    static const char *const names[] = {"misses %, mean", "misses %, total"};

    for (size_t row = 0; row < sizeof scopes / sizeof scopes[0]; row++) {
        psnap_table_cell(table, "%s", names[row]);
        for (uint32_t i = 0; i < COMPARE_LEVELS; i++)
            if (compare_has(compare, i))
                percent_cell(table, mean_miss_error(compare, scopes[row], i) / 100);
    }
}

static void print_summary(const struct compare *compare, const struct words *words)
{
    static const char *const names[] = {"mean", "largest", "total (mean)"};
    const double *const points[] = {compare->mean_points, compare->max_points,
                                    compare->total_points};
    const char *headings[1 + COMPARE_LEVELS] = {"points"};
    char texts[COMPARE_LEVELS][16];
    struct psnap_table *table;
    size_t columns = 1;

    for (uint32_t i = 0; i < COMPARE_LEVELS; i++)
        if (compare_has(compare, i))
            headings[columns++] = compare_level_name(i, texts[i], sizeof texts[i]);
    table = psnap_table_new(columns, headings);
    for (size_t i = 1; i < columns; i++)
        psnap_table_align_right(table, i);
    for (size_t row = 0; row < sizeof names / sizeof names[0]; row++) {
        psnap_table_cell(table, "%s", names[row]);
        for (uint32_t i = 0; i < COMPARE_LEVELS; i++)
            if (compare_has(compare, i))
                percent_cell(table, points[row][i] / 100);
    }
    print_misses(compare, table);
    psnap_print(stdout, "\n%s of cumulative hit rates, %zu relevant loop%s, %zu machine%s\n\n",
                words->error, compare->relevant_loops, psnap_plural(compare->relevant_loops),
                compare->machine_count, psnap_plural(compare->machine_count));
    psnap_table_print(table, stdout);
    psnap_table_free(table);
}

/* A loop that one side has lost deserves more than a dash in a table. */
static void print_missing(const struct compare *compare, const struct words *words)
{
    for (size_t i = 0; i < compare->count; i++) {
        const struct compare_row *row = &compare->rows[i];
        if (row->machine == 0 && row->relevant && !(row->in_observed && row->in_synthetic))
            psnap_print(stdout, "loop %s (%s) is only in %s: counted as %g points\n", row->id,
                        row->name, words->streams[!row->in_observed], COMPARE_WHOLLY);
    }
}

/* Many trace formats keep no loops: then there is one, and nothing to match it with. */
static void print_hint(const struct compare *compare, const struct compare_side *observed,
                       const struct compare_side *synthetic)
{
    const bool few = observed->loops.count == 1;

    if (!compare->missing_loops || few == (synthetic->loops.count == 1))
        return;
    psnap_print(
        stdout,
        "%s has one loop only, as traces in formats that keep none: compare the whole stream,\n"
        "or take a .pst or a profile\n",
        few ? observed->path : synthetic->path);
}

static void print_side(const char *what, const struct compare_side *side)
{
    char digits[32];

    psnap_print(stdout, "%s  %s: %s accesses", what, side->path,
                psnap_group_digits(side->accesses, digits));
    if (side->run_accesses)
        psnap_print(stdout, ", a sample of %s", psnap_group_digits(side->run_accesses, digits));
    if (side->threads > 1)
        psnap_print(stdout, ", %" PRIu32 " threads, interleaved %s", side->threads,
                    psnap_turns_words(side->in_turn));
    putchar('\n');
}

/* "a mean of 0.02 points, at most 0.30, in all 0.01" */
static void print_points(const struct psnap_certificate_row *row)
{
    if (isnan(row->mean_points))
        printf("no relevant loop, in all %.4g", row->total_points);
    else
        printf("a mean of %.4g points, at most %.4g, in all %.4g", row->mean_points,
               row->max_points, row->total_points);
}

/* Whether the synthetic side's certificate says what was found. */
static void print_claim(const struct compare_claim *claim, const char *path)
{
    const struct certificate_check *check = &claim->check;
    const struct psnap_certificate_row *at = check->claimed;
    char name[16];

    psnap_print(stdout, "\ncertificate of %s: ", path);
    if (!claim->holds)
        puts("no longer holds, the profile was edited since it was made");
    else if (check->has_other_seed)
        printf("made with seed %" PRIu64 ", not compared\n", claim->certificate->seed);
    else if (check->other_machine)
        psnap_print(stdout, "made with another %s (%s), not compared\n", check->other_machine->name,
                    check->other_machine->caches);
    else if (!check->compared)
        psnap_print(stdout, "made with other machines (-m %s, ...), not compared\n",
                    claim->certificate->row_count ? claim->certificate->rows[0].machine : "");
    else if (!check->different)
        printf("confirmed (%" PRIu32 " of its %" PRIu32 " rows)\n", check->compared,
               claim->certificate->row_count);
    else {
        psnap_print(stdout, "claims otherwise (%" PRIu32 " of %" PRIu32 " rows): for %s of %s ",
                    check->different, check->compared, psnap_certificate_level(at, name),
                    at->machine);
        print_points(at);
        fputs(", here ", stdout);
        if (check->found)
            print_points(check->found);
        else
            fputs("the machine has no such level", stdout);
        putchar('\n');
    }
}

void compare_print_tables(const struct compare *compare, const struct compare_side *observed,
                          const struct compare_side *synthetic, const struct compare_claim *claim,
                          bool are_profiles, bool all)
{
    const struct words *words = are_profiles ? &profiles : &truth;

    print_side(words->sides[0], observed);
    print_side(words->sides[1], synthetic);
    putchar('\n');
    if (compare->machine_count > 1)
        print_loops(compare, words, all);
    else
        print_rows(compare, words, PSNAP_SCOPE_LOOP, all);
    print_missing(compare, words);
    print_hint(compare, observed, synthetic);
    puts("\nthe whole stream\n");
    print_rows(compare, words, PSNAP_SCOPE_TOTAL, true);
    print_summary(compare, words);
    if (claim->certificate)
        print_claim(claim, synthetic->path);
}
