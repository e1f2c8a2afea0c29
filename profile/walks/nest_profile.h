/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The nests of a profile (model walks): what of its stream folds, in the place of its schedule.
 * Loops of their shapes are the profile's, refs are numbers that a loop gives its references.
 */
#ifndef PSNAP_PROFILE_NEST_PROFILE_H
#define PSNAP_PROFILE_NEST_PROFILE_H

#include "formats/base/yaml.h"
#include "profile/walks/nest_models.h"

#define NEST_STEPS_MAX                                                                             \
    (UINT64_C(1) << 24) /* iterations that are gone through one by one to count */

#define NEST_REF_MAX 65535u               /* number of a reference in its loop */
#define NEST_REFS_MAX (UINT32_C(1) << 20) /* numbers of all loops: replay has a ref for each */

/* What leaves come to, by loop of the profile. */
struct nest_count {
    uint64_t accesses;
    uint64_t kinds[3];  /* by enum psnap_access_kind */
    uint64_t bytes;     /* sum of sizes */
    uint64_t low, high; /* of what is affine: the lowest address, the end of the highest access; 0:
                           nothing is */
};

/* How many bytes what is affine leads out of the loop's regions; 0: it stays within them. */
uint64_t nest_count_beyond(const struct nest_count *count, const struct psnap_profile_loop *loop);

/* Counts that leaves do not draw as they say. */
struct nest_odd {
    uint32_t counts, loop; /* of the models; the leaves' */
    uint64_t times;        /* that they are drawn, or 0: by leaves of other references as well */
};

/* Adds up, and visits by mix; PSNAP_ERROR_VALUE when it is more than NEST_STEPS_MAX or
 * PSNAP_COUNT_MAX, PSNAP_ERROR_UNSUPPORTED when leaves are not come to as often as the counts say
 * that they draw: the first such are *odd, unless that is NULL. */
enum psnap_status nests_count(const struct psnap_nests *nests, struct nest_count *counts,
                              uint64_t *visits, struct nest_odd *odd);

/* Copies nests of a program whose loop i is the profile's kept[i] into the profile; none when they
 * are beyond what is read. */
enum psnap_status nests_take(struct psnap_profile *profile, const struct psnap_nests *nests,
                             const struct psnap_program *program, const uint32_t *kept);

/* The first address of a reference where nothing of it is drawn; false: it is nowhere so. */
bool nests_first_of(const struct psnap_nests *nests, uint32_t loop, uint32_t ref,
                    uint64_t *address);

/* The region that addresses of a walk are told from: the last that begins at or below the first,
 * or the first; the loop has one. */
uint32_t nest_region(const struct psnap_profile_loop *loop, uint64_t address);

/* The models of a profile that has some. */
void write_models(const struct psnap_profile *profile, struct psnap_yaml_doc *doc,
                  struct psnap_yaml_node *map);
/* False: out of memory. */
bool write_nests(const struct psnap_profile *profile, struct psnap_yaml_doc *doc,
                 struct psnap_yaml_node *list);

#endif
