/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The code that records a nest of loops (nest.cpp). Its record, in front of the nest, always says
 * how far the nest has come: in which iteration of all loops but the innermost, and where in that,
 * which is `progress`, in front of the record: a step, and iterations of an innermost loop.
 *
 *     before the nest:   record = reserve, accesses = 0; from, to, progress = 0; words
 *     before a loop:     progress = its step; an innermost one: accesses += its own
 *                                             others: to[loop] = 0
 *     going round:       an innermost one: progress++
 *                        others: progress = its step AGAIN, and the iteration that is over
 *                        accesses += those of the iteration
 *                        if (accesses > NEST_ACCESSES) { accesses = 0; end: at this step
 *                                                        record = __psnap_renew_nest(record) }
 *                        to[loop]++
 *     exit:              end: at the exit's step
 *
 * so that the collector does not wait for the end of a long nest, and loses nothing with one that
 * a fault ends or a killed program leaves behind. The record is in a batch of its own: that of a
 * loop around the nest is closed while it lasts.
 */
#include "code.h"

using namespace llvm;

namespace psnap
{

class NestCode : Code
{
  public:
    NestCode(ModulePlan &the_module, const FunctionPlan &the_plan, const Nest &the_nest,
             BatchCode *the_batch, std::vector<AllocaInst *> &all_variables)
        : Code(the_module, *the_plan.function, the_module.word, all_variables), nest(the_nest),
          batch(the_batch)
    {
    }

    void emit()
    {
        Instruction *before = nest.levels[0].before;

        accesses = variable(word);
        record = variable(module.pointer);
        if (batch)
            batch->close(before);
        begin(before);
        for (const Part &part : nest.parts)
            if (part.accesses)
                emitInnermost(part);
        for (const Level &level : nest.levels)
            emitAgain(level);
        for (const Exit &exit : nest.exits) {
            Instruction *here = wayOut(exit, batch);
            IRBuilder<> builder(here);
            Value *last = get(builder, record);
            module.publish(builder, last, exit.end);
            storeWord(builder, number(PSNAP_GAP + 2),
                      builder.CreateConstInBoundsGEP1_64(word, last, (uint64_t)-2))
                ->setAtomic(AtomicOrdering::Release);
            if (batch)
                batch->open(here);
        }
    }

  private:
    void begin(Instruction *before)
    {
        Value *room = module.emitRoom(before, nest.fixedWords() + 2, ModulePlan::HOISTED_RECORD);
        IRBuilder<> builder(before);
        Value *first = wordAt(builder, room, 2);
        uint32_t index = nest.headerWords();

        builder.CreateStore(first, record);
        builder.CreateStore(number(0), accesses);
        putProgress(builder, number(0));
        for (uint32_t i = 1; i < index; i++)
            put(builder, number(0), first, i);
        for (Value *value : nest.words)
            put(builder, value, first, index++);
        module.publish(builder, first, nest.going_on);
    }

    void putProgress(IRBuilder<> &builder, Value *progress)
    {
        Value *at = builder.CreateConstInBoundsGEP1_64(word, get(builder, record), UINT64_MAX);
        storeWord(builder, progress, at)->setAtomic(AtomicOrdering::Monotonic);
    }

    void emitInnermost(const Part &part)
    {
        AllocaInst *progress = variable(word);

        addAccesses(part.before, part.accesses);
        IRBuilder<> before(part.before);
        before.CreateStore(progressAt(part.step), progress);
        putProgress(before, progressAt(part.step));
        IRBuilder<> latch(part.latch);
        Value *next = latch.CreateAdd(get(latch, progress), number(1));
        latch.CreateStore(next, progress);
        putProgress(latch, next);
    }

    /* On the way from the latch to the header. */
    void emitAgain(const Level &level)
    {
        BasicBlock *way =
            SplitBlockPredecessors(level.header, {level.latch->getParent()}, ".psnap");
        Instruction *here = way->getTerminator();
        AllocaInst *iteration = variable(word);

        IRBuilder<> before(level.before);
        before.CreateStore(number(0), iteration);
        putProgress(before, progressAt(level.enter));
        put(before, number(0), get(before, record), to(level));
        addAccesses(here, number(1 + (int64_t)level.refs));
        IRBuilder<> check(here);
        putProgress(check, check.CreateOr(get(check, iteration), progressAt(level.again)));
        Value *is_enough = check.CreateICmpUGT(get(check, accesses), number(PSNAP_NEST_ACCESSES));
        MDNode *cold = MDBuilder(here->getContext()).createBranchWeights(1, 1u << 20);
        Instruction *cut = SplitBlockAndInsertIfThen(is_enough, here, false, cold);
        IRBuilder<> end(cut);
        module.publish(end, get(end, record), level.end);
        end.CreateStore(
            module.callHook(cut, module.renew_nest,
                            {get(end, record), number(nest.fixedWords()), number(nest.depth)}),
            record);
        IRBuilder<> renewed(cut);
        module.publish(renewed, get(renewed, record), nest.going_on);
        renewed.CreateStore(number(0), accesses);

        IRBuilder<> next(here);
        Value *count = next.CreateAdd(get(next, iteration), number(1));
        next.CreateStore(count, iteration);
        storeWord(next, count, wordAt(next, get(next, record), to(level)))
            ->setAtomic(AtomicOrdering::Release);
    }

    void addAccesses(Instruction *here, Value *count)
    {
        IRBuilder<> builder(here);
        builder.CreateStore(builder.CreateAdd(get(builder, accesses), count), accesses);
    }

    Constant *progressAt(uint32_t step)
    {
        return number((int64_t)((uint64_t)step << PSNAP_NEST_STEP_SHIFT));
    }
    uint32_t to(const Level &level) /* its word */
    {
        return PSNAP_NEST_HEADER_WORDS + nest.depth + level.depth;
    }

    const Nest &nest;
    BatchCode *batch;
    AllocaInst *accesses = nullptr;
    AllocaInst *record = nullptr;
};

void emitNest(ModulePlan &module, const FunctionPlan &plan, const Nest &nest, BatchCode *batch,
              std::vector<AllocaInst *> &variables)
{
    NestCode(module, plan, nest, batch, variables).emit();
}

} // namespace psnap
