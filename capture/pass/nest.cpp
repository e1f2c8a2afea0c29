/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which nests of loops are recorded by one record for many iterations of the
 * outermost (batch.cpp has the code that does it, capture/decode/nest.c reads it,
 * capture_abi.h has the record). In such a nest all addresses, conditions and counts
 * of iterations follow from the iterations that its loops are in, from what does not
 * change in it, and from the way that control took to get there (nest_values.h); only
 * when it is left may depend on data. The table then has the nest's control flow:
 * parts, straight pieces of code or innermost loops, and steps that lead from one to
 * the next.
 *
 * An innermost loop of a nest has the same blocks in each iteration and one
 * exit, of which scalar evolution knows exactly when it is taken. Loops around it may
 * have several, also such as skip others. Exits of the whole nest are in none of its innermost
 * loops.
 *
 * Not nests: what is no hoisted loop for other reasons (calls, accesses that are not plain),
 * and what is larger than the table has room for.
 */
#include "nest_values.h"

#include "llvm/Analysis/LoopIterator.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Transforms/Utils/ScalarEvolutionExpander.h"

#include <set>

using namespace llvm;

namespace psnap
{

struct NestPlan {
    bool make(Type *word)
    {
        size_t sets;

        if (!addLevels())
            return false;
        do { /* again when there are rows to set that were not known of when their steps came */
            sets = values.setCount();
            restart();
            if (!addSteps())
                return false;
        } while (values.setCount() != sets);
        if (nest.parts.empty())
            return false;
        nest.batch = plan.pieces[nest.parts[0].pieces[0]].batch;
        for (const Part &each : nest.parts)
            for (size_t i : each.pieces) {
                plan.pieces[i].guard = 0;
                plan.pieces[i].is_hoisted = true;
            }
        finish(word);
        return true;
    }

    struct Jump { /* a step's field that is to be the step of `to`, entered or begun again */
        size_t step;
        uint32_t psnap_table_step::*field;
        const BasicBlock *to;
        bool is_again;
    };
    bool isLevel(const Loop &loop) const
    {
        return !loop.isInnermost();
    }

    bool addLevels()
    {
        for (Loop *loop : root.getLoopsInPreorder()) {
            if (!loop->isLoopSimplifyForm())
                return false;
            if (!isLevel(*loop))
                continue;
            Level level;
            level.before = loop->getLoopPreheader()->getTerminator();
            level.header = loop->getHeader();
            level.latch = loop->getLoopLatch()->getTerminator();
            level.outer = loop == &root ? -1 : (int)level_of.at(loop->getParentLoop());
            level.depth = loop->getLoopDepth() - root.getLoopDepth();
            nest.depth = std::max(nest.depth, level.depth + 1);
            level_of[loop] = (uint32_t)nest.levels.size();
            nest.levels.push_back(level);
        }
        return nest.depth <= PSNAP_NEST_LEVELS_MAX;
    }

    bool addSteps()
    {
        LoopBlocksRPO order(&root);

        order.perform(&loops);
        blocks.assign(order.begin(), order.end());
        nest.exits = exitsOf(root, blocks);
        if (nest.exits.empty())
            return false;
        for (const Exit &exit : nest.exits)
            if (!isLevel(*loops.getLoopFor(exit.from->getParent())))
                return false;
        for (size_t i = 0; i < blocks.size(); i++)
            if (!addBlock(i) || nest.steps.size() > PSNAP_NEST_STEPS_MAX)
                return false;
        for (const Jump &wanted : jumps) {
            const Loop *loop = loops.getLoopFor(wanted.to);
            if (!wanted.is_again && !step_of.count(wanted.to))
                return false;
            const uint32_t to =
                wanted.is_again ? nest.levels[level_of.at(loop)].again : step_of[wanted.to];
            if (to <= wanted.step || to == NONE)
                return false; /* a cycle that is no loop */
            nest.steps[wanted.step].*wanted.field = to;
        }
        return true;
    }

    /* On the way from one block to another. */
    void addSets(uint32_t level, const BasicBlock *from, const BasicBlock *to)
    {
        for (auto &set : values.setsOn(from, to))
            addStep(PSNAP_STEP_SET, level, set.first, set.second);
    }

    void restart()
    {
        nest.steps.clear();
        nest.parts.clear();
        counts.clear();
        jumps.clear();
        step_of.clear();
        computed.clear();
        part = {};
        part_scope = nullptr;
        for (Level &level : nest.levels)
            level.refs = 0;
    }

    bool addBlock(size_t index)
    {
        BasicBlock *block = blocks[index];
        Loop *loop = loops.getLoopFor(block);

        if (!isLevel(*loop))
            return block != loop->getHeader() || addInnermost(*loop);
        const uint32_t number = level_of.at(loop);
        Level &level = nest.levels[number];
        if (!part_scope || !continues(*part_scope, *block))
            step_of[block] = (uint32_t)nest.steps.size();
        if (block == loop->getHeader())
            level.enter = (uint32_t)addStep(PSNAP_STEP_ENTER, level.depth, number);
        else if (values.isSetIn(block)) {
            computed[nest.steps.size()] = block;
            addStep(PSNAP_STEP_COMPUTE, level.depth);
        }
        const size_t first = part.pieces.size();
        if (!addPieces(*block, part))
            return false;
        Part mine;
        mine.pieces.assign(part.pieces.begin() + (ptrdiff_t)first, part.pieces.end());
        if (!addMoves(mine, nullptr, block))
            return false;
        level.refs += (uint32_t)mine.moves.size();
        part.moves.insert(part.moves.end(), mine.moves.begin(), mine.moves.end());
        const BasicBlock *next = nextBlock(index);
        if (next && continues(*block, *next) && part.moves.size() < PSNAP_HOIST_REFS_MAX / 2) {
            part_scope = block;
            return true;
        }
        part_scope = nullptr;
        endPart(level.depth);
        if (!addLeave(index))
            return false;
        if (block == loop->getLoopLatch())
            level.again =
                (uint32_t)addStep(PSNAP_STEP_AGAIN, level.depth, step_of[loop->getHeader()]);
        return true;
    }

    /* How a block goes on. */
    bool addLeave(size_t index)
    {
        const BasicBlock *block = blocks[index];
        Instruction *terminator = blocks[index]->getTerminator();
        const Loop *loop = loops.getLoopFor(block);
        const uint32_t level = nest.levels[level_of.at(loop)].depth;
        std::set<const BasicBlock *> targets;
        auto *branch = dyn_cast<BranchInst>(terminator);

        for (const BasicBlock *to : successors(block))
            if (root.contains(to))
                targets.insert(to);
        for (Exit &exit : nest.exits)
            if (exit.from == terminator)
                exit.last = (uint32_t)nest.steps.size();
        if (targets.size() == 1) {
            const BasicBlock *to = *targets.begin();
            addSets(level, block, to);
            if (exits(*block) || to != nextBlock(index) || block == loop->getLoopLatch())
                jump(addStep(PSNAP_STEP_GOTO, level), &psnap_table_step::a, block, to);
            return true;
        }
        if (!branch || !branch->isConditional())
            return false;
        const uint32_t value = values.condition(branch->getCondition(), block);
        const size_t step = addStep(PSNAP_STEP_BRANCH, level, value);
        auto way = [&](uint32_t psnap_table_step::*field, const BasicBlock *to) {
            if (values.setsOn(block, to).empty())
                return jump(step, field, block, to);
            nest.steps[step].*field = (uint32_t)nest.steps.size();
            addSets(level, block, to);
            jump(addStep(PSNAP_STEP_GOTO, level), &psnap_table_step::a, block, to);
        };
        way(&psnap_table_step::b, branch->getSuccessor(0));
        way(&psnap_table_step::c, branch->getSuccessor(1));
        return value != NONE;
    }

    bool addInnermost(Loop &loop)
    {
        const Loop &outer = *loop.getParentLoop();
        const BasicBlock *latch = loop.getLoopLatch(), *from = loop.getExitingBlock();
        const BasicBlock *to = loop.getExitBlock();
        BasicBlock *scope = loop.getLoopPreheader();
        const uint32_t level = nest.levels[level_of.at(&outer)].depth;
        const SCEV *count = evolution.getBackedgeTakenCount(&loop);
        Type *word = Type::getInt64Ty(loop.getHeader()->getContext());
        Part inner;
        uint32_t last = 0;

        if (!from || !to || !outer.contains(to) || isa<SCEVCouldNotCompute>(count) ||
            evolution.getTypeSizeInBits(count->getType()) > 64)
            return false;
        for (const BasicBlock *block : orderOf(loop, loops)) {
            if (!dominators.dominates(block, latch) || !addPieces(*block, inner))
                return false;
            if (block == from && from != latch)
                last = (uint32_t)inner.pieces.size();
        }
        count = evolution.getNoopOrZeroExtend(count, word);
        const SCEV *iterations = evolution.getAddExpr(count, evolution.getOne(word));
        inner.before = scope->getTerminator();
        if (inner.pieces.empty() || !addMoves(inner, &loop, scope) ||
            !expander.isSafeToExpandAt(iterations, inner.before))
            return false;
        const uint32_t value = values.of(from == latch ? iterations : count, scope);
        if (value == NONE)
            return false;
        step_of[loop.getHeader()] = (uint32_t)nest.steps.size();
        inner.latch = loop.getLoopLatch()->getTerminator();
        inner.step =
            (uint32_t)addStep(PSNAP_STEP_RUN, level, (uint32_t)nest.parts.size(), value, last);
        addSets(level, from, to);
        jump(addStep(PSNAP_STEP_GOTO, level), &psnap_table_step::a, latch, to);
        nest.parts.push_back(std::move(inner));
        counts.push_back(iterations);
        return true;
    }

    bool addPieces(const BasicBlock &block, Part &to)
    {
        auto here = pieces_of.find(&block);
        if (here == pieces_of.end())
            return true;
        for (size_t i : here->second) {
            if (!isPlain(plan.pieces[i]) || plan.pieces[i].ends_in_call)
                return false;
            to.pieces.push_back(i);
        }
        return true;
    }

    void endPart(uint32_t level)
    {
        if (part.pieces.empty())
            return;
        addStep(PSNAP_STEP_RUN, level, (uint32_t)nest.parts.size());
        nest.parts.push_back(std::move(part));
        counts.push_back(nullptr);
        part = {};
    }

    bool addMoves(Part &to, const Loop *inner, const BasicBlock *scope)
    {
        for (size_t i : to.pieces)
            for (const Access &access : plan.pieces[i].accesses) {
                to.moves.push_back(values.move(access.pointer, inner, scope));
                to.moves.back().offset_bytes += access.offset_bytes;
                if (to.moves.back().base == NONE || to.moves.size() > PSNAP_HOIST_REFS_MAX)
                    return false;
            }
        return true;
    }

    size_t addStep(psnap_step_op op, uint32_t level, uint32_t a = 0, uint32_t b = 0, uint32_t c = 0)
    {
        nest.steps.push_back({(uint32_t)op, level, a, b, c});
        return nest.steps.size() - 1;
    }

    void jump(size_t step, uint32_t psnap_table_step::*field, const BasicBlock *from,
              const BasicBlock *to)
    {
        const Loop *loop = loops.getLoopFor(from);
        jumps.push_back({step, field, to, to == loop->getHeader()});
    }

    /* The block whose steps come behind those of this one; null when it is the last. */
    const BasicBlock *nextBlock(size_t index) const
    {
        while (++index < blocks.size()) {
            const Loop *loop = loops.getLoopFor(blocks[index]);
            if (isLevel(*loop) || loop->getHeader() == blocks[index])
                return blocks[index];
        }
        return nullptr;
    }

    bool continues(const BasicBlock &block, const BasicBlock &next) const
    {
        return block.getSingleSuccessor() == &next && !values.isSetIn(&next) &&
               next.getSinglePredecessor() == &block &&
               loops.getLoopFor(&block) == loops.getLoopFor(&next);
    }

    bool exits(const BasicBlock &block) const
    {
        for (const Exit &exit : nest.exits)
            if (exit.from->getParent() == &block)
                return true;
        return false;
    }

    /* All values that steps and parts need. */
    NestValues::Uses uses() const
    {
        NestValues::Uses all;
        auto use = [&](uint32_t value) {
            if (value != NONE)
                all.push_back(value);
        };

        for (const psnap_table_step &step : nest.steps) {
            if (step.op == PSNAP_STEP_BRANCH)
                use(step.a);
            if (step.op == PSNAP_STEP_SET) {
                use(step.a);
                use(step.b);
            }
            if (step.op == PSNAP_STEP_RUN && counts[step.a])
                use(step.b);
        }
        for (const Part &each : nest.parts)
            for (const Move &move : each.moves) {
                use(move.base);
                use(move.step);
                for (const Quotient &quotient : move.quotients) {
                    use(quotient.start.word);
                    use(quotient.step.word);
                    use(quotient.factor.word);
                }
            }
        return all;
    }

    /* Numbers of values are known now. */
    void setSteps()
    {
        std::map<const BasicBlock *, NestValues::Range> ranges;

        values.arrange(blocks, uses(), nest.headerWords(), nest, ranges);
        for (auto &each : computed) {
            nest.steps[each.first].a = ranges[each.second].first;
            nest.steps[each.first].b = ranges[each.second].count;
        }
        for (psnap_table_step &step : nest.steps) {
            if (step.op == PSNAP_STEP_BRANCH)
                step.a = values.number(step.a);
            if (step.op == PSNAP_STEP_SET) {
                step.a = values.number(step.a);
                step.b = values.number(step.b);
            }
            if (step.op == PSNAP_STEP_RUN && counts[step.a])
                step.b = values.number(step.b);
            if (step.op == PSNAP_STEP_ENTER) {
                const uint32_t number = step.a;
                const int outer = nest.levels[number].outer;
                const NestValues::Range &range = ranges[nest.levels[number].header];
                step.a = range.first;
                step.b = range.count;
                step.c = outer < 0 ? 0 : step_of[nest.levels[(size_t)outer].header];
            }
        }
    }

    /* What is computed in front of the nest gets its code. */
    void finish(Type *word)
    {
        setSteps();
        for (Part &each : nest.parts)
            for (Move &move : each.moves) {
                move.base = values.number(move.base);
                move.step = values.number(move.step);
                for (Quotient &quotient : move.quotients)
                    for (Operand *operand : {&quotient.start, &quotient.step, &quotient.factor})
                        operand->word = values.number(operand->word);
            }
        values.expand(word, nest.words);
        for (size_t i = 0; i < nest.parts.size(); i++)
            if (counts[i]) {
                Part &inner = nest.parts[i];
                IRBuilder<> builder(inner.before);
                Value *iterations = expander.expandCodeFor(counts[i], word, inner.before);
                inner.accesses = builder.CreateMul(
                    iterations, ConstantInt::get(word, std::max<size_t>(inner.moves.size(), 1)));
            }
    }

    Loop &root;
    FunctionPlan &plan;
    const PiecesOf &pieces_of;
    LoopInfo &loops;
    const DominatorTree &dominators;
    SCEVExpander &expander;
    ScalarEvolution &evolution = *expander.getSE();
    NestValues values = {expander, root, loops, dominators};
    Nest nest = {};
    std::vector<BasicBlock *> blocks = {};          /* in an order that every iteration follows */
    std::map<const Loop *, uint32_t> level_of = {}; /* index in the nest's levels */
    std::map<const BasicBlock *, uint32_t> step_of = {};
    std::vector<Jump> jumps = {};
    std::map<size_t, const BasicBlock *> computed = {}; /* blocks whose values steps compute */
    std::vector<const SCEV *> counts = {}; /* of parts: iterations of innermost loops, or null */
    Part part = {};                        /* straight pieces that have no step yet */
    const BasicBlock *part_scope = nullptr;
};

/* Takes the loop, with those in it, as a nest, if it can be one. */
bool ModulePlan::planNest(Loop &loop, const PiecesOf &pieces_of, SCEVExpander &expander,
                          FunctionPlan &plan)
{
    Function &function = *plan.function;
    auto &loops = analyses.getResult<LoopAnalysis>(function);
    auto &dominators = analyses.getResult<DominatorTreeAnalysis>(function);
    auto &library = analyses.getResult<TargetLibraryAnalysis>(function);

    if (!loop.isLoopSimplifyForm() || hasCalls(loop, library))
        return false;
    NestPlan made = {loop, plan, pieces_of, loops, dominators, expander};
    if (!made.make(Type::getInt64Ty(context)))
        return false;
    plan.nests.push_back(std::move(made.nest));
    return true;
}

/* Rows of a nest whose pieces have theirs. */
void ModulePlan::numberNest(const FunctionPlan &plan, Nest &nest)
{
    const uint32_t words = nest.fixedWords(), first_hoist = (uint32_t)table.hoists.size();
    psnap_table_nest row = {};

    row.levels = nest.depth;
    row.words = words;
    row.first_value = (uint32_t)table.values.size();
    row.values = (uint32_t)nest.values.size();
    row.constants = nest.constants;
    row.first_step = (uint32_t)table.steps.size();
    row.steps = (uint32_t)nest.steps.size();
    table.nests.push_back(row);
    table.values.insert(table.values.end(), nest.values.begin(), nest.values.end());
    for (psnap_table_step step : nest.steps) {
        step.a += step.op == PSNAP_STEP_RUN ? first_hoist : 0;
        table.steps.push_back(step);
    }
    for (const Part &part : nest.parts) {
        psnap_table_hoist hoist = {};
        hoist.first_piece = plan.pieces[part.pieces[0]].index;
        hoist.pieces = (uint32_t)part.pieces.size();
        hoist.words = words + row.values;
        hoist.nest = (uint32_t)table.nests.size();
        numberMoves(part.moves, 0, hoist);
        table.hoists.push_back(hoist);
    }
    auto end = [&](uint32_t step) { return table.addEnd(&psnap_table_piece::nest, words, step); };
    nest.going_on = end(NONE);
    for (Level &level : nest.levels)
        level.end = end(level.again);
    for (Exit &exit : nest.exits)
        exit.end = end(exit.last);
}

} // namespace psnap
