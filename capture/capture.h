/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The collector: an instrumented program that is running, as an access stream.
 *
 * The shared memory is made first and the program told where it is (struct
 * psnap_hub); the source then delivers the program's accesses, with
 * canonical addresses, while it runs, and ends when it has. A program that
 * crashes or is killed delivers all that it had published. Accesses of one
 * thread come in their order; threads come chunk by chunk, as they are read.
 */
#ifndef PSNAP_CAPTURE_CAPTURE_H
#define PSNAP_CAPTURE_CAPTURE_H

#include <stdbool.h>
#include <sys/types.h>

#include "formats/base/deadline.h"
#include "formats/base/stream.h"

/* Regions of interest of a recording. */
struct psnap_roi_report {
    bool has_regions; /* it has parts of the program only: */
    uint64_t regions; /* times that a first region was begun */
    uint64_t found;   /* bit i: the program has a function of the i-th name of PSNAP_ENV_ROI */
    uint64_t inlined; /* bit i: there is a copy of one in another function */
    bool is_foreign;  /* functions are known when they run, not before */
};

/* What a finished recording has to say about its completeness. */
struct psnap_capture_report {
    uint32_t modules;      /* instrumented modules that ran; 0: the program is not instrumented */
    uint32_t threads;      /* threads recorded */
    uint32_t threads_lost; /* threads that found no free ring: their accesses are missing */
    uint32_t copies; /* of the runtime that were too many (shared libraries under a program that is
                        not instrumented): what their modules did is missing */
    uint32_t threads_early; /* threads that ran code before its module was known: what it did is
                               missing */
    uint64_t words_unknown; /* words of records of such code that are missing */
    bool is_cut_short;      /* the deadline came first: what was not read by then is missing */
    uint64_t cut_off; /* loops and blocks that a signal handler left, or that were running when
                         the program ended; */
    uint64_t accesses_lost; /* at most so many of their last accesses are missing */
    uint64_t late; /* of the loops and blocks, those whose end came after their records were read:
                      what they accessed in between is missing */
    bool forked_inside; /* a handler forked the process in the middle of a loop or block: what that
                           accessed in it is missing */
    bool is_quiet;      /* it entered a sandbox: what it allocated there is not known by name */
    uint32_t unheard;   /* records of handlers that are missing for that */
    uint64_t unnamed;   /* allocations that came when there were too many: their regions have no
                           names, or those of what was there before */
    pid_t program;      /* the process that was recorded, 0 when none was */
    struct psnap_roi_report roi;
};

/* A session, with shared memory that is new (`fd` -1), or that the program has made and this
 * process inherited as `fd` (owned). NULL on failure, with `error` filled. */
PSNAP_API struct psnap_source *psnap_capture_open(int fd, struct psnap_error *error);

/* The shared memory: the program finds it as /proc/PID/fd/FD of this process. */
PSNAP_API int psnap_capture_fd(const struct psnap_source *capture);

/*
 * The stream ends when process `pid` has ended, and the one that recorded, if
 * it is another, too. The caller reaps its own children.
 */
PSNAP_API enum psnap_status psnap_capture_watch(struct psnap_source *capture, pid_t pid,
                                                struct psnap_error *error);

/* As psnap_sampled_ops (capture/collect/sampling.h) has them. What has been told to attend to ends
 * with the call that delivers it. */
void psnap_capture_attend(struct psnap_source *capture, uint64_t accesses, bool counts);
void psnap_capture_enough(struct psnap_source *capture);

/* The stream ends when *deadline is over, whatever the program does; it is used until then. */
PSNAP_API void psnap_capture_obey(struct psnap_source *capture,
                                  const struct psnap_deadline *deadline);

/* A process takes the session by putting its number in place of the 0 that is in *taker, before it
 * attaches. If none has done so when the watched one has ended, this process does. `taker` is
 * used until the stream ends. */
PSNAP_API void psnap_capture_offer(struct psnap_source *capture, uint32_t *taker);

PSNAP_API struct psnap_capture_report psnap_capture_report(const struct psnap_source *capture);

/* Files are written (or have failed): lets a program go that waits for that in its exit. */
PSNAP_API void psnap_capture_close(struct psnap_source *capture);

#endif
