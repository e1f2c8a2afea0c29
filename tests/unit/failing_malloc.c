/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The allocator of the unit tests, whose failures tests may order (failing_malloc.h).
 */
#include "tests/unit/failing_malloc.h"

#include <errno.h>
#include <malloc.h>
#include <stdbool.h>

#if FAILING_MALLOC

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *memory, size_t size);
void __libc_free(void *memory);

static _Atomic bool armed;
static _Atomic long countdown; /* the allocation that fails: 1 is the next */
static _Atomic long held;      /* allocated while armed and not freed */
static _Atomic bool failed;
_Atomic size_t held_bytes, peak_bytes;

static bool fails(void)
{
    if (!armed || --countdown != 0)
        return false;
    failed = true;
    errno = ENOMEM;
    return true;
}

static void *taken(void *memory)
{
    held += armed && memory;
    held_bytes += malloc_usable_size(memory);
    if (held_bytes > peak_bytes)
        peak_bytes = held_bytes;
    return memory;
}

/* Visible, or the libraries would not find them. */
#    define VISIBLE __attribute__((visibility("default")))

VISIBLE void *malloc(size_t size)
{
    return fails() ? NULL : taken(__libc_malloc(size));
}

VISIBLE void *calloc(size_t n, size_t size)
{
    return fails() ? NULL : taken(__libc_calloc(n, size));
}

VISIBLE void *realloc(void *memory, size_t size)
{
    const size_t before = malloc_usable_size(memory);
    void *larger = fails() ? NULL : __libc_realloc(memory, size);

    if (larger) {
        held_bytes -= before;
        held -= armed && memory;
        taken(larger);
    }
    return larger;
}

VISIBLE void free(void *memory)
{
    held -= armed && memory;
    held_bytes -= malloc_usable_size(memory);
    __libc_free(memory);
}

void run_job(enum psnap_status (*job)(struct psnap_error *))
{
    struct psnap_error first = {0};

    assert_int_equal(job(&first), PSNAP_OK); /* what threads need stays with the library */
    for (long n = 1;; n++) {
        struct psnap_error error = {0};
        enum psnap_status status;
        countdown = n;
        held = 0;
        failed = false;
        armed = true;
        status = job(&error);
        armed = false;
        if (held)
            fail_msg("failure %ld: %ld allocations are lost", n, held);
        if (status) {
            assert_true(failed);
            assert_int_equal(status, PSNAP_ERROR_MEMORY);
            assert_int_equal(error.code, PSNAP_ERROR_MEMORY);
            assert_true(error.message[0]);
        }
        if (!failed) {
            assert_true(n > 3); /* the failures were ours to have */
            break;
        }
    }
}

#else

_Atomic size_t held_bytes, peak_bytes;

void run_job(enum psnap_status (*job)(struct psnap_error *))
{
    struct psnap_error error = {0};

    assert_int_equal(job(&error), PSNAP_OK);
}

#endif
