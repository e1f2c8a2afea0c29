/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap whatif: edits of a profile, each with what comes of it in the caches, before and after.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/cmd.h"
#include "formats/base/output.h"
#include "predict/cmd_edited.h"
#include "predict/whatif/cmd_whatif.h"
#include "profile/edit/cmd_edit.h"

struct settings {
    struct psnap_text_list edits, machines;
    const char *file, *output;
    uint64_t seed, count;
    bool json, force;
};

size_t session_before(const struct session *session, size_t i)
{
    return session->is_cumulative && i ? i - 1 : 0;
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

    if (!output)
        return error->code;
    if (fwrite(edited->text, 1, edited->size, psnap_output_file(output)) != edited->size) {
        psnap_error_file(error, errno, "write", settings->output);
        psnap_output_abandon(output);
        return error->code;
    }
    return psnap_output_commit(output, error);
}

/* Edits a profile as a scenario says, and simulates it. */
static enum psnap_status run_one(const struct session *session, struct scenario *scenario,
                                 struct edited *edited, const struct settings *settings,
                                 struct psnap_error *error)
{
    struct running running = {&scenario->side, session};
    enum psnap_status status = PSNAP_OK;

    for (size_t i = 0; i < scenario->edit_count && !status; i++)
        if ((status = edited_change(edited, scenario->edits[i], "psnap whatif", error)) &&
            !*error->file)
            psnap_error_at(error, scenario->edits[i], 0, 0);
    return status
               ? status
               : edited_replay(edited, settings->seed, settings->count, run_pass, &running, error);
}

/* Edits and simulates all scenarios of a profile. */
static enum psnap_status run_all(struct session *session, const struct settings *settings,
                                 const struct psnap_profile *profile, struct psnap_error *error)
{
    struct edited first = {0}, last = {0};
    enum psnap_status status = edited_begin(&first, profile, session->input, error);

    for (size_t i = 0; i < session->count && !status; i++) {
        if (!i || !session->is_cumulative)
            status = edited_copy(&last, &first, error);
        if (!status)
            status = run_one(session, &session->scenarios[i], &last, settings, error);
    }
    if (!status && settings->output)
        status = write_out(settings, &last, error);
    edited_release(&first);
    edited_release(&last);
    return status;
}

static int run(struct session *session, const struct settings *settings)
{
    struct psnap_error error;
    struct psnap_profile *profile = psnap_input_read_profile(session->input, &error);
    enum psnap_status status = profile ? PSNAP_OK : error.code;

    if (!status) {
        session->machines = side_machines(&settings->machines, &session->machine_count, &error);
        status = session->machines ? PSNAP_OK : error.code;
    }
    if (!status)
        status = run_all(session, settings, profile, &error);
    psnap_profile_free(profile);
    if (status)
        return psnap_cmd_fail("whatif", &error);
    if (settings->json)
        session_print_json(session);
    else
        session_print_tables(session);
    return psnap_cmd_close_stdout("whatif", PSNAP_EXIT_DONE);
}

/* Puts the scenarios together, and runs them. */
static int begin(struct session *session, const struct settings *settings)
{
    struct psnap_error error;
    bool fits = session_add(session, "as it is", "");

    for (size_t i = 0; i < settings->edits.count && fits; i++)
        fits = session_add(session, NULL, settings->edits.items[i]);
    if (!fits) {
        psnap_error_set(&error, PSNAP_ERROR_MEMORY, "out of memory");
        return psnap_cmd_fail("whatif", &error);
    }
    if (settings->file && session_read(session, settings->file, &error))
        return psnap_cmd_fail("whatif", &error);
    if (session->count == 1)
        return psnap_cmd_usage("whatif", "what if what? (-e EDIT, or a file of them by --edits)");
    if (settings->output && session->count > 2 && !session->is_cumulative)
        return psnap_cmd_usage("whatif", "-o is of one scenario, or of --cumulative edits");
    return run(session, settings);
}

int psnap_cmd_whatif(int argc, char **argv)
{
    struct settings settings = {.count = UINT64_MAX};
    struct session session = {0};
    const struct psnap_option options[] = {
        {PSNAP_OPTION_LIST, 'e', "edit", &settings.edits, "EDIT",
         "a scenario: an edit, or several with ; between them; may be repeated"},
        {PSNAP_OPTION_TEXT, 0, "edits", &settings.file, "FILE",
         "scenarios from a YAML file: edits: [EDIT, {name: ..., edits: [...]}]"},
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
        status = begin(&session, &settings);
    } else if (operands >= 0)
        status = psnap_cmd_usage("whatif", "one profile is wanted, not %d operands", operands);
    session_release(&session);
    psnap_text_list_release(&settings.edits);
    psnap_text_list_release(&settings.machines);
    return status;
}
