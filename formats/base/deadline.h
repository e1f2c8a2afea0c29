/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When what a command does is to be done, in ns of CLOCK_MONOTONIC; 0: whenever it is. A handler of
 * a signal sets it while others look at it.
 */
#ifndef PSNAP_BASE_DEADLINE_H
#define PSNAP_BASE_DEADLINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

typedef _Atomic int64_t psnap_deadline;

static inline int64_t psnap_deadline_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* There is one: whoever waits wants an end. `deadline` may be NULL: there is none. */
static inline bool psnap_deadline_is_set(const psnap_deadline *deadline)
{
    return deadline && atomic_load_explicit(deadline, memory_order_relaxed) != 0;
}

static inline bool psnap_deadline_is_over(const psnap_deadline *deadline)
{
    return psnap_deadline_is_set(deadline) && psnap_deadline_now() >= atomic_load(deadline);
}

#endif
