/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Accesses to the payload of a chunk (PST.md, "The accesses of a chunk").
 *
 * A lane is a distinct (ref, size, kind, thread) of the chunk: everything of
 * an access but its address. Two predictions are made for every access: that
 * its lane is the one that followed the lane before the last time, and that
 * its address is a step from a base, which is the lane's last address or that
 * of the access before. What is predicted is only counted. What is not is a
 * token of one of the lane's two tracks, which pst_fold.c takes.
 *
 * Invariants, the same in pst_decode.c: a prediction changes at the second
 * token of its track in a row. A loop exit so costs one token, and so does the
 * return of an array walk to its start. The base changes when the other one
 * would have been right at OTHER_WINS tokens in a row: a[i + 1] after a[i]
 * needs no tokens of its own, nor has a store to where was just loaded from.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "formats/pst_encode.h"

#define KEPT_BYTES ((size_t)128 << 20)
#define NO_KEY UINT64_MAX /* of no access */

static bool grow_lanes(struct psnap_pst_encoder *encoder)
{
    const uint32_t room = encoder->lane_room ? encoder->lane_room * 2 : 64;

    if (!psnap_resize(&encoder->lanes, (size_t)room + 1, sizeof *encoder->lanes) ||
        !psnap_resize(&encoder->tracks, room, sizeof *encoder->tracks))
        return false;
    memset(encoder->tracks + encoder->lane_room, 0,
           (room - encoder->lane_room) * sizeof *encoder->tracks);
    encoder->lane_room = room;
    return true;
}

bool psnap_pst_encoder_init(struct psnap_pst_encoder *encoder)
{
    encoder->token_limit = PSNAP_PST_CHUNK_TOKENS;
    if (!psnap_pst_folder_init(&encoder->folder) || !grow_lanes(encoder))
        return false;
    encoder->lanes[0].key = NO_KEY;
    return true;
}

static void release_tracks(struct psnap_pst_encoder *encoder)
{
    for (uint32_t i = 0; i < encoder->lane_room; i++) {
        psnap_pst_track_release(&encoder->tracks[i].next);
        psnap_pst_track_release(&encoder->tracks[i].address);
    }
}

/* The memory of tracks is used again, unless it would become too much. */
static void start_chunk(struct psnap_pst_encoder *encoder)
{
    size_t bytes = 0;

    for (uint32_t i = 0; i < encoder->lane_room; i++) {
        psnap_pst_track_reset(&encoder->tracks[i].next, &bytes);
        psnap_pst_track_reset(&encoder->tracks[i].address, &bytes);
    }
    if (bytes > KEPT_BYTES)
        release_tracks(encoder);
    psnap_map_clear(&encoder->numbers);
    psnap_pst_folder_start(&encoder->folder);
    psnap_pst_log_clear(&encoder->log);
    encoder->lanes[0].key = NO_KEY;
    encoder->lane_count = encoder->previous = encoder->accesses = 0;
    encoder->address = 0;
}

void psnap_pst_encoder_release(struct psnap_pst_encoder *encoder)
{
    release_tracks(encoder);
    free(encoder->lanes);
    free(encoder->tracks);
    free(encoder->numbers.slots);
    free(encoder->log.events);
    free(encoder->folder.places);
}

bool psnap_pst_encoder_full(const struct psnap_pst_encoder *encoder)
{
    return encoder->lane_count >= PSNAP_PST_CHUNK_LANES ||
           encoder->folder.tokens >= encoder->token_limit ||
           encoder->accesses >= PSNAP_PST_CHUNK_MAX;
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

static void add_lane(struct psnap_pst_encoder *encoder, const struct psnap_access *access)
{
    const uint32_t lane = encoder->lane_count++;

    /* run starts one below 0: the access that makes the lane is "predicted" but not counted */
    encoder->lanes[lane] = (struct psnap_pst_write_lane){.key = psnap_pst_key(access),
                                                         .last = access->address,
                                                         .next = lane + 1,
                                                         .run = UINT32_MAX,
                                                         .wins = PSNAP_PST_OTHER_WINS};
    encoder->lanes[lane + 1].key = NO_KEY;
    encoder->tracks[lane].first = *access;
}

/* Finds or makes the access's lane. */
static enum psnap_status find_lane(struct psnap_pst_encoder *encoder,
                                   const struct psnap_access *access, uint32_t ref_count,
                                   uint32_t *index, struct psnap_error *error)
{
    uint64_t *number = psnap_map_put(&encoder->numbers, psnap_pst_key(access));
    enum psnap_status status;

    if (number && *number) {
        *index = (uint32_t)*number - 1;
        return PSNAP_OK;
    }
    status = check_access(access, ref_count, error);
    if (status != PSNAP_OK)
        return status;
    *index = encoder->lane_count;
    if (!number || (*index == encoder->lane_room && !grow_lanes(encoder)))
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    add_lane(encoder, access);
    *number = encoder->lane_count;
    return PSNAP_OK;
}

/* The lane after lane `index` is not the predicted one. */
static bool take_next(struct psnap_pst_encoder *encoder, uint32_t index, uint32_t value,
                      uint32_t run)
{
    struct psnap_pst_write_lane *lane = &encoder->lanes[index];
    const uint32_t expected = run ? value : lane->next;

    if (run == 0)
        lane->next = value;
    return psnap_pst_fold(&encoder->folder, &encoder->tracks[index].next, 2 * index, value, run,
                          expected, NULL);
}

/* The address of lane `index` is not the predicted one, but a step from the base and another one
 * from that not in use. */
static bool take_address(struct psnap_pst_encoder *encoder, uint32_t index, uint64_t address,
                         uint64_t step, uint64_t other, uint32_t run)
{
    struct psnap_pst_write_lane *lane = &encoder->lanes[index];
    const uint64_t expected = run ? step : lane->step;

    if (lane->favourite.trust >= PSNAP_PST_TRUSTED)
        encoder->tracks[index].address.expected = step - other + lane->favourite.other;
    psnap_pst_favourite_note(&lane->favourite, other);
    lane->score = other == lane->other ? lane->score + 1 : 0;
    lane->other = other;
    if (run == 0)
        lane->step = step;
    if (lane->score == (lane->follows ? PSNAP_PST_OTHER_WINS : lane->wins)) {
        if (!lane->follows && lane->wins <= PSNAP_PST_OTHER_WINS_MAX)
            lane->wins *= 2;
        lane->other = lane->step;
        lane->favourite = (struct psnap_pst_favourite){lane->step, 0};
        lane->step = other;
        lane->follows ^= 1;
        lane->score = 0;
    }
    return psnap_pst_fold(&encoder->folder, &encoder->tracks[index].address, 2 * index + 1, step,
                          run, expected, &address);
}

bool psnap_pst_take_event(struct psnap_pst_encoder *encoder, const struct psnap_pst_event *event)
{
    const uint32_t index = event->track >> 1;

    return event->track & 1 ? take_address(encoder, index, event->address, event->value,
                                           event->other, event->run)
                            : take_next(encoder, index, (uint32_t)event->value, event->run);
}

/* Lane `index` does not come after `previous` as predicted. */
static bool next_token(struct psnap_pst_encoder *encoder, uint32_t previous, uint32_t index)
{
    struct psnap_pst_write_lane *lane = &encoder->lanes[previous];
    const uint32_t run = lane->next_run;

    if (encoder->log.is_on)
        psnap_pst_log_add(encoder, &(struct psnap_pst_event){.track = 2 * previous,
                                                             .at = encoder->accesses,
                                                             .run = run,
                                                             .value = index,
                                                             .predicted = lane->next});
    lane->next_run = 0;
    return take_next(encoder, previous, index, run);
}

/* The address is not the predicted one; `before` is that of the access before. */
static bool address_token(struct psnap_pst_encoder *encoder, uint32_t index, uint64_t address,
                          uint64_t before)
{
    struct psnap_pst_write_lane *lane = &encoder->lanes[index];
    const uint64_t step = address - (lane->follows ? before : lane->last);
    const uint64_t other = address - (lane->follows ? lane->last : before);
    const uint32_t run = lane->run;

    if (encoder->log.is_on)
        psnap_pst_log_add(encoder, &(struct psnap_pst_event){.track = 2 * index + 1,
                                                             .at = encoder->accesses,
                                                             .run = run,
                                                             .follows = lane->follows,
                                                             .value = step,
                                                             .address = address,
                                                             .other = other,
                                                             .predicted = lane->step});
    lane->run = 0;
    return take_address(encoder, index, address, step, other, run);
}

/* The next lane is not the predicted one, or a new one, which is predicted when its number is. */
static enum psnap_status find_next(struct psnap_pst_encoder *encoder,
                                   const struct psnap_access *access, uint32_t ref_count,
                                   uint32_t *index, struct psnap_error *error)
{
    const uint32_t previous = *index;
    const enum psnap_status status = find_lane(encoder, access, ref_count, index, error);

    if (status != PSNAP_OK || encoder->accesses == 0)
        return status; /* the first access of a chunk is in lane 0 */
    if (encoder->lanes[previous].next == *index)
        encoder->lanes[previous].next_run++;
    else if (!next_token(encoder, previous, *index))
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    return PSNAP_OK;
}

enum psnap_status psnap_pst_encoder_put(struct psnap_pst_encoder *encoder,
                                        const struct psnap_access *block, size_t n,
                                        uint32_t ref_count, size_t *taken,
                                        struct psnap_error *error)
{
    uint32_t index = encoder->previous;
    uint64_t before = encoder->address;
    enum psnap_status status = PSNAP_OK;
    bool slow = false; /* something was added that may have filled the chunk */
    size_t i = 0;

    if (encoder->accesses == 0 && n > 0) {
        status = find_next(encoder, block, ref_count, &index, error);
        if (status != PSNAP_OK)
            return status;
        before = block->address;
        encoder->lanes[index].run = 0;
        encoder->accesses = 1;
        i = 1;
    }
    for (; i < n; i++) {
        struct psnap_pst_write_lane *lane = &encoder->lanes[index];
        const uint64_t address = block[i].address;

        if (slow && psnap_pst_encoder_full(encoder))
            break;
        slow = false;
        if (encoder->lanes[lane->next].key == psnap_pst_key(&block[i])) {
            lane->next_run++;
            index = lane->next;
        } else {
            status = find_next(encoder, &block[i], ref_count, &index, error);
            if (status != PSNAP_OK)
                return status;
            slow = true;
        }
        lane = &encoder->lanes[index];
        if (address - (lane->follows ? before : lane->last) == lane->step) {
            lane->run++;
        } else {
            if (!address_token(encoder, index, address, before))
                return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
            slow = true;
        }
        encoder->lanes[index].last = before = address;
        encoder->accesses++;
    }
    encoder->previous = index;
    encoder->address = before;
    *taken = i;
    return PSNAP_OK;
}

/* Whether the predictions from here on are the run's repetition i, which is not its first, and
 * with it all that come after. */
static bool predicts(const struct psnap_pst_encoder *encoder, const struct psnap_run *run,
                     uint64_t i)
{
    uint32_t index = encoder->previous;
    uint64_t before = encoder->address;
    int64_t stride_before = run->strides[run->width - 1];

    for (size_t k = 0; k < run->width; k++) {
        const uint64_t address = psnap_run_address(run, i, k);
        const struct psnap_pst_write_lane *lane;

        index = encoder->lanes[index].next;
        lane = &encoder->lanes[index];
        if (lane->key != psnap_pst_key(&run->first[k]) ||
            lane->step != address - (lane->follows ? before : lane->last) ||
            run->strides[k] != (lane->follows ? stride_before : (int64_t)lane->step))
            return false;
        before = address;
        stride_before = run->strides[k];
    }
    return index == encoder->previous;
}

uint32_t psnap_pst_encoder_repeat(struct psnap_pst_encoder *encoder, const struct psnap_run *run,
                                  uint64_t i, uint64_t limit)
{
    const uint64_t room = (PSNAP_PST_CHUNK_MAX - encoder->accesses) / run->width;
    const uint32_t n = (uint32_t)(limit < room ? limit : room);
    uint32_t index = encoder->previous;

    if (n == 0 || encoder->accesses == 0 || psnap_pst_encoder_full(encoder) ||
        !predicts(encoder, run, i))
        return 0;
    for (size_t k = 0; k < run->width; k++) {
        struct psnap_pst_write_lane *lane = &encoder->lanes[index];

        lane->next_run += n;
        index = lane->next;
        lane = &encoder->lanes[index];
        lane->run += n;
        lane->last = encoder->address = psnap_run_address(run, i + n - 1, k);
    }
    encoder->accesses += n * (uint32_t)run->width;
    return n;
}

enum psnap_status psnap_pst_encoder_flush(struct psnap_pst_encoder *encoder,
                                          struct psnap_bytes *payload, struct psnap_error *error)
{
    bool good = true;

    payload->size = 0;
    for (uint32_t i = 0; i < encoder->lane_count; i++)
        good &= psnap_pst_fold_end(&encoder->folder, &encoder->tracks[i].next) &&
                psnap_pst_fold_end(&encoder->folder, &encoder->tracks[i].address);
    good = good &&
           psnap_pst_payload_put(payload, encoder->tracks, encoder->lane_count, &encoder->bases);
    start_chunk(encoder);
    if (!good)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    return PSNAP_OK;
}
