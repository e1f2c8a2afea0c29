/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap whatif: scenarios, each some edits of a profile, with what comes of them in the caches,
 * before and after, as tables, one for each machine, and as JSON. Rates are cumulative: what is
 * satisfied at a level or nearer, of all accesses; differences are in points (percent).
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/cmd.h"
#include "formats/base/json.h"
#include "formats/base/output.h"
#include "predict/cmd_edited.h"
#include "profile/edit/cmd_edit.h"
#include "simcore/cmd_side.h"
#include "simcore/cmd_turns.h"

#define POINTS_MIN 0.1 /* of a loop that is worth a row */

enum { FIXED = 2, PER_LEVEL = 2, MEMORY = 4 };

struct scenario {
    const char *edits; /* with ; between them; "": the profile as it is, which is the first one */
    struct compare_side side;
};

struct session {
    const char *input;
    bool is_cumulative, by_loop;
    struct psnap_machine *machines;
    size_t machine_count;
    struct scenario *scenarios;
    size_t count;
};

struct settings {
    struct psnap_text_list edits, machines;
    const char *output;
    uint64_t seed, count;
    bool json, force;
};

static const char *name_of(const struct scenario *scenario)
{
    return *scenario->edits ? scenario->edits : "as it is";
}

/* The scenario that one is compared with: the one before it, or the profile as it is. */
static size_t session_before(const struct session *session, size_t i)
{
    return session->is_cumulative && i ? i - 1 : 0;
}

static const struct psnap_tally *total_of(const struct scenario *scenario, size_t machine)
{
    static const struct psnap_tally none;

    return scenario->side.total.count ? &scenario->side.total.rows[0].tallies[machine] : &none;
}

/* Accesses that no level has satisfied. */
static uint64_t to_memory(const struct psnap_tally *tally, const struct psnap_machine *machine)
{
    uint64_t left = tally->accesses;

    for (uint32_t i = 0; i < machine->level_count; i++)
        left -= tally->hits[i];
    return left;
}

/* A loop of a scenario by its id, or NULL. */
static const struct scope_row *loop_of(const struct scenario *scenario, const char *id)
{
    for (size_t i = 0; i < scenario->side.loops.count; i++)
        if (!strcmp(scenario->side.loops.rows[i].id, id))
            return &scenario->side.loops.rows[i];
    return NULL;
}

static double points(const struct psnap_tally *after, const struct psnap_tally *before, size_t l)
{
    return 100 * (psnap_tally_cumulative(after, l) - psnap_tally_cumulative(before, l));
}

/* ---------------------------------------------------------------------- rows */

/* What a scenario says of a machine: in all, or of a loop. */
struct row {
    size_t scenario, machine;
    const char *loop; /* id; NULL: in all */
    const struct psnap_tally *tally, *before;
};

/* Calls `put` for the rows of a scenario: in all, then of the loops that it shares with the one
 * with which it is compared. */
static void each_row(const struct session *session, size_t i, size_t m,
                     void (*put)(const struct session *session, const struct row *row,
                                 void *context),
                     void *context)
{
    const struct scenario *scenario = &session->scenarios[i];
    const struct scenario *before = &session->scenarios[session_before(session, i)];

    put(session, &(struct row){i, m, NULL, total_of(scenario, m), total_of(before, m)}, context);
    for (size_t k = 0; k < scenario->side.loops.count && session->by_loop; k++) {
        const struct scope_row *loop = &scenario->side.loops.rows[k];
        const struct scope_row *other = loop_of(before, loop->id);
        if (other)
            put(session, &(struct row){i, m, loop->id, &loop->tallies[m], &other->tallies[m]},
                context);
    }
}

/* Tells whether a loop is relevant in a scenario, and changes. */
static bool is_changed(const struct session *session, size_t i, size_t m, const char *loop)
{
    const struct scenario *scenario = &session->scenarios[i];
    const struct scope_row *after = loop_of(scenario, loop);
    const struct scope_row *before = loop_of(&session->scenarios[session_before(session, i)], loop);
    bool changes = false;

    for (uint32_t l = 0; after && before && l < session->machines[m].level_count; l++)
        changes |= fabs(points(&after->tallies[m], &before->tallies[m], l)) >= POINTS_MIN;
    return changes &&
           (double)after->tallies[m].accesses >= COMPARE_RELEVANT * (double)scenario->side.accesses;
}

/* -------------------------------------------------------------------- tables */

/* A count, and how many times as large it is as before. */
static void count_cells(struct psnap_table *table, uint64_t after, uint64_t before,
                        bool is_compared)
{
    char digits[32];

    psnap_table_cell(table, "%s", psnap_group_digits(after, digits));
    if (is_compared && before)
        psnap_table_cell(table, "%.3fx", (double)after / (double)before);
    else
        psnap_table_cell(table, "%s", is_compared && after ? "new" : "");
}

/* A row of the table, if it is of a loop that changes: of the profile as it is, in any scenario. */
static void put_row(const struct session *session, const struct row *row, void *context)
{
    const struct psnap_machine *machine = &session->machines[row->machine];
    const struct psnap_tally *tally = row->tally, *before = row->before;
    const uint32_t last = machine->level_count - 1;
    const bool is_compared = row->scenario > 0;
    struct psnap_table *table = context;
    bool is_shown = !row->loop;
    char digits[32];

    for (size_t i = is_compared ? row->scenario : 1;
         i < (is_compared ? row->scenario + 1 : session->count) && !is_shown; i++)
        is_shown = is_changed(session, i, row->machine, row->loop);
    if (!is_shown)
        return;
    psnap_table_cell(table, "%s%s", row->loop ? "  " : "",
                     row->loop ? row->loop : name_of(&session->scenarios[row->scenario]));
    psnap_table_cell(table, "%s", psnap_group_digits(tally->accesses, digits));
    for (uint32_t l = 0; l < machine->level_count; l++) {
        psnap_table_cell(table, "%.3f", 100 * psnap_tally_cumulative(tally, l));
        if (is_compared)
            psnap_table_cell(table, "%+.3f", points(tally, before, l));
        else
            psnap_table_cell(table, "%s", "");
    }
    count_cells(table, to_memory(tally, machine), to_memory(before, machine), is_compared);
    count_cells(table, tally->write_backs[last], before->write_backs[last], is_compared);
}

static struct psnap_table *new_table(const struct psnap_machine *machine)
{
    const size_t columns = FIXED + PER_LEVEL * machine->level_count + MEMORY;
    const char *headings[FIXED + PER_LEVEL * PSNAP_LEVELS_MAX + MEMORY] = {"scenario", "accesses"};
    char names[PSNAP_LEVELS_MAX][PSNAP_LEVEL_NAME_ROOM + 8];
    struct psnap_table *table;
    size_t n = FIXED;

    for (uint32_t l = 0; l < machine->level_count; l++) {
        char level[PSNAP_LEVEL_NAME_ROOM];
        psnap_machine_level_name(machine, l, level);
        snprintf(names[l], sizeof names[l], "%s cum. %%", level);
        headings[n++] = names[l];
        headings[n++] = "points";
    }
    headings[n++] = "to memory";
    headings[n++] = "";
    headings[n++] = "written back";
    headings[n++] = "";
    table = psnap_table_new(columns, headings);
    for (size_t i = 1; i < columns; i++)
        psnap_table_align_right(table, i);
    return table;
}

static void print_tables(const struct session *session)
{
    for (size_t m = 0; m < session->machine_count; m++) {
        struct psnap_table *table = new_table(&session->machines[m]);
        char shape[512];
        for (size_t i = 0; i < session->count; i++)
            each_row(session, i, m, put_row, table);
        if (m)
            putchar('\n');
        psnap_print(stdout, "machine %s", session->machines[m].name);
        if (!strchr(session->machines[m].name, ':'))
            psnap_print(stdout, " (%s)",
                        scope_machine_shape(&session->machines[m], shape, sizeof shape));
        printf("\n\n");
        psnap_table_print(table, stdout);
        psnap_table_free(table);
    }
    psnap_print(stdout, "\n%s\n",
                session->is_cumulative
                    ? "each scenario is on top of those before it, and compared with the last"
                    : "each scenario is compared with the profile as it is");
}

/* ---------------------------------------------------------------------- JSON */

static void json_levels(struct psnap_json *json, const struct psnap_machine *machine,
                        const struct psnap_tally *tally, const struct psnap_tally *before)
{
    psnap_json_begin_array(json, "levels");
    for (uint32_t l = 0; l < machine->level_count; l++) {
        psnap_json_begin_object(json, NULL);
        psnap_json_u64(json, "level", l + UINT64_C(1));
        psnap_json_real(json, "cumulative_hit_rate", psnap_tally_cumulative(tally, l));
        psnap_json_real(json, "before", psnap_tally_cumulative(before, l));
        psnap_json_real(json, "change_points", points(tally, before, l));
        psnap_json_u64(json, "write_backs", tally->write_backs[l]);
        psnap_json_end_object(json);
    }
    psnap_json_end_array(json);
    psnap_json_u64(json, "to_memory", to_memory(tally, machine));
    psnap_json_u64(json, "to_memory_before", to_memory(before, machine));
}

static void json_row(const struct session *session, const struct row *row, void *context)
{
    const struct psnap_machine *machine = &session->machines[row->machine];
    struct psnap_json *json = context;

    psnap_json_begin_object(json, NULL);
    psnap_json_text(json, "machine", machine->name);
    psnap_json_text(json, "scenario", name_of(&session->scenarios[row->scenario]));
    psnap_json_text(json, "scope", row->loop ? "loop" : "total");
    psnap_json_text(json, "id", row->loop ? row->loop : "total");
    psnap_json_u64(json, "accesses", row->tally->accesses);
    json_levels(json, machine, row->tally, row->before);
    psnap_json_end_object(json);
}

static void print_json(const struct session *session)
{
    struct psnap_json json;

    psnap_cmd_begin_json(&json, stdout, "whatif");
    psnap_json_text(&json, "input", session->input);
    psnap_json_bool(&json, "cumulative", session->is_cumulative);
    psnap_json_begin_array(&json, "scenarios");
    for (size_t i = 0; i < session->count; i++) {
        psnap_json_begin_object(&json, NULL);
        psnap_json_text(&json, "name", name_of(&session->scenarios[i]));
        psnap_json_begin_array(&json, "edits");
        if (i)
            psnap_json_text(&json, NULL, session->scenarios[i].edits);
        psnap_json_end_array(&json);
        psnap_json_end_object(&json);
    }
    psnap_json_end_array(&json);
    psnap_json_begin_array(&json, "rows");
    for (size_t m = 0; m < session->machine_count; m++)
        for (size_t i = 0; i < session->count; i++)
            each_row(session, i, m, json_row, &json);
    psnap_json_end_array(&json);
    psnap_json_end_object(&json);
    putchar('\n');
}

/* --------------------------------------------------------------- simulating */

struct running {
    struct compare_side *side;
    const struct session *session;
};

static enum psnap_status run_pass(void *context, struct psnap_source *source,
                                  struct psnap_error *error)
{
    const struct running *running = context;

    return side_run(running->side, source, running->session->machines,
                    running->session->machine_count, error);
}

static enum psnap_status write_out(const struct settings *settings, const struct edited *edited,
                                   struct psnap_error *error)
{
    struct psnap_output *output = psnap_output_open(settings->output, settings->force, error);
    enum psnap_status status = output ? PSNAP_OK : error->code;

    if (output && fwrite(edited->text, 1, edited->size, psnap_output_file(output)) != edited->size)
        status = psnap_error_file(error, errno, "write", settings->output);
    return psnap_output_finish(output, status, error);
}

/* Edits and simulates all scenarios of a profile. */
static enum psnap_status run_all(struct session *session, const struct settings *settings,
                                 const struct psnap_profile *profile, struct psnap_error *error)
{
    struct edited first = {0}, last = {0};
    enum psnap_status status = edited_begin(&first, profile, session->input, error);

    for (size_t i = 0; i < session->count && !status; i++) {
        struct scenario *scenario = &session->scenarios[i];
        struct running running = {&scenario->side, session};
        if (!i || !session->is_cumulative)
            status = edited_copy(&last, &first, error);
        if (!status && (status = edited_change(&last, scenario->edits, "psnap whatif", error)) &&
            !*error->file)
            psnap_error_at(error, scenario->edits, 0, 0);
        if (!status)
            status =
                edited_replay(&last, settings->seed, settings->count, run_pass, &running, error);
    }
    if (!status && settings->output)
        status = write_out(settings, &last, error);
    edited_release(&first);
    edited_release(&last);
    return status;
}

/* Puts the scenarios together, and runs them. */
static int run(struct session *session, const struct settings *settings)
{
    struct psnap_error error;
    struct psnap_profile *profile = NULL;
    enum psnap_status status = PSNAP_OK;

    if (!settings->edits.count)
        return psnap_cmd_usage("whatif", "what if what? (-e EDIT)");
    if (settings->output && settings->edits.count > 1 && !session->is_cumulative)
        return psnap_cmd_usage("whatif", "-o is of one scenario, or of --cumulative edits");
    session->scenarios = calloc(settings->edits.count + 1, sizeof *session->scenarios);
    if (!session->scenarios)
        psnap_error_set(&error, PSNAP_ERROR_MEMORY, "out of memory");
    else {
        session->scenarios[session->count++].edits = "";
        for (size_t i = 0; i < settings->edits.count; i++)
            session->scenarios[session->count++].edits = settings->edits.items[i];
        session->machines = side_machines(&settings->machines, &session->machine_count, &error);
    }
    if (session->machines)
        profile = psnap_input_read_profile(session->input, &error);
    status = profile ? run_all(session, settings, profile, &error) : error.code;
    psnap_profile_free(profile);
    if (status)
        return psnap_cmd_fail("whatif", &error);
    if (settings->json)
        print_json(session);
    else
        print_tables(session);
    return psnap_cmd_close_stdout("whatif", PSNAP_EXIT_DONE);
}

int psnap_cmd_whatif(int argc, char **argv)
{
    struct settings settings = {.count = UINT64_MAX};
    struct session session = {0};
    const struct psnap_option options[] = {
        {PSNAP_OPTION_LIST, 'e', "edit", &settings.edits, "EDIT",
         "a scenario: an edit, or several with ; between them; may be repeated"},
        {PSNAP_OPTION_LIST, 'm', "machine", &settings.machines, "MACHINE",
         "may be repeated (the ten structures table1-1 to table1-10)"},
        {PSNAP_OPTION_FLAG, 0, "cumulative", &session.is_cumulative, NULL,
         "each scenario on top of those before it, and compared with the last one"},
        {PSNAP_OPTION_FLAG, 0, "loops", &session.by_loop, NULL,
         "also the loops of which 0.1 points or more change"},
        {PSNAP_OPTION_U64, 0, "seed", &settings.seed, "N", "of the replay (0)"},
        {PSNAP_OPTION_COUNT, 0, "count", &settings.count, "N", "stop after N accesses"},
        {PSNAP_OPTION_TEXT, 'o', "output", &settings.output, "Q.yaml",
         "write the edited profile (one scenario, or --cumulative)"},
        {PSNAP_OPTION_FLAG, 0, "force", &settings.force, NULL, "overwrite Q.yaml"},
        {PSNAP_OPTION_FLAG, 0, "json", &settings.json, NULL, "print JSON"},
        {.type = PSNAP_OPTION_END},
    };
    char description[2048];
    const struct psnap_usage usage = {
        "psnap whatif P.yaml -e EDIT [-e EDIT ...] [-m MACHINE ...] [--json]", description,
        options};
    int status, operands;

    snprintf(description, sizeof description,
             "What if? Each scenario is edits of the profile; the table says what they do\n"
             "to hit rates, lines from memory and write-backs, beside the profile as it\n"
             "is. EDITs are lines as\n%s",
             edit_line_forms);
    operands = psnap_options_parse(argc, argv, &usage, false, &status);
    if (operands == 1) {
        session.input = argv[1];
        status = run(&session, &settings);
    } else if (operands >= 0)
        status = psnap_cmd_usage("whatif", "one profile is wanted, not %d operands", operands);
    for (size_t i = 0; i < session.count; i++)
        side_release(&session.scenarios[i].side);
    free(session.scenarios);
    free(session.machines);
    psnap_text_list_release(&settings.edits);
    psnap_text_list_release(&settings.machines);
    return status;
}
