/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What scalar evolution knows of a value in a nest of loops becomes rows that the
 * collector computes with (capture/decode/nest.c): recurrences of the nest's loops,
 * sums, products, quotients by powers of two and others, extensions and truncations,
 * minima and maxima, in as many bits as the program has. What does not change in the
 * nest is a word of its record, computed in front of it. Conditions
 * (nest_conditions.cpp) are comparisons of such values, and what logic makes of them.
 *
 * Evolution is modulo 2^bits, as the rows are. What it says of a value holds in the loop
 * that the value is used in: a recurrence of another loop, one that is
 * over, has no row.
 */
#include "nest_values.h"

#include "llvm/IR/Dominators.h"
#include "llvm/Transforms/Utils/ScalarEvolutionExpander.h"

#include <set>

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

Move NestValues::move(Value *pointer, const Loop *inner, const BasicBlock *scope)
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

uint32_t NestValues::weight(uint32_t value) const
{
    std::vector<uint32_t> open = {value};
    std::set<uint32_t> rows;

    while (!open.empty()) {
        const uint32_t i = open.back();
        open.pop_back();
        if (!entries[i].is_row() || !rows.insert(i).second)
            continue;
        open.push_back((uint32_t)entries[i].a);
        if (entries[i].has_second())
            open.push_back((uint32_t)entries[i].b);
    }
    return (uint32_t)rows.size();
}

/* Who needs the entries. Operands come before what is made of them. What one branch alone needs
 * is computed in front of it, unless that would be more often. */
std::vector<NestValues::Need> NestValues::needs(const Uses &uses) const
{
    std::vector<Need> all(entries.size());
    auto need = [&](uint32_t i, const BasicBlock *branch) {
        Need &each = all[i];
        each.is_shared = !branch || (each.is_used && each.branch != branch);
        each.branch = each.is_shared ? nullptr : branch;
        each.is_used = true;
    };

    for (auto &use : uses)
        need(use.first, use.second);
    for (uint32_t i = (uint32_t)entries.size(); i-- > 0;) {
        const Entry &entry = entries[i];
        Need &mine = all[i];
        if (!mine.is_used || !entry.is_row())
            continue;
        if (!entry.place || entry.place == mine.branch ||
            (mine.branch && loops.getLoopFor(entry.place) != loops.getLoopFor(mine.branch)))
            mine.branch = nullptr;
        need((uint32_t)entry.a, mine.branch);
        if (entry.has_second())
            need((uint32_t)entry.b, mine.branch);
    }
    return all;
}

void NestValues::arrange(const std::vector<BasicBlock *> &blocks, const Uses &uses, uint32_t header,
                         Nest &nest, std::map<const BasicBlock *, Ranges> &ranges)
{
    const std::vector<Need> all = needs(uses);
    uint32_t next = header, words;

    numbers.assign(entries.size(), NONE);
    for (uint32_t i = 0; i < entries.size(); i++)
        if (entries[i].is_word && all[i].is_used)
            numbers[i] = next++;
    words = next;
    auto take = [&](auto belongs) {
        const uint32_t first = next - words;
        for (uint32_t i = 0; i < entries.size(); i++) {
            const Entry &entry = entries[i];
            if (entry.is_word || !all[i].is_used || numbers[i] != NONE || !belongs(entry, all[i]))
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
    nest.constants = take([](const Entry &entry, const Need &) { return !entry.is_row(); }).count;
    for (const BasicBlock *block : blocks) { /* what is made of words alone goes with the first */
        ranges[block].begin = take([&](const Entry &entry, const Need &need) {
            return !need.branch && (entry.place == block || (!entry.place && block == blocks[0]));
        });
        ranges[block].branch =
            take([&](const Entry &, const Need &need) { return need.branch == block; });
    }
}

void NestValues::expand(Type *word, std::vector<Value *> &out)
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

} // namespace psnap
