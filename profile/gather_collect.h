/* SPDX-License-Identifier: BSD-3-Clause */
/* What a collector of an irregular reference keeps: private to gather_*.c. */
#ifndef PSNAP_PROFILE_GATHER_COLLECT_H
#define PSNAP_PROFILE_GATHER_COLLECT_H

#include "profile/gather.h"

enum {
    BURST = 256,    /* addresses in a row that are kept */
    BURSTS = 32,    /* room for */
    BLOCKS = 256,   /* of equal size, a power of two, that cover the addresses */
    LINE_BITS = 11, /* slots of the table of lines, three in four of which are filled */
    ADDRESS_BITS = 10,
    HOT_BITS = 11 /* slots for lines that are used most */
};

/* Of one sampled line, or address. */
struct gather_sample {
    uint64_t key;    /* line or address, plus one */
    uint64_t at;     /* number of its last visit's access */
    uint32_t gap;    /* from the visit before to the last one, or the largest number; 0: none */
    float step_gaps; /* sum of those after which the address had moved on within the line */
    uint32_t visits, steps;
    uint16_t same_gaps;
    uint8_t offset; /* of the last address in its line */
};

/* A line that won the vote of those that share the slot, and its visits since then. */
struct gather_hot {
    uint64_t key; /* line plus one */
    uint64_t visits;
    uint64_t at; /* number of its last visit's access */
    uint32_t votes;
};

struct gather_table {
    struct gather_sample *slots; /* 2^bits */
    unsigned bits;
    uint32_t count;
    unsigned shift; /* keys whose hash has that many leading zeros are sampled */
};

/* Of one area. */
struct gather_collector {
    uint64_t count, low, high, last;
    uint64_t visits;       /* of lines */
    uint64_t burst_period; /* in bursts */
    size_t burst_count, burst_fill;
    uint64_t burst_at[BURSTS];
    uint64_t bursts[BURSTS][BURST];
    uint64_t blocks[BLOCKS];
    uint64_t block_origin; /* in blocks */
    unsigned block_shift;
    struct gather_table lines, addresses;
    struct gather_hot hot[1 << HOT_BITS];
    uint64_t deltas[256];  /* of two visits of a sampled line: 128 + bytes from one to the next */
    uint64_t hot_gaps[64]; /* visits of hot lines by octave of the accesses since the last */
    uint64_t gaps[64]; /* the same of other lines: of a sample; visits of sampled lines by octave of
                          the accesses since the last */
};

struct gather_collector *gather_collector_new(void); /* NULL: out of memory */
void gather_collector_free(struct gather_collector *collector);
void gather_collector_put(struct gather_collector *collector, uint64_t address);
/* Visits of lines by octave of the accesses since the last, as shares of the accesses. */
void gather_collector_gaps(const struct gather_collector *collector, double shares[64]);
/* At least one address was put. */
void gather_fit(const struct gather_collector *collector, struct gather_area *area);

#endif
