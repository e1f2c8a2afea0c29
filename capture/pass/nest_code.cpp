/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The code that records a nest of loops (nest.cpp). It counts the iterations of
 * all loops but the innermost, and about how many accesses there have been:
 *
 *     before the nest:   from = nowhere yet, accesses = 0
 *     before a loop:     iteration of the loop = 0; of an innermost one: accesses += its own
 *     going round:       accesses += those of the iteration
 *                        if (accesses > NEST_ACCESSES) { record; from = here; accesses = 0;
 *                                                        __psnap_hand_over() }
 *                        iteration++
 *     exit:              record
 *
 * so that neither the collector nor what a killed program leaves behind waits for the end
 * of a long nest. Within a batch the nest is one of its own: the batch is closed while it
 * lasts.
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
    void emit();

  private:
    void begin(Instruction *before);
    void emitRecord(Instruction *here, Value *record, int level, uint32_t end);
    void emitAgain(const Level &level, AllocaInst *iteration);
    Value *takeRoom(Instruction *here);
    void addAccesses(Instruction *here, Value *count);

    const Nest &nest;
    BatchCode *batch;
    AllocaInst *accesses = nullptr;
    AllocaInst *from = nullptr;           /* in memory: step and iterations, as in the record */
    std::vector<AllocaInst *> iterations; /* for each level */
};

void NestCode::addAccesses(Instruction *here, Value *count)
{
    IRBuilder<> builder(here);
    builder.CreateStore(builder.CreateAdd(get(builder, accesses), count), accesses);
}

void NestCode::begin(Instruction *before)
{
    IRBuilder<> entry(&*function.getEntryBlock().getFirstInsertionPt());
    from = entry.CreateAlloca(ArrayType::get(word, 1 + nest.depth));
    IRBuilder<> builder(before);
    for (uint32_t i = 0; i <= nest.depth; i++)
        put(builder, number(0), from, i);
    builder.CreateStore(number(0), accesses);
}

/* For a record outside a batch. */
Value *NestCode::takeRoom(Instruction *here)
{
    return module.emitRoom(here, nest.fixedWords(), ModulePlan::HOISTED_RECORD);
}

/* The record of what has been since the one before, up to here in loop `level`. */
void NestCode::emitRecord(Instruction *here, Value *record, int level, uint32_t end)
{
    IRBuilder<> builder(here);
    const uint32_t to = PSNAP_NEST_HEADER_WORDS + nest.depth;
    uint32_t index = nest.headerWords();

    for (uint32_t i = 0; i <= nest.depth; i++)
        put(builder, builder.CreateLoad(word, wordAt(builder, from, i)), record, 1 + i);
    for (; level >= 0; level = nest.levels[(size_t)level].outer)
        put(builder, get(builder, iterations[(size_t)level]), record,
            to + nest.levels[(size_t)level].depth);
    for (Value *value : nest.words)
        put(builder, value, record, index++);
    module.publish(builder, record, end);
}

/* On the way from the latch to the header. */
void NestCode::emitAgain(const Level &level, AllocaInst *iteration)
{
    const int index = (int)(&level - nest.levels.data());
    BasicBlock *way = SplitBlockPredecessors(level.header, {level.latch->getParent()}, ".psnap");
    Instruction *here = way->getTerminator();

    addAccesses(here, number(1 + (int64_t)level.refs));
    IRBuilder<> check(here);
    Value *is_enough = check.CreateICmpUGT(get(check, accesses), number(PSNAP_NEST_ACCESSES));
    MDNode *cold = MDBuilder(here->getContext()).createBranchWeights(1, 1u << 20);
    Instruction *cut = SplitBlockAndInsertIfThen(is_enough, here, false, cold);
    emitRecord(cut, takeRoom(cut), index, level.end);
    IRBuilder<> builder(cut);
    put(builder, number(level.again), from, 0);
    for (int i = index; i >= 0; i = nest.levels[(size_t)i].outer)
        put(builder, get(builder, iterations[(size_t)i]), from, 1 + nest.levels[(size_t)i].depth);
    builder.CreateStore(number(0), accesses);
    module.callHook(cut, module.hand_over, {});

    IRBuilder<> next(here);
    next.CreateStore(next.CreateAdd(get(next, iteration), number(1)), iteration);
}

void NestCode::emit()
{
    Instruction *before = nest.levels[0].before;

    accesses = variable(word);
    for (const Level &level : nest.levels) {
        iterations.push_back(variable(word));
        IRBuilder<>(level.before).CreateStore(number(0), iterations.back());
    }
    begin(before);
    if (batch)
        batch->close(before);
    for (const Part &part : nest.parts)
        if (part.accesses)
            addAccesses(part.before, part.accesses);
    for (size_t i = 0; i < nest.levels.size(); i++)
        emitAgain(nest.levels[i], iterations[i]);
    for (const Exit &exit : nest.exits) {
        Instruction *here = wayOut(exit, batch);
        if (batch)
            batch->open(here);
        emitRecord(here, batch ? batch->append(here, nest.fixedWords()) : takeRoom(here),
                   (int)exit.level, exit.end);
    }
}

void emitNest(ModulePlan &module, const FunctionPlan &plan, const Nest &nest, BatchCode *batch,
              std::vector<AllocaInst *> &variables)
{
    NestCode(module, plan, nest, batch, variables).emit();
}

} // namespace psnap
