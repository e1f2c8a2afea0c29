/* SPDX-License-Identifier: BSD-3-Clause */
/* The reader of drmemtrace. */
#include "tests/fuzz/fuzz_trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_trace(data, size, "drmemtrace");
    return 0;
}
