/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The payload of a chunk back to accesses: the predictions of pst_encode.c
 * run again, corrected by the jumps and tokens read.
 *
 * Starting a chunk checks everything that the hot loop relies on: lanes are
 * valid accesses of known refs, jumps go to lanes there are, the runs of jumps
 * and those of tokens each add up to the chunk's accesses. What is left to
 * check there is that no lane is asked for more than it has, which, as the
 * sums agree, also means that nothing is left over at the end.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/pst.h"

struct lane {
    uint64_t key; /* the second half of the access record */
    uint64_t last, stride;
    uint32_t run;    /* right predictions to come before the next token */
    uint32_t next;   /* lane predicted after this one */
    uint32_t token;  /* the next one */
    uint32_t missed; /* `next` was wrong the last time */
};

struct lane_tokens {
    uint32_t end;  /* one after the lane's last token */
    bool absolute; /* values are addresses, else deltas */
    bool learns;   /* the run before the next token was empty: it sets the stride */
};

struct psnap_pst_decoder {
    struct lane *lanes;
    struct lane_tokens *lane_tokens;
    uint64_t *values; /* of tokens, lane after lane */
    uint32_t *runs;   /* right predictions after each token */
    uint32_t *jump_runs, *jump_lanes;
    uint32_t lane_room, token_room, jump_room;
    uint32_t lane_count, token_count, jump_count;
    uint32_t jump;    /* the next one */
    uint32_t hits;    /* right lanes before it, or before the end */
    uint32_t current; /* lane of the last access */
    uint32_t trailing;
    bool started;
};

struct psnap_pst_decoder *psnap_pst_decoder_new(void)
{
    return calloc(1, sizeof(struct psnap_pst_decoder));
}

static void release_lanes(struct psnap_pst_decoder *decoder)
{
    free(decoder->lanes);
    free(decoder->lane_tokens);
    decoder->lanes = NULL;
    decoder->lane_tokens = NULL;
    decoder->lane_room = 0;
}

static void release_tokens(struct psnap_pst_decoder *decoder)
{
    free(decoder->values);
    free(decoder->runs);
    decoder->values = NULL;
    decoder->runs = NULL;
    decoder->token_room = 0;
}

static void release_jumps(struct psnap_pst_decoder *decoder)
{
    free(decoder->jump_runs);
    free(decoder->jump_lanes);
    decoder->jump_runs = decoder->jump_lanes = NULL;
    decoder->jump_room = 0;
}

void psnap_pst_decoder_free(struct psnap_pst_decoder *decoder)
{
    if (!decoder)
        return;
    release_lanes(decoder);
    release_tokens(decoder);
    release_jumps(decoder);
    free(decoder);
}

/* Room for the chunk's counts; nothing of the chunk before is kept. */
static bool reserve(struct psnap_pst_decoder *decoder)
{
    if (decoder->lane_room < decoder->lane_count) {
        release_lanes(decoder);
        decoder->lanes = malloc(decoder->lane_count * sizeof *decoder->lanes);
        decoder->lane_tokens = malloc(decoder->lane_count * sizeof *decoder->lane_tokens);
        if (!decoder->lanes || !decoder->lane_tokens)
            return false;
        decoder->lane_room = decoder->lane_count;
    }
    if (decoder->token_room <= decoder->token_count) { /* one more: never NULL */
        release_tokens(decoder);
        decoder->token_room = decoder->token_count + 1;
        decoder->values = malloc(decoder->token_room * sizeof *decoder->values);
        decoder->runs = malloc(decoder->token_room * sizeof *decoder->runs);
        if (!decoder->values || !decoder->runs)
            return false;
    }
    if (decoder->jump_room < decoder->jump_count) {
        release_jumps(decoder);
        decoder->jump_runs = malloc(decoder->jump_count * sizeof *decoder->jump_runs);
        decoder->jump_lanes = malloc(decoder->jump_count * sizeof *decoder->jump_lanes);
        if (!decoder->jump_runs || !decoder->jump_lanes)
            return false;
        decoder->jump_room = decoder->jump_count;
    }
    return true;
}

static void get_planes64(struct psnap_cursor *payload, uint64_t *values, size_t n, unsigned width)
{
    const unsigned char *at = psnap_cursor_take(payload, n * width);

    for (size_t i = 0; i < n; i++)
        values[i] = 0;
    for (unsigned p = 0; at && p < width; p++, at += n)
        for (size_t i = 0; i < n; i++)
            values[i] |= (uint64_t)at[i] << (8 * p);
}

/* Returns the sum of the values. */
static uint64_t get_planes32(struct psnap_cursor *payload, uint32_t *values, size_t n,
                             unsigned width)
{
    const unsigned char *at = psnap_cursor_take(payload, n * width);
    uint64_t sum = 0;

    for (size_t i = 0; i < n; i++)
        values[i] = 0;
    for (unsigned p = 0; at && p < width; p++, at += n)
        for (size_t i = 0; i < n; i++)
            values[i] |= (uint32_t)at[i] << (8 * p);
    for (size_t i = 0; i < n; i++)
        sum += values[i];
    return sum;
}

/* What a lane's row says of its tokens. */
struct coding {
    uint64_t base;
    uint32_t tokens;
    uint8_t shift, value_width, run_width;
    bool absolute;
};

/* Reads the row of lane `index`, given the access of the row before; returns its first run. */
static uint32_t get_lane(struct psnap_cursor *payload, uint32_t ref_count,
                         struct psnap_access *access, struct coding *coding)
{
    uint32_t run;

    access->ref += (uint32_t)psnap_unzigzag(psnap_cursor_varint(payload));
    access->thread = (uint16_t)psnap_cursor_below(payload, UINT16_MAX);
    access->size = psnap_cursor_u8(payload);
    access->kind = psnap_cursor_u8(payload);
    access->address += psnap_unzigzag(psnap_cursor_varint(payload));
    if (access->ref >= ref_count || access->size < 1 || access->size > PSNAP_ACCESS_SIZE_MAX ||
        access->kind > PSNAP_ATOMIC)
        payload->failed = true;
    run = (uint32_t)psnap_cursor_below(payload, PSNAP_PST_CHUNK_MAX);
    *coding = (struct coding){0};
    coding->tokens = (uint32_t)psnap_cursor_below(payload, PSNAP_PST_TOKENS_MAX);
    if (coding->tokens) {
        const uint8_t shift = psnap_cursor_u8(payload), widths = psnap_cursor_u8(payload);
        coding->absolute = shift >> 7;
        coding->shift = shift & 0x7f;
        coding->value_width = widths & 15;
        coding->run_width = widths >> 4;
        if (coding->absolute)
            coding->base = access->address + psnap_unzigzag(psnap_cursor_varint(payload));
        if (coding->shift > 63 || coding->value_width > 8 || coding->run_width > 4)
            payload->failed = true;
    }
    return run;
}

/* Makes a lane's values what the hot loop adds: whole deltas or whole addresses. */
static void finish_values(uint64_t *values, const struct coding *coding)
{
    if (coding->absolute)
        for (uint32_t i = 0; i < coding->tokens; i++)
            values[i] = (values[i] << coding->shift) + coding->base;
    else
        for (uint32_t i = 0; i < coding->tokens; i++)
            values[i] = psnap_unzigzag(values[i]) << coding->shift;
}

/* Jumps: false when they do not fit into the chunk. */
static bool get_jumps(struct psnap_pst_decoder *decoder, struct psnap_cursor *payload,
                      uint32_t accesses)
{
    const uint8_t widths = psnap_cursor_u8(payload);
    const uint32_t n = decoder->jump_count;
    uint64_t sum = 1 + (uint64_t)n;

    if ((widths & 15) > 4 || widths >> 4 > 4)
        return false;
    sum += get_planes32(payload, decoder->jump_runs, n, widths & 15);
    get_planes32(payload, decoder->jump_lanes, n, widths >> 4);
    for (uint32_t i = 0; i < n; i++)
        if (decoder->jump_lanes[i] >= decoder->lane_count)
            return false;
    if (payload->failed || sum > accesses)
        return false;
    decoder->trailing = accesses - (uint32_t)sum;
    return true;
}

/*
 * Lanes and tokens. The rows are read twice, as the planes come after all of
 * them: once here to find the planes, once while they are read.
 */
static bool get_lanes(struct psnap_pst_decoder *decoder, struct psnap_cursor *payload,
                      uint32_t accesses, uint32_t ref_count)
{
    struct psnap_cursor rows = *payload;
    struct psnap_access access = {0};
    struct coding coding;
    uint64_t sum = 0, tokens = 0;

    for (uint32_t i = 0; i < decoder->lane_count; i++) {
        sum += (uint64_t)get_lane(payload, ref_count, &access, &coding) + 1 + coding.tokens;
        tokens += coding.tokens;
    }
    if (payload->failed || tokens != decoder->token_count || !get_jumps(decoder, payload, accesses))
        return false;
    access = (struct psnap_access){0};
    tokens = 0;
    for (uint32_t i = 0; i < decoder->lane_count; i++) {
        struct lane *lane = &decoder->lanes[i];
        const uint32_t run = get_lane(&rows, ref_count, &access, &coding);

        *lane = (struct lane){.last = access.address,
                              .run = run + 1,
                              .next = i,
                              .token = (uint32_t)tokens,
                              .missed = 1};
        memcpy(&lane->key, (const char *)&access + sizeof access.address, sizeof lane->key);
        get_planes64(payload, decoder->values + tokens, coding.tokens, coding.value_width);
        sum += get_planes32(payload, decoder->runs + tokens, coding.tokens, coding.run_width);
        finish_values(decoder->values + tokens, &coding);
        tokens += coding.tokens;
        decoder->lane_tokens[i] = (struct lane_tokens){(uint32_t)tokens, coding.absolute, run == 0};
    }
    return !payload->failed && payload->at == payload->end && sum == accesses;
}

enum psnap_status psnap_pst_decoder_start(struct psnap_pst_decoder *decoder,
                                          struct psnap_cursor *payload, uint32_t accesses,
                                          uint32_t ref_count, struct psnap_error *error)
{
    decoder->lane_count = (uint32_t)psnap_cursor_below(payload, PSNAP_PST_TOKENS_MAX);
    decoder->token_count = (uint32_t)psnap_cursor_below(payload, PSNAP_PST_TOKENS_MAX);
    decoder->jump_count = (uint32_t)psnap_cursor_below(payload, PSNAP_PST_TOKENS_MAX);
    if (payload->failed || decoder->lane_count == 0 || accesses == 0)
        return psnap_error_set(error, PSNAP_ERROR_CORRUPT, "chunk of accesses makes no sense");
    if (!reserve(decoder))
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    if (!get_lanes(decoder, payload, accesses, ref_count))
        return psnap_error_set(error, PSNAP_ERROR_CORRUPT, "chunk of accesses makes no sense");
    decoder->jump = 0;
    decoder->hits = decoder->jump_count ? decoder->jump_runs[0] : decoder->trailing;
    decoder->current = 0;
    decoder->started = false;
    return PSNAP_OK;
}

/* The lane of the access after the last one, when its prediction was wrong. */
static uint32_t take_jump(struct psnap_pst_decoder *decoder)
{
    struct lane *lane = &decoder->lanes[decoder->current];
    uint32_t to;

    if (!decoder->started) {
        decoder->started = true;
        return 0;
    }
    to = decoder->jump_lanes[decoder->jump++];
    if (lane->missed)
        lane->next = to;
    lane->missed ^= 1;
    decoder->hits =
        decoder->jump < decoder->jump_count ? decoder->jump_runs[decoder->jump] : decoder->trailing;
    return to;
}

/* Sets the lane to its next token; false when there is none. */
static bool take_token(struct psnap_pst_decoder *decoder, uint32_t index)
{
    struct lane *lane = &decoder->lanes[index];
    struct lane_tokens *tokens = &decoder->lane_tokens[index];
    uint64_t delta;

    if (lane->token == tokens->end)
        return false;
    delta = decoder->values[lane->token] - (tokens->absolute ? lane->last : 0);
    if (tokens->learns)
        lane->stride = delta;
    lane->last += delta;
    lane->run = decoder->runs[lane->token++];
    tokens->learns = lane->run == 0;
    return true;
}

static inline void set_access(struct psnap_access *access, uint64_t address, uint64_t key)
{
    access->address = address;
    memcpy((char *)access + sizeof access->address, &key, sizeof key);
}

/* The next access of a lane. */
static inline bool take_access(struct psnap_pst_decoder *decoder, uint32_t index,
                               struct psnap_access *access)
{
    struct lane *lane = &decoder->lanes[index];

    if (lane->run) {
        lane->run--;
        lane->last += lane->stride;
    } else if (!take_token(decoder, index)) {
        return false;
    }
    set_access(access, lane->last, lane->key);
    return true;
}

/* Accesses whose lanes are all as predicted: the hot loop. */
static bool take_predicted(struct psnap_pst_decoder *decoder, struct psnap_access *block, size_t n)
{
    uint32_t index = decoder->current;

    for (size_t i = 0; i < n; i++) {
        struct lane *lane = &decoder->lanes[index];

        lane->missed = 0;
        index = lane->next;
        if (!take_access(decoder, index, &block[i]))
            return false;
    }
    decoder->current = index;
    return true;
}

enum psnap_status psnap_pst_decoder_next(struct psnap_pst_decoder *decoder,
                                         struct psnap_access *block, size_t n,
                                         struct psnap_error *error)
{
    bool good = true;

    while (n > 0 && good) {
        size_t taken = 1;

        if (decoder->started && decoder->hits > 0) {
            taken = decoder->hits < n ? decoder->hits : n;
            good = take_predicted(decoder, block, taken);
            decoder->hits -= (uint32_t)taken;
        } else {
            decoder->current = take_jump(decoder);
            good = take_access(decoder, decoder->current, block);
        }
        block += taken;
        n -= taken;
    }
    if (!good)
        return psnap_error_set(error, PSNAP_ERROR_CORRUPT, "chunk of accesses makes no sense");
    return PSNAP_OK;
}

/* How often the lanes that are predicted next come round again, all addresses as predicted; their
 * number goes to *width. */
static uint64_t find_cycle(const struct psnap_pst_decoder *decoder, uint32_t first, size_t *width)
{
    uint64_t count = decoder->hits;
    uint32_t index = first;

    *width = 0;
    do {
        const struct lane *lane = &decoder->lanes[index];

        if (*width == PSNAP_PST_RUN_WIDTH || lane->run < PSNAP_PST_RUN_COUNT)
            return 0;
        if (lane->run < count)
            count = lane->run;
        ++*width;
        index = lane->next;
    } while (index != first);
    return count < decoder->hits / *width ? count : decoder->hits / *width;
}

/* A run is of one thread and one block, and no ref occurs twice. */
static bool may_be_run(const struct psnap_pst_run *run, const struct psnap_program *program)
{
    for (size_t k = 1; k < run->width; k++) {
        if (run->first[k].thread != run->first[0].thread ||
            program->refs[run->first[k].ref].block != program->refs[run->first[0].ref].block)
            return false;
        for (size_t j = 0; j < k; j++)
            if (run->first[j].ref == run->first[k].ref)
                return false;
    }
    return true;
}

void psnap_pst_decoder_run(struct psnap_pst_decoder *decoder, const struct psnap_program *program,
                           uint64_t limit, struct psnap_pst_run *run)
{
    const uint32_t first = decoder->lanes[decoder->current].next;
    uint32_t index = first;
    uint64_t count;

    run->count = 0;
    if (!decoder->started || decoder->hits < PSNAP_PST_RUN_ACCESSES)
        return;
    count = find_cycle(decoder, first, &run->width);
    if (count == 0)
        return;
    if (count > limit / run->width)
        count = limit / run->width;
    if (count < PSNAP_PST_RUN_COUNT || count * run->width < PSNAP_PST_RUN_ACCESSES)
        return;
    for (size_t k = 0; k < run->width; k++, index = decoder->lanes[index].next) {
        const struct lane *lane = &decoder->lanes[index];

        set_access(&run->first[k], lane->last + lane->stride, lane->key);
        run->strides[k] = (int64_t)lane->stride;
    }
    if (!may_be_run(run, program))
        return;
    decoder->lanes[decoder->current].missed = 0;
    for (size_t k = 0; k < run->width; k++) {
        struct lane *lane = &decoder->lanes[index];

        decoder->current = index;
        lane->missed = 0;
        lane->run -= (uint32_t)count;
        lane->last += count * lane->stride;
        index = lane->next;
    }
    decoder->hits -= (uint32_t)(count * run->width);
    run->count = (uint32_t)count;
}
