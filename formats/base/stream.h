/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The access stream, the central interface: a source delivers blocks of
 * accesses and affine nests (nest.h), a sink takes them. Files, pipes, replayed profiles, captures
 * and vectors are sources; simulators, builders, writers and exporters are sinks. Nothing
 * downstream can tell a real stream from a synthetic one.
 *
 * A concrete source or sink is a struct whose first member is the base struct;
 * the base's `ops` are const and shared.
 */
#ifndef PSNAP_BASE_STREAM_H
#define PSNAP_BASE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "formats/base/access.h"
#include "formats/base/api.h"
#include "formats/base/deadline.h"
#include "formats/base/nest.h"
#include "formats/base/program.h"
#include "formats/base/status.h"

#define PSNAP_BLOCK_ACCESSES                                                                       \
    2048 /* capacity of the blocks that pumps use: 32 KiB, a first-level cache */

struct psnap_source;
struct psnap_sink;
struct psnap_compact; /* formats/formats.h */

struct psnap_source_ops {
    /*
     * Writes 1 to `capacity` accesses into `block` and returns how many; 0 at
     * the end of the stream; a negative psnap_status with `error` filled on
     * failure (accesses delivered before stay valid). Not called again after
     * 0 or an error. Tables in self->program cover every ref delivered so far.
     */
    ssize_t (*next)(struct psnap_source *self, struct psnap_access *block, size_t capacity,
                    struct psnap_error *error);
    void (*free)(struct psnap_source *self); /* NULL: it is freed as one piece of memory */
    /*
     * As next, of a source that has nests: the accesses, 0 and more, may be followed by a nest,
     * valid until the next call. They are written into `room`, or are where `*block` (at first
     * `room`) says, and then may be more than `capacity`. The stream ends with no accesses and no
     * nest. A source has one of next and next_nest, or both; both ways of reading may be mixed and
     * deliver the same stream.
     */
    ssize_t (*next_nest)(struct psnap_source *self, struct psnap_access *room, size_t capacity,
                         const struct psnap_access **block, struct psnap_nest *nest,
                         struct psnap_error *error);
};

struct psnap_source {
    const struct psnap_source_ops *ops;
    struct psnap_program *program;     /* owned by the source; may grow between calls of next */
    struct psnap_expansion *expansion; /* of a nest, for a reader that takes accesses; else NULL */
};

struct psnap_sink_ops {
    /* Takes `n` accesses; they belong to the caller again on return. */
    enum psnap_status (*put)(struct psnap_sink *self, const struct psnap_access *block, size_t n,
                             struct psnap_error *error);
    /* The stream has ended: flush, write trailers. May be NULL. Called at most once. */
    enum psnap_status (*finish)(struct psnap_sink *self, struct psnap_error *error);
    void (*free)(struct psnap_sink *self); /* NULL: likewise */
    /* Takes a run, or a nest of one loop, equal to putting its accesses one by one. May be NULL. */
    enum psnap_status (*put_run)(struct psnap_sink *self, const struct psnap_run *run,
                                 struct psnap_error *error);
    /* Takes a nest, of several loops where there is a put_run, equal to putting its runs one by
     * one. May be NULL. */
    enum psnap_status (*put_nest)(struct psnap_sink *self, const struct psnap_nest *nest,
                                  struct psnap_error *error);
    /* How many of the accesses that it took it had no place for. May be NULL: none. Called when it
     * is finished. */
    uint64_t (*left_out)(const struct psnap_sink *self);
    /* As psnap_sink_place. May be NULL: false. */
    bool (*place)(struct psnap_sink *self, struct psnap_compact *compact);
};

struct psnap_sink {
    const struct psnap_sink_ops *ops;
};

PSNAP_API ssize_t psnap_source_next(struct psnap_source *source, struct psnap_access *block,
                                    size_t capacity, struct psnap_error *error);
/* As next_nest of the ops; *nest has no loops when there is none. */
PSNAP_API ssize_t psnap_source_next_nest(struct psnap_source *source, struct psnap_access *room,
                                         size_t capacity, const struct psnap_access **block,
                                         struct psnap_nest *nest, struct psnap_error *error);
PSNAP_API void psnap_source_free(struct psnap_source *source); /* NULL is legal */

PSNAP_API enum psnap_status psnap_sink_put(struct psnap_sink *sink,
                                           const struct psnap_access *block, size_t n,
                                           struct psnap_error *error);
/* A run, written out in blocks for a sink that takes none. */
PSNAP_API enum psnap_status psnap_sink_put_run(struct psnap_sink *sink, const struct psnap_run *run,
                                               struct psnap_error *error);
/* A nest, run by run for a sink that takes none. */
PSNAP_API enum psnap_status psnap_sink_put_nest(struct psnap_sink *sink,
                                                const struct psnap_nest *nest,
                                                struct psnap_error *error);
/* Repetitions [from, to) of a run, access by access. */
PSNAP_API enum psnap_status psnap_sink_put_repetitions(struct psnap_sink *sink,
                                                       const struct psnap_run *run, uint64_t from,
                                                       uint64_t to, struct psnap_error *error);
PSNAP_API enum psnap_status psnap_sink_finish(struct psnap_sink *sink, struct psnap_error *error);
/* Accesses of a finished sink that are not in what it made. */
PSNAP_API uint64_t psnap_sink_left_out(const struct psnap_sink *sink);
/* Whether a sink, which has taken no access yet, gives the addresses that it makes their places in
 * a memory itself, and fills `compact`, which outlives it, when it is finished. Else its accesses
 * have to come with such addresses. */
PSNAP_API bool psnap_sink_place(struct psnap_sink *sink, struct psnap_compact *compact);
PSNAP_API void psnap_sink_free(struct psnap_sink *sink); /* NULL is legal */

/*
 * Moves everything from source to sink in blocks of PSNAP_BLOCK_ACCESSES and
 * finishes the sink when the source ended well. `count` (may be NULL) gets the
 * number of accesses moved, also after an error.
 */
PSNAP_API enum psnap_status psnap_pump(struct psnap_source *source, struct psnap_sink *sink,
                                       uint64_t *count, struct psnap_error *error);

/*
 * The accesses [skip, skip + count) of `inner`, count UINT64_MAX for no limit, long nests in parts.
 * Owns `inner` (freed also when this fails with NULL: out of memory), shares its program.
 */
PSNAP_API struct psnap_source *psnap_limit_source_new(struct psnap_source *inner, uint64_t skip,
                                                      uint64_t count);

/* The accesses of one thread. Owns `inner` (freed also when this fails with NULL: out of memory),
 * shares its program. */
PSNAP_API struct psnap_source *psnap_thread_source_new(struct psnap_source *inner, uint16_t thread);

/*
 * Sources in turn, access by access. Owns them (freed also when this fails with
 * NULL: out of memory), but not the program, which must know all their refs from
 * the start: sources of one file that are read in turn learn of them one after the other.
 */
PSNAP_API struct psnap_source *psnap_interleave_source_new(struct psnap_source *const *sources,
                                                           size_t n, struct psnap_program *program);

/*
 * What `inner` delivers, read by a thread of its own and as far ahead as four megabytes hold. The
 * program is a copy, its tables are as far as the stream; when that has ended it is as that of
 * `inner`, whose strings it refers to. Does not own `inner`: only this source may read it until it
 * is freed, which waits for the call of inner's next that is going on. NULL when there is no memory
 * or thread.
 */
PSNAP_API struct psnap_source *psnap_relay_source_new(struct psnap_source *inner,
                                                      struct psnap_error *error);

/* One stream to `n` sinks in turn, stopping at the first error. Owns neither sinks nor array
 * entries after psnap_sink_free: the caller frees the sinks. */
PSNAP_API struct psnap_sink *psnap_tee_sink_new(struct psnap_sink *const *sinks, size_t n);

/* What `inner` delivers, until the deadline is set: then an error (LIMIT). Does not own `inner`.
 * NULL: out of memory. */
PSNAP_API struct psnap_source *psnap_until_source_new(struct psnap_source *inner,
                                                      const struct psnap_deadline *deadline);

/* Processors that are ours to use, at least 1: so many threads may run at once. */
PSNAP_API uint32_t psnap_processors(void);

/*
 * What make() makes of a program, as a sink that takes its stream in a thread of its own: the
 * caller may be as far ahead as four megabytes hold. The program that make() gets is a copy of
 * `program`, as psnap_relay_source_new() has it; without a processor to spare, or memory or a
 * thread for it, it is `program`, and this the sink that was made. That one, *inner, may be asked
 * once this is finished, and is freed with it. Errors may come later than what they are of, by
 * psnap_sink_finish at last. NULL: out of memory.
 */
PSNAP_API struct psnap_sink *
psnap_aside_sink_new(const struct psnap_program *program,
                     struct psnap_sink *(*make)(const struct psnap_program *program),
                     struct psnap_sink **inner);

#endif
