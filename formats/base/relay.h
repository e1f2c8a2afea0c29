/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the two threads of a relay share; private to relay.c, the reader's side, relay_send.c, the
 * sender's, which is a source that is read in a thread of its own, or aside.c.
 *
 * A batch is words: records, each a head and what it says:
 *
 *   rows       0: the tables get the next of the batch's rows
 *   accesses   n * 2, then n accesses
 *   a nest     loops * 2 + 1, width and levels, block words (0: no columns), then the loops, the
 *              first accesses, the strides; with columns two words each (place in the block plus 1
 *              or 0, offset), their pitch, and the block that their addresses lie in
 */
#ifndef PSNAP_BASE_RELAY_H
#define PSNAP_BASE_RELAY_H

#include <pthread.h>

#include "formats/base/stream.h"

enum {
    RELAY_BATCHES = 8,
    RELAY_BATCHES_LOW = 4,       /* who had to wait goes on when so many are full, or left */
    RELAY_BATCH_WORDS = 1 << 16, /* 512 KiB: fewer, and the threads wake each other all the time */
    RELAY_NEST_HEAD = 3,
    RELAY_ACCESS_WORDS = sizeof(struct psnap_access) / sizeof(uint64_t),
    RELAY_LOOP_WORDS = sizeof(struct psnap_nest_loop) / sizeof(uint64_t),
    RELAY_COLUMN_WORDS = 2
};

#define RELAY_IN_NESTS (UINT64_C(1) << 26)

_Static_assert(RELAY_NEST_HEAD + PSNAP_NEST_LOOPS * RELAY_LOOP_WORDS +
                       PSNAP_NEST_WIDTH * (RELAY_ACCESS_WORDS + PSNAP_NEST_LEVELS - 1) <=
                   RELAY_BATCH_WORDS,
               "a nest has room in a batch, but for the widest of all levels");

/* Rows that the program's tables have got. */
struct relay_rows {
    struct psnap_provenance provenance; /* its texts are the source's */
    struct psnap_sampling sampling;
    struct psnap_loop *loops;
    struct psnap_block *blocks;
    struct psnap_ref *refs;
    struct psnap_object *objects;
    uint32_t loop_count, block_count, ref_count, object_count;
    uint32_t first_object; /* place of the first: one that was there may have grown */
};

struct relay_batch {
    size_t used;
    uint64_t in_nests; /* accesses: RELAY_IN_NESTS are enough, or the sender is far ahead */
    struct relay_rows *rows;
    size_t rows_count, rows_room;
    uint64_t *words;
};

struct relay {
    struct psnap_source base;
    const struct psnap_program *program; /* the sender's */
    struct psnap_source *inner;          /* read by `thread`, or NULL: others send */
    struct relay_batch batches[RELAY_BATCHES];
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t filled_more, freed_more;
    uint64_t filled, freed; /* batches, under the lock as the next three */
    bool is_over;           /* nothing more is sent */
    enum psnap_status status;
    struct psnap_error error;
    bool stops; /* atomic: the reader wants no more */
    /* The sender: */
    bool is_short; /* of memory */
    struct relay_batch *open;
    uint32_t loop_count, block_count, ref_count, object_count; /* sent */
    struct psnap_object last_object;
    /* The reader: */
    struct relay_batch *reading;
    size_t at, rows_at;
    bool has_ended;
    struct psnap_access *accesses; /* left of a record */
    size_t access_count;
    struct psnap_column *columns;
    size_t column_room;
};

void relay_rows_free(struct relay_rows *rows); /* what it has */

/* NULL: out of memory. It is read as a source, and sent to as follows by one other thread. */
struct relay *relay_new(const struct psnap_program *program);

/* The reader wants no more; any thread may say so. */
void relay_stop(struct relay *relay);

/* ---- sending; false when the reader wants no more, or memory is short ---- */

bool relay_send_accesses(struct relay *relay, const struct psnap_access *accesses, size_t n);
bool relay_send_nest(struct relay *relay, const struct psnap_nest *nest);
/* What the tables have got since the last time goes in front of what is sent next. */
bool relay_send_rows(struct relay *relay);
/* Nothing more comes: the reader gets `status` then, with the error. */
void relay_send_end(struct relay *relay, enum psnap_status status, const struct psnap_error *error);
/* A thread: reads relay->inner and sends it until either side ends; returns NULL. */
void *relay_send(void *relay);

#endif
