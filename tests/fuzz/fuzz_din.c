/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The text readers. The first byte chooses one of din, xdin and csv or leaves
 * it to recognition; the rest is the file.
 */
#include "tests/fuzz/fuzz_trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const formats[] = {"din", "xdin", "csv", NULL};

    if (size > 0)
        fuzz_trace(data + 1, size - 1, formats[data[0] % 4]);
    return 0;
}
