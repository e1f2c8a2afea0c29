/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Straight code: accesses outside hoisted loops whose addresses are constant distances from a few
 * pointers, as those of a structure's fields or of a small matrix are. Their record has these
 * pointers alone, and is that of a hoisted loop which stops in its first iteration
 * (capture_abi.h): the decoder knows no other form.
 *
 * There may be branches in it, that meet again, but no calls of what may be recorded and no loops:
 * pieces between a branch and where its ways meet are guarded, and the record's only row is the
 * mask of those executed. A pointer that is known where the record is opened is stored there,
 * another one where the first access that needs it is, which then has no guard.
 */
#include "plan.h"

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/PostDominators.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"

#include <algorithm>
#include <set>

using namespace llvm;

namespace psnap
{

/* A record by bases is taken if that by addresses, where a guarded piece counts half, has at least
 * STRAIGHT_SHARE times its words; at -O0 once is enough, as the code is shorter (zlib by 11 %). */
enum { STRAIGHT_SHARE = 2, STRAIGHT_SHARE_PLAIN = 1, BLOCKS_MAX = 256 };

struct StraightPlan {
    /* The code that begins with a piece, as far as it is worth while; without pieces: it is not. */

    Straight from(size_t first)
    {
        Straight code, best;

        if (!add(code, first, false))
            return best;
        if (isWorth(code))
            best = code;
        while (plan.pieces[first].batch == NONE) {
            BasicBlock *block = whereItEnds(code);
            if (!block || !addBranch(code, *block))
                break;
            if (isWorth(code))
                best = code;
        }
        return best;
    }

    /* Adds a piece; false when it is none of straight code, or would be one too many. */
    bool add(Straight &code, size_t index, bool is_guarded) const
    {
        const Piece &piece = plan.pieces[index];
        const bool is_first = code.pieces.empty();

        if (piece.is_hoisted || piece.straight != NONE || piece.ends_in_call || !isPlain(piece) ||
            (!is_first && piece.batch != NONE) ||
            code.moves.size() + piece.accesses.size() > PSNAP_HOIST_REFS_MAX)
            return false;
        code.pieces.push_back(index);
        code.guard_of.push_back(is_guarded ? ++code.guards : 0);
        for (const Access &access : piece.accesses) {
            APInt offset(64, 0);
            Value *base =
                access.pointer->stripAndAccumulateConstantOffsets(layout, offset,
                                                                  /*AllowNonInbounds=*/true);
            auto known = std::find(code.bases.begin(), code.bases.end(), base);
            Move move;
            move.base = (uint32_t)(known - code.bases.begin());
            move.offset_bytes = offset.getSExtValue() + access.offset_bytes;
            if (known == code.bases.end()) {
                auto *made = dyn_cast<Instruction>(base);
                const bool is_known =
                    !made || dominators.dominates(made, plan.pieces[code.pieces[0]].first);
                if (is_guarded && !is_known)
                    return false;
                code.bases.push_back(base);
                code.is_known.push_back(is_known);
            }
            code.moves.push_back(move);
        }
        return code.guards <= PSNAP_HOIST_GUARDS_MAX;
    }

    /* Adds all of a block. */
    bool addBlock(Straight &code, BasicBlock &block, bool is_guarded) const
    {
        auto here = pieces_of.find(&block);

        if (block.isEHPad() || hasCalls(&block.front()))
            return false;
        for (size_t k = 0; here != pieces_of.end() && k < here->second.size(); k++)
            if (!add(code, here->second[k], is_guarded))
                return false;
        return true;
    }

    /* Whether something from here on to the end of the block may run code that is recorded. */
    bool hasCalls(const Instruction *from) const
    {
        for (; from; from = from->getNextNode())
            if (endsPiece(*from, library))
                return true;
        return false;
    }

    /* The blocks on all ways from one block to another, in the order of the function, if that is
     * one that all ways follow, and all are of the same loop. No other way leads to them or to the
     * end: not even a way back into them, of a cycle that is no loop. */
    bool between(BasicBlock &from, BasicBlock &to, std::vector<BasicBlock *> &blocks) const
    {
        std::set<BasicBlock *> found;
        std::vector<BasicBlock *> open = {&from};

        while (!open.empty()) {
            BasicBlock *block = open.back();
            open.pop_back();
            for (BasicBlock *next : successors(block)) {
                if (place.lookup(next) <= place.lookup(block))
                    return false;
                if (next == &to || !found.insert(next).second)
                    continue;
                if (loops.getLoopFor(next) != loops.getLoopFor(&from) || loops.isLoopHeader(next) ||
                    !dominators.dominates(&from, next) || found.size() > BLOCKS_MAX)
                    return false;
                open.push_back(next);
            }
        }
        blocks.assign(found.begin(), found.end());
        auto is_entered = [&](BasicBlock *block) {
            return !all_of(predecessors(block), [&](BasicBlock *before) {
                return before == &from || found.count(before) != 0;
            });
        };
        if (is_entered(&to) || any_of(blocks, is_entered))
            return false;
        std::sort(blocks.begin(), blocks.end(),
                  [&](BasicBlock *a, BasicBlock *b) { return place.lookup(a) < place.lookup(b); });
        return true;
    }

    /* Adds what is between a block, whose last piece is the latest one, and the one where all ways
     * meet, with the first piece of that, if it can be. */
    bool addBranch(Straight &code, BasicBlock &block) const
    {
        const auto *node = meeting.getNode(&block);
        BasicBlock *end = node && node->getIDom() ? node->getIDom()->getBlock() : nullptr;
        std::vector<BasicBlock *> blocks;

        if (!end || loops.getLoopFor(end) != loops.getLoopFor(&block) || end->isEHPad() ||
            !dominators.dominates(&block, end) || !between(block, *end, blocks))
            return false;
        for (BasicBlock *each : blocks)
            if (!addBlock(code, *each, true))
                return false;
        code.closes_at = end;
        auto here = pieces_of.find(end);
        if (here == pieces_of.end())
            return true;
        const Instruction *first = plan.pieces[here->second[0]].first;
        for (const Instruction *at = &end->front(); at != first; at = at->getNextNode())
            if (endsPiece(*at, library))
                return true;
        Straight more = code;
        if (add(more, here->second[0], false)) {
            code = std::move(more);
            code.closes_at = nullptr;
        }
        return true;
    }

    /* The block in which the code ends, if it may go on behind it; else null. */
    BasicBlock *whereItEnds(const Straight &code) const
    {
        const Piece &last = plan.pieces[code.pieces.back()];
        BasicBlock *block = code.closes_at ? code.closes_at : last.first->getParent();
        auto here = pieces_of.find(block);
        const bool is_all =
            code.closes_at ? here == pieces_of.end() : here->second.back() == code.pieces.back();

        return is_all && !hasCalls(last.last && !code.closes_at ? last.last : &block->front())
                   ? block
                   : nullptr;
    }

    bool isWorth(const Straight &code) const
    {
        size_t words = 0;

        for (size_t i = 0; i < code.pieces.size(); i++)
            words += plan.pieces[code.pieces[i]].words * (code.guard_of[i] ? 1 : 2);
        const size_t share = plan.function->hasOptNone() ? STRAIGHT_SHARE_PLAIN : STRAIGHT_SHARE;
        return code.words() * share * 2 <= words && code.words() <= PSNAP_RECORD_WORDS_MAX;
    }

    FunctionPlan &plan;
    const PiecesOf &pieces_of;
    FunctionAnalysisManager &analyses;
    Function &function = *plan.function;
    const DataLayout &layout = function.getParent()->getDataLayout();
    const TargetLibraryInfo &library = analyses.getResult<TargetLibraryAnalysis>(function);
    const LoopInfo &loops = analyses.getResult<LoopAnalysis>(function);
    const DominatorTree &dominators = analyses.getResult<DominatorTreeAnalysis>(function);
    const PostDominatorTree &meeting = analyses.getResult<PostDominatorTreeAnalysis>(function);
    DenseMap<const BasicBlock *, size_t> place{}; /* in the function: that of their pieces */
};

void ModulePlan::planStraight(FunctionPlan &plan)
{
    PiecesOf pieces_of;

    for (size_t i = 0; i < plan.pieces.size(); i++)
        pieces_of[plan.pieces[i].first->getParent()].push_back(i);
    StraightPlan made = {plan, pieces_of, analyses};
    for (BasicBlock &block : *plan.function)
        made.place[&block] = made.place.size();
    for (size_t i = 0; i < plan.pieces.size(); i++) {
        Straight code = made.from(i);
        if (code.pieces.empty())
            continue;
        for (size_t k = 0; k < code.pieces.size(); k++) {
            plan.pieces[code.pieces[k]].straight = (uint32_t)plan.straights.size();
            plan.pieces[code.pieces[k]].guard = code.guard_of[k];
        }
        plan.straights.push_back(std::move(code));
    }
}

/* Rows of the loop that the code is the only iteration of, and of its end. */
void ModulePlan::numberStraight(const FunctionPlan &plan, Straight &code)
{
    const Piece &first = plan.pieces[code.pieces[0]];
    psnap_table_hoist row = {};

    row.first_piece = first.index;
    row.pieces = (uint32_t)code.pieces.size();
    row.words = code.fixedWords();
    row.guards = code.guards;
    row.rows = code.guards > 0;
    numberMoves(code.moves, code.headerWords(), row);
    table.hoists.push_back(row);
    code.end = table.addEnd(&psnap_table_piece::hoist, row.words, row.pieces);
}

/* What a record holds, once there is room for it. */
void ModulePlan::fillStraight(const FunctionPlan &plan, const Straight &code, Value *record)
{
    const uint32_t mask = code.fixedWords();
    size_t move = 0;
    uint32_t next = 0;
    auto put = [&](IRBuilder<> &builder, uint32_t index, Value *value) {
        storeWord(builder, value, wordOf(builder, record, index));
    };
    auto number = [&](uint64_t value) { return ConstantInt::get(word, value); };

    IRBuilder<> open(plan.pieces[code.pieces[0]].first);
    put(open, 1, number(0)); /* whole iterations */
    for (size_t i = 0; i < code.bases.size(); i++)
        if (code.is_known[i])
            put(open, code.headerWords() + (uint32_t)i, toWord(open, code.bases[i]));
    if (code.guards) {
        put(open, 2, number(code.words()));
        put(open, 3, number(0)); /* iterations before the first */
        put(open, mask, number(0));
    }
    for (size_t i = 0; i < code.pieces.size(); i++) {
        const Piece &piece = plan.pieces[code.pieces[i]];
        if (code.guard_of[i]) {
            IRBuilder<> builder(piece.first);
            Value *bit = number(UINT64_C(1) << (code.guard_of[i] - 1));
            Value *at = wordOf(builder, record, mask);
            Value *before = builder.CreateAlignedLoad(word, at, Align(8));
            storeWord(builder, builder.CreateOr(before, bit), at);
        }
        for (size_t k = 0; k < piece.accesses.size(); k++) {
            if (code.moves[move++].base != next)
                continue;
            IRBuilder<> builder(piece.placeOf(k));
            if (!code.is_known[next])
                put(builder, code.headerWords() + next, toWord(builder, code.bases[next]));
            next++;
        }
    }
    const Piece &last = plan.pieces[code.pieces.back()];
    IRBuilder<> end(code.closes_at ? &*code.closes_at->getFirstInsertionPt() : last.end());
    publish(end, record, code.end);
}

} // namespace psnap
