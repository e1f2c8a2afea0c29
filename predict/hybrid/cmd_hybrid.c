/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap hybrid: a statistical analysis of codes on machines from tables of observations. HYBRID.md
 * has the models and documents the report.
 *
 * The report is tables, whose rows are described once: for people they are printed aligned, for
 * programs as an array of objects.
 */
#include <inttypes.h>
#include <math.h>

#include "formats/base/arena.h"
#include "formats/base/cmd.h"
#include "predict/hybrid/hybrid.h"
#include "replay/cmd_input.h"

/* -------------------------------------------------------------------------- printer */

enum kind { TEXT, NOTE, REAL, ANSWER, END };

/* A value of a row, by the same name for people and in JSON. A note is in JSON alone. */
struct cell {
    const char *name;
    enum kind kind;
    const char *text; /* NULL: none */
    double number;    /* NAN: not known; of ANSWER an enum answer */
};

struct report {
    struct psnap_json json;
    struct psnap_table *table; /* for people; NULL: it has no row yet */
    bool in_json;
};

static void write_cell(struct psnap_table *table, const struct cell *cell)
{
    static const char *const answers[] = {"-", "no", "yes"};

    if (cell->kind == REAL && !isnan(cell->number))
        psnap_table_cell(table, "%.5g", cell->number);
    else
        psnap_table_cell(table, "%s",
                         cell->kind == TEXT     ? cell->text
                         : cell->kind == ANSWER ? answers[(enum answer)cell->number]
                                                : "-");
}

static void write_member(struct psnap_json *json, const struct cell *cell)
{
    if (cell->text)
        psnap_json_text(json, cell->name, cell->text);
    else if (cell->kind == ANSWER && (int)cell->number > ANSWER_UNKNOWN)
        psnap_json_bool(json, cell->name, (int)cell->number > ANSWER_NO);
    else
        psnap_json_real(json, cell->name, cell->kind == REAL ? cell->number : NAN);
}

/* Begins a table with the names of a row. */
static void begin_table(struct report *report, const struct cell *cells)
{
    const char *names[16] = {NULL};
    size_t count = 0;

    for (; cells[count].kind != END && cells[count].kind != NOTE; count++)
        names[count] = cells[count].name;
    report->table = psnap_table_new(count, names);
    for (size_t c = 0; c < count; c++)
        if (cells[c].kind != TEXT)
            psnap_table_align_right(report->table, c);
}

/* Writes a row, up to END; notes are the last ones. */
static void write_row(struct report *report, const struct cell *cells)
{
    if (report->in_json)
        psnap_json_begin_object(&report->json, NULL);
    else if (!report->table)
        begin_table(report, cells);
    for (const struct cell *cell = cells; cell->kind != END; cell++)
        if (report->in_json)
            write_member(&report->json, cell);
        else if (cell->kind != NOTE)
            write_cell(report->table, cell);
    if (report->in_json)
        psnap_json_end_object(&report->json);
}

static void begin_rows(struct report *report, const char *key)
{
    if (report->in_json)
        psnap_json_begin_array(&report->json, key);
}

static void end_rows(struct report *report)
{
    if (report->in_json)
        psnap_json_end_array(&report->json);
    if (report->table) {
        psnap_table_print(report->table, stdout);
        putchar('\n');
    }
    psnap_table_free(report->table);
    report->table = NULL;
}

/* ----------------------------------------------------------------------------- rows */

static void write_effects(struct report *report, const char *key,
                          const struct hybrid_effect *effects, size_t count)
{
    begin_rows(report, key);
    for (const struct hybrid_effect *effect = effects; effect < effects + count; effect++)
        write_row(report, (const struct cell[]){
                              {"effect", TEXT, effect->name},
                              {"response", TEXT, effect->response},
                              {"df", REAL, NULL, effect->test.df},
                              {"residual_df", REAL, NULL, effect->residual_df},
                              {"sum_of_squares", REAL, NULL, effect->test.sum_of_squares},
                              {"f", REAL, NULL, effect->test.f},
                              {"p", REAL, NULL, effect->test.p},
                              {"partial_eta_squared", REAL, NULL, effect->test.partial_eta_squared},
                              {"rejected", ANSWER, NULL, effect->is_rejected},
                              {"claim", NOTE, effect->claim},
                              {"next", NOTE, effect->next},
                              {"why_not", NOTE, effect->why_not},
                              {.kind = END},
                          });
    end_rows(report);
}

/* Writes what checks of residuals say of experiments. */
static void write_checks(struct report *report, const struct hybrid_experiment *experiments,
                         size_t count)
{
    begin_rows(report, "residuals");
    for (const struct hybrid_experiment *row = experiments; row < experiments + count; row++) {
        const struct anova *const anova = &row->anova;
        if (row->response && !*row->why_not)
            write_row(report, (const struct cell[]){
                                  {"response", TEXT, row->response},
                                  {"observations", REAL, NULL, (double)row->observations},
                                  {"balanced", ANSWER, NULL, anova->is_balanced + ANSWER_NO},
                                  {"anderson_darling", REAL, NULL, anova->anderson_darling},
                                  {"anderson_darling_p", REAL, NULL, anova->anderson_darling_p},
                                  {"brown_forsythe", REAL, NULL, anova->brown_forsythe},
                                  {"brown_forsythe_p", REAL, NULL, anova->brown_forsythe_p},
                                  {"largest_standardized", REAL, NULL, anova->largest},
                                  {"largest_line", REAL, NULL, row->largest_line},
                                  {.kind = END},
                              });
    }
    end_rows(report);
}

static void write_m0(struct report *report, const struct hybrid_code *code)
{
    const struct m0_curve *const end = code->curves + code->curve_count;

    begin_rows(report, "points");
    for (const struct m0_curve *curve = code->curves; curve < end; curve++)
        for (size_t p = 0; p < curve->sizes; p++)
            write_row(report,
                      (const struct cell[]){
                          {"machine", TEXT, curve->machine},
                          {"size", REAL, NULL, curve->points[p].size},
                          {"observations", REAL, NULL, (double)curve->points[p].observations},
                          {"m0", REAL, NULL, curve->points[p].m0},
                          {"m0_fitted", REAL, NULL, curve->points[p].m0_fitted},
                          {.kind = END},
                      });
    end_rows(report);
    begin_rows(report, "latencies");
    for (const struct m0_curve *curve = code->curves; curve < end; curve++)
        for (uint32_t l = 0; l < curve->levels && curve->sizes; l++)
            write_row(report, (const struct cell[]){
                                  {"machine", TEXT, curve->machine},
                                  {"level", REAL, NULL, l + 2},
                                  {"average_cycles", REAL, NULL, curve->average_cycles[l]},
                                  {"maximal_cycles", REAL, NULL, curve->maximal_cycles[l]},
                                  {.kind = END},
                              });
    end_rows(report);
    begin_rows(report, "m0");
    for (const struct m0_curve *curve = code->curves; curve < end; curve++)
        write_row(report, (const struct cell[]){
                              {"machine", TEXT, curve->machine},
                              {"sizes", REAL, NULL, (double)curve->sizes},
                              {"mean", REAL, NULL, curve->mean},
                              {"deviation", REAL, NULL, curve->deviation},
                              {"steady", ANSWER, NULL, curve->is_steady},
                              {"steady_from", REAL, NULL, curve->steady_from},
                              {"steady_mean", REAL, NULL, curve->steady_mean},
                              {"steady_deviation", REAL, NULL, curve->steady_deviation},
                              {"fit_error", REAL, NULL, curve->fit_error},
                              {"left_out", REAL, NULL, (double)curve->left_out},
                              {"why_no_latencies", NOTE, curve->why_no_latencies},
                              {.kind = END},
                          });
    end_rows(report);
    begin_rows(report, "differences");
    for (const struct hybrid_pair *pair = code->pairs; pair < code->pairs + code->pair_count;
         pair++)
        write_row(report, (const struct cell[]){
                              {"of", TEXT, pair->of},
                              {"from", TEXT, pair->from},
                              {"from_size", REAL, NULL, pair->from_size},
                              {"sizes", REAL, NULL, (double)pair->difference.sizes},
                              {"mean", REAL, NULL, pair->difference.mean},
                              {"largest_deviation", REAL, NULL, pair->difference.largest},
                              {"constant", ANSWER, NULL, pair->difference.is_constant},
                              {.kind = END},
                          });
    end_rows(report);
}

/* Writes words of a report: a member of JSON, or a line behind a name. */
static void write_words(struct report *report, const char *key, const char *name, const char *text)
{
    if (report->in_json)
        psnap_json_text(&report->json, key, text);
    else
        psnap_print(stdout, "%s: %s\n", name, text);
}

static void write_code(struct report *report, const struct hybrid_code *code)
{
    const bool has_experiment = code->of_cpi.response && !*code->of_cpi.why_not;

    if (report->in_json)
        psnap_json_begin_object(&report->json, NULL);
    write_words(report, "code", "code", code->name);
    write_effects(report, "effects", code->effects, has_experiment ? 4 : 0);
    if (code->refusal.message[0]) {
        write_words(report, "why_no_effects", code->name, code->refusal.message);
        psnap_cmd_fail_in_json(false); /* which has it already, and the other codes */
        (void)psnap_cmd_fail("hybrid", &code->refusal);
    }
    write_checks(report, &code->of_cpi, 1);
    write_m0(report, code);
    write_effects(report, "parallel", &code->parallel, 1);
    write_words(report, "verdict", code->name, code->verdict);
    if (report->in_json) {
        write_member(&report->json,
                     &(const struct cell){"predictable", ANSWER, NULL, code->is_predictable});
        psnap_json_real(&report->json, "steady_from", code->steady_from);
        psnap_json_end_object(&report->json);
    }
    putchar('\n');
}

static void write_report(struct report *report, const struct hybrid *hybrid)
{
    if (report->in_json)
        psnap_cmd_begin_json(&report->json, stdout, "hybrid");
    begin_rows(report, "codes");
    for (size_t c = 0; c < hybrid->code_count; c++)
        write_code(report, &hybrid->codes[c]);
    end_rows(report);
    write_effects(report, "hypotheses", hybrid->hypotheses, HYBRID_HYPOTHESES);
    write_checks(report, hybrid->experiments, HYBRID_RESPONSES);
    for (int h = 0; h < HYBRID_HYPOTHESES && !report->in_json; h++) {
        const struct hybrid_effect *const effect = &hybrid->hypotheses[h];
        psnap_print(stdout, "%s: %s\n", effect->name,
                    effect->why_not ? effect->why_not : effect->next);
    }
    if (report->in_json)
        psnap_json_end_object(&report->json);
    putchar('\n');
}

/* -------------------------------------------------------------------------- command */

static enum psnap_status read_csv(struct observations *observations, const char *path,
                                  struct psnap_error *error)
{
    FILE *const file = psnap_input_file(path, error);
    enum psnap_status status;

    if (!file)
        return error->code;
    status = observations_read(observations, file, path, error);
    if (file != stdin)
        fclose(file);
    return status;
}

static int run(char **paths, size_t count, const struct hybrid_options *options, bool in_json)
{
    struct observations observations = {.arena = psnap_arena_new()};
    struct hybrid hybrid = {0};
    struct report report = {.in_json = in_json};
    struct psnap_error error;
    enum psnap_status status = PSNAP_OK;

    if (!observations.arena)
        psnap_cmd_out_of_memory();
    for (size_t i = 0; i < count && !status; i++)
        status = read_csv(&observations, paths[i], &error);
    for (size_t i = 0; i < observations.warning_count; i++)
        psnap_cmd_warn(&observations.warnings[i]);
    if (!status)
        status = hybrid_make(&hybrid, &observations, options, &error);
    if (!status)
        write_report(&report, &hybrid);
    observations_release(&observations);
    psnap_arena_free(observations.arena);
    return status ? psnap_cmd_fail("hybrid", &error)
                  : psnap_cmd_close_stdout("hybrid",
                                           hybrid.refused ? PSNAP_EXIT_FAILED : PSNAP_EXIT_DONE);
}

int psnap_cmd_hybrid(int argc, char **argv)
{
    struct hybrid_options settings = {.level = 0.05, .steady = 0.05};
    bool in_json = false;
    const struct psnap_option options[] = {
        {PSNAP_OPTION_REAL, 0, "level", &settings.level, "P",
         "of significance: effects whose p is below it are there (0.05)"},
        {PSNAP_OPTION_REAL, 0, "steady", &settings.steady, "M",
         "by how much m0 that is steady may differ from its mean (0.05)"},
        {PSNAP_OPTION_FLAG, 0, "sizes-as-replicates", &settings.sizes_as_replicates, NULL,
         "there are no replicates: compare codes and machines alone, over sizes"},
        {PSNAP_OPTION_FLAG, 0, "json", &in_json, NULL, "print JSON"},
        {PSNAP_OPTION_END, 0, NULL, NULL, NULL, NULL},
    };
    const struct psnap_usage usage = {
        "psnap hybrid CSV... [--level 0.05] [--json]",
        "Tells what size, machine and code do to cycles per instruction, by analysis of\n"
        "variance, and from which size on a code scales predictably, by m0, the share of\n"
        "memory's latency that is hidden. Observations are rows of CSV with the columns\n"
        "code,machine,size,replicate,cpi and, when known, cpi_pipeline, hits2, hits3 ...,\n"
        "latency2, latency3 ...; psnap predict runtime --observations writes them.\n"
        "predict/hybrid/HYBRID.md has the models.",
        options};
    int status;
    const int operands = psnap_options_parse(argc, argv, &usage, false, &status);

    if (operands < 0)
        return status;
    if (!operands)
        return psnap_cmd_usage("hybrid", "no input: a CSV file of observations");
    if (!(settings.level > 0 && settings.level < 1))
        return psnap_cmd_usage("hybrid", "--level is a probability between 0 and 1, like 0.05");
    if (!(settings.steady > 0))
        return psnap_cmd_usage("hybrid", "--steady is by how much m0 may vary: above 0, like 0.05");
    return run(argv + 1, (size_t)operands, &settings, in_json);
}
