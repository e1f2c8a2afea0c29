/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What scalar evolution knows of a value in a nest of loops becomes rows that the
 * collector computes with (capture/nest.c): recurrences of the nest's loops,
 * sums, products, quotients by powers of two and others, extensions and truncations,
 * minima and maxima, in as many bits as the program has. What does not change in the
 * nest is a word of its record, computed in front of it. Conditions are comparisons
 * of such values, and what logic makes of them.
 *
 * Evolution is modulo 2^bits, as the rows are. What it says of a value holds in the loop
 * that the value is used in: a recurrence of another loop, one that is
 * over, has no row.
 */
#include "nest_values.h"

#include "llvm/IR/Dominators.h"
#include "llvm/Transforms/Utils/ScalarEvolutionExpander.h"

#include <algorithm>

using namespace llvm;

namespace psnap
{

enum { BITS_MAX = 64, ENTRIES_MAX = PSNAP_NEST_VALUES_MAX / 2 };

/* What is set where a block is entered is there for the rest of an iteration, no longer. */
bool NestValues::fits(const SCEV *value, const BasicBlock *scope) const
{
    return !SCEVExprContains(value, [&](const SCEV *part) {
        if (auto *recurrence = dyn_cast<SCEVAddRecExpr>(part))
            return root.contains(recurrence->getLoop()) && !recurrence->getLoop()->contains(scope);
        if (auto *unknown = dyn_cast<SCEVUnknown>(part)) {
            auto *at = dyn_cast<Instruction>(unknown->getValue());
            return at && root.contains(at) &&
                   loops.getLoopFor(at->getParent()) != loops.getLoopFor(scope);
        }
        return isa<SCEVCouldNotCompute>(part);
    });
}

/* Places of operands dominate each other: all dominate what uses them. */
const BasicBlock *NestValues::later(const BasicBlock *a, const BasicBlock *b) const
{
    return !a || (b && dominators.dominates(a, b)) ? b : a;
}

uint32_t NestValues::add(const Entry &entry)
{
    if (entries.size() == ENTRIES_MAX)
        return NONE;
    for (uint32_t i = 0; i < entries.size(); i++) {
        const Entry &old = entries[i];
        if (old.is_word == entry.is_word && old.evolved == entry.evolved &&
            old.known == entry.known && old.op == entry.op && old.bits == entry.bits &&
            old.a == entry.a && old.b == entry.b && old.place == entry.place)
            return i;
    }
    entries.push_back(entry);
    return (uint32_t)entries.size() - 1;
}

uint32_t NestValues::constant(uint64_t value, unsigned bits)
{
    return add({false, nullptr, nullptr, PSNAP_VALUE_CONSTANT, bits, value, 0, nullptr});
}

uint32_t NestValues::operation(psnap_value_op op, unsigned bits, uint32_t a, uint32_t b)
{
    if (a == NONE || b == NONE)
        return NONE;
    return add(
        {false, nullptr, nullptr, op, bits, a, b, later(entries[a].place, entries[b].place)});
}

uint32_t NestValues::word(const SCEV *value)
{
    if (!expander.isSafeToExpandAt(value, before))
        return NONE;
    return add({true, value, nullptr, PSNAP_VALUE_CONSTANT, BITS_MAX, 0, 0, nullptr});
}

/* What does not change in the nest is one operand. */
uint32_t NestValues::makeNary(const SCEVNAryExpr &value, psnap_value_op op, unsigned bits)
{
    SmallVector<const SCEV *, 4> fixed;
    uint32_t result = NONE;
    const bool folds = op == PSNAP_VALUE_ADD || op == PSNAP_VALUE_MUL;

    auto append = [&](const SCEV *part) {
        const uint32_t next = make(part);
        const bool is_first = result == NONE;
        result = is_first ? next : operation(op, bits, result, next);
        return result != NONE;
    };
    for (const SCEV *part : value.operands()) {
        if (folds && evolution.isLoopInvariant(part, &root))
            fixed.push_back(part);
        else if (!append(part))
            return NONE;
    }
    if (!fixed.empty() &&
        !append(op == PSNAP_VALUE_ADD ? evolution.getAddExpr(fixed) : evolution.getMulExpr(fixed)))
        return NONE;
    return result;
}

/* A row that is set where the block is entered from one or another. */
uint32_t NestValues::join(const PHINode &phi)
{
    const BasicBlock *block = phi.getParent();
    const Loop *loop = loops.getLoopFor(block);
    const bool is_condition = phi.getType()->isIntegerTy(1);
    const unsigned bits = (unsigned)evolution.getTypeSizeInBits(phi.getType());
    Join made = {&phi, NONE, {}};

    if (loop->getHeader() == block || loop->isInnermost())
        return NONE;
    for (unsigned i = 0; i < phi.getNumIncomingValues(); i++) {
        const BasicBlock *from = phi.getIncomingBlock(i), *scope = from;
        Value *value = phi.getIncomingValue(i);
        if (loops.getLoopFor(from)->isInnermost())
            scope = loops.getLoopFor(from)->getLoopPreheader();
        const uint32_t entry =
            is_condition ? condition(value, scope)
                         : of(evolution.getSCEVAtScope(evolution.getSCEV(value), loop), scope);
        if (entry == NONE)
            return NONE;
        made.incoming[from] = entry;
    }
    for (const Join &old : joins)
        if (old.phi == &phi)
            return old.entry;
    made.entry =
        add({false, nullptr, const_cast<PHINode *>(&phi), PSNAP_VALUE_CONSTANT, bits, 0, 0, block});
    if (made.entry != NONE)
        joins.push_back(made);
    return made.entry;
}

NestValues::Sets NestValues::setsOn(const BasicBlock *from, const BasicBlock *to) const
{
    Sets sets;

    for (const Join &each : joins)
        if (each.phi->getParent() == to)
            sets.push_back({each.entry, each.incoming.at(from)});
    return sets;
}

bool NestValues::isSetIn(const BasicBlock *block) const
{
    for (const Join &each : joins)
        if (each.phi->getParent() == block)
            return true;
    return false;
}

uint32_t NestValues::make(const SCEV *value)
{
    auto old = known.find(value);
    if (old != known.end())
        return old->second;
    const uint32_t made = makeAny(value);
    known[value] = made;
    return made;
}

uint32_t NestValues::makeAny(const SCEV *value)
{
    const unsigned bits = (unsigned)evolution.getTypeSizeInBits(value->getType());
    auto unary = [&](psnap_value_op op, const SCEV *operand, uint64_t b) {
        const uint32_t a = make(operand);
        return a == NONE ? NONE : add({false, nullptr, nullptr, op, bits, a, b, entries[a].place});
    };

    if (bits > BITS_MAX)
        return NONE;
    if (auto *fixed = dyn_cast<SCEVConstant>(value))
        return constant(fixed->getAPInt().getZExtValue(), bits);
    if (evolution.isLoopInvariant(value, &root))
        return word(value);
    if (auto *recurrence = dyn_cast<SCEVAddRecExpr>(value)) {
        if (!recurrence->isAffine() || recurrence->getLoop()->isInnermost())
            return NONE;
        const uint32_t a = make(recurrence->getStart()), b = make(recurrence->getOperand(1));
        if (a == NONE || b == NONE)
            return NONE;
        return add({false, nullptr, nullptr, PSNAP_VALUE_RECURRENCE, bits, a, b,
                    recurrence->getLoop()->getHeader()});
    }
    if (auto *quotient = dyn_cast<SCEVUDivExpr>(value))
        return operation(PSNAP_VALUE_UDIV, bits, make(quotient->getLHS()),
                         make(quotient->getRHS()));
    if (auto *cast = dyn_cast<SCEVCastExpr>(value)) {
        const SCEV *operand = cast->getOperand();
        if (isa<SCEVTruncateExpr>(cast))
            return unary(PSNAP_VALUE_TRUNC, operand, 0);
        if (isa<SCEVSignExtendExpr>(cast))
            return unary(PSNAP_VALUE_SEXT, operand,
                         evolution.getTypeSizeInBits(operand->getType()));
        return make(operand); /* zero extension, pointer to integer */
    }
    auto *unknown = dyn_cast<SCEVUnknown>(value);
    if (unknown && isa<PHINode>(unknown->getValue()))
        return join(*cast<PHINode>(unknown->getValue()));
    auto *many = dyn_cast<SCEVNAryExpr>(value);
    switch (value->getSCEVType()) {
    case scAddExpr:
        return makeNary(*many, PSNAP_VALUE_ADD, bits);
    case scMulExpr:
        return makeNary(*many, PSNAP_VALUE_MUL, bits);
    case scUMaxExpr:
        return makeNary(*many, PSNAP_VALUE_UMAX, bits);
    case scUMinExpr:
    case scSequentialUMinExpr:
        return makeNary(*many, PSNAP_VALUE_UMIN, bits);
    case scSMaxExpr:
        return makeNary(*many, PSNAP_VALUE_SMAX, bits);
    case scSMinExpr:
        return makeNary(*many, PSNAP_VALUE_SMIN, bits);
    default:
        return NONE;
    }
}

uint32_t NestValues::of(const SCEV *value, const BasicBlock *scope)
{
    return fits(value, scope) ? make(value) : NONE;
}

uint32_t NestValues::comparison(CmpInst::Predicate predicate, Value *left, Value *right,
                                const BasicBlock *scope)
{
    if (!evolution.isSCEVable(left->getType()))
        return NONE;
    if (predicate == CmpInst::ICMP_UGT || predicate == CmpInst::ICMP_UGE ||
        predicate == CmpInst::ICMP_SGT || predicate == CmpInst::ICMP_SGE) {
        std::swap(left, right);
        predicate = CmpInst::getSwappedPredicate(predicate);
    }
    const unsigned bits = (unsigned)evolution.getTypeSizeInBits(left->getType());
    const Loop *loop = loops.getLoopFor(scope);
    auto here = [&](Value *value) {
        return of(evolution.getSCEVAtScope(evolution.getSCEV(value), loop), scope);
    };
    const uint32_t a = here(left), b = here(right);
    switch (predicate) {
    case CmpInst::ICMP_EQ:
        return operation(PSNAP_VALUE_EQ, bits, a, b);
    case CmpInst::ICMP_NE:
        return operation(PSNAP_VALUE_XOR, 1, operation(PSNAP_VALUE_EQ, bits, a, b), constant(1, 1));
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

uint32_t NestValues::condition(Value *value, const BasicBlock *scope)
{
    if (!value->getType()->isIntegerTy(1))
        return NONE;
    if (auto *fixed = dyn_cast<ConstantInt>(value))
        return constant(fixed->getZExtValue(), 1);
    auto *at = dyn_cast<Instruction>(value);
    if (!at || !root.contains(at))
        return add({true, nullptr, value, PSNAP_VALUE_CONSTANT, BITS_MAX, 0, 0, nullptr});
    if (auto *compare = dyn_cast<ICmpInst>(at))
        return comparison(compare->getPredicate(), compare->getOperand(0), compare->getOperand(1),
                          scope);
    return logic(*at, scope);
}

uint32_t NestValues::logic(Instruction &at, const BasicBlock *scope)
{
    auto both = [&](psnap_value_op op, Value *left, Value *right) {
        return operation(op, 1, condition(left, scope), condition(right, scope));
    };

    switch (at.getOpcode()) {
    case Instruction::Freeze:
        return condition(at.getOperand(0), scope);
    case Instruction::And:
        return both(PSNAP_VALUE_AND, at.getOperand(0), at.getOperand(1));
    case Instruction::Or:
        return both(PSNAP_VALUE_OR, at.getOperand(0), at.getOperand(1));
    case Instruction::Xor:
        return both(PSNAP_VALUE_XOR, at.getOperand(0), at.getOperand(1));
    case Instruction::Select: { /* of logical "and" and "or" */
        auto *then = dyn_cast<ConstantInt>(at.getOperand(1));
        auto *otherwise = dyn_cast<ConstantInt>(at.getOperand(2));
        if (then && then->isOne())
            return both(PSNAP_VALUE_OR, at.getOperand(0), at.getOperand(2));
        if (otherwise && otherwise->isZero())
            return both(PSNAP_VALUE_AND, at.getOperand(0), at.getOperand(1));
        return NONE;
    }
    default:
        return of(evolution.getSCEV(&at), scope);
    }
}

Move NestValues::move(Value *pointer, const Loop *inner, const BasicBlock *scope)
{
    const SCEV *address = evolution.getSCEV(pointer), *start = address;
    Move move, irregular;

    if (auto *recurrence = dyn_cast<SCEVAddRecExpr>(address)) {
        if (inner && recurrence->getLoop() == inner && recurrence->isAffine()) {
            const SCEV *step = recurrence->getOperand(1);
            start = recurrence->getStart();
            if (auto *fixed = dyn_cast<SCEVConstant>(step))
                move.step_bytes = fixed->getAPInt().getSExtValue();
            else if ((move.step = of(step, scope)) == NONE)
                return irregular;
        }
    }
    for (auto &base : bases) {
        auto *way = dyn_cast<SCEVConstant>(evolution.getMinusSCEV(start, base.first));
        if (way && way->getAPInt().getSignificantBits() <= BITS_MAX && fits(start, scope)) {
            move.base = base.second;
            move.offset_bytes = way->getAPInt().getSExtValue();
            return move;
        }
    }
    move.base = of(start, scope);
    if (move.base == NONE)
        return irregular;
    bases.push_back({start, move.base});
    return move;
}

void NestValues::arrange(const std::vector<BasicBlock *> &blocks, uint32_t header, Nest &nest,
                         std::map<const BasicBlock *, std::pair<uint32_t, uint32_t>> &ranges)
{
    uint32_t next = header, words;

    numbers.assign(entries.size(), NONE);
    for (uint32_t i = 0; i < entries.size(); i++)
        if (entries[i].is_word)
            numbers[i] = next++;
    words = next;
    auto take = [&](auto belongs) {
        const uint32_t first = next - words;
        for (uint32_t i = 0; i < entries.size(); i++) {
            const Entry &entry = entries[i];
            if (entry.is_word || numbers[i] != NONE || !belongs(entry))
                continue;
            psnap_table_value row = {(uint32_t)entry.op, entry.bits, 0, 0};
            if (entry.op == PSNAP_VALUE_CONSTANT) {
                row.a = (uint32_t)entry.a;
                row.b = (uint32_t)(entry.a >> 32);
            } else {
                row.a = numbers[entry.a];
                row.b = entry.op == PSNAP_VALUE_SEXT    ? (uint32_t)entry.b
                        : entry.op == PSNAP_VALUE_TRUNC ? 0
                                                        : numbers[entry.b];
            }
            nest.values.push_back(row);
            numbers[i] = next++;
        }
        return std::make_pair(first, next - words - first);
    };
    nest.constants =
        take([](const Entry &entry) { return entry.op == PSNAP_VALUE_CONSTANT; }).second;
    for (const BasicBlock *block : blocks) /* what is made of words alone goes with the first */
        ranges[block] = take([&](const Entry &entry) {
            return entry.place == block || (!entry.place && block == blocks[0]);
        });
}

void NestValues::expand(Type *word, std::vector<Value *> &out)
{
    for (const Entry &entry : entries) {
        if (!entry.is_word)
            continue;
        Value *value = entry.known;
        if (!value)
            value = expander.expandCodeFor(entry.evolved, nullptr, before);
        IRBuilder<> builder(before);
        out.push_back(value->getType()->isPointerTy() ? builder.CreatePtrToInt(value, word)
                                                      : builder.CreateZExtOrTrunc(value, word));
    }
}

} // namespace psnap
