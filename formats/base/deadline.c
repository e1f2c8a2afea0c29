/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The clock behind deadlines; what handlers of signals may call.
 */
#include "formats/base/deadline.h"

#include <time.h>

static int64_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

bool psnap_deadline_set(struct psnap_deadline *deadline, int ms)
{
    int64_t none = 0;

    return __atomic_compare_exchange_n(&deadline->at_ns, &none, now() + ms * INT64_C(1000000),
                                       false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

int64_t psnap_deadline_left(const struct psnap_deadline *deadline)
{
    const int64_t end = __atomic_load_n(&deadline->at_ns, __ATOMIC_SEQ_CST);
    const int64_t left = end ? end - now() : INT64_MAX;

    return !end ? INT64_MAX : left > 0 ? left / 1000000 + 1 : 0;
}
