/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether the rows of a module's table fit together: every index is within its rows, hoisted
 * loops and nests are what their decoders (hoisted.c, nest.c) take them for. It comes
 * out of another process's memory, so anything may be in it.
 */
#include "capture/collect/table_view.h"

enum psnap_status psnap_table_corrupt(struct psnap_error *error, const char *what)
{
    return psnap_error_set(error, PSNAP_ERROR_CORRUPT, "the program sent a corrupt table: %s",
                           what);
}

/* Words of the record of a hoisted loop are from `least` on; 0: there is none. */
static bool is_word(const struct psnap_table_hoist *hoist, uint32_t least, uint32_t word)
{
    return !word || (word >= least && word < hoist->words);
}

static bool is_quotient(const struct psnap_table_hoist *hoist, uint32_t least,
                        const struct psnap_table_quotient *quotient)
{
    return quotient->bits >= 1 && quotient->bits <= 64 && quotient->divisor &&
           is_word(hoist, least, quotient->base) && is_word(hoist, least, quotient->step) &&
           is_word(hoist, least, quotient->factor);
}

/* Its quotients are the table's, those of the move its own. */
static bool are_quotients(const struct psnap_table_view *view,
                          const struct psnap_table_hoist *hoist, uint32_t least)
{
    if (hoist->first_quotient > view->header->quotients ||
        hoist->quotients > view->header->quotients - hoist->first_quotient)
        return false;
    for (uint32_t i = 0; i < hoist->quotients; i++)
        if (!is_quotient(hoist, least, &view->quotients[hoist->first_quotient + i]))
            return false;
    return true;
}

/* A move of the hoisted loop, whose quotients are some of its own. */
static bool is_move(const struct psnap_table_hoist *hoist, uint32_t least,
                    const struct psnap_table_move *move)
{
    const uint32_t first = move->first_quotient - hoist->first_quotient;

    return is_word(hoist, least, move->base) && move->step < hoist->words &&
           (move->base || (hoist->rows && !move->quotients)) &&
           (!move->quotients ||
            (first <= hoist->quotients && move->quotients <= hoist->quotients - first));
}

/* Of one hoisted loop: its pieces are plain and follow each other, and so do its moves. */
static bool is_hoist(const struct psnap_table_view *view, const struct psnap_table_hoist *hoist)
{
    const struct psnap_table_header *header = view->header;
    const uint32_t least = hoist->rows ? PSNAP_HOIST_ROWS_WORDS : PSNAP_HOIST_HEADER_WORDS;
    const uint32_t most = hoist->nest ? PSNAP_NEST_VALUES_MAX : PSNAP_RECORD_WORDS_MAX;
    uint32_t refs = 0, next_ref;

    if (hoist->first_piece >= header->pieces || !hoist->pieces ||
        hoist->pieces > header->pieces - hoist->first_piece || hoist->words < least ||
        hoist->words > most || hoist->rows > !hoist->nest || hoist->nest > header->nests ||
        hoist->guards > (hoist->rows ? PSNAP_HOIST_GUARDS_MAX : 0))
        return false;
    next_ref = view->pieces[hoist->first_piece].first_ref;
    for (uint32_t i = 0; i < hoist->pieces; i++) {
        const struct psnap_table_piece *piece = &view->pieces[hoist->first_piece + i];
        if (piece->hoist || piece->nest || piece->first_ref != next_ref ||
            piece->guard > hoist->guards)
            return false;
        for (uint32_t k = 0; k < piece->refs; k++, next_ref++)
            if (view->refs[next_ref].op != PSNAP_REF_PLAIN ||
                view->refs[next_ref].size > PSNAP_ACCESS_SIZE_MAX)
                return false;
        refs += piece->refs;
    }
    if (refs > PSNAP_HOIST_REFS_MAX || hoist->first_move > header->moves ||
        refs > header->moves - hoist->first_move)
        return false;
    for (uint32_t i = 0; i < refs; i++)
        if (!is_move(hoist, least, &view->moves[hoist->first_move + i]))
            return false;
    return are_quotients(view, hoist, least);
}

/* The k-th value of a nest is computed from those before it. */
static bool is_value(const struct psnap_table_nest *nest, uint32_t k,
                     const struct psnap_table_value *value)
{
    if (value->op >= PSNAP_VALUE_OP_COUNT || value->bits < 1 || value->bits > 64 ||
        (value->op == PSNAP_VALUE_CONSTANT) != (k < nest->constants))
        return false;
    if (value->op == PSNAP_VALUE_CONSTANT)
        return true;
    if (value->op == PSNAP_VALUE_SEXT ? value->b < 1 || value->b > 64 : value->b >= nest->words + k)
        return false;
    return value->a < nest->words + k;
}

static bool is_range(const struct psnap_table_nest *nest, const struct psnap_table_step *step)
{
    return step->a >= nest->constants && step->a <= nest->values &&
           step->b <= nest->values - step->a;
}

/* Steps lead forward, so that nothing but AGAIN repeats them, and into loops of their own nest. */
static bool is_step(const struct psnap_table_view *view, uint32_t index, uint32_t k)
{
    const struct psnap_table_nest *nest = &view->nests[index];
    const struct psnap_table_step *steps = &view->steps[nest->first_step], *step = &steps[k];
    const uint32_t values = nest->words + nest->values;
    const struct psnap_table_hoist *hoist;

    if (step->level >= nest->levels)
        return false;
    switch (step->op) {
    case PSNAP_STEP_RUN:
        if (step->a >= view->header->hoists || k + 1 == nest->steps || step->b >= values)
            return false;
        hoist = &view->hoists[step->a];
        return hoist->nest == index + 1 && hoist->words <= values && step->c <= hoist->pieces;
    case PSNAP_STEP_BRANCH:
        return step->a < values && step->b > k && step->c > k && step->b < nest->steps &&
               step->c < nest->steps;
    case PSNAP_STEP_GOTO:
        return step->a > k && step->a < nest->steps;
    case PSNAP_STEP_SET:
        return step->a >= nest->words && step->a < nest->words + nest->constants &&
               step->b < values && k + 1 < nest->steps;
    case PSNAP_STEP_COMPUTE:
        return is_range(nest, step) && k + 1 < nest->steps;
    case PSNAP_STEP_ENTER:
        return is_range(nest, step) && k + 1 < nest->steps &&
               (k == 0 ? step->level == 0 && step->c == 0
                       : step->c < k && steps[step->c].op == PSNAP_STEP_ENTER &&
                             steps[step->c].level < step->level);
    case PSNAP_STEP_AGAIN:
        return step->a < k && steps[step->a].op == PSNAP_STEP_ENTER &&
               steps[step->a].level == step->level;
    default:
        return false;
    }
}

static bool is_nest(const struct psnap_table_view *view, uint32_t index)
{
    const struct psnap_table_header *header = view->header;
    const struct psnap_table_nest *nest = &view->nests[index];

    if (nest->levels < 1 || nest->levels > PSNAP_NEST_LEVELS_MAX ||
        nest->words < PSNAP_NEST_HEADER_WORDS + 2 * nest->levels ||
        nest->words > PSNAP_NEST_WORDS_MAX || nest->first_value > header->values ||
        nest->values > header->values - nest->first_value ||
        nest->values > PSNAP_NEST_VALUES_MAX - nest->words || nest->constants > nest->values ||
        nest->first_step > header->steps || nest->steps > header->steps - nest->first_step ||
        nest->steps < 2 || nest->steps > PSNAP_NEST_STEPS_MAX ||
        view->steps[nest->first_step].op != PSNAP_STEP_ENTER)
        return false;
    for (uint32_t i = 0; i < nest->values; i++)
        if (!is_value(nest, i, &view->values[nest->first_value + i]))
            return false;
    for (uint32_t i = 0; i < nest->steps; i++)
        if (!is_step(view, index, i))
            return false;
    return true;
}

/* A way to end a hoisted loop or a nest, or neither. */
static bool is_end(const struct psnap_table_view *view, const struct psnap_table_piece *piece)
{
    const struct psnap_table_header *header = view->header;

    if (piece->hoist > header->hoists || piece->nest > header->nests ||
        (piece->hoist && piece->nest))
        return false;
    if (piece->hoist) {
        const struct psnap_table_hoist *hoist = &view->hoists[piece->hoist - 1];
        return !hoist->nest && (piece->last == PSNAP_NONE || piece->last <= hoist->pieces);
    }
    return !piece->nest || piece->last == PSNAP_NONE ||
           piece->last < view->nests[piece->nest - 1].steps;
}

enum psnap_status psnap_table_check(const struct psnap_table_view *view, struct psnap_error *error)
{
    const struct psnap_table_header *header = view->header;

    for (uint32_t i = 0; i < header->blocks; i++)
        if (view->blocks[i].loop >= header->loops || view->blocks[i].same_as > header->blocks)
            return psnap_table_corrupt(error, "a block of no loop, or like no block");
    for (uint32_t i = 0; i < header->refs; i++) {
        const struct psnap_table_ref *ref = &view->refs[i];
        if (ref->block >= header->blocks || ref->op >= PSNAP_REF_OP_COUNT || ref->kind > 2 ||
            ref->lanes < 1 || ref->lanes > 64 || ref->object_kind > 2 || ref->size < 1)
            return psnap_table_corrupt(error, "a reference that cannot be");
        if (ref->op == PSNAP_REF_COPY &&
            (i + 1 == header->refs || view->refs[i + 1].op != PSNAP_REF_NONE))
            return psnap_table_corrupt(error, "half a copy");
    }
    for (uint32_t i = 0; i < header->pieces; i++) {
        const struct psnap_table_piece *piece = &view->pieces[i];
        uint32_t words = 1;
        if (piece->first_ref > header->refs || piece->refs > header->refs - piece->first_ref ||
            piece->words > PSNAP_RECORD_WORDS_MAX || piece->guard > PSNAP_HOIST_GUARDS_MAX)
            return psnap_table_corrupt(error, "a piece without references");
        if (!is_end(view, piece))
            return psnap_table_corrupt(error, "an end of no loop, or behind it");
        if (piece->hoist)
            words = view->hoists[piece->hoist - 1].words;
        if (piece->nest)
            words = view->nests[piece->nest - 1].words;
        for (uint32_t k = piece->first_ref; k < piece->first_ref + piece->refs; k++)
            words += psnap_ref_words(view->refs[k].op, view->refs[k].lanes);
        if (words != piece->words)
            return psnap_table_corrupt(error, "a piece of a wrong length");
    }
    for (uint32_t i = 0; i < header->hoists; i++)
        if (!is_hoist(view, &view->hoists[i]))
            return psnap_table_corrupt(error, "a loop that cannot be hoisted");
    for (uint32_t i = 0; i < header->nests; i++)
        if (!is_nest(view, i))
            return psnap_table_corrupt(error, "a nest of loops that cannot be");
    return PSNAP_OK;
}
