/* SPDX-License-Identifier: BSD-3-Clause */
/* What fuzz targets of texts share: a check that holds in every build, and a text as a file. */
#ifndef PSNAP_FUZZ_H
#define PSNAP_FUZZ_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/status.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void must(bool good)
{
    if (!good)
        abort();
}

/* A refusal has a code and a message. */
static inline void must_refuse(const struct psnap_error *error)
{
    must(error->code < 0 && error->message[0]);
}

static inline FILE *open_text(const void *text, size_t size)
{
    FILE *file = fmemopen((void *)(uintptr_t)text, size, "r");

    must(file != NULL);
    return file;
}

#endif
