/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is planned becomes code: records of pieces and allocations, and the
 * module's static table with the constructor that hands it to the runtime.
 */
#include "plan.h"

#include "llvm/Config/llvm-config.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

#include <cstdlib>

using namespace llvm;

namespace psnap
{

void ModulePlan::declare()
{
    word = Type::getInt64Ty(context);
    pointer = PointerType::getUnqual(context);
    reserve = module.getOrInsertFunction("__psnap_reserve", pointer, word);
    hand_over = module.getOrInsertFunction("__psnap_hand_over", Type::getVoidTy(context));
    for (FunctionCallee callee : {reserve, hand_over}) {
        auto *function = cast<Function>(callee.getCallee());
        function->setCallingConv(CallingConv::PreserveMost);
        function->setDoesNotThrow();
        function->addFnAttr(Attribute::NonLazyBind); /* the lazy binder knows no PreserveMost */
    }
    allocated = module.getOrInsertFunction("__psnap_allocated", Type::getVoidTy(context), pointer,
                                           word, pointer);
    cast<Function>(allocated.getCallee())->setDoesNotThrow();

    ring = cast<GlobalVariable>(module.getOrInsertGlobal("__psnap_ring", pointer));
    ring->setThreadLocalMode(GlobalValue::InitialExecTLSModel);

    if (switching) {
        unhoisted = cast<GlobalVariable>(
            module.getOrInsertGlobal("__psnap_unhoisted", Type::getInt8Ty(context)));
        nowhere = cast<GlobalVariable>(module.getOrInsertGlobal("__psnap_nowhere", word));
    }
    auto bytes = [&](size_t count, const char *name) {
        auto *type = ArrayType::get(Type::getInt8Ty(context), count ? count : 1);
        return new GlobalVariable(module, type, false, GlobalValue::InternalLinkage,
                                  ConstantAggregateZero::get(type), name);
    };
    pieces = bytes(table.pieces.size(), "__psnap_pieces");
    sites = bytes(table.sites.size(), "__psnap_sites");
    declareRegions();
}

Value *ModulePlan::addressOfByte(GlobalVariable *array, uint32_t index)
{
    Constant *offset = ConstantInt::get(word, index);
    return ConstantExpr::getInBoundsGetElementPtr(Type::getInt8Ty(context), array,
                                                  ArrayRef<Constant *>(offset));
}

Value *ModulePlan::toWord(IRBuilder<> &builder, Value *value)
{
    Type *type = value->getType();
    if (type->isPointerTy())
        return builder.CreatePtrToInt(value, word);
    if (auto *lanes = dyn_cast<FixedVectorType>(type)) { /* a mask */
        if (type->getScalarSizeInBits() > 1) {           /* ... of sign bits */
            auto *integers = VectorType::getInteger(lanes);
            value = builder.CreateBitCast(value, integers);
            value = builder.CreateICmpSLT(value, Constant::getNullValue(integers));
        }
        value = builder.CreateBitCast(value, builder.getIntNTy(lanes->getNumElements()));
    }
    return builder.CreateZExtOrTrunc(value, word);
}

/* The address of a lane of a gather or scatter. */
Value *ModulePlan::laneAddress(IRBuilder<> &builder, const Access &access, uint32_t lane)
{
    if (!access.index)
        return builder.CreateExtractElement(access.pointer, (uint64_t)lane);
    Value *index = builder.CreateExtractElement(access.index, (uint64_t)lane);
    Value *offset = builder.CreateMul(builder.CreateSExtOrTrunc(index, word),
                                      ConstantInt::get(word, access.scale));
    return builder.CreateAdd(builder.CreatePtrToInt(access.pointer, word), offset);
}

Value *ModulePlan::addressOf(IRBuilder<> &builder, const Access &access)
{
    Value *address = toWord(builder, access.pointer);

    return access.offset_bytes
               ? builder.CreateAdd(address, ConstantInt::get(word, access.offset_bytes))
               : address;
}

void ModulePlan::emitAddresses(const Access &access, Value *cursor, uint32_t at)
{
    IRBuilder<> builder(access.at);
    auto put = [&](Value *value) {
        Value *slot = builder.CreateConstInBoundsGEP1_64(word, cursor, at++);
        storeWord(builder, toWord(builder, value), slot);
    };

    switch (access.op) {
    case PSNAP_REF_PLAIN:
        return put(addressOf(builder, access));
    case PSNAP_REF_MASKED:
    case PSNAP_REF_PACKED:
    case PSNAP_REF_FILL:
        put(access.pointer);
        return put(access.extra);
    case PSNAP_REF_COPY:
        put(access.pointer);
        put(access.source);
        return put(access.extra);
    case PSNAP_REF_GATHER:
        put(builder.CreateAnd(toWord(builder, access.extra), ~UINT64_C(0) >> (64 - access.lanes)));
        for (uint32_t lane = 0; lane < access.lanes; lane++)
            put(laneAddress(builder, access, lane));
        return;
    default:
        return;
    }
}

/* *at = after, if it still is `before`: what one instruction does no signal handler splits.
 * Only this thread and its handlers write there, so no lock prefix. Yields an i1. */
Value *ModulePlan::emitSwap(IRBuilder<> &builder, Value *at, Value *before, Value *after)
{
    if (Triple(module.getTargetTriple()).getArch() != Triple::x86_64) {
        auto *swap =
            builder.CreateAtomicCmpXchg(at, before, after, Align(8), AtomicOrdering::Monotonic,
                                        AtomicOrdering::Monotonic, SyncScope::SingleThread);
        return builder.CreateExtractValue(swap, 1);
    }
    Type *value = before->getType();
    auto *type = FunctionType::get(value, {pointer, value, pointer, value}, false);
    auto *code = InlineAsm::get(type, "cmpxchgq $2, $1",
                                "={ax},=*m,r,*m,0,~{dirflag},~{fpsr},~{flags}", true);
    CallInst *was = builder.CreateCall(type, code, {at, after, at, before});
    for (unsigned operand : {0u, 2u})
        was->addParamAttr(operand, Attribute::get(context, Attribute::ElementType, word));
    return builder.CreateICmpEQ(was, before);
}

Value *ModulePlan::emitRoom(Instruction *here, uint32_t words, Value *wanted)
{
    BasicBlock *before = here->getParent();
    BasicBlock *join = SplitBlock(before, here);
    BasicBlock *claim_block = BasicBlock::Create(context, "", before->getParent(), join);
    BasicBlock *slow = BasicBlock::Create(context, "", before->getParent(), join);
    MDNode *cold = MDBuilder(context).createBranchWeights(1, 1u << 20);
    IRBuilder<> top(&join->front());
    PHINode *at = top.CreatePHI(pointer, 2);

    if (wanted) {
        BasicBlock *open = BasicBlock::Create(context, "", before->getParent(), claim_block);
        IRBuilder<>(before->getTerminator()).CreateCondBr(wanted, open, join);
        before->getTerminator()->eraseFromParent();
        at->addIncoming(nowhere, before);
        IRBuilder<>(open).CreateBr(join);
        before = open;
    }
    IRBuilder<> open(before->getTerminator());
    Value *my_ring = open.CreateLoad(pointer, open.CreateThreadLocalAddress(ring));
    Value *cursor = open.CreateLoad(pointer, my_ring);
    Value *limit = open.CreateLoad(pointer, open.CreateConstInBoundsGEP1_64(word, my_ring, 1));
    Value *after = open.CreateConstGEP1_64(word, cursor, words);
    open.CreateCondBr(open.CreateICmpUGT(after, limit), slow, claim_block, cold);
    before->getTerminator()->eraseFromParent();

    IRBuilder<> claim(claim_block);
    Value *is_taken = emitSwap(claim, my_ring, cursor, after);
    claim.CreateCondBr(claim.CreateNot(is_taken), slow, join, cold);

    IRBuilder<> call(slow);
    CallInst *fresh = call.CreateCall(reserve, {ConstantInt::get(word, words)});
    fresh->setCallingConv(CallingConv::PreserveMost);
    fresh->setDebugLoc(here->getDebugLoc());
    call.CreateBr(join);

    at->addIncoming(cursor, claim_block);
    at->addIncoming(fresh, slow);
    return at;
}

/* Whether records of hoisted loops, or the others of them, are kept in this run. */
Value *ModulePlan::wanted(Instruction *at, bool hoisted)
{
    if (!switching)
        return nullptr;
    IRBuilder<> builder(at);
    Type *byte = Type::getInt8Ty(context);
    Value *flag = builder.CreateLoad(byte, unhoisted);
    auto *none = ConstantInt::get(byte, 0);
    return hoisted ? builder.CreateICmpEQ(flag, none) : builder.CreateICmpNE(flag, none);
}

/* Stores the header, last of all. */
void ModulePlan::publish(IRBuilder<> &builder, Value *record, uint32_t index)
{
    Value *header = builder.CreatePtrToInt(addressOfByte(pieces, index), word);
    storeWord(builder, header, record)->setAtomic(AtomicOrdering::Release);
}

/* What a record holds, once there is room for it. */
void ModulePlan::fillPiece(const Piece &piece, Value *record)
{
    uint32_t next_word = 1;

    for (const Access &access : piece.accesses) {
        emitAddresses(access, record, next_word);
        next_word += accessWords(access);
    }
    IRBuilder<> end(piece.accesses.empty() ? piece.first
                    : piece.ends_in_call   ? piece.last
                                           : piece.last->getNextNode());
    publish(end, record, piece.index);
}

/* Takes room for a record and marks it open. */
Value *ModulePlan::openRecord(Instruction *at, uint32_t words, Value *wanted)
{
    Value *record = emitRoom(at, words, wanted);
    IRBuilder<> builder(at);

    if (words > 1)
        storeWord(builder, ConstantInt::getSigned(word, -(int64_t)words), record);
    return record;
}

void ModulePlan::emitPiece(const FunctionPlan &plan, size_t index)
{
    const Piece &piece = plan.pieces[index];
    const bool in_batch = piece.is_hoisted || piece.batch != NONE;
    const Straight *code =
        in_batch || piece.straight == NONE ? nullptr : &plan.straights[piece.straight];

    if (code && code->pieces[0] == index)
        fillStraight(plan, *code,
                     openRecord(piece.first, code->words(), wanted(piece.first, true)));
    if (!code || switching)
        fillPiece(piece, openRecord(piece.first, piece.words,
                                    in_batch || code ? wanted(piece.first, false) : nullptr));
}

void ModulePlan::emitAllocation(const Allocation &allocation, uint32_t site)
{
    if (allocation.call->isMustTailCall())
        return;
    IRBuilder<> builder(behind(allocation.call));
    Value *size = allocation.size;
    if (allocation.times)
        size = builder.CreateMul(size, allocation.times);
    Value *address = allocation.call;
    if (allocation.pointer_at) /* written when the call says 0 */
        address = builder.CreateSelect(builder.CreateIsNull(allocation.call),
                                       builder.CreateLoad(pointer, allocation.pointer_at),
                                       ConstantPointerNull::get(pointer));
    builder.CreateCall(allocated, {address, size, addressOfByte(sites, site)});
}

void ModulePlan::emit(FunctionPlan &plan)
{
    /* What LLVM inferred about memory no longer holds: the function writes to the ring. */
    plan.function->removeFnAttr(Attribute::Memory);
    plan.function->removeFnAttr(Attribute::Speculatable);
    plan.function->addFnAttr(CAPTURED);
    for (User *user : plan.function->users())
        if (auto *call = dyn_cast<CallBase>(user))
            call->removeFnAttr(Attribute::Memory);
    /* From the last to the first: a split moves what is behind it in its block, and that ends
     * where the piece behind was split off. */
    for (size_t i = plan.pieces.size(); i-- > 0;)
        if (switching || (!plan.pieces[i].is_hoisted && plan.pieces[i].batch == NONE))
            emitPiece(plan, i);
    for (auto &allocation : plan.allocations)
        emitAllocation(allocation.first, allocation.second);
    emitBatches(plan); /* last: behind the pieces of the blocks before the loops */
}

GlobalVariable *ModulePlan::constant(Constant *value, const char *name)
{
    return new GlobalVariable(module, value->getType(), true, GlobalValue::InternalLinkage, value,
                              name);
}

/* The module's table, and a constructor that hands it to the runtime. */
void ModulePlan::emitModule()
{
    std::vector<uint32_t> words =
        table.words(baseName(module.getSourceFileName()), languageOf(module),
                    "clang " LLVM_VERSION_STRING, stage);
    auto *table_value = constant(ConstantDataArray::get(context, words), "__psnap_table");
    table_value->setAlignment(Align(8));

    std::vector<Constant *> addresses(table.global_values.begin(), table.global_values.end());
    auto *addresses_value =
        constant(ConstantArray::get(ArrayType::get(pointer, addresses.size()), addresses),
                 "__psnap_globals");
    auto *abi = module.getOrInsertGlobal(PSNAP_CAPTURE_ABI_SYMBOL, Type::getInt8Ty(context));
    const char *psnap = std::getenv(PSNAP_ENV_CC_COMMAND);
    auto *command =
        constant(ConstantDataArray::getString(context, psnap ? psnap : "psnap"), "__psnap_command");

    auto number = [&](uint64_t value) { return ConstantInt::get(word, value); };
    Constant *fields[] = {number(words.size() * sizeof(uint32_t)),
                          table_value,
                          pieces,
                          sites,
                          addresses_value,
                          abi,
                          command,
                          number(table.pieces.size()),
                          number(table.sites.size()),
                          number(addresses.size()),
                          wanted_functions,
                          functionNames(),
                          number(function_names.size()),
                          number(module.getFunction("__psnap_roi_begin") != nullptr)};
    auto *description = constant(ConstantStruct::getAnon(fields), "__psnap_module");

    FunctionCallee enroll =
        module.getOrInsertFunction("__psnap_register", Type::getVoidTy(context), pointer);
    auto *constructor = Function::Create(FunctionType::get(Type::getVoidTy(context), false),
                                         GlobalValue::InternalLinkage, "__psnap_enroll", module);
    constructor->setDoesNotThrow();
    IRBuilder<> builder(BasicBlock::Create(context, "", constructor));
    builder.CreateCall(enroll, {description});
    builder.CreateRetVoid();
    appendToGlobalCtors(module, constructor, 0);
}

} // namespace psnap
