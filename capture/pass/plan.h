/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plan of a module: pass.cpp makes it, emit.cpp turns it into code.
 */
#ifndef PSNAP_CAPTURE_PLAN_H
#define PSNAP_CAPTURE_PLAN_H

#include "pass.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/PassManager.h"

namespace psnap
{

/* Accesses of a block between two calls. */
struct Piece {
    std::vector<Access> accesses;
    llvm::Instruction *first =
        nullptr; /* where the record is opened: at or before the first access */
    llvm::Instruction *last =
        nullptr;               /* the last access; published behind it (or before `first`) */
    bool ends_in_call = false; /* ... or before it: a memcpy, which may be the program's own */
    uint32_t index = 0, words = 1;
};

struct FunctionPlan {
    llvm::Function *function;
    std::vector<Piece> pieces;
    std::vector<std::pair<Allocation, uint32_t>> allocations; /* and their sites */
};

class ModulePlan
{
  public:
    ModulePlan(llvm::Module &the_module, llvm::FunctionAnalysisManager &the_analyses,
               llvm::StringRef the_stage)
        : module(the_module), context(the_module.getContext()), analyses(the_analyses),
          stage(the_stage)
    {
    }
    bool run();

  private:
    void prepareLoops(llvm::Function &function);
    void plan(llvm::Function &function);
    void planBlock(llvm::BasicBlock &block, uint32_t index, bool counted, FunctionPlan &out);
    void declare();
    void emit(FunctionPlan &plan);
    void emitPiece(Piece &piece);
    llvm::Value *emitRoom(const Piece &piece);
    llvm::Value *emitClaim(llvm::IRBuilder<> &builder, llvm::Value *my_ring, llvm::Value *cursor,
                           llvm::Value *after);
    void emitAddresses(const Access &access, llvm::Value *cursor, uint32_t word);
    void emitAllocation(const Allocation &allocation, uint32_t site);
    void emitModule();
    llvm::GlobalVariable *constant(llvm::Constant *value, const char *name);
    llvm::Value *addressOfByte(llvm::GlobalVariable *array, uint32_t index);
    llvm::Value *toWord(llvm::IRBuilder<> &builder, llvm::Value *value);
    llvm::Value *laneAddress(llvm::IRBuilder<> &builder, const Access &access, uint32_t lane);
    llvm::StringRef language() const;

    llvm::Module &module;
    llvm::LLVMContext &context;
    llvm::FunctionAnalysisManager &analyses;
    llvm::StringRef stage;
    LoopNames names;
    Table table;
    std::map<const llvm::Loop *, uint32_t> loop_index;
    std::vector<FunctionPlan> plans;
    llvm::GlobalVariable *ring = nullptr, *pieces = nullptr, *sites = nullptr;
    llvm::FunctionCallee reserve, allocated;
    llvm::Type *word = nullptr;
    llvm::PointerType *pointer = nullptr;
};

} // namespace psnap

#endif
