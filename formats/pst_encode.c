/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Accesses to the payload of a chunk (PST.md, "The accesses of a chunk").
 *
 * A lane is a distinct (ref, size, kind, thread) of the chunk: everything of
 * an access but its address. Two predictions are made for every access: that
 * its lane is the one that followed the previous lane before, and that its
 * address is the lane's last one plus the lane's stride. What is predicted is
 * only counted; a wrong lane is written as a jump, a wrong address as a token.
 *
 * Invariants, the same in pst_decode.c: a lane's successor changes at the
 * second wrong prediction in a row; its stride changes at the second token in
 * a row. A loop exit so costs one jump, the return of an array walk to its
 * start one token.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/pst.h"

#define NO_TOKEN UINT32_MAX
#define FIRST_BUCKETS 1024u

/* Of lanes, tokens and jumps: a full chunk and what one more put may add. */
#define ROOM ((size_t)PSNAP_PST_CHUNK_TOKENS + PSNAP_PST_PUT_MAX)

struct lane {
    uint64_t key; /* the second half of the access record */
    uint64_t last, stride;
    uint32_t run;    /* right predictions since the lane's last token */
    uint32_t next;   /* lane predicted after this one */
    uint32_t token;  /* the lane's last token, or NO_TOKEN */
    uint32_t missed; /* `next` was wrong the last time */
};

struct lane_start {
    struct psnap_access access; /* the lane's first */
    uint32_t run;               /* right predictions before the first token */
    uint32_t tokens;
};

struct token {
    uint64_t delta, address;
    uint32_t run; /* right predictions after it */
    uint32_t lane;
};

struct psnap_pst_encoder {
    struct lane *lanes;
    struct lane_start *starts;
    struct token *tokens;
    uint32_t *jump_runs;   /* right lanes before each jump */
    uint32_t *jump_lanes;  /* where it goes */
    uint32_t *buckets;     /* open addressing: lane + 1, 0 is empty */
    uint32_t bucket_count; /* a power of two */
    uint32_t lane_count, token_count, jump_count;
    uint32_t previous; /* lane of the last access */
    uint32_t run;      /* right lanes since the last jump */
    uint32_t accesses;
    /* scratch of flush: tokens by lane, and where each lane's begin */
    uint64_t *values, *addresses;
    uint32_t *runs, *offsets;
    struct psnap_bytes planes;
};

struct psnap_pst_encoder *psnap_pst_encoder_new(void)
{
    struct psnap_pst_encoder *e = calloc(1, sizeof *e);

    if (!e)
        return NULL;
    /* Pages that a regular stream never reaches are never touched. */
    e->lanes = malloc(ROOM * sizeof *e->lanes);
    e->starts = malloc(ROOM * sizeof *e->starts);
    e->tokens = malloc(ROOM * sizeof *e->tokens);
    e->jump_runs = malloc(ROOM * sizeof *e->jump_runs);
    e->jump_lanes = malloc(ROOM * sizeof *e->jump_lanes);
    e->values = malloc(ROOM * sizeof *e->values);
    e->addresses = malloc(ROOM * sizeof *e->addresses);
    e->runs = malloc(ROOM * sizeof *e->runs);
    e->offsets = malloc(ROOM * sizeof *e->offsets);
    e->bucket_count = FIRST_BUCKETS;
    e->buckets = calloc(FIRST_BUCKETS, sizeof *e->buckets);
    if (e->lanes && e->starts && e->tokens && e->jump_runs && e->jump_lanes && e->values &&
        e->addresses && e->runs && e->offsets && e->buckets)
        return e;
    psnap_pst_encoder_free(e);
    return NULL;
}

void psnap_pst_encoder_free(struct psnap_pst_encoder *encoder)
{
    if (!encoder)
        return;
    free(encoder->lanes);
    free(encoder->starts);
    free(encoder->tokens);
    free(encoder->jump_runs);
    free(encoder->jump_lanes);
    free(encoder->buckets);
    free(encoder->values);
    free(encoder->addresses);
    free(encoder->runs);
    free(encoder->offsets);
    psnap_bytes_release(&encoder->planes);
    free(encoder);
}

uint32_t psnap_pst_encoder_accesses(const struct psnap_pst_encoder *encoder)
{
    return encoder->accesses;
}

bool psnap_pst_encoder_full(const struct psnap_pst_encoder *encoder)
{
    return encoder->accesses >= PSNAP_PST_CHUNK_ACCESSES ||
           encoder->lane_count + encoder->token_count + encoder->jump_count >=
               PSNAP_PST_CHUNK_TOKENS;
}

static inline uint64_t key_of(const struct psnap_access *access)
{
    uint64_t key;

    memcpy(&key, (const char *)access + sizeof access->address, sizeof key);
    return key;
}

static inline uint32_t bucket_of(uint64_t key, uint32_t bucket_count)
{
    return (uint32_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (bucket_count - 1);
}

static bool grow_buckets(struct psnap_pst_encoder *encoder)
{
    const uint32_t count = encoder->bucket_count * 4;
    uint32_t *buckets = calloc(count, sizeof *buckets);

    if (!buckets)
        return false;
    for (uint32_t i = 0; i < encoder->lane_count; i++) {
        uint32_t b = bucket_of(encoder->lanes[i].key, count);
        while (buckets[b])
            b = (b + 1) & (count - 1);
        buckets[b] = i + 1;
    }
    free(encoder->buckets);
    encoder->buckets = buckets;
    encoder->bucket_count = count;
    return true;
}

static enum psnap_status check_access(const struct psnap_access *access, uint32_t ref_count,
                                      struct psnap_error *error)
{
    if (access->ref >= ref_count)
        return psnap_error_set(error, PSNAP_ERROR_VALUE,
                               "access names reference %" PRIu32 ", the program has %" PRIu32,
                               access->ref, ref_count);
    if (access->size < 1 || access->size > PSNAP_ACCESS_SIZE_MAX || access->kind > PSNAP_ATOMIC)
        return psnap_error_set(error, PSNAP_ERROR_VALUE, "access of %u bytes and kind %u",
                               access->size, access->kind);
    return PSNAP_OK;
}

/* Finds or makes the access's lane. */
static enum psnap_status find_lane(struct psnap_pst_encoder *encoder,
                                   const struct psnap_access *access, uint32_t ref_count,
                                   uint32_t *index, struct psnap_error *error)
{
    const uint64_t key = key_of(access);
    const uint32_t lane = encoder->lane_count;
    enum psnap_status status;
    uint32_t b;

    if (lane >= encoder->bucket_count / 2 && !grow_buckets(encoder))
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    b = bucket_of(key, encoder->bucket_count);
    for (; encoder->buckets[b]; b = (b + 1) & (encoder->bucket_count - 1)) {
        *index = encoder->buckets[b] - 1;
        if (encoder->lanes[*index].key == key)
            return PSNAP_OK;
    }
    status = check_access(access, ref_count, error);
    if (status != PSNAP_OK)
        return status;
    /* run starts one below 0: the access that makes the lane is "predicted" but not counted */
    encoder->lanes[lane] = (struct lane){.key = key,
                                         .last = access->address,
                                         .run = UINT32_MAX,
                                         .next = lane,
                                         .token = NO_TOKEN,
                                         .missed = 1};
    encoder->starts[lane] = (struct lane_start){.access = *access};
    encoder->buckets[b] = lane + 1;
    encoder->lane_count++;
    *index = lane;
    return PSNAP_OK;
}

/* The lane is not the predicted one: writes a jump and learns. */
static void jump_to(struct psnap_pst_encoder *encoder, uint32_t lane)
{
    struct lane *previous = &encoder->lanes[encoder->previous];

    encoder->jump_runs[encoder->jump_count] = encoder->run;
    encoder->jump_lanes[encoder->jump_count++] = lane;
    encoder->run = 0;
    if (previous->missed)
        previous->next = lane;
    previous->missed ^= 1;
}

/* The address is not the predicted one: closes the lane's run, writes a token and learns. */
static void token_for(struct psnap_pst_encoder *encoder, uint32_t index, uint64_t delta,
                      uint64_t address)
{
    struct lane *lane = &encoder->lanes[index];

    if (lane->token == NO_TOKEN)
        encoder->starts[index].run = lane->run;
    else
        encoder->tokens[lane->token].run = lane->run;
    if (lane->run == 0)
        lane->stride = delta;
    lane->run = 0;
    lane->token = encoder->token_count++;
    encoder->tokens[lane->token] = (struct token){delta, address, 0, index};
    encoder->starts[index].tokens++;
}

/* The first access of a chunk is in lane 0, which needs no jump. */
static enum psnap_status put_first(struct psnap_pst_encoder *encoder,
                                   const struct psnap_access *access, uint32_t ref_count,
                                   struct psnap_error *error)
{
    const enum psnap_status status =
        find_lane(encoder, access, ref_count, &encoder->previous, error);

    if (status == PSNAP_OK) {
        encoder->lanes[0].run = 0;
        encoder->accesses = 1;
    }
    return status;
}

static enum psnap_status put_rest(struct psnap_pst_encoder *encoder,
                                  const struct psnap_access *block, size_t n, uint32_t ref_count,
                                  struct psnap_error *error)
{
    struct lane *const lanes = encoder->lanes;
    uint32_t index = encoder->previous, run = encoder->run;

    for (size_t i = 0; i < n; i++) {
        struct lane *lane = &lanes[index];
        const uint64_t address = block[i].address;
        uint64_t delta;

        if (lanes[lane->next].key == key_of(&block[i])) {
            lane->missed = 0;
            index = lane->next;
            run++;
        } else {
            enum psnap_status status;
            encoder->previous = index;
            encoder->run = run;
            status = find_lane(encoder, &block[i], ref_count, &index, error);
            if (status != PSNAP_OK)
                return status;
            jump_to(encoder, index);
            run = 0;
        }
        lane = &lanes[index];
        delta = address - lane->last;
        lane->last = address;
        if (delta == lane->stride)
            lane->run++;
        else
            token_for(encoder, index, delta, address);
    }
    encoder->previous = index;
    encoder->run = run;
    encoder->accesses += (uint32_t)n;
    return PSNAP_OK;
}

enum psnap_status psnap_pst_encoder_put(struct psnap_pst_encoder *encoder,
                                        const struct psnap_access *block, size_t n,
                                        uint32_t ref_count, struct psnap_error *error)
{
    if (n == 0)
        return PSNAP_OK;
    if (n > PSNAP_PST_PUT_MAX || psnap_pst_encoder_full(encoder))
        return psnap_error_set(error, PSNAP_ERROR_USAGE, "chunk of accesses is full");
    if (encoder->accesses == 0) {
        const enum psnap_status status = put_first(encoder, block, ref_count, error);
        if (status != PSNAP_OK)
            return status;
        block++;
        n--;
    }
    return put_rest(encoder, block, n, ref_count, error);
}

/* Whether the predictions from here on are the run's repetition i, lane by lane. */
static bool predicts(const struct psnap_pst_encoder *encoder, const struct psnap_run *run,
                     uint64_t i)
{
    uint32_t index = encoder->previous;

    for (size_t k = 0; k < run->width; k++) {
        const struct psnap_access *first = &run->first[k];
        const uint64_t stride = (uint64_t)run->strides[k];
        const struct lane *lane;

        index = encoder->lanes[index].next;
        lane = &encoder->lanes[index];
        if (lane->key != key_of(first) || lane->stride != stride ||
            lane->last + stride != first->address + i * stride)
            return false;
    }
    return true;
}

/* As the strides are the lanes', one repetition that is predicted means that all are. */
uint32_t psnap_pst_encoder_repeat(struct psnap_pst_encoder *encoder, const struct psnap_run *run,
                                  uint64_t i, uint64_t limit)
{
    const uint64_t room = (PSNAP_PST_CHUNK_MAX - encoder->accesses) / run->width;
    const uint32_t n = (uint32_t)(limit < room ? limit : room);

    if (n == 0 || encoder->accesses == 0 || !predicts(encoder, run, i))
        return 0;
    for (size_t k = 0; k < run->width; k++) {
        struct lane *lane = &encoder->lanes[encoder->previous];

        lane->missed = 0;
        encoder->previous = lane->next;
        lane = &encoder->lanes[encoder->previous];
        lane->last += n * lane->stride;
        lane->run += n;
    }
    encoder->run += n * (uint32_t)run->width;
    encoder->accesses += n * (uint32_t)run->width;
    return n;
}

/* Bytes that hold every value up to `largest`. */
static unsigned width_of(uint64_t largest)
{
    unsigned width = 0;

    for (; largest; largest >>= 8)
        width++;
    return width;
}

/* Writes `n` values as `width` planes: all lowest bytes, then all second ones, ... */
static void put_planes64(struct psnap_bytes *payload, const uint64_t *values, size_t n,
                         unsigned width)
{
    unsigned char *at = psnap_bytes_extend(payload, n * width);

    for (unsigned p = 0; at && p < width; p++, at += n)
        for (size_t i = 0; i < n; i++)
            at[i] = (unsigned char)(values[i] >> (8 * p));
}

static void put_planes32(struct psnap_bytes *payload, const uint32_t *values, size_t n,
                         unsigned width)
{
    unsigned char *at = psnap_bytes_extend(payload, n * width);

    for (unsigned p = 0; at && p < width; p++, at += n)
        for (size_t i = 0; i < n; i++)
            at[i] = (unsigned char)(values[i] >> (8 * p));
}

static uint32_t all_bits(const uint32_t *values, size_t n)
{
    uint32_t all = 0;

    for (size_t i = 0; i < n; i++)
        all |= values[i];
    return all;
}

/* How the tokens of one lane are written. */
struct coding {
    uint64_t base; /* lowest address, for absolute */
    unsigned shift, value_width, run_width;
    bool absolute;
};

/*
 * Deltas or addresses? A delta's cost is taken as its bits and two more for
 * how many there are, an address' as the bits of the range. Uniformly random
 * addresses are a bit cheaper as addresses, everything with locality as
 * deltas. Then the values are replaced by what will be written.
 */
static struct coding choose_coding(uint64_t *deltas, const uint64_t *addresses,
                                   const uint32_t *runs, size_t n)
{
    uint64_t low = UINT64_MAX, high = 0, delta_bits = 0, ones = 0, largest = 0;
    struct coding coding = {0};

    for (size_t i = 0; i < n; i++) {
        low = addresses[i] < low ? addresses[i] : low;
        high = addresses[i] > high ? addresses[i] : high;
        delta_bits += 66 - (uint64_t)__builtin_clzll(psnap_zigzag(deltas[i]) | 1);
    }
    coding.absolute = n * (64 - (uint64_t)__builtin_clzll((high - low) | 1)) < delta_bits;
    coding.base = low;
    for (size_t i = 0; i < n; i++)
        ones |= coding.absolute ? addresses[i] - low : deltas[i];
    coding.shift = ones ? (unsigned)__builtin_ctzll(ones) : 0;
    for (size_t i = 0; i < n; i++) {
        if (coding.absolute)
            deltas[i] = (addresses[i] - low) >> coding.shift;
        else
            deltas[i] = psnap_zigzag((uint64_t)((int64_t)deltas[i] >> coding.shift));
        largest |= deltas[i];
    }
    coding.value_width = width_of(largest);
    coding.run_width = width_of(all_bits(runs, n));
    return coding;
}

static void put_lane(struct psnap_bytes *payload, const struct lane_start *start,
                     const struct lane_start *before, const struct coding *coding)
{
    const struct psnap_access *access = &start->access;
    const uint64_t ref_before = before ? before->access.ref : 0;
    const uint64_t address_before = before ? before->access.address : 0;

    psnap_bytes_varint(payload, psnap_zigzag(access->ref - ref_before));
    psnap_bytes_varint(payload, access->thread);
    psnap_bytes_u8(payload, access->size);
    psnap_bytes_u8(payload, access->kind);
    psnap_bytes_varint(payload, psnap_zigzag(access->address - address_before));
    psnap_bytes_varint(payload, start->run);
    psnap_bytes_varint(payload, start->tokens);
    if (start->tokens == 0)
        return;
    psnap_bytes_u8(payload, (uint8_t)(coding->shift | (coding->absolute ? 0x80u : 0)));
    psnap_bytes_u8(payload, (uint8_t)(coding->value_width | coding->run_width << 4));
    if (coding->absolute)
        psnap_bytes_varint(payload, psnap_zigzag(coding->base - access->address));
}

/* Closes all runs and sorts the tokens by lane into the scratch arrays. */
static void sort_tokens(struct psnap_pst_encoder *encoder)
{
    uint32_t offset = 0;

    for (uint32_t i = 0; i < encoder->lane_count; i++) {
        const struct lane *lane = &encoder->lanes[i];
        if (lane->token == NO_TOKEN)
            encoder->starts[i].run = lane->run;
        else
            encoder->tokens[lane->token].run = lane->run;
        encoder->offsets[i] = offset;
        offset += encoder->starts[i].tokens;
    }
    for (uint32_t i = 0; i < encoder->token_count; i++) {
        const struct token *token = &encoder->tokens[i];
        const uint32_t to = encoder->offsets[token->lane]++;
        encoder->values[to] = token->delta;
        encoder->addresses[to] = token->address;
        encoder->runs[to] = token->run;
    }
    for (uint32_t i = 0; i < encoder->lane_count; i++)
        encoder->offsets[i] -= encoder->starts[i].tokens;
}

static void put_jumps(struct psnap_bytes *payload, const struct psnap_pst_encoder *encoder)
{
    const size_t n = encoder->jump_count;
    const unsigned run_width = width_of(all_bits(encoder->jump_runs, n));
    const unsigned lane_width = width_of(all_bits(encoder->jump_lanes, n));

    psnap_bytes_u8(payload, (uint8_t)(run_width | lane_width << 4));
    put_planes32(payload, encoder->jump_runs, n, run_width);
    put_planes32(payload, encoder->jump_lanes, n, lane_width);
}

static void start_chunk(struct psnap_pst_encoder *encoder)
{
    memset(encoder->buckets, 0, encoder->bucket_count * sizeof *encoder->buckets);
    encoder->lane_count = encoder->token_count = encoder->jump_count = 0;
    encoder->previous = encoder->run = encoder->accesses = 0;
}

enum psnap_status psnap_pst_encoder_flush(struct psnap_pst_encoder *encoder,
                                          struct psnap_bytes *payload, struct psnap_error *error)
{
    struct psnap_bytes *planes = &encoder->planes;

    payload->size = planes->size = 0;
    sort_tokens(encoder);
    psnap_bytes_varint(payload, encoder->lane_count);
    psnap_bytes_varint(payload, encoder->token_count);
    psnap_bytes_varint(payload, encoder->jump_count);
    put_jumps(planes, encoder);
    for (uint32_t i = 0; i < encoder->lane_count; i++) {
        const struct lane_start *start = &encoder->starts[i];
        const uint32_t at = encoder->offsets[i];
        struct coding coding = {0};

        if (start->tokens)
            coding = choose_coding(encoder->values + at, encoder->addresses + at,
                                   encoder->runs + at, start->tokens);
        put_lane(payload, start, i ? start - 1 : NULL, &coding);
        put_planes64(planes, encoder->values + at, start->tokens, coding.value_width);
        put_planes32(planes, encoder->runs + at, start->tokens, coding.run_width);
    }
    psnap_bytes_put(payload, planes->data, planes->size);
    start_chunk(encoder);
    if (payload->failed || planes->failed)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    return PSNAP_OK;
}
