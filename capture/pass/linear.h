/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Addresses that are linear in the iterations of a loop but for quotients.
 */
#ifndef PSNAP_CAPTURE_LINEAR_H
#define PSNAP_CAPTURE_LINEAR_H

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"

#include <cstdint>
#include <vector>

namespace psnap
{

/* factor * ((start + i * step modulo 2^bits) / divisor) in iteration i; nothing of it changes. */
struct LinearQuotient {
    const llvm::SCEV *start = nullptr, *step = nullptr, *factor = nullptr;
    unsigned bits = 0;
    uint64_t divisor = 1;
};

/* start + i * step + quotients, modulo 2^64. */
struct LinearAddress {
    const llvm::SCEV *start = nullptr;
    const llvm::SCEV *step = nullptr; /* null: 0 */
    std::vector<LinearQuotient> quotients;
};

/* False: the address of the loop has no such form. */
bool linearAddress(llvm::ScalarEvolution &evolution, const llvm::SCEV *address,
                   const llvm::Loop &loop, LinearAddress &out);

} // namespace psnap

#endif
