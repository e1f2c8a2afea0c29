/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which blocks need no record of their own: those without accesses that are
 * executed exactly as often as another one that has a record. That is so for two
 * blocks of the same innermost loop when one dominates the other and is
 * postdominated by it (they are control equivalent), provided that nothing called
 * in between may fail to return, and that all cycles are loops. Their rows in
 * the table name the block that counts for them. What leads into a loop is counted
 * before the loop, so that one that was never finished is known.
 */
#include "plan.h"

#include "llvm/Analysis/CFG.h"
#include "llvm/Analysis/LoopIterator.h"
#include "llvm/Analysis/PostDominators.h"
#include "llvm/IR/Dominators.h"

#include <set>

using namespace llvm;

namespace psnap
{

/* Loops, or with null the body, of a function in which calls may run other code. */
static std::set<const Loop *> callers(const Function &function, const LoopInfo &loops,
                                      const TargetLibraryInfo &library)
{
    std::set<const Loop *> found;

    for (const BasicBlock &block : function)
        for (const Instruction &at : block)
            if (endsPiece(at, library)) {
                const Loop *loop = loops.getLoopFor(&block);
                for (; loop; loop = loop->getParentLoop())
                    found.insert(loop);
                found.insert(nullptr);
            }
    return found;
}

static bool hasIrreducibleCycles(Function &function, const LoopInfo &loops)
{
    ReversePostOrderTraversal<Function *> order(&function);
    return containsIrreducibleCFG<BasicBlock *>(order, loops);
}

void ModulePlan::dropCounts(FunctionPlan &plan, const std::map<uint32_t, BasicBlock *> &blocks)
{
    Function &function = *plan.function;
    auto &loops = analyses.getResult<LoopAnalysis>(function);
    auto &before = analyses.getResult<DominatorTreeAnalysis>(function);
    auto &after = analyses.getResult<PostDominatorTreeAnalysis>(function);
    auto &library = analyses.getResult<TargetLibraryAnalysis>(function);
    std::map<const Loop *, std::vector<uint32_t>> counting; /* blocks that have records */
    std::set<const Loop *> calling = callers(function, loops, library);
    std::set<const BasicBlock *> entries; /* of loops */
    std::vector<Piece> kept;

    if (hasIrreducibleCycles(function, loops))
        return;
    for (const Loop *loop : loops.getLoopsInPreorder())
        entries.insert(loop->getLoopPreheader());
    auto findEqual = [&](const Loop *loop, const BasicBlock *block) {
        for (uint32_t index : counting[loop]) {
            const BasicBlock *other = blocks.at(index);
            if ((before.dominates(other, block) && after.dominates(block, other)) ||
                (!entries.count(block) && before.dominates(block, other) &&
                 after.dominates(other, block)))
                return index;
        }
        return NONE;
    };
    for (const Piece &piece : plan.pieces)
        if (piece.counts && !piece.accesses.empty())
            counting[loops.getLoopFor(blocks.at(piece.block))].push_back(piece.block);
    for (Piece &piece : plan.pieces) {
        const BasicBlock *block = blocks.at(piece.block);
        const Loop *loop = loops.getLoopFor(block);
        if (piece.accesses.empty() && !calling.count(loop)) {
            uint32_t same = findEqual(loop, block);
            if (same != NONE) {
                table.blocks[piece.block].same_as = same + 1;
                continue;
            }
            counting[loop].push_back(piece.block);
        }
        kept.push_back(std::move(piece));
    }
    plan.pieces = std::move(kept);
}

} // namespace psnap
