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

#include "llvm/ADT/DepthFirstIterator.h"
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

/*
 * Control equivalent blocks, as the first of them. One that postdominates any of its dominators
 * postdominates the immediate one too: a way from that one to an exit which leaves the block out
 * would be part of one from each of the others. So looking at that one is enough.
 */
static std::map<const BasicBlock *, const BasicBlock *> equals(const DominatorTree &before,
                                                               const PostDominatorTree &after)
{
    std::map<const BasicBlock *, const BasicBlock *> first;

    for (const DomTreeNode *node : depth_first(before.getRootNode())) {
        const DomTreeNode *above = node->getIDom();
        const bool is_equal = above && after.dominates(node->getBlock(), above->getBlock());
        first[node->getBlock()] = is_equal ? first[above->getBlock()] : node->getBlock();
    }
    return first;
}

void ModulePlan::dropCounts(FunctionPlan &plan, const std::map<uint32_t, BasicBlock *> &blocks)
{
    Function &function = *plan.function;
    auto &loops = analyses.getResult<LoopAnalysis>(function);
    auto &before = analyses.getResult<DominatorTreeAnalysis>(function);
    auto &after = analyses.getResult<PostDominatorTreeAnalysis>(function);
    auto &library = analyses.getResult<TargetLibraryAnalysis>(function);
    /* Of equal blocks in a loop that have records, the one before all others. */
    std::map<std::pair<const Loop *, const BasicBlock *>, uint32_t> counting;
    std::set<const Loop *> calling = callers(function, loops, library);
    std::set<const BasicBlock *> entries; /* of loops */
    std::vector<Piece> kept;

    if (hasIrreducibleCycles(function, loops))
        return;
    for (const Loop *loop : loops.getLoopsInPreorder())
        entries.insert(loop->getLoopPreheader());
    auto first = equals(before, after);
    auto isBefore = [&](const BasicBlock *block, const BasicBlock *other) {
        return before.dominates(block, other) && after.dominates(other, block);
    };
    auto countsIn = [&](const Loop *loop, uint32_t index) {
        const BasicBlock *block = blocks.at(index);
        auto known = counting.insert({{loop, first[block]}, index}).first;
        if (isBefore(block, blocks.at(known->second)))
            known->second = index;
    };
    auto findEqual = [&](const Loop *loop, const BasicBlock *block) {
        auto known = counting.find({loop, first[block]});
        const BasicBlock *other = known == counting.end() ? nullptr : blocks.at(known->second);
        if (other && (isBefore(other, block) || (!entries.count(block) && isBefore(block, other))))
            return known->second;
        return NONE;
    };
    for (const Piece &piece : plan.pieces)
        if (piece.counts && !piece.accesses.empty())
            countsIn(loops.getLoopFor(blocks.at(piece.block)), piece.block);
    for (Piece &piece : plan.pieces) {
        const BasicBlock *block = blocks.at(piece.block);
        const Loop *loop = loops.getLoopFor(block);
        if (piece.accesses.empty() && !calling.count(loop)) {
            uint32_t same = findEqual(loop, block);
            if (same != NONE) {
                table.blocks[piece.block].same_as = same + 1;
                continue;
            }
            countsIn(loop, piece.block);
        }
        kept.push_back(std::move(piece));
    }
    plan.pieces = std::move(kept);
}

} // namespace psnap
