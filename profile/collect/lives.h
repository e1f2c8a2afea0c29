/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When threads were there: where each began in thread 0's stream, and which had turns between turns
 * of each other. Of more than LIVES threads some share a life, as they share a lane (collect.c).
 */
#ifndef PSNAP_PROFILE_COLLECT_LIVES_H
#define PSNAP_PROFILE_COLLECT_LIVES_H

#include "formats/base/program.h"
#include "formats/base/stream.h"
#include "profile/model.h"

enum { LIVES = 64, LIVES_TURN_BINS = 31 };

struct life {
    uint16_t number; /* of the first thread that is in it */
    uint64_t accesses, turns;
    uint64_t first, last; /* its turns, by their numbers in all of the stream */
    uint64_t since;       /* threads that had turns since its latest one, and */
    uint64_t inside;      /* between its first and its latest one: a bit each */
    uint64_t before_turn; /* accesses before the latest one */
    uint32_t loop;        /* of its latest access; and where that was entered */
    uint64_t entered;
    uint64_t begin, main; /* where in thread 0 it began; and how many accesses that one had made */
    uint64_t lengths[LIVES_TURN_BINS]; /* accesses in turns of about 1, 2, 4, ... */
};

struct lives {
    struct life of[LIVES]; /* by thread's number modulo LIVES */
    struct life *latest;   /* whose turn it is; NULL: nobody's yet */
    uint64_t turns;
    uint32_t used; /* lives up to the last one that came */
};

/* The next accesses of the stream, of one thread. */
void lives_put(struct lives *lives, const struct psnap_program *program,
               const struct psnap_access *block, size_t n);
void lives_put_nest(struct lives *lives, const struct psnap_nest *nest);
/* In the end: `with`, `turn` and `after` of the order of life i. */
void lives_keep(const struct lives *lives, uint32_t i, struct model_order *order);

#endif
