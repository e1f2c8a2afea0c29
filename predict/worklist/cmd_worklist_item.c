/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One item of a work list: its stream, or a part of it, through the caches of its machines, by one
 * thread, for others are at work beside it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "predict/cmd_edited.h"
#include "predict/worklist/cmd_worklist.h"

struct running {
    const struct worklist *list;
    const struct item *item;
    FILE *file;
};

enum { WINDOWS = 2 }; /* of a part: what is counted, what is subtracted (simcore/simcore.h) */

/* Simulators of a stream, or of the windows of a part of it, and what the stream is put into. */
struct simulation {
    struct psnap_sink *sims[WINDOWS], *windows[WINDOWS], *sink;
    size_t count;
};

static enum psnap_status begin(struct simulation *simulation, const struct running *running,
                               const struct psnap_program *program, struct psnap_error *error)
{
    const struct worklist *list = running->list;
    const struct group *group = &list->groups[running->item->group];
    const bool is_split = running->item->group == GROUP_SPLIT;
    struct psnap_split_window windows[WINDOWS];
    bool fits = true;

    simulation->count = is_split ? WINDOWS : 1;
    if (is_split)
        psnap_split_windows(&list->split, running->item->part, &windows[0], &windows[1]);
    for (size_t i = 0; i < simulation->count; i++) {
        simulation->sims[i] = psnap_sim_new(group->machines, group->count, program, NULL, error);
        if (!simulation->sims[i])
            return error->code;
        if (is_split)
            simulation->windows[i] =
                psnap_split_sink_new(&list->split, windows[i], simulation->sims[i]);
        fits &= !is_split || simulation->windows[i];
    }
    if (fits)
        simulation->sink = psnap_tee_sink_new(is_split ? simulation->windows : simulation->sims,
                                              simulation->count);
    return simulation->sink ? PSNAP_OK
                            : psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
}

static void end(struct simulation *simulation)
{
    psnap_sink_free(simulation->sink);
    for (size_t i = 0; i < simulation->count; i++) {
        psnap_sink_free(simulation->windows[i]);
        psnap_sink_free(simulation->sims[i]);
    }
}

static enum psnap_status run_pass(void *context, struct psnap_source *source,
                                  struct psnap_error *error)
{
    const struct running *running = context;
    const struct worklist *list = running->list;
    const struct group *group = &list->groups[running->item->group];
    struct simulation simulation = {.count = 0};
    enum psnap_status status = begin(&simulation, running, source->program, error);

    if (!status)
        status = psnap_pump(source, simulation.sink, NULL, error);
    if (!status &&
        fseek(running->file, 0, SEEK_SET) != 0) /* what a first pass wrote is forgotten */
        status = psnap_error_system(error, errno, "cannot write a result");
    for (size_t i = 0; i < simulation.count && !status; i++) {
        struct compare_side side = {.path = running->item->input};
        status = side_take(&side, simulation.sims[i], group->count, source->program, error);
        if (!status)
            counts_write(&side, group, i == 0, list->by_loop, running->file);
        side_release(&side);
    }
    end(&simulation);
    return status;
}

/* Whether an item is the first of an input and edit, which says what the edit could not change. */
static bool is_first(const struct worklist *list, const struct item *item)
{
    return !item->part && item->seed == list->seeds[0] &&
           item->group == (list->groups[GROUP_WHOLE].count ? GROUP_WHOLE : GROUP_SPLIT);
}

/* A profile as it is, or edited. */
static enum psnap_status replay(const struct psnap_profile *profile, struct running *running,
                                struct psnap_error *error)
{
    const struct item *item = running->item;
    struct edited edited = {0};
    enum psnap_status status;
    char prefix[512];

    if (!*item->edit)
        return psnap_turns_replay(profile, item->seed, running->list->accesses, run_pass, running,
                                  error);
    snprintf(prefix, sizeof prefix, "psnap sweep: %s", item->input);
    status = edited_begin(&edited, profile, item->input, error);
    if (!status)
        status = edited_change(&edited, item->edit, is_first(running->list, item) ? prefix : NULL,
                               error);
    if (!status)
        status =
            edited_replay(&edited, item->seed, running->list->accesses, run_pass, running, error);
    edited_release(&edited);
    return status;
}

enum psnap_status worklist_simulate(const struct worklist *list, const struct item *item,
                                    FILE *file, struct psnap_error *error)
{
    struct running running = {list, item, file};
    struct psnap_input_options input = PSNAP_INPUT_DEFAULTS;
    struct psnap_profile *profile;
    enum psnap_status status;
    bool in_turn;

    input.count = list->accesses;
    if (!item->is_profile)
        return psnap_turns_pass(item->input, &input, run_pass, &running, &in_turn, error);
    profile = worklist_profile(list, item, error);
    status = profile ? replay(profile, &running, error) : error->code;
    psnap_profile_free(profile);
    return status;
}
