/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Conditions of a nest of loops as rows of its table: comparisons of what scalar evolution
 * knows, and logic. Of vectors, which it does not know, each lane is a condition of its own:
 * the loop vectoriser tests in front of a loop whether its pointers' ranges overlap, and the
 * vectoriser of straight code compares them all at once,
 *
 *     bounds = insertelement(... first pointer ... last pointer)
 *     icmp ne (bitcast (icmp ult <8 x ptr> bounds, others) to i8), 0
 *
 * So whether a mask, as a number, is zero is whether any of its lanes is true.
 */
#include "nest_values.h"

#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace psnap
{

enum { LANES_MAX = 64 };

static unsigned lanesOf(const Value *value)
{
    auto *type = dyn_cast<FixedVectorType>(value->getType());
    return type && type->getNumElements() <= LANES_MAX ? type->getNumElements() : 0;
}

uint32_t NestValues::comparison(CmpInst::Predicate predicate, const SCEV *left, const SCEV *right,
                                const BasicBlock *scope)
{
    if (!left || !right)
        return NONE;
    if (predicate == CmpInst::ICMP_UGT || predicate == CmpInst::ICMP_UGE ||
        predicate == CmpInst::ICMP_SGT || predicate == CmpInst::ICMP_SGE) {
        std::swap(left, right);
        predicate = CmpInst::getSwappedPredicate(predicate);
    }
    const unsigned bits = (unsigned)evolution.getTypeSizeInBits(left->getType());
    const Loop *loop = loops.getLoopFor(scope);
    const uint32_t a = of(evolution.getSCEVAtScope(left, loop), scope);
    const uint32_t b = of(evolution.getSCEVAtScope(right, loop), scope);
    switch (predicate) {
    case CmpInst::ICMP_EQ:
        return operation(PSNAP_VALUE_EQ, bits, a, b);
    case CmpInst::ICMP_NE:
        return invert(operation(PSNAP_VALUE_EQ, bits, a, b));
    case CmpInst::ICMP_ULT:
        return operation(PSNAP_VALUE_ULT, bits, a, b);
    case CmpInst::ICMP_ULE:
        return operation(PSNAP_VALUE_ULE, bits, a, b);
    case CmpInst::ICMP_SLT:
        return operation(PSNAP_VALUE_SLT, bits, a, b);
    case CmpInst::ICMP_SLE:
        return operation(PSNAP_VALUE_SLE, bits, a, b);
    default:
        return NONE;
    }
}

uint32_t NestValues::invert(uint32_t condition)
{
    return operation(PSNAP_VALUE_XOR, 1, condition, constant(1, 1));
}

/* null: evolution knows no values of this type. */
const SCEV *NestValues::scalar(Value *value) const
{
    return value && evolution.isSCEVable(value->getType()) ? evolution.getSCEV(value) : nullptr;
}

/* A lane of a vector of numbers or pointers; null when it is not known. */
const SCEV *NestValues::laneOf(Value *value, unsigned index) const
{
    if (!lanesOf(value))
        return scalar(value); /* of an address: the same for all lanes */
    if (const SCEV *element = scalar(findScalarElement(value, index)))
        return element;
    auto *at = dyn_cast<Operator>(value);
    auto operand = [&](unsigned i) { return laneOf(at->getOperand(i), index); };
    if (!at)
        return nullptr;
    if (auto *address = dyn_cast<GEPOperator>(at)) {
        const SCEV *base = operand(0),
                   *offset = address->getNumIndices() == 1 ? operand(1) : nullptr;
        Type *word = evolution.getEffectiveSCEVType(at->getType()->getScalarType());
        if (!base || !offset)
            return nullptr;
        offset =
            evolution.getMulExpr(evolution.getTruncateOrSignExtend(offset, word),
                                 evolution.getSizeOfExpr(word, address->getSourceElementType()));
        return evolution.getAddExpr(base, offset);
    }
    if (at->getNumOperands() != 2 || !at->getType()->isIntOrIntVectorTy())
        return nullptr;
    const unsigned opcode = at->getOpcode();
    if (opcode != Instruction::Add && opcode != Instruction::Sub && opcode != Instruction::Mul)
        return nullptr;
    const SCEV *left = operand(0), *right = operand(1);
    if (!left || !right)
        return nullptr;
    return opcode == Instruction::Add   ? evolution.getAddExpr(left, right)
           : opcode == Instruction::Sub ? evolution.getMinusSCEV(left, right)
                                        : evolution.getMulExpr(left, right);
}

/* A lane of a vector of conditions. */
uint32_t NestValues::lane(Value *value, unsigned index, const BasicBlock *scope)
{
    Value *element = lanesOf(value) ? findScalarElement(value, index) : value;
    if (element)
        return condition(element, scope);
    auto *at = dyn_cast<Instruction>(value);
    if (!at)
        return NONE;
    if (auto *compare = dyn_cast<ICmpInst>(at))
        return comparison(compare->getPredicate(), laneOf(compare->getOperand(0), index),
                          laneOf(compare->getOperand(1), index), scope);
    return logic(*at, [&](Value *operand) { return lane(operand, index, scope); });
}

/* All lanes of a vector of conditions as one of them. */
uint32_t NestValues::lanes(Value *value, psnap_value_op op, const BasicBlock *scope)
{
    uint32_t result = NONE;

    for (unsigned i = 0; i < lanesOf(value); i++) {
        const uint32_t next = lane(value, i, scope);
        result = i ? operation(op, 1, result, next) : next;
        if (result == NONE)
            return NONE;
    }
    return result;
}

/* A mask that is compared as a number, with that of no or of all lanes. */
uint32_t NestValues::mask(const ICmpInst &compare, const BasicBlock *scope)
{
    auto *number = dyn_cast<BitCastInst>(compare.getOperand(0));
    auto *with = dyn_cast<ConstantInt>(compare.getOperand(1));

    if (!number || !with || !compare.isEquality() || !(with->isZero() || with->isMinusOne()) ||
        !number->getOperand(0)->getType()->isIntOrIntVectorTy(1))
        return NONE;
    const bool is_any = with->isZero();
    const uint32_t result =
        lanes(number->getOperand(0), is_any ? PSNAP_VALUE_OR : PSNAP_VALUE_AND, scope);
    return is_any == (compare.getPredicate() == CmpInst::ICMP_NE) ? result : invert(result);
}

uint32_t NestValues::condition(Value *value, const BasicBlock *scope)
{
    if (!value->getType()->isIntegerTy(1))
        return NONE;
    if (auto *fixed = dyn_cast<ConstantInt>(value))
        return constant(fixed->getZExtValue(), 1);
    auto *at = dyn_cast<Instruction>(value);
    if (!at || !root.contains(at))
        return add({true, nullptr, value, PSNAP_VALUE_CONSTANT, 64, 0, 0, nullptr});
    if (auto *compare = dyn_cast<ICmpInst>(at)) {
        const uint32_t masked = mask(*compare, scope);
        return masked != NONE ? masked
                              : comparison(compare->getPredicate(), scalar(compare->getOperand(0)),
                                           scalar(compare->getOperand(1)), scope);
    }
    if (auto *call = dyn_cast<IntrinsicInst>(at)) {
        if (call->getIntrinsicID() == Intrinsic::vector_reduce_or)
            return lanes(call->getArgOperand(0), PSNAP_VALUE_OR, scope);
        if (call->getIntrinsicID() == Intrinsic::vector_reduce_and)
            return lanes(call->getArgOperand(0), PSNAP_VALUE_AND, scope);
    }
    if (auto *element = dyn_cast<ExtractElementInst>(at))
        if (auto *index = dyn_cast<ConstantInt>(element->getIndexOperand()))
            if (index->getValue().ult(lanesOf(element->getVectorOperand())))
                return lane(element->getVectorOperand(), (unsigned)index->getZExtValue(), scope);
    const uint32_t made = logic(*at, [&](Value *operand) { return condition(operand, scope); });
    return made != NONE ? made : of(evolution.getSCEV(at), scope);
}

/* What `at` makes of conditions. */
uint32_t NestValues::logic(Instruction &at, function_ref<uint32_t(Value *)> operand)
{
    auto both = [&](psnap_value_op op, unsigned left, unsigned right) {
        const uint32_t a = operand(at.getOperand(left));
        return a == NONE ? NONE : operation(op, 1, a, operand(at.getOperand(right)));
    };

    switch (at.getOpcode()) {
    case Instruction::Freeze:
        return operand(at.getOperand(0));
    case Instruction::And:
        return both(PSNAP_VALUE_AND, 0, 1);
    case Instruction::Or:
        return both(PSNAP_VALUE_OR, 0, 1);
    case Instruction::Xor:
        return both(PSNAP_VALUE_XOR, 0, 1);
    case Instruction::Select: { /* of logical "and" and "or" */
        auto *then = dyn_cast<Constant>(at.getOperand(1));
        auto *otherwise = dyn_cast<Constant>(at.getOperand(2));
        if (then && then->isAllOnesValue())
            return both(PSNAP_VALUE_OR, 0, 2);
        if (otherwise && otherwise->isNullValue())
            return both(PSNAP_VALUE_AND, 0, 1);
        return NONE;
    }
    default:
        return NONE;
    }
}

} // namespace psnap
