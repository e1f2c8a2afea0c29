/* SPDX-License-Identifier: BSD-3-Clause */
/* The reader of one of other people's formats, FORMAT; a program of each (tests/CMakeLists.txt). */
#include "tests/fuzz/fuzz_trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_trace(data, size, FORMAT);
    return 0;
}
