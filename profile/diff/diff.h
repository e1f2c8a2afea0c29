/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two profiles, loop by loop: which loops of one are which of the other, and what is different
 * about them. Private to profile/; psnap diff puts it into words.
 */
#ifndef PSNAP_PROFILE_DIFF_H
#define PSNAP_PROFILE_DIFF_H

#include "profile/model.h"
#include "profile/address/reuse.h"
#include "profile/profile.h"

#define DIFF_NOTABLE 0.005 /* shares that are nearer than this are not worth a word */

enum { DIFF_TEXT = 160 /* bytes of a text */ };

struct model_ref;
struct model_body;

/* What is touched: all regions of a loop that lie in the same thing, or one without a name. */
struct diff_region {
    const char *name;    /* of the object, or the region's id */
    const char *key;     /* what it is called on side b; the name, unless that has moved */
    uint8_t object_kind; /* enum psnap_object_kind, PSNAP_OBJECT_COUNT for none */
    uint64_t accesses, kinds[3];
    uint64_t low;                              /* lowest address */
    uint64_t working_set_bytes;                /* what its regions cover */
    uint64_t sizes[1 + PSNAP_ACCESS_SIZE_MAX]; /* accesses by size */
    uint64_t strides[PSNAP_STRIDE_BINS];
    uint64_t reuse[REUSE_BINS]; /* of irregular references, by reuse time; else 0 */
};

/* A loop of the source, all its parts together: of the optimiser and of threads. */
struct diff_loop {
    const char *id;                         /* src_id */
    const struct psnap_profile_loop *first; /* of its parts: for function, source and depth */
    uint32_t part_count;                    /* of the optimiser: 1 when it is whole */
    uint64_t entries;                       /* of the part entered most; UINT64_MAX: unknown */
    uint64_t iterations;                    /* of all parts; UINT64_MAX: unknown */
    uint64_t operations[PSNAP_OPERATION_COUNT];
    const uint32_t *parts; /* indices in the profile, of the optimiser's and of threads */
    uint32_t all_parts;
    uint64_t references;         /* of its model */
    bool is_exact;               /* all its addresses are in nests */
    struct diff_region all;      /* its regions together, without a name */
    struct diff_region *regions; /* by diff_region_order */
    uint32_t region_count;
};

enum diff_match {
    DIFF_SAME_ID,
    DIFF_MOVED,   /* another line of the same function */
    DIFF_RENAMED, /* another function or file */
    DIFF_ONLY_A,
    DIFF_ONLY_B
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
    DIFF_TRIPS = 1 << 15      /* trip counts of bodies */
};

#define DIFF_CHANGES 16 /* bits */

/* A reference, or a body, by its index in each model. */
struct diff_item {
    uint32_t a, b;
};

struct diff_region_pair {
    const struct diff_region *a, *b; /* one may be NULL */
    unsigned changes, notable;
};

struct diff_pair {
    const struct diff_loop *a, *b; /* one may be NULL */
    enum diff_match match;
    unsigned changes;  /* 0 with both: alike in all that is compared */
    unsigned notable;  /* of them, those worth a word */
    double importance; /* how much is different, 0 to 1, times the larger share of accesses */
    struct diff_region_pair *regions;
    uint32_t region_count;
    struct diff_item *refs;   /* with another rule or other addresses */
    struct diff_item *bodies; /* with other trip counts */
    uint32_t ref_count, body_count;
};

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
    struct diff_loop *loops; /* as in the profile */
    uint32_t loop_count;
    uint32_t *parts;             /* of all loops */
    struct diff_region *regions; /* of all loops */
    struct model_index by_loop;
};

struct profile_diff {
    struct diff_side a, b;
    struct diff_pair *pairs; /* the most important first; all loops of both sides */
    uint32_t pair_count;
    struct diff_region_pair *region_pairs;
    struct diff_item *items;   /* of all pairs */
    uint32_t *body_of;         /* of a's bodies: b's, or PSNAP_NONE */
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

/* "accesses", "working_set": the word for the change of a bit, by its number. Static storage. */
const char *diff_change_name(unsigned bit);
const char *diff_match_name(enum diff_match match);

/* Whether there are more or fewer of them per access, by more than a twentieth. */
bool diff_operation_is_notable(const struct diff_loop *a, const struct diff_loop *b, unsigned op);

/* Whether accesses are counted by depth. */
bool diff_has_reuse(const struct diff_region *region);

/* Half the sum of the differences of shares, 0 to 1; two empty ones are alike. */
double diff_of_shares(const uint64_t *a, const uint64_t *b, size_t n);

/* 0 for equal counts, 1 when one is 0. */
double diff_of_counts(uint64_t a, uint64_t b);

/* How far the two are apart: diff_apart.c. */
struct diff_apart {
    double share; /* of the accesses, 0 to 1 */
    const char
        *furthest;    /* id of the loop that has most of it; NULL: none, or it is another thing */
    unsigned changes; /* that there are, bits */
    bool has_other_order; /* of loops */
    bool has_other_model; /* one of them has the published model */
};

/* False: out of memory. */
bool diff_measure(const struct profile_diff *diff, struct diff_apart *apart);

/* ---- parts of it: diff_sides.c, diff_sites.c, diff_match.c ---- */

enum psnap_status diff_side_init(struct diff_side *side, const struct psnap_profile *profile,
                                 struct psnap_error *error);
void diff_side_release(struct diff_side *side);

/* By kind of object, then by key. */
int diff_region_order(const struct diff_region *a, const struct diff_region *b);
/* Gives the allocations of a the keys that they have on side b: diff_sites.c. */
enum psnap_status diff_match_sites(struct diff_side *a, const struct diff_side *b,
                                   struct psnap_error *error);

/* For each loop of a, the one of b that it is, or PSNAP_NONE, and how it was found. */
enum psnap_status diff_match_loops(const struct diff_side *a, const struct diff_side *b,
                                   uint32_t *partners, enum diff_match *found,
                                   struct psnap_error *error);

/* ---- models: diff_model.c; nothing where one profile has none. False: out of memory ---- */

/* References and bodies of all pairs, then the order of bodies. */
bool diff_compare_models(struct profile_diff *diff);
void diff_compare_orders(struct profile_diff *diff);
bool diff_compare_chains(struct profile_diff *diff);

/* ---- nests and trip counts: diff_nest.c ---- */

struct nest_terms;
/* First numbers may all differ by as much if it may be shifted. */
bool diff_same_nest(const struct nest_terms *a, const struct nest_terms *b, bool may_shift);
bool diff_same_trips(const struct model_body *a, const struct model_body *b);

/* ---- parts of the distance: diff_nest.c, diff_order.c; 0 to 1 ---- */

/* Of two references, or bodies, of a pair's. */
double diff_ref_apart(const struct model_ref *a, const struct model_ref *b);
double diff_trips_apart(const struct model_body *a, const struct model_body *b);
/* Negative: out of memory. */
double diff_order_apart(const struct profile_diff *diff);

#endif
