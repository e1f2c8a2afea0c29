/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap compare: an observed stream and a synthetic one through the same caches, how far their hit
 * rates are apart, and whether that is within the limits that were given. compare.c has the
 * definitions, MACHINES.md the fields of the JSON.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/cmd.h"
#include "simcore/cmd_certificate.h"
#include "simcore/cmd_side.h"
#include "simcore/cmd_turns.h"
#include "simcore/compare.h"

/* The certificate of a profile on the synthetic side. */
struct compare_claim {
    const struct psnap_certificate *certificate; /* NULL: none */
    bool holds;                                  /* the profile was not edited since */
    struct certificate_check check;
};

struct settings {
    struct psnap_input_options observed, synthetic;
    double max_error, max_mean; /* points; NaN: no limit */
    bool json, all;
};

/* ------------------------------------------------------------------ tables */

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

static void print_tables(const struct compare *compare, const struct compare_side *observed,
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

/* -------------------------------------------------------------------- JSON */

static void json_level(struct psnap_json *json, const struct compare_level *level)
{
    psnap_json_real(json, "observed", level->observed);
    psnap_json_real(json, "synthetic", level->synthetic);
    psnap_json_real(json, "error_points", level->error_points);
    psnap_json_real(json, "relative_miss_error", level->relative_miss_error);
    psnap_json_end_object(json);
}

static void json_row(struct psnap_json *json, const struct compare *compare,
                     const struct compare_row *row)
{
    const struct psnap_machine *machine = &compare->machines[row->machine];

    psnap_json_begin_object(json, NULL);
    psnap_json_text(json, "machine", machine->name);
    psnap_json_text(json, "scope", psnap_scope_name(row->scope));
    psnap_json_text(json, "id", row->id);
    psnap_json_text(json, "name", row->name);
    psnap_json_real(json, "share", row->share);
    psnap_json_bool(json, "relevant", row->relevant);
    psnap_json_begin_array(json, "levels");
    for (uint32_t i = 0; i < machine->level_count; i++) {
        psnap_json_begin_object(json, NULL);
        psnap_json_u64(json, "level", i + UINT64_C(1));
        if (machine->levels[i].name[0])
            psnap_json_text(json, "name", machine->levels[i].name);
        json_level(json, &row->levels[i]);
    }
    psnap_json_end_array(json);
    if (machine->tlb_level_count) {
        psnap_json_begin_array(json, "tlb");
        for (uint32_t i = 0; i < machine->tlb_level_count; i++) {
            psnap_json_begin_object(json, NULL);
            psnap_json_text(json, "level", scope_tlb_name(i));
            json_level(json, &row->levels[COMPARE_TLB + i]);
        }
        psnap_json_end_array(json);
    }
    psnap_json_end_object(json);
}

static void json_points(struct psnap_json *json, const char *key, const double *points,
                        uint32_t levels)
{
    psnap_json_begin_array(json, key);
    for (uint32_t i = 0; i < levels; i++)
        psnap_json_real(json, NULL, points[i]);
    psnap_json_end_array(json);
}

static void json_side(struct psnap_json *json, const char *key, const struct compare_side *side)
{
    psnap_json_begin_object(json, key);
    psnap_json_text(json, "input", side->path);
    psnap_json_u64(json, "accesses", side->accesses);
    psnap_turns_json(json, side->threads, side->in_turn);
    psnap_json_end_object(json);
}

static bool claim_is_confirmed(const struct compare_claim *claim)
{
    return claim->holds && !claim->check.has_other_seed && !claim->check.other_machine &&
           claim->check.compared && !claim->check.different;
}

/* What the synthetic side claims, when it is a profile with a certificate. */
static void json_claim(struct psnap_json *json, const struct compare_claim *claim)
{
    const struct certificate_check *check = &claim->check;
    const bool is_other = check->has_other_seed || check->other_machine;

    psnap_json_begin_object(json, "certificate");
    psnap_json_text(json, "psnap", claim->certificate->version);
    psnap_json_u64(json, "seed", claim->certificate->seed);
    psnap_json_bool(json, "holds", claim->holds);
    psnap_json_u64(json, "compared_rows", is_other ? 0 : check->compared);
    psnap_json_u64(json, "different_rows", is_other ? 0 : check->different);
    psnap_json_bool(json, "confirmed", claim_is_confirmed(claim));
    psnap_json_end_object(json);
}

static void print_json(const struct compare *compare, const struct compare_side *observed,
                       const struct compare_side *synthetic, const struct compare_claim *claim,
                       bool all)
{
    struct psnap_json json;

    psnap_cmd_begin_json(&json, stdout, "compare");
    json_side(&json, "observed", observed);
    json_side(&json, "synthetic", synthetic);
    psnap_json_begin_array(&json, "rows");
    for (size_t i = 0; i < compare->count; i++)
        if (all || compare->rows[i].relevant)
            json_row(&json, compare, &compare->rows[i]);
    psnap_json_end_array(&json);
    psnap_json_begin_object(&json, "summary");
    psnap_json_u64(&json, "relevant_loops", compare->relevant_loops);
    psnap_json_u64(&json, "missing_loops", compare->missing_loops);
    psnap_json_u64(&json, "machines", compare->machine_count);
    json_points(&json, "mean_points", compare->mean_points, compare->levels);
    json_points(&json, "max_points", compare->max_points, compare->levels);
    json_points(&json, "total_points", compare->total_points, compare->levels);
    if (compare->tlb_levels) {
        const uint32_t n = compare->tlb_levels;
        json_points(&json, "tlb_mean_points", compare->mean_points + COMPARE_TLB, n);
        json_points(&json, "tlb_max_points", compare->max_points + COMPARE_TLB, n);
        json_points(&json, "tlb_total_points", compare->total_points + COMPARE_TLB, n);
    }
    psnap_json_end_object(&json);
    if (claim->certificate)
        json_claim(&json, claim);
    psnap_json_end_object(&json);
    putchar('\n');
}

/* --------------------------------------------------------------- the command */

/* `profile` may be NULL. */
static enum psnap_status check_claim(struct psnap_profile *profile, const struct compare *compare,
                                     uint64_t seed, uint64_t count, struct compare_claim *claim,
                                     struct psnap_error *error)
{
    struct psnap_certificate *found;
    enum psnap_status status;
    int holds;

    if (!profile || !profile->certificate || count != UINT64_MAX) /* of all accesses */
        return PSNAP_OK;
    holds = psnap_certificate_holds(profile, error);
    status = holds < 0 ? (enum psnap_status)holds
                       : certificate_of(compare, profile, seed, &found, error);
    if (status)
        return status;
    *claim = (struct compare_claim){profile->certificate, holds != 0,
                                    certificate_check(profile->certificate, found)};
    return PSNAP_OK;
}

/* Rows are ordered by their error: the first relevant one has the largest. */
static bool within_limits(const struct compare *compare, const struct settings *settings)
{
    const struct compare_row *worst = compare->rows;

    while (!worst->relevant) /* totals are relevant */
        worst++;
    if (!isnan(settings->max_error) && !(worst->worst_points <= settings->max_error)) {
        psnap_print(stderr, "psnap compare: %s %s on %s is %.3f points apart, more than %g\n",
                    psnap_scope_name(worst->scope), worst->id,
                    compare->machines[worst->machine].name, worst->worst_points,
                    settings->max_error);
        return false;
    }
    if (!isnan(settings->max_mean) && !compare->relevant_loops) {
        fprintf(stderr,
                "psnap compare: no loop is relevant, so there is no mean error to be at "
                "most %g points\n",
                settings->max_mean);
        return false;
    }
    for (uint32_t i = 0; i < COMPARE_LEVELS && !isnan(settings->max_mean); i++) {
        char name[16];
        if (!compare_has(compare, i) || compare->mean_points[i] <= settings->max_mean)
            continue;
        if (i < COMPARE_TLB)
            snprintf(name, sizeof name, "level %" PRIu32, i + 1);
        else
            snprintf(name, sizeof name, "the %s", scope_tlb_name(i - COMPARE_TLB));
        psnap_print(stderr, "psnap compare: the mean error at %s is %.3f points, more than %g\n",
                    name, compare->mean_points[i], settings->max_mean);
        return false;
    }
    return true;
}

static int compare_sides(struct compare_side *observed, struct compare_side *synthetic,
                         const struct settings *settings, const struct psnap_machine *machines,
                         size_t n)
{
    struct psnap_input_options options[2] = {settings->observed, settings->synthetic};
    struct psnap_profile *first = NULL, *profile = NULL;
    struct psnap_error error;
    struct compare compare = {0};
    struct compare_claim claim = {.certificate = NULL};
    int status = PSNAP_EXIT_DONE;

    options[0].kept = &first;
    options[1].kept = &profile;
    if (side_run_input(observed, &options[0], machines, n, &error) ||
        side_run_input(synthetic, &options[1], machines, n, &error) ||
        compare_init(&compare, machines, n, observed, synthetic, &error) ||
        check_claim(profile, &compare, options[1].seed, options[1].count, &claim, &error)) {
        status = psnap_cmd_fail("compare", &error);
        goto out;
    }
    if (settings->json)
        print_json(&compare, observed, synthetic, &claim, settings->all);
    else
        print_tables(&compare, observed, synthetic, &claim, first && profile, settings->all);
    fflush(stdout);
    if (!within_limits(&compare, settings))
        status = PSNAP_EXIT_FAILED;
    status = psnap_cmd_close_stdout("compare", status);
out:
    compare_release(&compare);
    psnap_profile_free(first);
    psnap_profile_free(profile);
    return status;
}

static int run(char *const *paths, const struct settings *settings,
               const struct psnap_text_list *machine_list)
{
    size_t n;
    struct compare_side observed = {.path = paths[0]}, synthetic = {.path = paths[1]};
    struct psnap_error error;
    struct psnap_machine *machines;
    int status;

    if (!strcmp(paths[0], "-") && !strcmp(paths[1], "-"))
        return psnap_cmd_usage("compare", "only one side can be standard input");
    machines = side_machines(machine_list, &n, &error);
    if (!machines)
        return psnap_cmd_fail("compare", &error);
    status = compare_sides(&observed, &synthetic, settings, machines, n);
    side_release(&observed);
    side_release(&synthetic);
    free(machines);
    return status;
}

int psnap_cmd_compare(int argc, char **argv)
{
    struct settings settings = {PSNAP_INPUT_DEFAULTS, PSNAP_INPUT_DEFAULTS, NAN, NAN, false, false};
    struct psnap_text_list machines = {0};
    uint64_t seed = 0;
    const struct psnap_option options[] = {
        {PSNAP_OPTION_LIST, 'm', "machine", &machines, "MACHINE",
         "may be repeated (the ten structures table1-1 to table1-10)"},
        {PSNAP_OPTION_TEXT, 0, "interleave", &settings.observed.interleave, "WAY",
         "round-robin: threads in turn, access by access (else in the input's order)"},
        {PSNAP_OPTION_FLAG, 0, "json", &settings.json, NULL, "print JSON"},
        {PSNAP_OPTION_FLAG, 0, "all", &settings.all, NULL,
         "show every loop, also those with less than 0.5 % of the accesses"},
        {PSNAP_OPTION_REAL, 0, "max-error", &settings.max_error, "POINTS",
         "exit 1 when the error of a relevant loop or of the total is larger"},
        {PSNAP_OPTION_REAL, 0, "max-mean", &settings.max_mean, "POINTS",
         "exit 1 when the mean error at some level is larger"},
        {PSNAP_OPTION_U64, 0, "seed", &seed, "N", "of a profile's replay (0)"},
        {PSNAP_OPTION_COUNT, 0, "count", &settings.synthetic.count, "N",
         "stop after N accesses of each"},
        {PSNAP_OPTION_TEXT, 0, "from-observed", &settings.observed.from, "FORMAT",
         "the observed input's format (recognised)"},
        {PSNAP_OPTION_TEXT, 0, "from-synthetic", &settings.synthetic.from, "FORMAT",
         "the synthetic input's format (recognised)"},
        {PSNAP_OPTION_END, 0, NULL, NULL, NULL, NULL},
    };
    const struct psnap_usage usage = {
        "psnap compare OBSERVED SYNTHETIC [-m MACHINE ...] [--max-error POINTS] [--json]",
        "Runs both streams (each a trace, a profile, or one of them - for standard\n"
        "input) through the caches of each MACHINE and prints how far their\n"
        "cumulative hit rates are apart, per loop and in total, in points (percent).\n"
        "Loops are matched by their place in the source; a loop with at least 0.5 %\n"
        "of the accesses that only one side has counts as 100 points. Of two profiles\n"
        "neither is the truth: they are a and b, and what is between them a difference.",
        options};
    int status;
    const int operands = psnap_options_parse(argc, argv, &usage, false, &status);

    settings.observed.seed = settings.synthetic.seed = seed;
    settings.observed.count = settings.synthetic.count;
    settings.synthetic.interleave = settings.observed.interleave;
    if (operands >= 0 && (settings.max_error < 0 || settings.max_mean < 0))
        status = psnap_cmd_usage("compare", "--max-%s: points of error are not negative",
                                 settings.max_error < 0 ? "error" : "mean");
    else if (operands == 2)
        status = run(argv + 1, &settings, &machines);
    else if (operands >= 0)
        status = psnap_cmd_usage("compare", "two inputs are needed, not %d", operands);
    psnap_text_list_release(&machines);
    return status;
}
