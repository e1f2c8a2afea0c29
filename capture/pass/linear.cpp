/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is linear in an address, and what of it are quotients of what is linear, by constants:
 *
 *     x[i / 2], x[(i + 1) >> 1]    8 * ((i + 1) / 2)
 *     x[i % 3]                     8 * i - 24 * (i / 3)
 *     x[i & 1023]                  8 * (i modulo 2^10)
 *     x[i] with 32 bits of i       8 * (i modulo 2^32), if i may wrap around
 *
 * Evolution is modulo 2^bits and its division has no signs, so that is exact: quotients of
 * what may be negative it does not know.
 */
#include "linear.h"

#include "llvm/Analysis/ScalarEvolutionExpressions.h"

#include <algorithm>

using namespace llvm;

namespace psnap
{

enum { QUOTIENTS_MAX = 8, WORD_BITS = 64 };

namespace
{

/* The largest value that it may have. */
uint64_t mostOf(const LinearQuotient &quotient)
{
    return (~UINT64_C(0) >> (WORD_BITS - quotient.bits)) / quotient.divisor;
}

class Linear
{
  public:
    Linear(ScalarEvolution &the_evolution, const Loop &the_loop)
        : evolution(the_evolution), loop(the_loop)
    {
    }

    /* Both have the bits of a word. */
    bool add(const SCEV *value, const SCEV *factor)
    {
        LinearQuotient quotient;

        if (evolution.isLoopInvariant(value, &loop)) {
            starts.push_back(evolution.getMulExpr(factor, value));
            return true;
        }
        if (auto *recurrence = dyn_cast<SCEVAddRecExpr>(value)) {
            if (recurrence->getLoop() != &loop || !recurrence->isAffine())
                return false;
            starts.push_back(evolution.getMulExpr(factor, recurrence->getStart()));
            steps.push_back(evolution.getMulExpr(factor, recurrence->getOperand(1)));
            return true;
        }
        if (auto *sum = dyn_cast<SCEVAddExpr>(value)) {
            for (const SCEV *operand : sum->operands())
                if (!add(operand, factor))
                    return false;
            return true;
        }
        if (auto *product = dyn_cast<SCEVMulExpr>(value))
            return addProduct(*product, factor);
        quotient.factor = factor;
        return isQuotient(value, quotient) && addQuotient(quotient);
    }

    void finish(const SCEV *base, LinearAddress &out)
    {
        starts.push_back(base);
        out.start = evolution.getAddExpr(starts);
        out.step = steps.empty() ? nullptr : evolution.getAddExpr(steps);
        if (out.step && out.step->isZero())
            out.step = nullptr;
        for (const LinearQuotient &quotient : quotients)
            if (!quotient.factor->isZero())
                out.quotients.push_back(quotient);
    }

  private:
    /* All but one of its operands do not change. */
    bool addProduct(const SCEVMulExpr &product, const SCEV *factor)
    {
        const SCEV *changing = nullptr;

        for (const SCEV *operand : product.operands()) {
            if (evolution.isLoopInvariant(operand, &loop)) {
                factor = evolution.getMulExpr(factor, operand);
                continue;
            }
            if (changing)
                return false;
            changing = operand;
        }
        return changing && add(changing, factor);
    }

    /* Sets all but the factor. */
    bool isQuotient(const SCEV *value, LinearQuotient &out)
    {
        const unsigned bits = (unsigned)evolution.getTypeSizeInBits(value->getType());

        if (bits > WORD_BITS)
            return false;
        if (auto *recurrence = dyn_cast<SCEVAddRecExpr>(value)) {
            if (recurrence->getLoop() != &loop || !recurrence->isAffine())
                return false;
            out.start = recurrence->getStart();
            out.step = recurrence->getOperand(1);
            out.bits = bits;
            out.divisor = 1;
            return true;
        }
        if (auto *division = dyn_cast<SCEVUDivExpr>(value)) {
            auto *by = dyn_cast<SCEVConstant>(division->getRHS());
            if (!by || by->isZero() || !isQuotient(division->getLHS(), out))
                return false;
            const uint64_t divisor = by->getAPInt().getZExtValue();
            if (divisor > ~UINT64_C(0) / out.divisor)
                return false;
            out.divisor *= divisor;
            return true;
        }
        if (auto *wider = dyn_cast<SCEVZeroExtendExpr>(value))
            return isQuotient(wider->getOperand(), out);
        if (auto *wider = dyn_cast<SCEVSignExtendExpr>(value)) {
            const SCEV *operand = wider->getOperand();
            const unsigned sign = (unsigned)evolution.getTypeSizeInBits(operand->getType()) - 1;
            return isQuotient(operand, out) && mostOf(out) < UINT64_C(1) << sign;
        }
        if (auto *narrower = dyn_cast<SCEVTruncateExpr>(value))
            return isTruncated(narrower->getOperand(), bits, out);
        return false;
    }

    /* What is left of a value in fewer bits: that of a quotient by 2^k has k bits more in front. */
    bool isTruncated(const SCEV *value, unsigned bits, LinearQuotient &out)
    {
        if (!isQuotient(value, out))
            return false;
        if (mostOf(out) <= ~UINT64_C(0) >> (WORD_BITS - bits))
            return true;
        if (out.divisor & (out.divisor - 1))
            return false;
        for (uint64_t divisor = out.divisor; divisor > 1; divisor /= 2)
            bits++;
        out.bits = std::min(out.bits, bits);
        return true;
    }

    bool addQuotient(const LinearQuotient &quotient)
    {
        for (LinearQuotient &old : quotients)
            if (old.start == quotient.start && old.step == quotient.step &&
                old.bits == quotient.bits && old.divisor == quotient.divisor) {
                old.factor = evolution.getAddExpr(old.factor, quotient.factor);
                return true;
            }
        quotients.push_back(quotient);
        return quotients.size() <= QUOTIENTS_MAX;
    }

    ScalarEvolution &evolution;
    const Loop &loop;
    SmallVector<const SCEV *, 8> starts, steps;
    std::vector<LinearQuotient> quotients;
};

} // namespace

bool linearAddress(ScalarEvolution &evolution, const SCEV *address, const Loop &loop,
                   LinearAddress &out)
{
    if (isa<SCEVCouldNotCompute>(address) || !address->getType()->isPointerTy())
        return false;
    const SCEV *base = evolution.getPointerBase(address);
    const SCEV *offset = evolution.removePointerBase(address);
    Type *word = evolution.getEffectiveSCEVType(address->getType());
    Linear linear(evolution, loop);

    if (!evolution.isLoopInvariant(base, &loop) || !linear.add(offset, evolution.getOne(word)))
        return false;
    linear.finish(base, out);
    return true;
}

} // namespace psnap
