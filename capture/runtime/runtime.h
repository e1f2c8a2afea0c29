/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The capture runtime, linked into the user's program: it moves records into
 * shared memory and does nothing else. libc and pthread only, no allocation but
 * mmap of its own pages, errno left alone, nothing printed unless a collector
 * that the user asked for (PSNAP_OUT) cannot be started or has died.
 */
#ifndef PSNAP_CAPTURE_RUNTIME_H
#define PSNAP_CAPTURE_RUNTIME_H

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "formats/base/capture_abi.h"

#define PSNAP_HOOK __attribute__((visibility("default")))
/* The same hook for callers that know the C convention alone, behind its definition. */
#define PSNAP_PLAIN_HOOK(result, name, parameters)                                                 \
    PSNAP_HOOK result name##_plain parameters __attribute__((alias(#name)));

/* Hooks called by instrumented code (capture/pass). */
extern PSNAP_HOOK const char __psnap_abi_16;
extern PSNAP_HOOK _Thread_local struct psnap_ring *__psnap_ring
    __attribute__((tls_model("initial-exec")));
/* Room for a record, marked as open. */
PSNAP_HOOK __attribute__((preserve_most)) uint64_t *__psnap_reserve(uint64_t words);
/* The same in code made with PSNAP_HOIST=switch: elsewhere if this run keeps the other kind. */
PSNAP_HOOK __attribute__((preserve_most)) uint64_t *__psnap_reserve_kind(uint64_t words,
                                                                         uint64_t is_unhoisted);
/* A batch (capture/pass/batch.cpp) whose records end there is done. */
PSNAP_HOOK __attribute__((preserve_most)) void __psnap_close_batch(uint64_t *batch, uint64_t *end);
/* ... and another one begins. */
PSNAP_HOOK __attribute__((preserve_most)) uint64_t *__psnap_renew_batch(uint64_t *batch,
                                                                        uint64_t *end);
/* A nest's record (capture/pass/batch.cpp) of `words` words ends where its progress says, and
 * the nest goes on in the record that is returned: the collector need not wait for the first. */
PSNAP_HOOK __attribute__((preserve_most)) uint64_t *
__psnap_renew_nest(uint64_t *record, uint64_t words, uint64_t levels);
PSNAP_HOOK void __psnap_allocated(const void *address, uint64_t size_bytes,
                                  const unsigned char *site);
PSNAP_HOOK void __psnap_register(const struct psnap_module *module);
/* A function whose byte in psnap_module.wanted is set is entered and left; `frame` is where its
 * return address is. An exception or longjmp has ended in that frame. */
PSNAP_HOOK __attribute__((preserve_most)) void __psnap_enter(const void *frame);
PSNAP_HOOK __attribute__((preserve_most)) void __psnap_leave(const void *frame);
PSNAP_HOOK __attribute__((preserve_most)) void __psnap_landed(const void *frame);
/* A call has returned that may have made a child without fork handlers. */
PSNAP_HOOK __attribute__((preserve_most)) void __psnap_forked(void);
/* The program is about to make a thread (1), or a number of threads that is not known (UINT64_MAX),
 * or has returned from the call that made such threads (0). */
PSNAP_HOOK __attribute__((preserve_most)) void __psnap_creating(uint64_t threads);
/* The program is about to make a system call that may be one that enters a sandbox, where it is
 * killed for calls of ours; and has made it. quiet.c */
PSNAP_HOOK __attribute__((preserve_most)) void
__psnap_sandboxed(uint64_t number, uint64_t operation, uint64_t second, uint64_t third);
PSNAP_HOOK __attribute__((preserve_most)) void __psnap_sandbox_tried(int64_t result);
/* The marks of capture/roi.h. */
PSNAP_HOOK void __psnap_roi_begin(void);
PSNAP_HOOK void __psnap_roi_end(void);
/* early.c: a resolver of an ifunc begins. */
void __psnap_resolving(void);
extern struct psnap_early __psnap_early;
extern uint64_t psnap_rt_unhoisted;                       /* PSNAP_UNHOISTED */
extern uint64_t psnap_rt_nowhere[PSNAP_RECORD_WORDS_MAX]; /* room for records that nobody reads */

struct psnap_early {
    struct psnap_ring ring; /* what it could not hold are records of `produced` words */
    uint64_t words[4 * PSNAP_RECORD_WORDS_MAX];
};

enum psnap_rt_passage { PSNAP_RT_ENTERS, PSNAP_RT_LEAVES, PSNAP_RT_LANDS };

/* What a further copy of the runtime (in a shared library under a program that has none) uses of
 * the first one, which says in the session where it is. */
struct psnap_rt_hooks {
    uint64_t abi;
    bool (*add_copy)(struct psnap_ring **ring_of_copy); /* this thread's; false: too many */
    uint64_t *(*reserve)(uint64_t words) __attribute__((preserve_most));
    uint64_t *(*renew_nest)(uint64_t *record, uint64_t words, uint64_t levels)
        __attribute__((preserve_most));
    void (*allocated)(const void *address, uint64_t size_bytes, const unsigned char *site);
    void (*enroll)(const struct psnap_module *module);
    void (*mark)(bool begins);
    void (*pass)(const void *frame, enum psnap_rt_passage passage);
    void (*forked)(void) __attribute__((preserve_most));
    void (*sandboxed)(uint64_t number, uint64_t operation, uint64_t second, uint64_t third)
        __attribute__((preserve_most));
    void (*sandbox_tried)(int64_t result) __attribute__((preserve_most));
};
extern const struct psnap_rt_hooks psnap_rt_hooks;
extern const struct psnap_rt_hooks *psnap_rt_first; /* NULL: we are the first copy */

/* The session that this process records into, or NULL; `recording` says whether it still counts.
 * It stays mapped, so that a thread that is about to use it may. A child by fork has its parent's
 * until it rejoins: psnap_rt_is_forked is asked before it is loaded. */
extern struct psnap_session *psnap_rt_session;
bool psnap_rt_is_recording(void);
void psnap_rt_set_recording(bool is_recording);

/* ring.c and ring_thread.c: where this thread writes now; `frame` is its stack
 * pointer. Never NULL. */
struct psnap_ring *psnap_rt_attach(uint64_t frame);
/* It writes there from now on; the empty one is full from the start, so that the first record of a
 * thread comes to __psnap_reserve. */
void psnap_rt_set_ring(struct psnap_ring *ring);
extern struct psnap_ring psnap_rt_empty_ring;
/* Room for `words` in ring 0, waiting for the collector; NULL when it has died. All signals are
 * blocked, and its lock is held; `signals` is the thread's mask. */
uint64_t *psnap_rt_room(struct psnap_ring *ring, uint64_t words, const sigset_t *signals);
void psnap_rt_publish(struct psnap_ring *ring, uint64_t *end);
/* Records that were made before this thread had a ring; not more than a chunk holds. */
void psnap_rt_put_records(const uint64_t *words, uint64_t count);
void psnap_rt_ring_doorbell(void);
/* Words that a ring has ever had up to where its thread writes now, gaps at ends of chunks too. */
uint64_t psnap_rt_ring_words(struct psnap_ring *ring);
/* Returns the words that the ring had when its thread made one that has not begun, else those that
 * it has now. */
uint64_t psnap_rt_ring_words_before(struct psnap_ring *ring);
void psnap_rt_stop(void);       /* from now on nothing is recorded */
bool psnap_rt_leave_ring(void); /* this thread's is another process's; false: and still mapped */
void psnap_rt_change(void);     /* what is wanted has changed: all threads are to look */
void psnap_rt_reuse(void);      /* a module comes where another was, and all threads know */
/* While a module is announced this thread's records go nowhere: the code that makes them (a malloc
 * of the program's own, say) may be of a module that is not announced yet. */
struct psnap_ring *psnap_rt_set_aside(void);

/* quiet.c: whether we make no system calls any more; room for a record, without any. Who makes
 * some says so, or, where that returns false, makes none. */
bool psnap_rt_is_quiet(void);
bool psnap_rt_begin_noise(void);
void psnap_rt_end_noise(void);
void psnap_rt_forget_noise(void); /* a thread that ends may have been cancelled in it */
void psnap_rt_fork_noise(void);   /* in the child */
uint64_t *psnap_rt_reserve_quietly(uint64_t words);
void psnap_rt_prepare_quiet(void); /* ring_thread.c: this thread has all that it will need */

/* region.c: whether what threads do now is recorded, of a process that is. */
bool psnap_rt_is_wanted(void);
void psnap_rt_mark(bool begins);
void psnap_rt_pass(const void *frame, enum psnap_rt_passage passage);
void psnap_rt_end_thread_region(void); /* the one that this thread's functions are, if any */
void psnap_rt_fork_regions(void);      /* in the child, before it is recorded */
void psnap_rt_read_regions(void);      /* PSNAP_ENV_ROI */
/* Sets the bytes of the module's functions that are wanted. Under the control lock. */
void psnap_rt_choose_functions(const struct psnap_module *module);
void psnap_rt_tell_regions(void); /* the session, which is new */

/* session.c: large allocations get their places before any thread's accesses to them are read.
 * Returns the number of the announcement, 0 when the allocation is small. */
void psnap_rt_announce_thread(
    const struct psnap_ring *ring); /* the thread that begins, whose ring this is */
uint64_t psnap_rt_announce(uint64_t address, uint64_t size_bytes, uint32_t thread);
bool psnap_rt_is_large(uint64_t address, uint64_t size_bytes);
/* A child by fork that has recorded nothing yet gets a session of its own. */
void psnap_rt_rejoin(void);
bool psnap_rt_is_forked(void);
bool psnap_rt_is_child(void); /* the same, and nothing is done about it */
/* Once in such a child: it has yet to say what its parent allocated. */
bool psnap_rt_has_inherited(void);
bool psnap_rt_collector_alive(void);
/* The modules of the image that holds this address are announced, if they have not been: its code
 * may run before their constructors do. */
void psnap_rt_enroll(uint64_t address);

/* number.c: a number for this thread, which has none yet; in a child by fork all begins anew. All
 * signals are blocked. */
uint32_t psnap_rt_number_thread(void);
void psnap_rt_forget_numbers(void);

/* maps.c: room of the runtime's own, zeros; NULL when there is none. No mapping of the program's
 * grows by being joined with it. munmap() gives it back. */
void *psnap_rt_map(uint64_t bytes);
/* The mapping of this process that holds `address`; the address alone when unknown. */
void psnap_rt_find_mapping(uint64_t address, uint64_t *low, uint64_t *high);
/* First address of the brk heap, whether it has been used or not. */
uint64_t psnap_rt_heap_start(void);
/* The session that is mapped already, by another copy of the runtime; NULL when none is. */
struct psnap_session *psnap_rt_find_session(void);
/* The range that the stack holding `frame` may use. */
void psnap_rt_find_stack(uint64_t frame, uint64_t *low, uint64_t *high);

/* join.c: the hub's page, and the session that it has for this process, counted when it has none.
 */
bool psnap_rt_open_hub(const char *path);
struct psnap_session *psnap_rt_join(void);
uint32_t psnap_rt_self(void); /* this process, as /proc numbers it */

/* session_map.c: the memory of a session. NULL on failure. */
extern uint32_t psnap_rt_ring_count; /* rings that the session has room for */
struct psnap_session *psnap_rt_map_session(int fd);
void psnap_rt_unmap_session(struct psnap_session *session); /* one that was not entered */
/* It is this process's from now on; returns ring 0. */
struct psnap_ring *psnap_rt_enter_session(struct psnap_session *session);
struct psnap_ring *psnap_rt_ring(uint32_t index);     /* NULL: not mapped */
struct psnap_ring *psnap_rt_map_ring(uint32_t index); /* one that nobody has had: it is taken */
void *psnap_rt_map_shared(int fd, uint64_t bytes);
/* In a child by fork. Its thread may be in the middle of a record of its parent's, when the handler
 * of a signal has forked: the rest of it goes to memory of its own, for good. First that ring
 * (false: there is no memory, the parent's is still mapped), then, when nothing else is used of it,
 * the parent's session. */
bool psnap_rt_detach(struct psnap_ring *ring);
/* A loop that a signal handler forked this process in has gone on in that ring. */
bool psnap_rt_is_inside(void);
void psnap_rt_leave_session(struct psnap_session *session);
/* This process is not recorded, which is counted. */
void psnap_rt_refuse(void);

/* Has this very module been announced, where it is now? Else it is noted, and
 * *is_reuse says that another one was there. Under the control lock. */
bool psnap_rt_module_is_known(const struct psnap_module *module, bool *is_reuse);

/* kept.c: records of the control ring, for children; under the control lock. */
bool psnap_rt_journal_add(const uint64_t *record, uint64_t words);
void psnap_rt_journal_replay(void (*send)(const uint64_t *record, uint64_t words));

/* What was allocated, for children; `is_alone`: it joins no neighbour. */
void psnap_rt_note_allocation(uint64_t address, uint64_t size_bytes, const unsigned char *site,
                              uint32_t thread, bool is_alone);
void psnap_rt_repeat_allocations(void (*put)(uint64_t address, uint64_t size_bytes,
                                             const unsigned char *site, uint32_t thread));

/* A collector of our own, for PSNAP_OUT; NULL when it cannot be. `is_child`: of a process
 * whose collector writes to `output` already. */
struct psnap_session *psnap_rt_launch(const char *command, const char *output, bool is_child);
/* Both and a newline, on stderr. */
void psnap_rt_say(const char *text, const char *what);

/* What a thread has while the runtime is not to be disturbed, neither by its handlers nor by
 * pthread_cancel: what we call (open, poll) would be a point at which to act on that, where the
 * program has none, with our locks held. */
struct psnap_rt_outside {
    sigset_t signals;
    int error, cancel_state, cancel_type;
};

/* Both: where a thread may be cancelled at any moment, glibc's handler of a cancellation that is on
 * its way looks at the type alone. */
static inline void psnap_rt_hold_cancel(struct psnap_rt_outside *outside)
{
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &outside->cancel_type);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &outside->cancel_state);
}

/* May not return. */
static inline void psnap_rt_allow_cancel(const struct psnap_rt_outside *outside)
{
    pthread_setcancelstate(outside->cancel_state, NULL);
    pthread_setcanceltype(outside->cancel_type, NULL);
}

/* Not returned: copying it may call a memcpy of the program's own, which is recorded. */
static inline void psnap_rt_block_signals(struct psnap_rt_outside *outside)
{
    sigset_t all;

    outside->error = errno;
    psnap_rt_hold_cancel(outside);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &outside->signals);
}

static inline void psnap_rt_unblock_signals(const struct psnap_rt_outside *outside)
{
    pthread_sigmask(SIG_SETMASK, &outside->signals, NULL);
    errno = outside->error;
    psnap_rt_allow_cancel(outside);
}

#endif
