/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The programs that streams go to, with a recipe for each. Private to formats/.
 */
#ifndef PSNAP_FORMATS_CONSUMERS_H
#define PSNAP_FORMATS_CONSUMERS_H

#include <stddef.h>

struct psnap_consumer {
    const char *format;
    const char *name;     /* with its version, "Dinero IV r7" */
    const char *recipe;   /* lines of shell, each behind four blanks; P is a profile or trace */
    const char *counters; /* what it counts under which names, and how psnap's numbers compare */
};

/* The i-th consumer of a format; NULL: it has no more. */
const struct psnap_consumer *psnap_consumer_at(const char *format, size_t i);

#endif
