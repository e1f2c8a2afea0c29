/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parts of the code that records loops: batch.cpp has batches and hoisted loops,
 * nest_code.cpp nests.
 */
#ifndef PSNAP_CAPTURE_CODE_H
#define PSNAP_CAPTURE_CODE_H

#include "plan.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

namespace psnap
{

/* What the parts of this code write with. */
class Code
{
  protected:
    Code(ModulePlan &the_module, llvm::Function &the_function, llvm::Type *the_word,
         std::vector<llvm::AllocaInst *> &all_variables)
        : module(the_module), function(the_function), word(the_word), variables(all_variables)
    {
    }
    llvm::AllocaInst *variable(llvm::Type *type)
    {
        llvm::IRBuilder<> builder(&*function.getEntryBlock().getFirstInsertionPt());
        variables.push_back(builder.CreateAlloca(type));
        return variables.back();
    }
    llvm::Value *wordAt(llvm::IRBuilder<> &builder, llvm::Value *record, uint64_t index)
    {
        return builder.CreateConstInBoundsGEP1_64(word, record, index);
    }
    void put(llvm::IRBuilder<> &builder, llvm::Value *value, llvm::Value *record, uint64_t index)
    {
        storeWord(builder, value, wordAt(builder, record, index));
    }
    llvm::Value *get(llvm::IRBuilder<> &builder, llvm::AllocaInst *from)
    {
        return builder.CreateLoad(from->getAllocatedType(), from);
    }
    llvm::Constant *number(int64_t value)
    {
        return llvm::ConstantInt::getSigned(word, value);
    }
    llvm::Value *wordsBetween(llvm::IRBuilder<> &builder, llvm::Value *from, llvm::Value *to)
    {
        return builder.CreateExactSDiv(
            builder.CreateSub(builder.CreatePtrToInt(to, word), builder.CreatePtrToInt(from, word)),
            number(8));
    }
    /* Code before `here` that runs when `next` leaves no room in the batch for `words` and a gap.
     */
    llvm::Instruction *whenFull(llvm::Instruction *here, llvm::AllocaInst *next,
                                llvm::AllocaInst *batch, uint32_t words)
    {
        llvm::IRBuilder<> check(here);
        llvm::Value *last = wordAt(check, get(check, batch), PSNAP_RECORD_WORDS_MAX - 1 - words);
        llvm::Value *is_full = check.CreateICmpUGT(get(check, next), last);
        llvm::MDNode *cold = llvm::MDBuilder(here->getContext()).createBranchWeights(1, 1u << 20);
        return llvm::SplitBlockAndInsertIfThen(is_full, here, false, cold);
    }

    ModulePlan &module;
    llvm::Function &function;
    llvm::Type *word;
    std::vector<llvm::AllocaInst *> &variables;
};

class BatchCode : Code
{
  public:
    BatchCode(ModulePlan &the_module, const FunctionPlan &plan, const Batch &the_batch,
              std::vector<llvm::AllocaInst *> &all_variables)
        : Code(the_module, *plan.function, the_module.word, all_variables), plan_batch(the_batch),
          batch(variable(the_module.pointer)), next(variable(the_module.pointer))
    {
    }
    void emit();
    void open(llvm::Instruction *here);
    void close(llvm::Instruction *here);
    void renew(llvm::Instruction *here);
    llvm::Value *append(llvm::Instruction *here, uint32_t words, bool takes = true);

  private:
    void begin(llvm::Instruction *here, llvm::Value *room);
    llvm::Value *end(llvm::Instruction *here, llvm::FunctionCallee hook);
    const Batch &plan_batch;

  public:
    llvm::AllocaInst *batch, *next;
    llvm::DenseMap<std::pair<llvm::Instruction *, llvm::BasicBlock *>, llvm::BasicBlock *> ways_out;
};

/* Where code for an exit goes: behind its loop, within the batch, if any, that the loop is in. */
llvm::Instruction *wayOut(const Exit &exit, const BatchCode *batch);

/* `batch` is that of the loops around the nest, or null. */
void emitNest(ModulePlan &module, const FunctionPlan &plan, const Nest &nest, BatchCode *batch,
              std::vector<llvm::AllocaInst *> &variables);

} // namespace psnap

#endif
