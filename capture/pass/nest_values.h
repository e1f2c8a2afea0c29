/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What scalar evolution knows of a value in a nest of loops becomes rows of its table that the
 * collector computes with (capture/decode): recurrences of the nest's loops, sums, products,
 * quotients by powers of two and others, extensions and truncations, minima and maxima, in as many
 * bits as the program has. What does not change in the nest is a word of its record, computed in
 * front of it.
 *
 * Evolution is modulo 2^bits, as the rows are. What it says of a value holds in the loop that the
 * value is used in: a recurrence of another loop, one that is over, has no row.
 *
 * Conditions are comparisons of such values, and logic. Of vectors, which evolution does not know,
 * each lane is a condition of its own: the loop vectoriser tests in front of a loop whether its
 * pointers' ranges overlap, and the vectoriser of straight code compares them all at once,
 *
 *     bounds = insertelement(... first pointer ... last pointer)
 *     icmp ne (bitcast (icmp ult <8 x ptr> bounds, others) to i8), 0
 *
 * So whether a mask, as a number, is zero is whether any of its lanes is true.
 */
#ifndef PSNAP_CAPTURE_NEST_VALUES_H
#define PSNAP_CAPTURE_NEST_VALUES_H

#include "plan.h"

#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Transforms/Utils/ScalarEvolutionExpander.h"

#include <set>

namespace psnap
{

using namespace llvm;

enum { BITS_MAX = 64, ENTRIES_MAX = PSNAP_NEST_VALUES_MAX / 2, LANES_MAX = 64 };

inline unsigned lanesOf(const Value *value)
{
    auto *type = dyn_cast<FixedVectorType>(value->getType());
    return type && type->getNumElements() <= LANES_MAX ? type->getNumElements() : 0;
}

struct NestValues {
    /* Numbers of values, or NONE: the value has no such form. `scope`: the block that uses it,
     * or, where that is in an innermost loop, the block in front of it. */

    uint32_t of(const SCEV *value, const BasicBlock *scope)
    {
        return fits(value, scope) ? make(value) : NONE;
    }

    uint32_t condition(Value *value, const BasicBlock *scope)
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
            return masked != NONE
                       ? masked
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
                    return lane(element->getVectorOperand(), (unsigned)index->getZExtValue(),
                                scope);
        const uint32_t made = logic(*at, [&](Value *operand) { return condition(operand, scope); });
        return made != NONE ? made : of(evolution.getSCEV(at), scope);
    }

    /* How a reference moves with `inner`, or, if that is null, where it is. base is NONE if it has
     * no such form. */

    Move move(Value *pointer, const Loop *inner, const BasicBlock *scope)
    {
        auto word = [&](const SCEV *value, uint32_t &entry) {
            entry = of(value, scope);
            return entry != NONE;
        };
        auto base = [&](const SCEV *start, uint32_t &entry, int64_t &offset) {
            for (auto &known_base : bases) {
                auto *way = dyn_cast<SCEVConstant>(evolution.getMinusSCEV(start, known_base.first));
                if (way && way->getAPInt().getSignificantBits() <= BITS_MAX && fits(start, scope)) {
                    entry = known_base.second;
                    offset = way->getAPInt().getSExtValue();
                    return true;
                }
            }
            if (!word(start, entry))
                return false;
            bases.push_back({start, entry});
            return true;
        };

        return moveOf(evolution, pointer, inner, word, base);
    }

    /* Of values that depend on where a block was entered from: rows that are set there, and to
     * what. */
    using Sets = std::vector<std::pair<uint32_t, uint32_t>>;

    Sets setsOn(const BasicBlock *from, const BasicBlock *to) const
    {
        Sets sets;

        for (const Join &each : joins)
            if (each.phi->getParent() == to)
                sets.push_back({each.entry, each.incoming.at(from)});
        return sets;
    }

    bool isSetIn(const BasicBlock *block) const
    {
        for (const Join &each : joins)
            if (each.phi->getParent() == block)
                return true;
        return false;
    }

    size_t setCount() const
    {
        return joins.size();
    }

    /* Rows of the entries in `uses`; entries computed at the beginning of one block stand together.
     * `number` turns ranges returned before into numbers behind `header` words. */
    struct Range {
        uint32_t first = 0, count = 0;
    };
    using Uses = std::vector<uint32_t>;

    void arrange(const std::vector<BasicBlock *> &blocks, const Uses &uses, uint32_t header,
                 Nest &nest, std::map<const BasicBlock *, Range> &ranges)
    {
        const std::vector<bool> used = usedBy(uses);
        uint32_t next = header, words;

        numbers.assign(entries.size(), NONE);
        for (uint32_t i = 0; i < entries.size(); i++)
            if (entries[i].is_word && used[i])
                numbers[i] = next++;
        words = next;
        auto take = [&](auto belongs) {
            const uint32_t first = next - words;
            for (uint32_t i = 0; i < entries.size(); i++) {
                const Entry &entry = entries[i];
                if (entry.is_word || !used[i] || numbers[i] != NONE || !belongs(entry))
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
            return Range{first, next - words - first};
        };
        nest.constants = take([](const Entry &entry) { return !entry.is_row(); }).count;
        for (const BasicBlock *block : blocks) /* what is made of words alone: with the first */
            ranges[block] = take([&](const Entry &entry) {
                return entry.place == block || (!entry.place && block == blocks[0]);
            });
    }

    uint32_t number(uint32_t value) const
    {
        return value == NONE ? NONE : numbers[value];
    }

    void expand(Type *word, std::vector<Value *> &out)
    {
        for (const Entry &entry : entries) {
            if (!entry.is_word || numbers[&entry - entries.data()] == NONE)
                continue;
            Value *value = entry.known;
            if (!value)
                value = expander.expandCodeFor(entry.evolved, nullptr, before);
            IRBuilder<> builder(before);
            out.push_back(value->getType()->isPointerTy() ? builder.CreatePtrToInt(value, word)
                                                          : builder.CreateZExtOrTrunc(value, word));
        }
    }

    /* A word of the record (`is_word`; of a condition `known` instead of `evolved`), or a row. */
    struct Entry {
        bool is_word;
        const SCEV *evolved;
        Value *known;
        psnap_value_op op;
        unsigned bits;
        uint64_t a, b;           /* entries, or what the operation has there */
        const BasicBlock *place; /* where it is computed anew; null: before the nest */
        bool is_row() const
        {
            return !is_word && op != PSNAP_VALUE_CONSTANT;
        }
        bool has_second() const
        {
            return op != PSNAP_VALUE_SEXT && op != PSNAP_VALUE_TRUNC;
        }
    };
    struct Join { /* a value that depends on where its block was entered from */
        const PHINode *phi;
        uint32_t entry;
        std::map<const BasicBlock *, uint32_t> incoming;
    };

    /* What is set where a block is entered is there for the rest of an iteration, no longer. */
    bool fits(const SCEV *value, const BasicBlock *scope) const
    {
        return !SCEVExprContains(value, [&](const SCEV *part) {
            if (auto *recurrence = dyn_cast<SCEVAddRecExpr>(part))
                return root.contains(recurrence->getLoop()) &&
                       !recurrence->getLoop()->contains(scope);
            if (auto *unknown = dyn_cast<SCEVUnknown>(part)) {
                auto *at = dyn_cast<Instruction>(unknown->getValue());
                return at && root.contains(at) &&
                       loops.getLoopFor(at->getParent()) != loops.getLoopFor(scope);
            }
            return isa<SCEVCouldNotCompute>(part);
        });
    }

    uint32_t add(const Entry &entry)
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

    /* Returns which entries `uses` needs, operands included; an operand stands before its uses. */
    std::vector<bool> usedBy(const Uses &uses) const
    {
        std::vector<bool> used(entries.size());

        for (uint32_t use : uses)
            used[use] = true;
        for (size_t i = entries.size(); i-- > 0;) {
            const Entry &entry = entries[i];
            if (!used[i] || !entry.is_row())
                continue;
            used[entry.a] = true;
            if (entry.has_second())
                used[entry.b] = true;
        }
        return used;
    }

    uint32_t constant(uint64_t value, unsigned bits)
    {
        return add({false, nullptr, nullptr, PSNAP_VALUE_CONSTANT, bits, value, 0, nullptr});
    }

    uint32_t operation(psnap_value_op op, unsigned bits, uint32_t a, uint32_t b)
    {
        if (a == NONE || b == NONE)
            return NONE;
        return add(
            {false, nullptr, nullptr, op, bits, a, b, later(entries[a].place, entries[b].place)});
    }

    uint32_t word(const SCEV *value)
    {
        if (!expander.isSafeToExpandAt(value, before))
            return NONE;
        return add({true, value, nullptr, PSNAP_VALUE_CONSTANT, BITS_MAX, 0, 0, nullptr});
    }

    uint32_t makeAny(const SCEV *value)
    {
        const unsigned bits = (unsigned)evolution.getTypeSizeInBits(value->getType());
        auto unary = [&](psnap_value_op op, const SCEV *operand, uint64_t b) {
            const uint32_t a = make(operand);
            return a == NONE ? NONE
                             : add({false, nullptr, nullptr, op, bits, a, b, entries[a].place});
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

    uint32_t make(const SCEV *value)
    {
        auto old = known.find(value);
        if (old != known.end())
            return old->second;

        const uint32_t made = makeAny(value);
        known[value] = made;
        return made;
    }

    /* What does not change in the nest is one operand. */
    uint32_t makeNary(const SCEVNAryExpr &value, psnap_value_op op, unsigned bits)
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
        if (!fixed.empty() && !append(op == PSNAP_VALUE_ADD ? evolution.getAddExpr(fixed)
                                                            : evolution.getMulExpr(fixed)))
            return NONE;
        return result;
    }

    uint32_t comparison(CmpInst::Predicate predicate, const SCEV *left, const SCEV *right,
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

    /* A lane of a vector of conditions. */
    uint32_t lane(Value *value, unsigned index, const BasicBlock *scope)
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
    uint32_t lanes(Value *value, psnap_value_op op, const BasicBlock *scope)
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
    uint32_t mask(const ICmpInst &compare, const BasicBlock *scope)
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

    uint32_t invert(uint32_t condition)
    {
        return operation(PSNAP_VALUE_XOR, 1, condition, constant(1, 1));
    }

    /* A lane of a vector of numbers or pointers; null when it is not known. */
    const SCEV *laneOf(Value *value, unsigned index) const
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
            offset = evolution.getMulExpr(
                evolution.getTruncateOrSignExtend(offset, word),
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

    /* null: evolution knows no values of this type. */
    const SCEV *scalar(Value *value) const
    {
        return value && evolution.isSCEVable(value->getType()) ? evolution.getSCEV(value) : nullptr;
    }

    /* A row that is set where the block is entered from one or another. */
    uint32_t join(const PHINode &phi)
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
        made.entry = add(
            {false, nullptr, const_cast<PHINode *>(&phi), PSNAP_VALUE_CONSTANT, bits, 0, 0, block});
        if (made.entry != NONE)
            joins.push_back(made);
        return made.entry;
    }

    /* What `at` makes of conditions. */
    uint32_t logic(Instruction &at, function_ref<uint32_t(Value *)> operand)
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

    /* Places of operands dominate each other: all dominate what uses them. */
    const BasicBlock *later(const BasicBlock *a, const BasicBlock *b) const
    {
        return !a || (b && dominators.dominates(a, b)) ? b : a;
    }

    SCEVExpander &expander;
    const Loop &root;
    const LoopInfo &loops;
    const DominatorTree &dominators;
    ScalarEvolution &evolution = *expander.getSE();
    Instruction *before = root.getLoopPreheader()->getTerminator();
    std::vector<Join> joins = {};
    std::vector<Entry> entries = {};
    std::vector<uint32_t> numbers = {};
    std::map<const SCEV *, uint32_t> known = {};
    std::vector<std::pair<const SCEV *, uint32_t>> bases = {};
};

} // namespace psnap

#endif
