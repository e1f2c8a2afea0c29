/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A state is found by a table for each sort, of which an access's row or reference is the index.
 * Which row an access has is as for `--by region`; of these the ones of objects with names are
 * regions. The parts of the address space that have no object ("(heap)") would mix all that is in
 * them, so that references stand for their accesses.
 */
#include "formats/pattern_states.h"

#include <inttypes.h>
#include <stdlib.h>

#include "formats/base/room.h"
#include "formats/base/touched.h"

enum psnap_status pattern_states_init(struct pattern_states *states, size_t bytes,
                                      const struct psnap_program *program,
                                      struct psnap_error *error)
{
    *states = (struct pattern_states){
        .bytes = bytes, .program = program, .touched = psnap_touched_new(program)};
    return states->touched ? PSNAP_OK : psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
}

void pattern_states_release(struct pattern_states *states)
{
    for (size_t i = 0; i < states->count; i++)
        free(states->all[i].state);
    for (int i = 0; i < PATTERN_SORTS; i++)
        free(states->by_index[i]);
    free(states->all);
    psnap_touched_free(states->touched);
}

/* The state of what comes for the first time; NULL: out of memory. */
static void *add(struct pattern_states *states, enum pattern_sort sort, uint32_t index)
{
    const size_t before = states->index_room[sort];
    void **grown = psnap_with_room(states->by_index[sort], &states->index_room[sort],
                                   (size_t)index + 1, sizeof *grown);
    struct pattern_state *all;
    void *state;

    if (!grown)
        return NULL;
    states->by_index[sort] = grown;
    for (size_t i = before; i < states->index_room[sort]; i++)
        grown[i] = NULL;
    all = psnap_with_room(states->all, &states->room, states->count + 1, sizeof *all);
    if (!all)
        return NULL;
    states->all = all;
    state = calloc(1, states->bytes);
    if (state)
        all[states->count++] = (struct pattern_state){sort, index, grown[index] = state};
    return state;
}

enum psnap_status pattern_states_find(struct pattern_states *states,
                                      const struct psnap_access *block, size_t n,
                                      void *found[PATTERN_BLOCK], struct psnap_error *error)
{
    uint32_t rows[PATTERN_BLOCK], count;
    const struct psnap_touched_row *touched;
    enum psnap_status status;

    for (size_t i = 0; i < n; i++)
        if (block[i].ref >= states->program->ref_count)
            return psnap_error_set(error, PSNAP_ERROR_VALUE,
                                   "an access is of reference %" PRIu32 ", of %" PRIu32,
                                   block[i].ref, states->program->ref_count);
    status = psnap_touched_tag(states->touched, block, n, rows, error);
    if (status)
        return status;
    touched = psnap_touched_rows(states->touched, &count);
    for (size_t i = 0; i < n; i++) {
        const enum pattern_sort sort = !touched[rows[i]].is_object   ? PATTERN_REFERENCE
                                       : block[i].kind == PSNAP_LOAD ? PATTERN_REGION_LOADS
                                                                     : PATTERN_REGION_STORES;
        const uint32_t index = sort == PATTERN_REFERENCE ? block[i].ref : rows[i];
        const bool is_known = index < states->index_room[sort] && states->by_index[sort][index];

        found[i] = is_known ? states->by_index[sort][index] : add(states, sort, index);
        if (!found[i])
            return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    }
    return PSNAP_OK;
}

char *pattern_states_name(const struct pattern_states *states, size_t i, char *text, size_t size)
{
    const struct pattern_state *state = &states->all[i];
    const struct psnap_program *program = states->program;
    uint32_t count;

    if (state->sort == PATTERN_REFERENCE) {
        const uint32_t loop = program->refs[state->index].loop;
        snprintf(text, size, "%.200s ref %" PRIu32,
                 loop < program->loop_count ? program->loops[loop].id : "?", state->index);
    } else {
        const struct psnap_touched_row *row =
            &psnap_touched_rows(states->touched, &count)[state->index];
        snprintf(text, size, "%.200s %.200s", row->loop, row->object);
    }
    return text;
}
