/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The report of psnap hybrid for people: of each code its experiment, m0 and the verdict; then the
 * hypotheses on all codes.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predict/hybrid/cmd_hybrid.h"

static const char *const effect_names[] = {"size", "machine", "interaction"};

/* So many significant digits. */
static void real_cell(struct psnap_table *table, int digits, double value)
{
    if (isnan(value))
        psnap_table_cell(table, "-");
    else
        psnap_table_cell(table, "%.*g", digits, value);
}

/* To so many places. */
static void fixed_cell(struct psnap_table *table, int places, double value)
{
    if (isnan(value))
        psnap_table_cell(table, "-");
    else
        psnap_table_cell(table, "%.*f", places, value);
}

/* A probability, in two digits where it is small; into a caller's buffer, which it returns. */
static const char *p_text(double p, char buffer[32])
{
    if (isnan(p))
        snprintf(buffer, 32, "-");
    else
        snprintf(buffer, 32, p < 0.0001 ? "%.1e" : "%.4f", p);
    return buffer;
}

/* F to five digits, or as a whole number; into a caller's buffer, which it returns. */
static const char *f_text(double f, char buffer[32])
{
    if (isnan(f))
        snprintf(buffer, 32, "-");
    else
        snprintf(buffer, 32, f >= 9999.95 && f < 1e10 ? "%.0f" : "%#.5g", f);
    return buffer;
}

static void print_table(struct psnap_table *table)
{
    psnap_table_print(table, stdout);
    psnap_table_free(table);
}

/* -------------------------------------------------------------------- experiments */

/* Columns of both kinds of tests. */
static void effect_cells(struct psnap_table *table, const struct anova_effect *effect, double level)
{
    char buffer[32];

    real_cell(table, 6, effect->sum_of_squares);
    psnap_table_cell(table, "%s", f_text(effect->f, buffer));
    psnap_table_cell(table, "%s", p_text(effect->p, buffer));
    fixed_cell(table, 3, effect->partial_eta_squared);
    psnap_table_cell(table, "%s", effect->p < level ? "rejected" : "not rejected");
}

static void print_checks(const struct anova_checks *checks, double level, const char *indent)
{
    const bool is_normal = !(checks->anderson_darling_p < level);
    const bool is_equal = !(checks->brown_forsythe_p < level);
    char buffer[32];

    if (isnan(checks->anderson_darling))
        psnap_print(stdout, "%snormality cannot be checked of fewer than 8 observations", indent);
    else
        psnap_print(stdout, "%s%s (Anderson-Darling A2 %.3f, p %s)", indent,
                    is_normal ? "normal" : "not normal", checks->anderson_darling,
                    p_text(checks->anderson_darling_p, buffer));
    if (isnan(checks->brown_forsythe))
        printf("; equal variance cannot be checked of two observations a cell\n");
    else
        psnap_print(stdout, "; %s (Brown-Forsythe F %.3f, p %s)\n",
                    is_equal ? "of equal variance" : "not of equal variance",
                    checks->brown_forsythe, p_text(checks->brown_forsythe_p, buffer));
    if (!is_normal || !is_equal)
        psnap_print(stdout, "%*sso p is rough: near %g it decides nothing\n",
                    (int)strspn(indent, " "), "", level);
}

static void print_residuals(const struct hybrid_code *code, const struct observations *observations,
                            double level)
{
    const struct anova_checks *checks = &code->experiment.checks;
    const struct observation *row = &observations->rows[code->rows[checks->largest_of]];
    char size[32];

    print_checks(checks, level, "residuals: ");
    psnap_print(stdout, "largest residual: %.2f standard deviations, size %s on %s",
                checks->largest, observations_size(observations, row->size, size),
                observations->machines.names[row->machine]);
    if (row->src_line)
        printf(", line %" PRIu32, row->src_line);
    printf("\n");
}

static void print_experiment(const struct hybrid_code *code,
                             const struct observations *observations, double level)
{
    static const char *const headings[] = {"effect on cpi", "df",       "sum of squares", "F", "p",
                                           "partial eta2",  "no effect"};
    const struct anova *anova = &code->experiment;
    struct psnap_table *table = psnap_table_new(7, headings);

    for (size_t column = 1; column < 6; column++)
        psnap_table_align_right(table, column);
    for (int e = ANOVA_A; e <= ANOVA_INTERACTION; e++) {
        psnap_table_cell(table, "%s", effect_names[e]);
        real_cell(table, 6, anova->effects[e].df);
        effect_cells(table, &anova->effects[e], level);
    }
    psnap_table_cell(table, "residual");
    real_cell(table, 6, anova->residual_df);
    real_cell(table, 6, anova->residual_sum_of_squares);
    for (int i = 0; i < 4; i++)
        psnap_table_cell(table, "%s", "");
    print_table(table);
    print_residuals(code, observations, level);
    printf("\n");
}

/* ---------------------------------------------------------------------------- m0 */

static const struct m0_point *point_at(const struct m0_curve *curve, double size)
{
    for (size_t p = 0; p < curve->count; p++)
        if (curve->points[p].size == size)
            return &curve->points[p];
    return NULL;
}

/* A row of each size; of each machine m0 as observed and by t_i. */
static void print_points(const struct hybrid_code *code, const struct observations *observations)
{
    const size_t columns = 1 + 2 * (size_t)code->machine_count;
    char(*texts)[96] = calloc(columns, sizeof *texts);
    const char **headings = calloc(columns, sizeof *headings);
    struct psnap_table *table;

    for (size_t c = 0; c < columns && texts && headings; c++) {
        const char *machine =
            c ? observations->machines.names[code->machines[(c - 1) / 2]] : "size";
        snprintf(texts[c], sizeof texts[c],
                 c && c % 2 == 0 ? "%.70s by t_i"
                 : c             ? "m0 %.70s"
                                 : "%s",
                 machine);
        headings[c] = texts[c];
    }
    if (texts && headings) {
        table = psnap_table_new(columns, headings);
        for (size_t c = 0; c < columns; c++)
            psnap_table_align_right(table, c);
        for (uint32_t s = 0; s < code->size_count; s++) {
            char size[32];
            psnap_table_cell(table, "%s", observations_size(observations, code->sizes[s], size));
            for (uint32_t m = 0; m < code->machine_count; m++) {
                const struct m0_point *point = point_at(&code->curves[m], code->sizes[s]);
                fixed_cell(table, 3, point ? point->m0 : NAN);
                fixed_cell(table, 3, point ? point->m0_fitted : NAN);
            }
        }
        print_table(table);
    }
    free(texts);
    free(headings);
}

static void print_latencies(const struct m0_curve *curve)
{
    bool has_one = false, is_beyond = false;

    if (!curve->has_latencies) {
        psnap_print(stdout, "  t_i are not determined: %s\n", curve->why_no_latencies);
        return;
    }
    printf("  t_i of T_i, cycles:");
    for (uint32_t l = 0; l < curve->levels; l++) {
        if (isnan(curve->latencies[l]))
            continue;
        psnap_print(stdout, "%s level %" PRIu32 " %.3g of %.3g", has_one ? "," : "", l + 2,
                    curve->latencies[l], curve->lowest[l]);
        if (curve->highest[l] > curve->lowest[l])
            printf(" to %.3g", curve->highest[l]);
        has_one = true;
        is_beyond |= curve->latencies[l] > 1.05 * curve->maximal[l];
    }
    printf("; they leave %.2g %% of cpi_memory\n", 100 * curve->fit_error);
    if (is_beyond)
        printf("  a t_i is above its T_i: T_i is no maximum, or sizes do not tell levels apart\n");
}

static void print_left_out(const struct m0_curve *curve, const struct observations *observations)
{
    char size[32];

    if (!curve->left_out)
        return;
    psnap_print(stdout, "  %zu observation%s left out, of size %s", curve->left_out,
                curve->left_out == 1 ? " is" : "s are",
                observations_size(observations, curve->first_left_out->size, size));
    if (curve->first_left_out->src_line)
        printf(" on line %" PRIu32, curve->first_left_out->src_line);
    psnap_print(stdout, "%s, as %s\n", curve->left_out == 1 ? "" : " and others", curve->why);
}

static void print_curve(const struct m0_curve *curve, const char *machine,
                        const struct observations *observations)
{
    char size[32];

    if (!curve->count) {
        psnap_print(stdout, "%s: m0 is not known, as %s\n", machine, curve->why);
        return;
    }
    psnap_print(stdout, "%s: m0 %.3f", machine, curve->mean);
    if (curve->count > 1)
        printf(", standard deviation %.3f over %zu sizes", curve->deviation, curve->count);
    if (curve->is_steady)
        psnap_print(stdout, "; steady from n = %s, at %.3f\n",
                    observations_size(observations, curve->steady_from, size), curve->steady_mean);
    else if (curve->count < M0_STEADY_SIZES)
        printf("; steady or not is not known: %d sizes are needed\n", M0_STEADY_SIZES);
    else
        printf("; not steady\n");
    print_latencies(curve);
    print_left_out(curve, observations);
}

/* What m0 of two machines differs by, at sizes that are called `what`. */
static void print_difference(const struct m0_difference *difference, const char *what)
{
    printf("%+.3f", difference->mean);
    if (difference->sizes < M0_STEADY_SIZES)
        psnap_print(stdout, " at %zu %s%s: a constant or not is not known: %d sizes are needed\n",
                    difference->sizes, what, psnap_plural(difference->sizes), M0_STEADY_SIZES);
    else
        psnap_print(stdout, ", at most %.3f from that at %zu %ss: %s\n", difference->largest,
                    difference->sizes, what,
                    difference->is_constant ? "a constant" : "no constant");
}

static void print_pairs(const struct hybrid_code *code, const struct observations *observations)
{
    char size[32], buffer[32];

    for (size_t p = 0; p < code->pair_count; p++) {
        const struct hybrid_pair *pair = &code->pairs[p];
        psnap_print(stdout, "%s - %s: m0 ",
                    observations->machines.names[code->machines[pair->second]],
                    observations->machines.names[code->machines[pair->first]]);
        print_difference(&pair->difference, "common size");
        if (!pair->steady.sizes || pair->difference.is_constant)
            continue;
        psnap_print(stdout, "  from n = %s on ",
                    observations_size(observations, code->steady_from, size));
        print_difference(&pair->steady, "size");
    }
    if (!isnan(code->parallel_f))
        psnap_print(
            stdout,
            "parallel curves of m0 (no interaction of size and machine): F %.3f, df %g and %g, "
            "p %s\n",
            code->parallel_f, code->parallel_df, code->parallel_residual_df,
            p_text(code->parallel_p, buffer));
}

static void print_m0(const struct hybrid_code *code, const struct observations *observations)
{
    bool is_known = false;

    for (uint32_t m = 0; m < code->machine_count; m++)
        is_known |= code->curves[m].count > 0;
    if (!is_known)
        return; /* the verdict says why */
    print_points(code, observations);
    for (uint32_t m = 0; m < code->machine_count; m++)
        print_curve(&code->curves[m], observations->machines.names[code->machines[m]],
                    observations);
    print_pairs(code, observations);
    printf("\n");
}

/* -------------------------------------------------------------------- hypotheses */

static void print_hypotheses_table(const struct hybrid *hybrid, double level)
{
    static const char *const headings[] = {"hypothesis",  "response",       "df",
                                           "residual df", "sum of squares", "F",
                                           "p",           "partial eta2",   "no effect"};
    struct psnap_table *table = psnap_table_new(9, headings);

    for (size_t column = 2; column < 8; column++)
        psnap_table_align_right(table, column);
    for (int h = 0; h < HYPOTHESES; h++) {
        const struct hypothesis *hypothesis = &hybrid->hypotheses[h];
        psnap_table_cell(table, "%s", hypothesis_name(h));
        psnap_table_cell(table, "%s", hypothesis_response(h));
        if (!hypothesis->is_tested) {
            for (int i = 0; i < 6; i++)
                psnap_table_cell(table, "-");
            psnap_table_cell(table, "not tested");
            continue;
        }
        real_cell(table, 6, hypothesis->effect.df);
        real_cell(table, 6, hypothesis->residual_df);
        effect_cells(table, &hypothesis->effect, level);
    }
    print_table(table);
}

static void print_hypotheses(const struct hybrid *hybrid, const struct observations *observations,
                             double level)
{
    if (!hybrid->has_hypotheses) {
        psnap_print(stdout, "codes x machines: not tested, as %s\n",
                    hybrid->hypotheses[HYPOTHESIS_OVERALL].why);
        return;
    }
    printf("%zu codes x %zu machines, sizes as replicates:\n\n", observations->codes.count,
           observations->machines.count);
    print_hypotheses_table(hybrid, level);
    for (int h = 0; h < HYPOTHESES; h++) {
        const struct hypothesis *hypothesis = &hybrid->hypotheses[h];
        psnap_print(stdout, "\n%s: %s: ", hypothesis_name(h), hypothesis_claim(h));
        if (!hypothesis->is_tested) {
            psnap_print(stdout, "not tested, as %s\n", hypothesis->why);
            continue;
        }
        psnap_print(stdout, "%s\n  %s\n", hypothesis->is_rejected ? "rejected" : "not rejected",
                    hypothesis_next(h, hypothesis->is_rejected));
        print_checks(&hypothesis->checks, level, "  residuals: ");
    }
}

void hybrid_print(const struct hybrid *hybrid, const struct observations *observations,
                  const struct hybrid_settings *settings)
{
    const double level = settings->options.level;

    for (size_t c = 0; c < hybrid->code_count; c++) {
        const struct hybrid_code *code = &hybrid->codes[c];
        const char *const name = observations->codes.names[code->code];
        psnap_print(stdout,
                    "code %s: %" PRIu32 " size%s on %" PRIu32 " machine%s, %zu observation%s%s\n\n",
                    name, code->size_count, psnap_plural(code->size_count), code->machine_count,
                    psnap_plural(code->machine_count), code->count, psnap_plural(code->count),
                    !code->has_experiment          ? ""
                    : code->experiment.is_balanced ? ", balanced"
                                                   : ", unbalanced");
        if (code->has_experiment)
            print_experiment(code, observations, level);
        if (code->is_refused)
            psnap_print(stdout, "no experiment: %s\n\n", code->refusal.message);
        print_m0(code, observations);
        psnap_print(stdout, "%s: %s\n\n", name, code->verdict);
    }
    print_hypotheses(hybrid, observations, level);
}
