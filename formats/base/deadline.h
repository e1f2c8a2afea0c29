/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When what a command does is to be done. A handler of a signal may set it while others look at it.
 */
#ifndef PSNAP_BASE_DEADLINE_H
#define PSNAP_BASE_DEADLINE_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/base/api.h"
#include "formats/base/capture_abi.h" /* struct psnap_deadline */

/* So many ms from now, unless there is one already; true when there was none. */
PSNAP_API bool psnap_deadline_set(struct psnap_deadline *deadline, int ms);
/* In ms; 0: it is over. INT64_MAX when there is none. */
PSNAP_API int64_t psnap_deadline_left(const struct psnap_deadline *deadline);

/* There is one: whoever waits wants an end. `deadline` may be NULL: there is none. */
static inline bool psnap_deadline_is_set(const struct psnap_deadline *deadline)
{
    return deadline && __atomic_load_n(&deadline->at_ns, __ATOMIC_RELAXED) != 0;
}

static inline bool psnap_deadline_is_over(const struct psnap_deadline *deadline)
{
    return psnap_deadline_is_set(deadline) && psnap_deadline_left(deadline) == 0;
}

#endif
