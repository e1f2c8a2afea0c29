/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the encoder has of a chunk as bytes (PST.md, "The payload"): a row per
 * lane and track, then the numbers of all tracks, each kind by itself and in
 * planes of a byte, which is what zstd's entropy coder does best with.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/pst.h"

/* How the literals and copies of one track are written. */
struct coding {
    uint64_t base; /* lowest address, for absolute */
    uint8_t shift, value_width, run_width, literals_width, from_width, length_width;
};

/* Bytes that hold every value up to `largest`. */
static uint8_t width_of(uint64_t largest)
{
    uint8_t width = 0;

    for (; largest; largest >>= 8)
        width++;
    return width;
}

/*
 * Writes one number of each of `n` items of `size` bytes as `width` planes:
 * all lowest bytes, then all second ones, ... `items` points at the first one's
 * number, which has 8 bytes when `wide`, else 4.
 */
static void put_planes(struct psnap_bytes *payload, const void *items, size_t n, size_t size,
                       bool wide, unsigned width)
{
    unsigned char *at = psnap_bytes_extend(payload, n * width);

    for (unsigned p = 0; at && p < width; p++, at += n)
        for (size_t i = 0; i < n; i++) {
            const char *item = (const char *)items + i * size;
            uint64_t value;
            uint32_t narrow;
            if (wide) {
                memcpy(&value, item, sizeof value);
            } else {
                memcpy(&narrow, item, sizeof narrow);
                value = narrow;
            }
            at[i] = (unsigned char)(value >> (8 * p));
        }
}

/* Replaces the values of literals by what will be written. */
static void code_literals(struct psnap_pst_track *track, bool addresses, struct coding *coding)
{
    const uint32_t n = track->literal_count;
    struct psnap_pst_token *literals = track->literals;
    uint64_t ones = 0, largest = 0, runs = 0;

    coding->base = UINT64_MAX;
    for (uint32_t i = 0; track->absolute && i < n; i++)
        if (!literals[i].expected && track->addresses[i] < coding->base)
            coding->base = track->addresses[i];
    for (uint32_t i = 0; i < n; i++) {
        if (literals[i].expected)
            literals[i].value = 0;
        else if (track->absolute)
            literals[i].value = track->addresses[i] - coding->base;
        literals[i].run = 2 * literals[i].run + literals[i].expected;
        ones |= literals[i].value;
        runs |= literals[i].run;
    }
    if (ones && addresses)
        coding->shift = (uint8_t)__builtin_ctzll(ones);
    for (uint32_t i = 0; i < n; i++) {
        if (addresses && !track->absolute)
            literals[i].value =
                psnap_zigzag((uint64_t)((int64_t)literals[i].value >> coding->shift));
        else
            literals[i].value >>= coding->shift;
        largest |= literals[i].value;
    }
    coding->value_width = width_of(largest);
    coding->run_width = width_of(runs);
}

static void code_copies(const struct psnap_pst_track *track, struct coding *coding)
{
    uint32_t literals = 0, from = 0, length = 0;

    for (uint32_t i = 0; i < track->copy_count; i++) {
        literals |= track->copies[i].literals;
        from |= track->copies[i].from;
        length |= track->copies[i].length;
    }
    coding->literals_width = width_of(literals);
    coding->from_width = width_of(from);
    coding->length_width = width_of(length);
}

/* The row of a track; `first` is the address of the lane's first access. */
static void put_track(struct psnap_bytes *payload, struct psnap_pst_track *track, bool addresses,
                      uint64_t first, struct coding *coding)
{
    unsigned window = 0;

    *coding = (struct coding){0};
    psnap_bytes_varint(payload, track->literal_count);
    if (track->literal_count == 0)
        return;
    code_literals(track, addresses, coding);
    psnap_bytes_varint(payload, track->copy_count);
    psnap_bytes_u8(payload, (uint8_t)(coding->value_width | coding->run_width << 4));
    if (addresses)
        psnap_bytes_u8(payload, (uint8_t)(coding->shift | (track->absolute ? 0x80u : 0)));
    if (track->absolute)
        psnap_bytes_varint(payload, psnap_zigzag(coding->base - first));
    if (track->copy_count == 0)
        return;
    code_copies(track, coding);
    while (UINT32_C(1) << window < track->needed)
        window++;
    psnap_bytes_u8(payload, (uint8_t)window);
    psnap_bytes_u8(payload, (uint8_t)(coding->literals_width | coding->from_width << 4));
    psnap_bytes_u8(payload, coding->length_width);
}

static void put_numbers(struct psnap_bytes *payload, const struct psnap_pst_track *track,
                        const struct coding *coding)
{
    const struct psnap_pst_token *literals = track->literals;
    const struct psnap_pst_copy *copies = track->copies;
    const uint32_t n = track->literal_count, m = track->copy_count;

    if (n > 0) {
        put_planes(payload, &literals->value, n, sizeof *literals, true, coding->value_width);
        put_planes(payload, &literals->run, n, sizeof *literals, false, coding->run_width);
    }
    if (m > 0) {
        put_planes(payload, &copies->literals, m, sizeof *copies, false, coding->literals_width);
        put_planes(payload, &copies->from, m, sizeof *copies, false, coding->from_width);
        put_planes(payload, &copies->length, m, sizeof *copies, false, coding->length_width);
    }
}

bool psnap_pst_payload_put(struct psnap_bytes *payload, struct psnap_pst_lane *lanes,
                           uint32_t lane_count)
{
    static const struct psnap_access zero = {0};
    struct coding *codings = malloc(2 * (size_t)lane_count * sizeof *codings);

    if (!codings)
        return false;
    psnap_bytes_varint(payload, lane_count);
    for (uint32_t i = 0; i < lane_count; i++) {
        const struct psnap_access *access = &lanes[i].first;
        const struct psnap_access *above = i ? &lanes[i - 1].first : &zero;

        psnap_bytes_varint(payload, psnap_zigzag((uint64_t)access->ref - above->ref));
        psnap_bytes_varint(payload, access->thread);
        psnap_bytes_u8(payload, access->size);
        psnap_bytes_u8(payload, access->kind);
        psnap_bytes_varint(payload, psnap_zigzag(access->address - above->address));
        put_track(payload, &lanes[i].next, false, 0, &codings[2 * i]);
        put_track(payload, &lanes[i].address, true, access->address, &codings[2 * i + 1]);
    }
    for (uint32_t i = 0; i < lane_count; i++) {
        put_numbers(payload, &lanes[i].next, &codings[2 * i]);
        put_numbers(payload, &lanes[i].address, &codings[2 * i + 1]);
    }
    free(codings);
    return !payload->failed;
}
