/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Out of memory, for tests: run_job runs a job again and again with its first,
 * second, third, ... allocation failing, until it gets by without a failure.
 * Each time it either does its work or says PSNAP_ERROR_MEMORY, and gives
 * everything back. Our malloc stands before glibc's, so the allocations of the
 * libraries we use fail as well, in whatever thread; sanitizers want to stand there themselves: in
 * their builds (where FAILING_MALLOC is 0) a job runs once, and nothing fails.
 */
#ifndef PSNAP_TEST_FAILING_MALLOC_H
#define PSNAP_TEST_FAILING_MALLOC_H

#include "tests/unit/test.h"

#include "formats/base/status.h"

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#    define SANITIZED 1
#elif defined __has_feature
#    if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#        define SANITIZED 1
#    endif
#endif

#if !defined SANITIZED && defined __GLIBC__
#    define FAILING_MALLOC 1
#else
#    define FAILING_MALLOC 0
#endif

extern _Atomic size_t held_bytes, peak_bytes; /* of all that is allocated */

void run_job(enum psnap_status (*job)(struct psnap_error *));

#endif
