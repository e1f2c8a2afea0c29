/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One item of a work list: its stream through the caches of all machines, by one thread, for others
 * are at work beside it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/cmd_csv.h"
#include "predict/worklist/cmd_worklist.h"
#include "profile/edit/cmd_edit.h"
#include "simcore/cmd_turns.h"

void worklist_head(FILE *file)
{
    static const char *const fields[] = {"input",      "edit",
                                         "seed",       "machine",
                                         "scope",      "id",
                                         "name",       "row_accesses",
                                         "level",      "level_name",
                                         "accesses",   "hits",
                                         "hit_rate",   "cumulative_hit_rate",
                                         "write_backs"};
    struct psnap_csv csv;

    psnap_csv_init(&csv, file);
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        psnap_csv_text(&csv, fields[i]);
    psnap_csv_end(&csv);
}

static void put_row(const struct worklist *list, const struct item *item, enum psnap_scope scope,
                    const struct scope_row *row, struct psnap_csv *csv)
{
    for (size_t m = 0; m < list->machine_count; m++)
        for (uint32_t l = 0; l < list->machines[m].level_count; l++) {
            const struct psnap_tally *tally = &row->tallies[m];
            psnap_csv_text(csv, item->input);
            psnap_csv_text(csv, item->edit);
            psnap_csv_u64(csv, item->seed);
            psnap_csv_text(csv, list->machines[m].name);
            psnap_csv_text(csv, psnap_scope_name(scope));
            psnap_csv_text(csv, row->id);
            psnap_csv_text(csv, row->name);
            psnap_csv_u64(csv, tally->accesses);
            psnap_csv_u64(csv, l + UINT64_C(1));
            psnap_csv_text(csv, list->machines[m].levels[l].name);
            psnap_csv_u64(csv, psnap_tally_reached(tally, l));
            psnap_csv_u64(csv, tally->hits[l]);
            psnap_csv_real(csv, psnap_tally_hit_rate(tally, l));
            psnap_csv_real(csv, psnap_tally_cumulative(tally, l));
            psnap_csv_u64(csv, tally->write_backs[l]);
            psnap_csv_end(csv);
        }
}

struct running {
    const struct worklist *list;
    const struct item *item;
    FILE *file;
};

static enum psnap_status run_pass(void *context, struct psnap_source *source,
                                  struct psnap_error *error)
{
    const struct running *running = context;
    const struct worklist *list = running->list;
    struct compare_side side = {.path = running->item->input};
    struct psnap_sink *sim =
        psnap_sim_new(list->machines, list->machine_count, source->program, NULL, error);
    enum psnap_status status = sim ? psnap_pump(source, sim, NULL, error) : error->code;
    struct psnap_csv csv;

    if (!status &&
        fseek(running->file, 0, SEEK_SET) != 0) /* what a first pass wrote is forgotten */
        status = psnap_error_system(error, errno, "cannot write a result");
    psnap_csv_init(&csv, running->file);
    if (!status)
        status = side_take(&side, sim, list->machine_count, source->program, error);
    for (size_t i = 0; i < side.total.count && !status; i++)
        put_row(list, running->item, PSNAP_SCOPE_TOTAL, &side.total.rows[i], &csv);
    for (size_t i = 0; i < side.loops.count && list->by_loop && !status; i++)
        put_row(list, running->item, PSNAP_SCOPE_LOOP, &side.loops.rows[i], &csv);
    side_release(&side);
    psnap_sink_free(sim);
    return status;
}

/* The profile, edited; NULL with `error` filled. */
static struct psnap_profile *edited(const struct item *item, struct psnap_error *error)
{
    struct psnap_profile *profile = psnap_input_read_profile(item->input, error);
    struct psnap_yaml_doc *doc;
    size_t size = 0;
    char *text, *changed;

    if (!profile || !*item->edit)
        return profile;
    text = edit_write_checked(profile, &size, error);
    psnap_profile_free(profile);
    changed = text ? edit_lines(text, size, item->edit, &size, error) : NULL;
    doc = changed ? psnap_yaml_read_text(changed, size, item->input, error) : NULL;
    profile = doc ? psnap_profile_read_document(doc, error) : NULL;
    psnap_yaml_doc_free(doc);
    free(changed);
    free(text);
    return profile;
}

enum psnap_status worklist_simulate(const struct worklist *list, const struct item *item,
                                    FILE *file, struct psnap_error *error)
{
    struct running running = {list, item, file};
    struct psnap_input_options input = PSNAP_INPUT_DEFAULTS;
    struct psnap_profile *profile;
    enum psnap_status status;
    bool in_turn;

    if (!item->is_profile)
        return psnap_turns_pass(item->input, &input, false, run_pass, &running, &in_turn, error);
    profile = edited(item, error);
    status =
        profile ? psnap_turns_replay(profile, item->seed, run_pass, &running, error) : error->code;
    psnap_profile_free(profile);
    return status;
}
