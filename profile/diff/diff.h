/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two profiles, loop by loop: which loops of one are which of the other, and what is different
 * about them. Private to profile/; psnap diff and psnap merge put it into words.
 */
#ifndef PSNAP_PROFILE_DIFF_H
#define PSNAP_PROFILE_DIFF_H

#include "formats/base/arena.h"
#include "profile/address/reuse.h"
#include "profile/model.h"
#include "profile/profile.h"

enum {
    DIFF_TEXT = 160,                        /* bytes of a text */
    DIFF_NO_OBJECT = PSNAP_OBJECT_STACK + 1 /* the kind of what has no name */
};

/* What is different, bits. */
enum diff_change {
    DIFF_ACCESSES = 1 << 0,
    DIFF_KINDS = 1 << 1, /* the mix of loads and stores */
    DIFF_SIZES = 1 << 2, /* bytes of an access */
    DIFF_WORKING_SET = 1 << 3,
    DIFF_STRIDES = 1 << 4,
    DIFF_PLACE = 1 << 5,   /* where a region lies */
    DIFF_REGIONS = 1 << 6, /* what is touched, by name, or something in one of them */
    DIFF_ENTRIES = 1 << 7,
    DIFF_ITERATIONS = 1 << 8,
    DIFF_OPERATIONS = 1 << 9,
    DIFF_REFERENCES = 1 << 10,
    DIFF_EXACT = 1 << 11, /* addresses in nests, or irregular ones */
    DIFF_PARTS = 1 << 12,
    DIFF_REUSE = 1 << 13,     /* how soon lines come back; of profiles that both say it */
    DIFF_ADDRESSES = 1 << 14, /* rules of references, nests, bases and offsets */
    DIFF_TRIPS = 1 << 15,     /* trip counts of bodies */
    DIFF_ORDER = 1 << 16,     /* of loops */
    DIFF_MODEL = 1 << 17      /* one of the profiles has the published one */
};

enum { DIFF_CHANGES = 18 /* bits */ };
extern const char *const diff_change_names[DIFF_CHANGES]; /* "accesses", "working_set" */

/* What is touched: all regions of a loop that lie in the same object, or one without a name. */
struct diff_region {
    const char *name;    /* of the object, or the region's id */
    const char *key;     /* what it is called on side b; the name, unless that has moved */
    uint8_t object_kind; /* enum psnap_object_kind, or DIFF_NO_OBJECT */
    uint64_t low;        /* lowest address */
    uint64_t accesses, kinds[3];
    uint64_t working_set_bytes;                /* what its regions cover */
    uint64_t sizes[1 + PSNAP_ACCESS_SIZE_MAX]; /* accesses by size */
    uint64_t strides[PSNAP_STRIDE_BINS];
    uint64_t reuse[REUSE_BINS]; /* of irregular references, by reuse time; else 0 */
};

/* A loop of the source, all its parts together: of the optimiser and of threads. */
struct diff_loop {
    struct diff_region all; /* its regions together, without a name */
    const char *id;         /* src_id */
    uint64_t part_count;    /* the optimiser's and those of threads; 1 when it is whole */
    uint64_t entries;       /* of the part entered most; UINT64_MAX: unknown */
    uint64_t iterations;    /* of all parts; UINT64_MAX: unknown */
    uint64_t operations[PSNAP_OPERATION_COUNT];
    uint64_t references;                     /* of its model */
    uint64_t is_exact;                       /* 1: all its addresses are in nests; else 0 */
    const struct psnap_profile_loop **parts; /* in the order of the profile */
    struct diff_region *regions;             /* by diff_region_order */
    uint32_t region_count;
    bool is_paired; /* of b */
};

enum diff_form {
    DIFF_AMOUNT, /* a count, which is apart by 1 - less / more */
    DIFF_BYTES,  /* the same, of bytes */
    DIFF_SHARES, /* accesses by class, which are apart by half the sum of differences of shares */
    DIFF_NUMBER, /* a count that is the same or not; UINT64_MAX is unknown, and not compared */
    DIFF_FLAG,
    DIFF_NUMBERS /* counts by operation */
};

/* A number, or several, that regions and loops have and in which they are compared. */
struct diff_measure {
    enum diff_change change;
    enum diff_form form;
    const char *key, *label; /* in JSON, and for people */
    size_t at;      /* in struct diff_region, which a loop begins with, or struct diff_loop */
    unsigned count; /* of numbers */
};

/* Those of regions come first. */
enum { DIFF_REGION_MEASURES = 6, DIFF_MEASURES = 12 };
extern const struct diff_measure diff_measures[DIFF_MEASURES];

static inline const uint64_t *diff_values(const struct diff_measure *measure, const void *of)
{
    return (const uint64_t *)(const void *)((const char *)of + measure->at);
}

enum diff_match {
    DIFF_SAME_ID,
    DIFF_MOVED,   /* another line of the same function */
    DIFF_RENAMED, /* another function or file */
    DIFF_ONLY_A,
    DIFF_ONLY_B
};

struct diff_region_pair {
    const struct diff_region *a, *b; /* one may be NULL */
    unsigned changes;                /* bits */
};

/* A reference, or a body, by its index in each model. */
struct diff_item {
    uint32_t a, b;
};

struct diff_pair {
    const struct diff_loop *a, *b; /* one may be NULL */
    enum diff_match match;
    unsigned changes;  /* bits; 0 with both there: alike in all that is compared */
    double importance; /* how much is different, 0 to 1, times the larger share of accesses */
    double apart;      /* accesses that do something else, for diff_measure */
    struct diff_region_pair *regions;
    uint32_t region_count;
    struct diff_item *refs;   /* with another rule or other addresses */
    struct diff_item *bodies; /* with other trip counts */
    uint32_t ref_count, body_count;
    double elsewhere, refs_apart; /* accesses of these references, and by how far they are apart */
    double trips_apart;           /* the same of the bodies' iterations */
};

static inline bool diff_pair_differs(const struct diff_pair *pair)
{
    return !pair->a || !pair->b || pair->changes;
}

/* A chain that differs: those of equal number are compared. */
struct diff_chain {
    uint32_t chain;
    bool in_a, in_b, is_same;
    bool has_transition; /* whose share has changed most: */
    uint32_t from, next; /* states of a's */
    double share_a, share_b;
};

struct diff_side {
    const struct psnap_profile *profile; /* not owned */
    struct psnap_profile_totals totals;
    struct diff_loop *loops;
    uint32_t loop_count;
    struct model_index by_loop;
};

struct profile_diff {
    struct psnap_arena *arena; /* owns all of these but the indices of sides */
    struct diff_side a, b;
    struct diff_pair *pairs; /* the most important first; all loops of both sides */
    uint32_t pair_count;
    uint32_t *body_of;         /* of a's bodies: b's, or PSNAP_NONE; NULL: a model is missing */
    struct diff_chain *chains; /* that differ */
    uint32_t chain_count;
    bool has_other_order; /* schedules differ, first in these items, of a thread: */
    char order_a[DIFF_TEXT], order_b[DIFF_TEXT];
    uint16_t order_thread;
    bool is_same; /* in all but what describes the recording */
};

/* Keeps pointers to both profiles. On failure nothing is left to release. */
enum psnap_status profile_diff_init(struct profile_diff *diff, const struct psnap_profile *a,
                                    const struct psnap_profile *b, struct psnap_error *error);
void profile_diff_release(struct profile_diff *diff);

/* Half the sum of the differences of shares, 0 to 1; two empty ones are alike. */
double diff_of_shares(const uint64_t *a, const uint64_t *b, size_t n);
/* 0 for equal counts, 1 when one is 0. */
double diff_of_counts(uint64_t a, uint64_t b);

static inline double diff_share(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

/* Compares two regions, or loops, by the first measures, whose bits are added to *changes. Returns
 * the largest distance, 0 to 1. */
double diff_compare(const void *a, const void *b, unsigned measures, unsigned *changes);

/* How far the two are apart, for psnap merge. */
struct diff_apart {
    double share;         /* of the accesses, 0 to 1 */
    const char *furthest; /* id of the loop that has most of it; NULL: it is the order, or none */
    unsigned changes;     /* that there are, bits */
};

/* False: out of memory. */
bool diff_measure(const struct profile_diff *diff, struct diff_apart *apart);

/* ---- parts of it; false: out of memory ---- */

/* Sums up the loops of a side, and what they touch: diff_sides.c. */
bool diff_side_init(struct diff_side *side, const struct psnap_profile *profile,
                    struct psnap_arena *arena);
/* By kind of object, then by key. */
int diff_region_order(const struct diff_region *a, const struct diff_region *b);
/* Gives the allocations of a the keys that they have on side b. */
bool diff_match_sites(struct diff_side *a, const struct diff_side *b, struct psnap_arena *arena);

/* Makes the pairs of loops: diff_match.c. */
bool diff_match_loops(struct profile_diff *diff);

/* References and bodies of all pairs, then the orders of bodies, and chains; nothing where a model
 * is missing: diff_model.c. */
bool diff_compare_models(struct profile_diff *diff);
/* How far the orders are apart, 0 to 1; negative: out of memory. diff_order.c */
double diff_order_apart(const struct profile_diff *diff);

#endif
