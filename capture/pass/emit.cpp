/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is planned becomes code: records of pieces and allocations, and the
 * module's static table with the constructor that hands it to the runtime.
 */
#include "plan.h"

#include "llvm/Config/llvm-config.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Support/Compression.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

#include <cstdlib>

using namespace llvm;

namespace psnap
{

/* Calls a hook of the runtime, which leaves nearly all registers of its callers alone. Functions
 * that are not optimised call by C's convention, as fast instruction selection knows no other, but
 * behind a call whose result would have to be kept in the frame. `result`: null for none. */
CallInst *ModulePlan::callHook(Instruction *before, StringRef name, ArrayRef<Value *> arguments,
                               Type *result)
{
    Function *function = before->getFunction();
    auto *made = dyn_cast_or_null<CallBase>(before->getPrevNode());
    const bool is_plain = function->hasOptNone() && !(made && !made->use_empty());
    std::vector<Type *> types;

    for (Value *argument : arguments)
        types.push_back(argument->getType());
    FunctionCallee hook = module.getOrInsertFunction(
        is_plain ? (name + "_plain").str() : name.str(),
        FunctionType::get(result ? result : Type::getVoidTy(context), types, false));
    auto *callee = cast<Function>(hook.getCallee());
    callee->setDoesNotThrow();
    if (!is_plain) {
        callee->setCallingConv(CallingConv::PreserveMost);
        callee->addFnAttr(Attribute::NonLazyBind); /* the lazy binder knows no PreserveMost */
    }
    CallInst *call = IRBuilder<>(before).CreateCall(hook, arguments);
    call->setCallingConv(callee->getCallingConv());
    DISubprogram *scope = function->getSubprogram();
    if (scope && !call->getDebugLoc())
        call->setDebugLoc(DILocation::get(context, 0, 0, scope));
    return call;
}

void ModulePlan::declare()
{
    word = Type::getInt64Ty(context);
    pointer = PointerType::getUnqual(context);

    auto bytes = [&](size_t count, const char *name) {
        auto *type = ArrayType::get(Type::getInt8Ty(context), count ? count : 1);
        return new GlobalVariable(module, type, false, GlobalValue::InternalLinkage,
                                  ConstantAggregateZero::get(type), name);
    };
    pieces = bytes(table.pieces.size(), "__psnap_pieces");
    sites = bytes(table.sites.size(), "__psnap_sites");
    wanted_functions = bytes(plans.size(), "__psnap_wanted");
}

Constant *ModulePlan::addressOfByte(GlobalVariable *array, uint32_t index)
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

/* The address of a word of a record. Fast register allocation gives each pointer that is used
 * often, or in several blocks, its own place in the frame: functions that are not optimised have
 * one for all records, and load the pointer again. */
Value *ModulePlan::wordOf(IRBuilder<> &builder, Value *&record, uint32_t index)
{
    enum { USES_MAX = 6 }; /* RegAllocFast follows eight */
    auto *made = cast<Instruction>(record);
    Function *function = made->getFunction();

    if (function->hasOptNone() && !switching &&
        (made->getParent() != builder.GetInsertBlock() || made->hasNUsesOrMore(USES_MAX))) {
        if (!record_pointer)
            record_pointer = IRBuilder<>(&function->getEntryBlock().front()).CreateAlloca(pointer);
        if (isa<CallInst>(record))
            IRBuilder<>(made->getNextNode()).CreateStore(record, record_pointer);
        record = builder.CreateLoad(pointer, record_pointer);
    }
    return builder.CreateConstInBoundsGEP1_64(word, record, index);
}

void ModulePlan::emitAddresses(const Piece &piece, size_t index, Value *&record, uint32_t at)
{
    const Access &access = piece.accesses[index];
    IRBuilder<> builder(piece.placeOf(index));
    auto put = [&](Value *value) {
        storeWord(builder, toWord(builder, value), wordOf(builder, record, at++));
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

/* Room for a record of `words`, open already. In a program that switches, a record of a `kind` that
 * this run does not keep goes to words that nobody reads. */
Value *ModulePlan::emitRoom(Instruction *here, uint32_t words, RecordKind kind)
{
    std::vector<Value *> arguments = {ConstantInt::get(word, words)};

    if (!switching || kind == ANY_RECORD)
        return callHook(here, "__psnap_reserve", arguments, pointer);
    arguments.push_back(ConstantInt::get(word, kind == UNHOISTED_RECORD));
    return callHook(here, "__psnap_reserve_kind", arguments, pointer);
}

/* Stores the header, last of all. Fast instruction selection, which keeps the order of volatile
 * stores, leaves all of a block that has an atomic one to the slow one, and adds to an address what
 * has no name of its own. */
void ModulePlan::publish(IRBuilder<> &builder, Value *record, uint32_t index)
{
    Constant *piece = addressOfByte(pieces, index);
    const bool is_plain = builder.GetInsertBlock()->getParent()->hasOptNone();

    if (is_plain)
        piece = GlobalAlias::create(Type::getInt8Ty(context), 0, GlobalValue::PrivateLinkage,
                                    "__psnap_piece", piece, &module);
    Value *header = builder.CreatePtrToInt(piece, word);
    StoreInst *store = storeWord(builder, header, wordOf(builder, record, 0));
    if (is_plain && Triple(module.getTargetTriple()).getArch() == Triple::x86_64)
        store->setVolatile(true); /* a store is a release there */
    else
        store->setAtomic(AtomicOrdering::Release);
}

/* What a record holds, once there is room for it. */
void ModulePlan::fillPiece(const Piece &piece, Value *record)
{
    uint32_t next_word = 1;

    for (size_t i = 0; i < piece.accesses.size(); i++) {
        emitAddresses(piece, i, record, next_word);
        next_word += accessWords(piece.accesses[i]);
    }
    IRBuilder<> end(piece.end());
    publish(end, record, piece.index);
}

void ModulePlan::emitPiece(const FunctionPlan &plan, size_t index)
{
    const Piece &piece = plan.pieces[index];
    const bool in_batch = piece.is_hoisted || piece.batch != NONE;
    const Straight *code =
        in_batch || piece.straight == NONE ? nullptr : &plan.straights[piece.straight];

    if (code && code->pieces[0] == index)
        fillStraight(plan, *code, emitRoom(piece.first, code->words(), HOISTED_RECORD));
    if (!code || switching)
        fillPiece(piece, emitRoom(piece.first, piece.words,
                                  in_batch || code ? UNHOISTED_RECORD : ANY_RECORD));
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
    FunctionCallee allocated = module.getOrInsertFunction(
        "__psnap_allocated", Type::getVoidTy(context), pointer, word, pointer);
    cast<Function>(allocated.getCallee())->setDoesNotThrow();
    builder.CreateCall(allocated, {address, size, addressOfByte(sites, site)});
}

void ModulePlan::emit(FunctionPlan &plan)
{
    /* What LLVM inferred about memory no longer holds: the function writes to the ring. */
    plan.function->removeFnAttr(Attribute::Memory);
    plan.function->removeFnAttr(Attribute::Speculatable);
    plan.function->addFnAttr(CAPTURED);
    record_pointer = nullptr;
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
    ArrayRef<uint8_t> bytes(reinterpret_cast<const uint8_t *>(words.data()),
                            words.size() * sizeof words[0]);
    SmallVector<uint8_t, 0> compressed;
    if (compression::zstd::isAvailable()) {
        compression::zstd::compress(bytes, compressed);
        bytes = compressed;
    }
    auto *table_value = constant(ConstantDataArray::get(context, bytes), "__psnap_table");
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
    Constant *fields[] = {number(bytes.size()),
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
                          number(module.getFunction("__psnap_roi_begin") != nullptr),
                          earlyRing()};
    auto *description = constant(ConstantStruct::getAnon(fields), "__psnap_module");
    emitNote(description);

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
