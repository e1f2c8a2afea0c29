/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the tests of reading: a text with one thing in it changed, and the beginning of a
 * profile with walks.
 */
#ifndef PSNAP_TEST_TEXT_SUPPORT_H
#define PSNAP_TEST_TEXT_SUPPORT_H

#include "tests/unit/test.h"

/* Up to the first item of a schedule: 4 + 3 + 2 accesses of loop f. */
#define WALKED_TRIANGLE                                                                            \
    "psnap: 1\n"                                                                                   \
    "capture: {model: walks-2}\n"                                                                  \
    "schedule:\n"                                                                                  \
    "- repeat: 3\n"                                                                                \
    "  of:\n"                                                                                      \
    "  - loop: f\n"                                                                                \
    "    times: {first: 4, steps: [-1]}\n"                                                         \
    "    references:\n"                                                                            \
    "    - {ref: 0, load: 8, region: r1, start: 0, strides: [32, 8]}\n"

/* `text` with the first `from` replaced. The caller frees it. (Inlined, gcc 12 takes what strstr
 * finds for an address of the local variable in which `text` was made, and warns.) */
__attribute__((noinline, unused)) static char *replaced(const char *text, const char *from,
                                                        const char *to)
{
    const char *at = strstr(text, from);
    size_t size = strlen(text) + strlen(to) + 1;
    char *out = malloc(size);

    if (!at)
        fail_msg("the base text lacks '%s'", from);
    snprintf(out, size, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    return out;
}

#endif
