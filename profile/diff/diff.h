/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two profiles, loop by loop: which loops of one are which of the other, and what is different
 * about them. Private to profile/; psnap diff puts it into words.
 */
#ifndef PSNAP_PROFILE_DIFF_H
#define PSNAP_PROFILE_DIFF_H

#include "profile/address/reuse.h"
#include "profile/profile.h"

#define DIFF_NOTABLE 0.005 /* shares that are nearer than this are not worth a word */

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
    uint64_t references;         /* in its walks */
    bool is_walked;              /* all its accesses are in walks */
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
    DIFF_WALKED = 1 << 11, /* exactly known, or by statistics */
    DIFF_PARTS = 1 << 12,
    DIFF_REUSE = 1 << 13 /* how soon lines come back; of profiles that both say it */
};

#define DIFF_CHANGES 14 /* bits */

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
};

struct diff_side {
    const struct psnap_profile *profile; /* not owned */
    struct psnap_profile_totals totals;
    struct diff_loop *loops; /* as in the profile */
    uint32_t loop_count;
    struct diff_region *regions; /* of all loops */
};

struct profile_diff {
    struct diff_side a, b;
    struct diff_pair *pairs; /* the most important first; all loops of both sides */
    uint32_t pair_count;
    struct diff_region_pair *region_pairs;
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

#endif
