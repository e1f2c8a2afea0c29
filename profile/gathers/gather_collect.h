/* SPDX-License-Identifier: BSD-3-Clause */
/* What a collector of an irregular reference keeps: private to gather_*.c. */
#ifndef PSNAP_PROFILE_GATHER_COLLECT_H
#define PSNAP_PROFILE_GATHER_COLLECT_H

#include "profile/gathers/gather_descent.h"
#include "profile/gathers/gather_passes.h"

enum {
    BURST = 256,    /* addresses in a row that are kept */
    BURSTS = 32,    /* room for */
    BLOCKS = 256,   /* of equal size, a power of two, that cover the addresses */
    LINE_BITS = 11, /* slots of the table of lines, three in four of which are filled */
    ADDRESS_BITS = 10,
    HOT_BITS = 11,         /* slots for lines that are used most */
    KEYS_FEW = 256,        /* that are sampled at least, if there are as many, */
    VISITS_MANY = 1 << 16, /* after which half of the keys will do */
    KEYS_SEEN = 1024,      /* so few are seen often enough where all is watched */
    /* The first accesses are watched, then windows: */
    WATCHED_FIRST = 1 << 20,
    WATCHED_WINDOW = 1 << 16,
    WATCHED_PERIOD = 1 << 18,
    BLOCK_EVERY = 8 /* of the accesses then, one in so many is counted in its block */
};

/* Of one sampled line, or address. */
struct gather_sample {
    uint64_t key;    /* line or address, plus one */
    uint64_t at;     /* number of its last visit's access */
    uint32_t gap;    /* from the visit before to the last one, or the largest number; 0: none */
    float step_gaps; /* sum of those after which the address had moved on within the line, by as
                        much as before: not where another lap begins */
    uint32_t visits, steps;
    uint16_t same_gaps;
    uint8_t offset; /* of the last address in its line */
    int8_t step;    /* from the one before to it */
};

/* A line that won the vote of those that share the slot, and its visits since then. */
struct gather_hot {
    uint64_t visits;
    uint64_t at; /* number of its last visit's access that was watched */
    uint32_t votes;
};

struct gather_table {
    struct gather_sample *slots; /* 2^bits */
    unsigned bits;
    uint32_t count;
    uint32_t visits;    /* of keys that are sampled, since they were last made fewer */
    uint64_t distinct;  /* keys that there are: each that came stands for those of its rate */
    uint64_t from;      /* there is a sample since this access: none of what came before it */
    unsigned shift;     /* keys whose hash has that many leading zeros are sampled: */
    uint64_t last_hash; /* those up to this one */
};

/* Of one area. Addresses wait until there is a burst of them, or they are asked for. */
struct gather_collector {
    uint64_t count, low, high;
    uint64_t taken;        /* of them; the rest waits */
    uint64_t watched;      /* of those taken, in windows for all of their period; */
    uint64_t watched_from; /* the first of the present window, */
    uint32_t weight;       /* each access of which stands for so many */
    uint64_t waiting[BURST];
    uint64_t last;        /* that was taken */
    uint64_t visits;      /* of lines: as many as in the last window where none is open, */
    double line_changes;  /* for each access of that, */
    double visits_rest;   /* and what is left of a visit; */
    uint64_t seen;        /* and those while there was a sample of them */
    bool is_sweep;        /* up to now: no line or address is sampled yet */
    uint64_t stride;      /* that leads from nearly each address to the next then; */
    uint64_t breaks[2];   /* other strides: up, down */
    unsigned burst_shift; /* of 2^this bursts one is kept, */
    uint64_t burst_next;  /* the next one this */
    size_t burst_count, burst_fill;
    uint64_t burst_at[BURSTS];
    uint64_t bursts[BURSTS][BURST];
    uint64_t blocks[BLOCKS], counted; /* in them */
    uint64_t block_origin;            /* in blocks */
    unsigned block_shift;
    struct gather_table lines, addresses;
    uint64_t hot_keys[1 << HOT_BITS]; /* line plus one */
    struct gather_hot hot[1 << HOT_BITS];
    uint64_t deltas[256];  /* of two visits of a sampled line: 128 + bytes from one to the next */
    uint64_t hot_visits;   /* watched ones, of hot lines */
    uint64_t hot_gaps[64]; /* of them, those by octave of the accesses since the last, if it was
                              watched, too */
    uint64_t gaps[64];     /* the same of other lines: of a sample; */
    uint64_t gapless;      /* of it, watched visits of which the one before is not known */
    struct gather_passes passes;
    struct gather_descents *descents; /* NULL: they are none */
};

struct gather_collector *gather_collector_new(void); /* NULL: out of memory */
void gather_collector_free(struct gather_collector *collector);
/* Before any address: gather_areas_of_walks. */
void gather_collector_of_walks(struct gather_collector *collector);
/* For each access that was watched, or for which one was, how many there are. */
static inline double gather_unwatched(const struct gather_collector *collector)
{
    return (double)collector->count / (double)collector->watched;
}

/* What waits. */
void gather_collector_take(struct gather_collector *collector);

static inline void gather_collector_put(struct gather_collector *collector, uint64_t address)
{
    collector->low = address < collector->low ? address : collector->low;
    collector->high = address > collector->high ? address : collector->high;
    collector->waiting[collector->count++ - collector->taken] = address;
    if (collector->count % BURST == 0)
        gather_collector_take(collector);
}

/* Room for some addresses that are not lower than the lowest so far, nor higher than the highest.
 */
static inline uint64_t *gather_collector_room(struct gather_collector *collector, size_t *n)
{
    *n = BURST - collector->count % BURST;
    return collector->waiting + (collector->count - collector->taken);
}

/* So many are in this room now. */
static inline void gather_collector_fill(struct gather_collector *collector, size_t n)
{
    collector->count += n;
    if (collector->count % BURST == 0)
        gather_collector_take(collector);
}

/* n addresses, each `step` behind the one before. */
void gather_collector_put_run(struct gather_collector *collector, uint64_t first, uint64_t step,
                              uint64_t n);

/* gather_gaps.c: visits of lines by octave of the accesses since the last, as shares of the
 * accesses, of all that was taken. */
void gather_collector_gaps(const struct gather_collector *collector, double shares[64]);
/* At least one address was put. */
void gather_fit(struct gather_collector *collector, struct gather_area *area);

#endif
