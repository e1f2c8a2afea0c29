/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which loops are recorded as a whole (batch.cpp has the code that does it,
 * capture_abi.h what a record looks like). For an address that scalar evolution
 * knows as {base,+,step} of an innermost loop, with a step that does not change in it,
 * or as invariant, only base and step are recorded, once; so much is exact,
 * for evolution is modulo 2^64 as addresses are. The same goes for those that have quotients,
 * which an index of fewer bits is as well when it may wrap around. The others, loaded
 * or computed otherwise, go into rows, a row for each iteration, as does which guarded
 * pieces it executed.
 *
 * What is linear in an address, and what of it are quotients of what is linear, by constants:
 *
 *     x[i / 2], x[(i + 1) >> 1]    8 * ((i + 1) / 2)
 *     x[i % 3]                     8 * i - 24 * (i / 3)
 *     x[i & 1023]                  8 * (i modulo 2^10)
 *     x[i] with 32 bits of i       8 * (i modulo 2^32), if i may wrap around
 *
 * Evolution is modulo 2^bits and its division has no signs, so that is exact: quotients of
 * what may be negative it does not know.
 *
 * An exit in mid-iteration has a partial row, and an end that says how far the
 * iteration came: blocks are in an order that all iterations follow, so that is
 * a number of pieces.
 *
 * Not hoisted: loops in which a piece ends (calls), with accesses that are not
 * plain (masked, gathered, copied, over 64 bytes), whose blocks have no order
 * (goto into the middle), without exit or with more than EXITS_MAX. Loops
 * around others are nests (nest.cpp) where they can be. Those without calls that
 * are none, or cannot be hoisted, are batches.
 */
#include "llvm_compat.h"
#include "plan.h"

#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/CFG.h"
#include "llvm/Analysis/LoopIterator.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"

#include <algorithm>
#include <cstring>
#include <set>

using namespace llvm;

namespace psnap
{

enum { EXITS_MAX = 8, BASES_MAX = 64, ROW_WORDS_MAX = 64 };
/* Budgets of a function's inline code. With 64 pieces in batches 100 loops at -O1 have 3.5 times
 * clang's text, with 128 4.2; with 512 hoists 1,500 loops have 3.5 times, without a limit 4.6. */
enum { PIECE_WORDS_MAX = 256, BATCHED_MAX = 64, HOISTS_MAX = 512 };

std::vector<BasicBlock *> orderOf(Loop &loop, LoopInfo &loops)
{
    LoopBlocksRPO order(&loop);
    order.perform(&loops);
    if (containsIrreducibleCFG<BasicBlock *>(order, loops))
        return {};
    return std::vector<BasicBlock *>(order.begin(), order.end());
}

bool isPlain(const Piece &piece)
{
    for (const Access &access : piece.accesses)
        if (access.op != PSNAP_REF_PLAIN || access.size_bytes > PLAIN_BYTES_MAX)
            return false;
    return true;
}

bool hasCalls(const Loop &loop, const TargetLibraryInfo &library)
{
    for (const BasicBlock *block : loop.blocks())
        for (const Instruction &at : *block)
            if (endsPiece(at, library))
                return true;
    return false;
}

/* ---- addresses ---- */

enum { QUOTIENTS_MAX = 8, WORD_BITS = 64 };

/* factor * ((start + i * step modulo 2^bits) / divisor) in iteration i; nothing of it changes. */
struct LinearQuotient {
    const SCEV *start = nullptr, *step = nullptr, *factor = nullptr;
    unsigned bits = 0;
    uint64_t divisor = 1;
};

/* The largest value that it may have. */
static uint64_t mostOf(const LinearQuotient &quotient)
{
    return (~UINT64_C(0) >> (WORD_BITS - quotient.bits)) / quotient.divisor;
}

struct Linear {
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

    /* Adds an address of the loop; false: it has no such form. */
    bool addAddress(const SCEV *address)
    {
        if (isa<SCEVCouldNotCompute>(address) || !address->getType()->isPointerTy())
            return false;
        const SCEV *base = evolution.getPointerBase(address);
        const SCEV *offset = evolution.removePointerBase(address);
        Type *word = evolution.getEffectiveSCEVType(address->getType());
        starts.push_back(base);
        return evolution.isLoopInvariant(base, &loop) && add(offset, evolution.getOne(word));
    }

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
    SmallVector<const SCEV *, 8> starts = {}, steps = {};
    std::vector<LinearQuotient> quotients = {};
};

Move moveOf(ScalarEvolution &evolution, Value *pointer, const Loop *loop,
            function_ref<bool(const SCEV *, uint32_t &)> word,
            function_ref<bool(const SCEV *, uint32_t &, int64_t &)> base)
{
    const SCEV *start = evolution.getSCEV(pointer);
    Move move, irregular;
    Operand step;
    auto find = [&](const SCEV *value, Operand &operand) {
        auto *constant = dyn_cast<SCEVConstant>(value);
        if (constant)
            operand.constant = constant->getAPInt().getSExtValue();
        return constant || word(value, operand.word);
    };

    if (loop && !evolution.isLoopInvariant(start, loop)) {
        Linear linear = {evolution, *loop};
        if (!linear.addAddress(start))
            return irregular;
        start = evolution.getAddExpr(linear.starts);
        for (const LinearQuotient &each : linear.quotients) {
            Quotient quotient;
            quotient.bits = each.bits;
            quotient.divisor = each.divisor;
            if (each.factor->isZero())
                continue;
            if (!find(each.start, quotient.start) || !find(each.step, quotient.step) ||
                !find(each.factor, quotient.factor))
                return irregular;
            move.quotients.push_back(quotient);
        }
        const SCEV *sum = linear.steps.empty() ? nullptr : evolution.getAddExpr(linear.steps);
        if (sum && !sum->isZero() && !find(sum, step))
            return irregular;
    }
    move.step = step.word;
    move.step_bytes = step.constant;
    return base(start, move.base, move.offset_bytes) ? move : irregular;
}

/* Moves of the references of a loop, and the values they need. */
struct Moves {
    Move of(Value *pointer)
    {
        int64_t none;

        return moveOf(
            evolution, pointer, &loop,
            [&](const SCEV *value, uint32_t &index) { return find(value, false, index, none); },
            [&](const SCEV *start, uint32_t &index, int64_t &offset) {
                return find(start, true, index, offset);
            });
    }

    std::vector<Value *> expand(Type *word)
    {
        std::vector<Value *> values;

        for (auto &wanted : words) {
            Value *value = expander.expandCodeFor(wanted.first, nullptr, before);
            IRBuilder<> builder(before);
            values.push_back(value->getType()->isPointerTy()
                                 ? builder.CreatePtrToInt(value, word)
                                 : builder.CreateSExtOrTrunc(value, word));
        }
        return values;
    }

    /* The word that holds `value`, or, if it is a base, one that is a constant `offset` from it. */
    bool find(const SCEV *value, bool is_base, uint32_t &index, int64_t &offset)
    {
        for (index = 0; index < words.size(); index++) {
            if (words[index].second != is_base || words[index].first->getType() != value->getType())
                continue;
            auto *way = dyn_cast<SCEVConstant>(evolution.getMinusSCEV(value, words[index].first));
            if (way && way->getAPInt().getSignificantBits() <= 64 && (is_base || way->isZero())) {
                offset = way->getAPInt().getSExtValue();
                return true;
            }
        }
        offset = 0;
        if (words.size() == BASES_MAX || !expander.isSafeToExpandAt(value, before))
            return false;
        words.push_back({value, is_base});
        return true;
    }

    ScalarEvolution &evolution;
    SCEVExpander &expander;
    const Loop &loop;
    Instruction *before = loop.getLoopPreheader()->getTerminator();
    std::vector<std::pair<const SCEV *, bool>> words = {}; /* and whether they are bases */
};

std::vector<Exit> exitsOf(const Loop &loop, const std::vector<BasicBlock *> &blocks)
{
    std::vector<Exit> exits;

    for (BasicBlock *block : blocks) {
        Instruction *from = block->getTerminator();
        std::set<BasicBlock *> targets(succ_begin(block), succ_end(block));
        for (BasicBlock *to : targets) {
            if (loop.contains(to))
                continue;
            if ((!isa<BranchInst>(from) && !isa<SwitchInst>(from)) || to->isEHPad())
                return {};
            exits.push_back({from, to, 0, 0});
        }
    }
    return exits.size() <= EXITS_MAX ? exits : std::vector<Exit>();
}

/* Takes the loop, with those in it, as a batch, if it can be one: up to so many pieces of a
 * function, as the code that appends them is longer than calls, which large loops do not feel. */
bool ModulePlan::planBatch(Loop &loop, const PiecesOf &pieces_of, FunctionPlan &plan)
{
    auto &library = analyses.getResult<TargetLibraryAnalysis>(*plan.function);
    Batch batch;

    if (!loop.isLoopSimplifyForm() || hasCalls(loop, library))
        return false;
    batch.header = loop.getHeader();
    batch.latch = loop.getLoopLatch()->getTerminator();
    batch.exits = exitsOf(loop, loop.getBlocksVector());
    if (batch.exits.empty())
        return false;
    std::vector<size_t> pieces;
    for (BasicBlock *block : loop.blocks())
        if (pieces_of.count(block))
            pieces.insert(pieces.end(), pieces_of.at(block).begin(), pieces_of.at(block).end());
    if (plan.batched + pieces.size() > BATCHED_MAX)
        return false;
    for (size_t i : pieces)
        if (plan.pieces[i].ends_in_call || plan.pieces[i].words > PIECE_WORDS_MAX)
            return false;
    for (size_t i : pieces)
        plan.pieces[i].batch = (uint32_t)plan.batches.size();
    plan.batched += pieces.size();
    plan.batches.push_back(std::move(batch));
    return true;
}

/* Takes the loop as a hoisted one, if it can be; a batch, if it needs one, is there or made. */
bool ModulePlan::planHoist(Loop &loop, const PiecesOf &pieces_of, SCEVExpander &expander,
                           FunctionPlan &plan)
{
    Function &function = *plan.function;
    auto &loops = analyses.getResult<LoopAnalysis>(function);
    auto &dominators = analyses.getResult<DominatorTreeAnalysis>(function);
    auto &library = analyses.getResult<TargetLibraryAnalysis>(function);
    ScalarEvolution &evolution = *expander.getSE();
    std::vector<BasicBlock *> blocks = orderOf(loop, loops);
    Hoist hoist;

    hoist.exits = exitsOf(loop, blocks);
    if (!loop.isLoopSimplifyForm() || hasCalls(loop, library) || hoist.exits.empty())
        return false;
    hoist.header = loop.getHeader();
    hoist.latch = loop.getLoopLatch()->getTerminator();
    std::vector<uint32_t> guards;
    for (BasicBlock *block : blocks) {
        bool is_guarded = !dominators.dominates(block, loop.getLoopLatch());
        if (pieces_of.count(block))
            for (size_t i : pieces_of.at(block)) {
                if (!isPlain(plan.pieces[i]))
                    return false;
                guards.push_back(is_guarded ? ++hoist.guards : 0);
                hoist.pieces.push_back(i);
            }
        for (Exit &exit : hoist.exits)
            if (exit.from == block->getTerminator() && exit.from != hoist.latch)
                exit.last = (uint32_t)hoist.pieces.size();
    }
    Moves moves = {evolution, expander, loop};
    hoist.row_words = hoist.guards > 0;
    for (size_t i : hoist.pieces)
        for (const Access &access : plan.pieces[i].accesses) {
            hoist.moves.push_back(moves.of(access.pointer));
            hoist.moves.back().offset_bytes += access.offset_bytes;
            hoist.row_words += hoist.moves.back().base == NONE;
        }
    if (hoist.pieces.empty() || plan.hoists.size() == HOISTS_MAX ||
        hoist.guards > PSNAP_HOIST_GUARDS_MAX || hoist.moves.size() > PSNAP_HOIST_REFS_MAX ||
        hoist.row_words > ROW_WORDS_MAX)
        return false;

    hoist.batch = plan.pieces[hoist.pieces[0]].batch;
    if (hoist.row_words && hoist.batch == NONE) {
        if (!planBatch(loop, pieces_of, plan))
            return false;
        hoist.batch = (uint32_t)plan.batches.size() - 1;
    }
    for (size_t i = 0; i < hoist.pieces.size(); i++) {
        plan.pieces[hoist.pieces[i]].guard = guards[i];
        plan.pieces[hoist.pieces[i]].is_hoisted = true;
    }
    hoist.words = moves.expand(Type::getInt64Ty(context));
    plan.hoists.push_back(std::move(hoist));
    return true;
}

void ModulePlan::planHoists(FunctionPlan &plan, const std::map<uint32_t, BasicBlock *> &blocks)
{
    Function &function = *plan.function;
    auto &loops = analyses.getResult<LoopAnalysis>(function);
    PiecesOf pieces_of;
    std::set<const Loop *> batched, nested;

    if (loops.empty())
        return;
    for (size_t i = 0; i < plan.pieces.size(); i++)
        pieces_of[blocks.at(plan.pieces[i].block)].push_back(i);
    ScalarEvolution evolution(function, analyses.getResult<TargetLibraryAnalysis>(function),
                              analyses.getResult<AssumptionAnalysis>(function),
                              analyses.getResult<DominatorTreeAnalysis>(function), loops);
    SCEVExpander expander = expanderOf(evolution, module.getDataLayout());
    for (Loop *loop : loops.getLoopsInPreorder()) {
        bool is_batched = batched.count(loop->getParentLoop()) != 0;
        if (nested.count(loop->getParentLoop()) ||
            (!loop->isInnermost() && planNest(*loop, pieces_of, expander, plan))) {
            nested.insert(loop);
            continue;
        }
        if (!loop->isInnermost())
            is_batched = is_batched || planBatch(*loop, pieces_of, plan);
        else if (!planHoist(*loop, pieces_of, expander, plan) && !is_batched)
            planBatch(*loop, pieces_of, plan);
        if (is_batched)
            batched.insert(loop);
    }
}

/* Those of a reference, which others of the loop may have as well. */
void ModulePlan::numberQuotients(const Move &move, uint32_t first, const psnap_table_hoist &hoist,
                                 psnap_table_move &entry)
{
    std::vector<psnap_table_quotient> rows, &all = table.quotients;
    auto word = [&](const Operand &operand) {
        return operand.word == NONE ? 0 : first + operand.word;
    };

    for (const Quotient &each : move.quotients)
        rows.push_back({each.bits, each.divisor, word(each.start), each.start.constant,
                        word(each.step), each.step.constant, word(each.factor),
                        each.factor.constant});
    auto same = [](const psnap_table_quotient &a, const psnap_table_quotient &b) {
        return !std::memcmp(&a, &b, sizeof a);
    };
    auto place = std::search(all.begin() + (ptrdiff_t)hoist.first_quotient, all.end(), rows.begin(),
                             rows.end(), same);
    entry.first_quotient = (uint32_t)(place - all.begin());
    entry.quotients = (uint32_t)rows.size();
    if (place == all.end())
        all.insert(all.end(), rows.begin(), rows.end());
}

/* Rows of the references of a hoist, whose words are numbered from `first` on. */
void ModulePlan::numberMoves(const std::vector<Move> &moves, uint32_t first,
                             psnap_table_hoist &hoist)
{
    auto wordOf = [&](uint32_t index) { return index == NONE ? 0 : first + index; };

    hoist.first_move = (uint32_t)table.moves.size();
    hoist.first_quotient = (uint32_t)table.quotients.size();

    for (const Move &move : moves) {
        psnap_table_move entry = {
            wordOf(move.base), move.offset_bytes, wordOf(move.step), move.step_bytes, 0, 0};
        numberQuotients(move, first, hoist, entry);
        table.moves.push_back(entry);
    }
    hoist.quotients = (uint32_t)table.quotients.size() - hoist.first_quotient;
}

/* Rows of a hoist whose pieces have theirs. */
void ModulePlan::numberHoist(const FunctionPlan &plan, Hoist &hoist)
{
    psnap_table_hoist row = {};

    row.first_piece = plan.pieces[hoist.pieces[0]].index;
    row.pieces = (uint32_t)hoist.pieces.size();
    row.words = hoist.fixedWords();
    row.rows = hoist.row_words != 0;
    row.guards = hoist.guards;
    numberMoves(hoist.moves, row.rows ? PSNAP_HOIST_ROWS_WORDS : PSNAP_HOIST_HEADER_WORDS, row);
    table.hoists.push_back(row);
    hoist.going_on = table.addEnd(&psnap_table_piece::hoist, row.words, NONE);
    for (Exit &exit : hoist.exits)
        exit.end = table.addEnd(&psnap_table_piece::hoist, row.words, exit.last);
}

} // namespace psnap
