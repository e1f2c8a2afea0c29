/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An access hits in an LRU cache of A ways if fewer than A other lines of its set were touched
 * since its line was: its distance within the set tells all associativities at once (Mattson et
 * al., Evaluation techniques for storage hierarchies, IBM Systems Journal 9, 1970; Hill and Smith,
 * Evaluating associativity in CPU caches, 1989). Each number of sets and size of lines has stacks
 * of its own (predict/reuse/), of as many lines as there are ways to tell.
 */
#include "simcore/cmd_sweep.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/cmd.h"
#include "formats/base/cmd_csv.h"
#include "formats/base/json.h"
#include "formats/base/text.h"
#include "predict/reuse/cmd_reuse_rows.h"
#include "simcore/cmd_turns.h"

enum { LIST_MAX = 32, POINTS_MAX = 256 };

struct point {
    uint64_t line_bytes, sets;
    struct reuse_rows rows;
};

struct sweep {
    const struct sweep_settings *settings;
    struct point points[POINTS_MAX];
    size_t count;
    uint64_t accesses;
    uint32_t threads;
    bool in_turn;
};

/* ------------------------------------------------------------------ the pass */

static void forget(struct sweep *sweep)
{
    for (size_t i = 0; i < sweep->count; i++)
        reuse_rows_release(&sweep->points[i].rows);
}

/* The sink of a point, which counts what is wanted; the first one threads, too. */
static struct psnap_sink *sink_of(const struct sweep *sweep, const struct point *point,
                                  const struct psnap_program *program,
                                  struct psnap_touched *touched, struct psnap_error *error)
{
    const struct psnap_reuse_options options = {
        .line_bytes = point->line_bytes,
        .sets = point->sets,
        .ways = sweep->settings->ways,
        .together = true,
        .by_thread = sweep->settings->wanted[PSNAP_SCOPE_THREAD] || point == sweep->points,
        .tagger = touched ? psnap_touched_tag : NULL,
        .tagger_context = touched,
    };

    return psnap_reuse_new(program, &options, error);
}

static uint32_t count_threads(const struct psnap_sink *sink)
{
    uint32_t threads = 0;

    for (uint32_t i = 0; i < psnap_reuse_rows(sink, PSNAP_VIEW_THREAD); i++)
        threads += psnap_reuse_row(sink, PSNAP_VIEW_THREAD, i) != NULL;
    return threads;
}

static enum psnap_status take_rows(struct sweep *sweep, struct psnap_sink *const *sinks,
                                   const struct psnap_program *program,
                                   struct psnap_touched *const *touched, struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;

    sweep->threads = count_threads(sinks[0]);
    for (size_t i = 0; i < sweep->count; i++)
        for (int scope = 0; scope < PSNAP_SCOPE_COUNT && !status; scope++)
            if (sweep->settings->wanted[scope])
                status = reuse_rows_add(&sweep->points[i].rows, (enum psnap_scope)scope, sinks[i],
                                        program, touched[i], error);
    return status;
}

static enum psnap_status pass(void *context, struct psnap_source *source, struct psnap_error *error)
{
    struct sweep *sweep = context;
    struct psnap_sink *sinks[POINTS_MAX] = {NULL}, *tee = NULL;
    struct psnap_touched *touched[POINTS_MAX] = {NULL}; /* a tagger for each sink */
    enum psnap_status status = PSNAP_OK;

    forget(sweep);
    for (size_t i = 0; i < sweep->count && !status; i++) {
        if (sweep->settings->wanted[PSNAP_SCOPE_REGION]) {
            touched[i] = psnap_touched_new(source->program);
            if (!touched[i])
                status = psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for regions");
        }
        if (!status)
            sinks[i] = sink_of(sweep, &sweep->points[i], source->program, touched[i], error);
        status = sinks[i] ? PSNAP_OK : error->code;
    }
    if (!status) {
        tee = psnap_tee_sink_new(sinks, sweep->count);
        status = tee ? psnap_pump(source, tee, &sweep->accesses, error)
                     : psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for a sweep");
    }
    if (!status)
        status = take_rows(sweep, sinks, source->program, touched, error);
    psnap_sink_free(tee);
    for (size_t i = 0; i < sweep->count; i++) {
        psnap_sink_free(sinks[i]);
        psnap_touched_free(touched[i]);
    }
    return status;
}

/* ---------------------------------------------------------------- the report */

/* The associativities that the table has: powers of two, and the largest. */
static size_t columns_of(uint64_t ways, uint64_t *columns)
{
    size_t n = 0;

    for (uint64_t column = 1; column <= ways; column *= 2)
        columns[n++] = column;
    if (columns[n - 1] != ways)
        columns[n++] = ways;
    return n;
}

static void print_table(const struct sweep *sweep)
{
    enum { FIXED = 5, WAYS = 12 };
    static const char *const fixed[FIXED] = {"line", "sets", "scope", "id", "accesses"};
    uint64_t ways[WAYS];
    const size_t n = columns_of(sweep->settings->ways, ways);
    char names[WAYS][24], digits[32];
    const char *headings[FIXED + WAYS];
    struct psnap_table *table;

    memcpy(headings, fixed, sizeof fixed);
    for (size_t i = 0; i < n; i++) {
        snprintf(names[i], sizeof names[i], "%" PRIu64 "-way %%", ways[i]);
        headings[FIXED + i] = names[i];
    }
    table = psnap_table_new(FIXED + n, headings);
    psnap_table_shorten(table, 3);
    for (size_t i = 0; i < FIXED + n; i++)
        if (i != 2 && i != 3)
            psnap_table_align_right(table, i);
    for (size_t p = 0; p < sweep->count; p++)
        for (size_t i = 0; i < sweep->points[p].rows.count; i++) {
            const struct reuse_row *row = &sweep->points[p].rows.rows[i];
            psnap_table_cell(table, "%" PRIu64, sweep->points[p].line_bytes);
            psnap_table_cell(table, "%" PRIu64, sweep->points[p].sets);
            psnap_table_cell(table, "%s", psnap_scope_name(row->scope));
            psnap_table_cell(table, "%s", row->id);
            psnap_table_cell(table, "%s",
                             psnap_group_digits(psnap_distances_accesses(row->distances), digits));
            for (size_t w = 0; w < n; w++) {
                const double hit_rate = psnap_distances_hit_rate(row->distances, ways[w]);
                if (isnan(hit_rate))
                    psnap_table_cell(table, "-");
                else
                    psnap_table_cell(table, "%.2f", 100 * hit_rate);
            }
        }
    printf("hit rates of LRU caches by lines, sets and ways; bytes are their product:\n\n");
    psnap_table_print(table, stdout);
    psnap_table_free(table);
    if (sweep->threads > 1)
        psnap_print(stdout, "\n%" PRIu32 " threads, interleaved %s, in each cache\n",
                    sweep->threads, psnap_turns_words(sweep->in_turn));
}

static void print_json(const struct sweep *sweep)
{
    struct psnap_json json;

    psnap_cmd_begin_json(&json, stdout, "sim");
    psnap_json_text(&json, "input", sweep->settings->path);
    psnap_json_u64(&json, "accesses", sweep->accesses);
    psnap_turns_json(&json, sweep->threads, sweep->in_turn);
    psnap_json_begin_array(&json, "sweep");
    for (size_t p = 0; p < sweep->count; p++)
        for (size_t i = 0; i < sweep->points[p].rows.count; i++) {
            const struct reuse_row *row = &sweep->points[p].rows.rows[i];
            psnap_json_begin_object(&json, NULL);
            psnap_json_u64(&json, "line_bytes", sweep->points[p].line_bytes);
            psnap_json_u64(&json, "sets", sweep->points[p].sets);
            psnap_json_text(&json, "scope", psnap_scope_name(row->scope));
            psnap_json_text(&json, "id", row->id);
            psnap_json_text(&json, "name", row->name);
            psnap_json_u64(&json, "accesses", psnap_distances_accesses(row->distances));
            psnap_json_begin_array(&json, "hit_rates");
            for (uint64_t ways = 1; ways <= sweep->settings->ways; ways++)
                psnap_json_real(&json, NULL, psnap_distances_hit_rate(row->distances, ways));
            psnap_json_end_array(&json);
            psnap_json_end_object(&json);
        }
    psnap_json_end_array(&json);
    psnap_json_end_object(&json);
    putchar('\n');
}

/* A record for each cache and row of it: sorted by size_bytes, those of a line and row are a curve.
 */
static void print_csv(const struct sweep *sweep)
{
    struct psnap_csv csv;

    puts("line_bytes,sets,ways,size_bytes,scope,id,name,accesses,hits,hit_rate,miss_ratio");
    psnap_csv_init(&csv, stdout);
    for (size_t p = 0; p < sweep->count; p++)
        for (size_t i = 0; i < sweep->points[p].rows.count; i++)
            for (uint64_t ways = 1; ways <= sweep->settings->ways; ways++) {
                const struct point *point = &sweep->points[p];
                const struct reuse_row *row = &point->rows.rows[i];
                const double hit_rate = psnap_distances_hit_rate(row->distances, ways);
                const uint64_t accesses = psnap_distances_accesses(row->distances);
                const uint64_t hits = accesses ? (uint64_t)llround(hit_rate * (double)accesses) : 0;

                psnap_csv_u64(&csv, point->line_bytes);
                psnap_csv_u64(&csv, point->sets);
                psnap_csv_u64(&csv, ways);
                psnap_csv_u64(&csv, point->line_bytes * point->sets * ways);
                psnap_csv_text(&csv, psnap_scope_name(row->scope));
                psnap_csv_text(&csv, row->id);
                psnap_csv_text(&csv, row->name);
                psnap_csv_u64(&csv, accesses);
                psnap_csv_u64(&csv, hits);
                psnap_csv_real(&csv, hit_rate);
                psnap_csv_real(&csv, (double)(accesses - hits) / (double)accesses);
                psnap_csv_end(&csv);
            }
}

/* ----------------------------------------------------------- the command line */

/* "64,1K" into numbers; false: something in it is none, or there are too many. */
static bool take_list(const char *text, uint64_t *numbers, size_t *count)
{
    char word[24];

    for (*count = 0; text; ++*count) {
        const size_t length = strcspn(text, ",");
        if (length >= sizeof word || *count == LIST_MAX)
            return false;
        memcpy(word, text, length);
        word[length] = '\0';
        if (!psnap_text_size(word, &numbers[*count]) || !numbers[*count])
            return false;
        text = text[length] ? text + length + 1 : NULL;
    }
    return true;
}

static int take_points(struct sweep *sweep)
{
    const struct sweep_settings *settings = sweep->settings;
    uint64_t sets[LIST_MAX], lines[LIST_MAX];
    size_t set_count, line_count;

    if (!take_list(settings->sets, sets, &set_count))
        return psnap_cmd_usage("sim",
                               "--sweep takes up to %d numbers of sets, as in 64,1K, not "
                               "'%.100s'",
                               LIST_MAX, settings->sets);
    if (!take_list(settings->lines, lines, &line_count))
        return psnap_cmd_usage("sim", "--line takes up to %d sizes, as in 32,64, not '%.100s'",
                               LIST_MAX, settings->lines);
    if (set_count * line_count > POINTS_MAX)
        return psnap_cmd_usage("sim", "a sweep has at most %d pairs of sets and lines", POINTS_MAX);
    for (size_t l = 0; l < line_count; l++)
        for (size_t s = 0; s < set_count; s++) {
            if (lines[l] < 2 || lines[l] & (lines[l] - 1) || lines[l] > PSNAP_REUSE_LINE_MAX)
                return psnap_cmd_usage("sim", "--line: %" PRIu64 " is no power of two from 2 to 1G",
                                       lines[l]);
            if (sets[s] > UINT32_MAX / settings->ways)
                return psnap_cmd_usage(
                    "sim", "--sweep: %" PRIu64 " sets of %" PRIu64 " ways are more than 2^32 lines",
                    sets[s], settings->ways);
            sweep->points[sweep->count++] = (struct point){.line_bytes = lines[l], .sets = sets[s]};
        }
    return PSNAP_EXIT_DONE;
}

int sweep_run(const struct sweep_settings *settings)
{
    struct sweep *sweep = calloc(1, sizeof *sweep);
    struct psnap_error error;
    int status;

    if (!sweep) {
        psnap_error_set(&error, PSNAP_ERROR_MEMORY, "out of memory for a sweep");
        return psnap_cmd_fail("sim", &error);
    }
    sweep->settings = settings;
    status = take_points(sweep);
    if (!status &&
        psnap_turns_pass(settings->path, settings->input, pass, sweep, &sweep->in_turn, &error)) {
        status = psnap_cmd_fail("sim", &error);
    } else if (!status) {
        if (settings->form == PSNAP_REPORT_JSON)
            print_json(sweep);
        else if (settings->form == PSNAP_REPORT_CSV)
            print_csv(sweep);
        else
            print_table(sweep);
        status = psnap_cmd_close_stdout("sim", PSNAP_EXIT_DONE);
    }
    forget(sweep);
    free(sweep);
    return status;
}
