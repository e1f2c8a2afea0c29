/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The capture pass. Each block is cut into call-free pieces; a piece becomes one
 * record in the thread's ring:
 *
 *     at = ring->cursor
 *     if (at + words > ring->limit || !compare_and_swap(&ring->cursor, at, at + words))
 *         at = __psnap_reserve(words)
 *     at[0] = -words                    (an open record: readers pass over it)
 *     at[1..] = addresses, each stored where it is known
 *     at[0] = piece                     (release, after the piece's last access; a copy or fill,
 *                                        which may be a call, is the last and comes behind)
 *
 * so that a record is complete or marked, and signal handlers, which may come
 * between any two instructions, append theirs behind it. Blocks without accesses get a
 * record of their header word alone when they compute something, head a loop or
 * lead into one: executions of blocks, and so operations, iterations and
 * entries, are exact. Runs at the end of the optimisation pipeline, or, with
 * PSNAP_STAGE=vectorizer-start, before vectorisation.
 */
#include "pass.h"

#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Passes/PassPlugin.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/LoopSimplify.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

#include <cstdlib>
#include <set>

using namespace llvm;

namespace psnap
{

/* Accesses of a block between two calls. */
struct Piece {
    std::vector<Access> accesses;
    Instruction *first = nullptr; /* where the record is opened: at or before the first access */
    Instruction *last = nullptr;  /* the last access; published behind it (or before `first`) */
    bool ends_in_call = false;    /* ... or before it: a memcpy, which may be the program's own */
    uint32_t index = 0, words = 1;
};

struct FunctionPlan {
    Function *function;
    std::vector<Piece> pieces;
    std::vector<std::pair<Allocation, uint32_t>> allocations; /* and their sites */
};

class ModulePlan
{
  public:
    ModulePlan(Module &the_module, FunctionAnalysisManager &the_analyses, StringRef the_stage)
        : module(the_module), context(the_module.getContext()), analyses(the_analyses),
          stage(the_stage)
    {
    }
    bool run();

  private:
    void prepareLoops(Function &function);
    void plan(Function &function);
    void planBlock(BasicBlock &block, uint32_t index, bool counted, FunctionPlan &out);
    void declare();
    void emit(FunctionPlan &plan);
    void emitPiece(Piece &piece);
    Value *emitRoom(const Piece &piece);
    Value *emitClaim(IRBuilder<> &builder, Value *my_ring, Value *cursor, Value *after);
    void emitAddresses(const Access &access, Value *cursor, uint32_t word);
    void emitAllocation(const Allocation &allocation, uint32_t site);
    void emitModule();
    GlobalVariable *constant(Constant *value, const char *name);
    Value *addressOfByte(GlobalVariable *array, uint32_t index);
    Value *toWord(IRBuilder<> &builder, Value *value);
    Value *laneAddress(IRBuilder<> &builder, const Access &access, uint32_t lane);
    StringRef language() const;

    Module &module;
    LLVMContext &context;
    FunctionAnalysisManager &analyses;
    StringRef stage;
    LoopNames names;
    Table table;
    std::map<const Loop *, uint32_t> loop_index;
    std::vector<FunctionPlan> plans;
    GlobalVariable *ring = nullptr, *pieces = nullptr, *sites = nullptr;
    FunctionCallee reserve, allocated;
    Type *word = nullptr;
    PointerType *pointer = nullptr;
};

static bool instrumentable(const Function &function)
{
    return !function.isDeclaration() && !function.hasAvailableExternallyLinkage() &&
           !function.hasFnAttribute(Attribute::Naked) &&
           !function.getName().starts_with("__psnap_");
}

/* Allocas stay in the entry block, where they cost nothing, when that is split: so before
 * everything else in it. */
static void gatherAllocas(BasicBlock &entry)
{
    auto first = entry.getFirstNonPHIOrDbgOrAlloca();
    for (auto at = first; at != entry.end();) {
        Instruction &instruction = *at++;
        auto *slot = dyn_cast<AllocaInst>(&instruction);
        if (slot && slot->isStaticAlloca())
            slot->moveBefore(entry, first);
    }
}

/* Loops must have preheaders, so that entries can be counted there. */
void ModulePlan::prepareLoops(Function &function)
{
    gatherAllocas(function.getEntryBlock());
    auto &loops = analyses.getResult<LoopAnalysis>(function);
    auto &dominators = analyses.getResult<DominatorTreeAnalysis>(function);
    auto &assumptions = analyses.getResult<AssumptionAnalysis>(function);

    std::vector<Loop *> outermost(loops.begin(), loops.end());
    for (Loop *loop : outermost)
        simplifyLoop(loop, &dominators, &loops, nullptr, &assumptions, nullptr, false);
    for (Loop *loop : loops.getLoopsInPreorder())
        names.add(*loop, function);
}

static psnap_table_loop loopRow(Table &table, const LoopNames::Name &name, uint32_t depth,
                                uint32_t parent)
{
    psnap_table_loop row = {};
    row.id = table.string(name.id);
    row.src_id = table.string(name.src_id);
    row.function = table.string(name.function);
    row.file = table.string(name.file);
    row.src_line = name.src_line;
    row.depth = depth;
    row.parent = parent;
    row.header = row.entry = NONE;
    return row;
}

void ModulePlan::plan(Function &function)
{
    auto &loops = analyses.getResult<LoopAnalysis>(function);
    auto &library = analyses.getResult<TargetLibraryAnalysis>(function);
    FunctionPlan out = {&function, {}, {}};
    uint32_t body = (uint32_t)table.loops.size();
    uint32_t first_block = (uint32_t)table.blocks.size();
    std::map<const BasicBlock *, uint32_t> block_index;
    std::set<const BasicBlock *> counted;

    table.loops.push_back(loopRow(table, names.ofFunction(function), 0, NONE));
    for (BasicBlock &block : function)
        block_index[&block] = first_block + (uint32_t)block_index.size();
    table.loops[body].header = table.loops[body].entry = first_block;
    counted.insert(&function.getEntryBlock());

    for (Loop *loop : loops.getLoopsInPreorder()) {
        uint32_t parent = loop->getParentLoop() ? loop_index[loop->getParentLoop()] : body;
        auto row = loopRow(table, names.of(loop), loop->getLoopDepth(), parent);
        row.header = block_index[loop->getHeader()];
        counted.insert(loop->getHeader());
        if (BasicBlock *before = loop->getLoopPreheader()) {
            row.entry = block_index[before];
            counted.insert(before);
        }
        loop_index[loop] = (uint32_t)table.loops.size();
        table.loops.push_back(row);
    }
    for (BasicBlock &block : function) {
        psnap_table_block row = {};
        Loop *loop = loops.getLoopFor(&block);
        row.loop = loop ? loop_index[loop] : body;
        row.src_line = firstLine(block);
        for (Instruction &at : block)
            countOperations(at, library, row.operations);
        table.blocks.push_back(row);
    }
    for (BasicBlock &block : function)
        planBlock(block, block_index[&block], counted.count(&block) != 0, out);
    plans.push_back(std::move(out));
}

void ModulePlan::planBlock(BasicBlock &block, uint32_t index, bool counted, FunctionPlan &out)
{
    auto &library = analyses.getResult<TargetLibraryAnalysis>(*block.getParent());
    const DataLayout &layout = module.getDataLayout();
    const psnap_table_block &row = table.blocks[index];
    size_t first_piece = out.pieces.size();
    bool open = false;

    if (block.getFirstInsertionPt() == block.end())
        return; /* a block of exception dispatch alone */
    for (Instruction &at : block) {
        std::vector<Access> accesses;
        Allocation allocation;
        if (endsPiece(at, library))
            open = false;
        if (isAllocation(at, library, allocation)) {
            out.allocations.push_back({allocation, (uint32_t)table.sites.size()});
            table.sites.push_back({table.string(siteName(at))});
        }
        classify(at, layout, accesses);
        if (accesses.empty())
            continue;
        uint32_t words = 0;
        for (const Access &access : accesses)
            words += accessWords(access);
        if (!open || out.pieces.back().words + words > PSNAP_RECORD_WORDS_MAX) {
            out.pieces.push_back({});
            out.pieces.back().first = &at;
            open = true;
        }
        Piece &piece = out.pieces.back();
        piece.last = &at;
        piece.words += words;
        piece.accesses.insert(piece.accesses.end(), accesses.begin(), accesses.end());
        if (accesses[0].op == PSNAP_REF_COPY || accesses[0].op == PSNAP_REF_FILL) {
            piece.ends_in_call = true;
            open = false;
        }
    }

    for (uint32_t operations : row.operations)
        counted |= operations != 0;
    if (out.pieces.size() == first_piece && counted) {
        out.pieces.push_back({});
        out.pieces.back().first = block.isEntryBlock() ? &*block.getFirstNonPHIOrDbgOrAlloca()
                                                       : &*block.getFirstInsertionPt();
    }
    for (size_t i = first_piece; i < out.pieces.size(); i++) {
        Piece &piece = out.pieces[i];
        psnap_table_piece entry = {};
        entry.first_ref = (uint32_t)table.refs.size();
        entry.refs = (uint32_t)piece.accesses.size();
        entry.words = piece.words;
        entry.block = i == first_piece ? index : NONE;
        piece.index = (uint32_t)table.pieces.size();
        table.pieces.push_back(entry);
        for (const Access &access : piece.accesses) {
            psnap_table_ref ref = {};
            Object object =
                objectOf(access.op == PSNAP_REF_COPY ? access.source : access.pointer, library);
            ref.block = index;
            if (const DebugLoc &place = access.at->getDebugLoc())
                ref.src_line = place.getLine();
            ref.op = access.op;
            ref.kind = access.kind;
            ref.size = access.size_bytes;
            ref.lanes = access.lanes;
            ref.object = table.string(object.name);
            ref.object_kind = object.kind;
            table.refs.push_back(ref);
        }
    }
}

void ModulePlan::declare()
{
    word = Type::getInt64Ty(context);
    pointer = PointerType::getUnqual(context);
    reserve = module.getOrInsertFunction("__psnap_reserve", pointer, word);
    auto *function = cast<Function>(reserve.getCallee());
    function->setCallingConv(CallingConv::PreserveMost);
    function->setDoesNotThrow();
    function->addFnAttr(Attribute::NonLazyBind); /* the lazy binder knows no PreserveMost */
    allocated = module.getOrInsertFunction("__psnap_allocated", Type::getVoidTy(context), pointer,
                                           word, pointer);
    cast<Function>(allocated.getCallee())->setDoesNotThrow();

    ring = cast<GlobalVariable>(module.getOrInsertGlobal("__psnap_ring", pointer));
    ring->setThreadLocalMode(GlobalValue::InitialExecTLSModel);

    auto bytes = [&](size_t count, const char *name) {
        auto *type = ArrayType::get(Type::getInt8Ty(context), count ? count : 1);
        return new GlobalVariable(module, type, false, GlobalValue::InternalLinkage,
                                  ConstantAggregateZero::get(type), name);
    };
    pieces = bytes(table.pieces.size(), "__psnap_pieces");
    sites = bytes(table.sites.size(), "__psnap_sites");
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

void ModulePlan::emitAddresses(const Access &access, Value *cursor, uint32_t at)
{
    IRBuilder<> builder(access.at);
    auto put = [&](Value *value) {
        Value *slot = builder.CreateConstInBoundsGEP1_64(word, cursor, at++);
        builder.CreateAlignedStore(toWord(builder, value), slot, Align(8));
    };

    switch (access.op) {
    case PSNAP_REF_PLAIN:
        return put(access.pointer);
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

/* cursor = after, if it still is `cursor`: what one instruction does no signal handler splits.
 * Only this thread and its handlers write there, so no lock prefix. Yields an i1. */
Value *ModulePlan::emitClaim(IRBuilder<> &builder, Value *my_ring, Value *cursor, Value *after)
{
    if (Triple(module.getTargetTriple()).getArch() != Triple::x86_64) {
        auto *claim =
            builder.CreateAtomicCmpXchg(my_ring, cursor, after, Align(8), AtomicOrdering::Monotonic,
                                        AtomicOrdering::Monotonic, SyncScope::SingleThread);
        return builder.CreateExtractValue(claim, 1);
    }
    auto *type = FunctionType::get(pointer, {pointer, pointer, pointer, pointer}, false);
    auto *code = InlineAsm::get(type, "cmpxchgq $2, $1",
                                "={ax},=*m,r,*m,0,~{dirflag},~{fpsr},~{flags}", true);
    CallInst *before = builder.CreateCall(type, code, {my_ring, after, my_ring, cursor});
    for (unsigned operand : {0u, 2u})
        before->addParamAttr(operand, Attribute::get(context, Attribute::ElementType, word));
    return builder.CreateICmpEQ(before, cursor);
}

/* Takes the record's room before piece.first, where the block is split; returns its address. */
Value *ModulePlan::emitRoom(const Piece &piece)
{
    BasicBlock *before = piece.first->getParent();
    BasicBlock *join = SplitBlock(before, piece.first);
    BasicBlock *fast = BasicBlock::Create(context, "", before->getParent(), join);
    BasicBlock *slow = BasicBlock::Create(context, "", before->getParent(), join);
    MDNode *cold = MDBuilder(context).createBranchWeights(1, 1u << 20);

    IRBuilder<> open(before->getTerminator());
    Value *my_ring = open.CreateLoad(pointer, open.CreateThreadLocalAddress(ring));
    Value *cursor = open.CreateLoad(pointer, my_ring);
    Value *limit = open.CreateLoad(pointer, open.CreateConstInBoundsGEP1_64(word, my_ring, 1));
    Value *after = open.CreateConstGEP1_64(word, cursor, piece.words);
    open.CreateCondBr(open.CreateICmpUGT(after, limit), slow, fast, cold);
    before->getTerminator()->eraseFromParent();

    IRBuilder<> claim(fast);
    Value *is_taken = emitClaim(claim, my_ring, cursor, after);
    claim.CreateCondBr(claim.CreateNot(is_taken), slow, join, cold);

    IRBuilder<> call(slow);
    CallInst *fresh = call.CreateCall(reserve, {ConstantInt::get(word, piece.words)});
    fresh->setCallingConv(CallingConv::PreserveMost);
    fresh->setDebugLoc(piece.first->getDebugLoc());
    call.CreateBr(join);

    IRBuilder<> top(&join->front());
    PHINode *at = top.CreatePHI(pointer, 2);
    at->addIncoming(cursor, fast);
    at->addIncoming(fresh, slow);
    return at;
}

void ModulePlan::emitPiece(Piece &piece)
{
    bool empty = piece.accesses.empty();
    Value *at = emitRoom(piece);
    IRBuilder<> body(piece.first);
    uint32_t next_word = 1;

    if (!empty)
        body.CreateAlignedStore(ConstantInt::getSigned(word, -(int64_t)piece.words), at, Align(8));
    for (const Access &access : piece.accesses) {
        emitAddresses(access, at, next_word);
        next_word += accessWords(access);
    }
    IRBuilder<> publish(empty                ? piece.first
                        : piece.ends_in_call ? piece.last
                                             : piece.last->getNextNode());
    Value *header = publish.CreatePtrToInt(addressOfByte(pieces, piece.index), word);
    StoreInst *store = publish.CreateAlignedStore(header, at, Align(8));
    store->setAtomic(AtomicOrdering::Release);
}

void ModulePlan::emitAllocation(const Allocation &allocation, uint32_t site)
{
    Instruction *next;
    if (auto *invoke = dyn_cast<InvokeInst>(allocation.call)) {
        BasicBlock *normal = invoke->getNormalDest();
        if (!normal->getSinglePredecessor())
            normal = SplitEdge(invoke->getParent(), normal);
        next = &*normal->getFirstInsertionPt();
    } else
        next = allocation.call->getNextNode();
    if (allocation.call->isMustTailCall())
        return;

    IRBuilder<> builder(next);
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
    for (User *user : plan.function->users())
        if (auto *call = dyn_cast<CallBase>(user))
            call->removeFnAttr(Attribute::Memory);
    for (Piece &piece : plan.pieces)
        emitPiece(piece);
    for (auto &allocation : plan.allocations)
        emitAllocation(allocation.first, allocation.second);
}

GlobalVariable *ModulePlan::constant(Constant *value, const char *name)
{
    return new GlobalVariable(module, value->getType(), true, GlobalValue::InternalLinkage, value,
                              name);
}

StringRef ModulePlan::language() const
{
    for (const DICompileUnit *unit : module.debug_compile_units()) {
        unsigned id = unit->getSourceLanguage();
        StringRef name = dwarf::LanguageString(id);
        if (name.contains("C_plus_plus"))
            return "C++";
        if (name.contains("Fortran"))
            return "Fortran";
        if (name.starts_with("DW_LANG_C"))
            return "C";
    }
    return "";
}

/* The module's table, and a constructor that hands it to the runtime. */
void ModulePlan::emitModule()
{
    std::vector<uint32_t> words = table.words(baseName(module.getSourceFileName()), language(),
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
                          number(addresses.size())};
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

/* Resolvers of ifuncs and what they call: run before thread-local storage is there. */
static std::set<const Function *> runEarly(const Module &module)
{
    std::vector<const Function *> open;
    std::set<const Function *> early;

    for (const GlobalIFunc &ifunc : module.ifuncs())
        open.push_back(ifunc.getResolverFunction());
    while (!open.empty()) {
        const Function *function = open.back();
        open.pop_back();
        if (!function || !early.insert(function).second)
            continue;
        for (const Instruction &at : instructions(*function))
            if (auto *call = dyn_cast<CallBase>(&at))
                open.push_back(call->getCalledFunction());
    }
    return early;
}

bool ModulePlan::run()
{
    std::set<const Function *> early = runEarly(module);
    std::vector<Function *> functions;
    for (Function &function : module)
        if (instrumentable(function) && !early.count(&function))
            functions.push_back(&function);
    if (functions.empty())
        return false;

    for (GlobalVariable &global : module.globals())
        if (global.hasInitializer() && !global.hasPrivateLinkage() &&
            !global.hasAvailableExternallyLinkage() && !global.isThreadLocal() &&
            !global.getName().starts_with("llvm.") && global.getAddressSpace() == 0 &&
            global.getValueType()->isSized()) {
            uint64_t size = module.getDataLayout().getTypeAllocSize(global.getValueType());
            if (size == 0 || size > UINT32_MAX)
                size = size ? UINT32_MAX : 1;
            table.globals.push_back({table.string(variableName(global)), (uint32_t)size});
            table.global_values.push_back(&global);
        }
    for (Function *function : functions)
        prepareLoops(*function);
    names.assign();
    for (Function *function : functions)
        plan(*function);
    declare();
    for (FunctionPlan &plan : plans)
        emit(plan);
    emitModule();
    return true;
}

struct CapturePass : PassInfoMixin<CapturePass> {
    explicit CapturePass(StringRef the_stage) : stage(the_stage)
    {
    }
    PreservedAnalyses run(Module &module, ModuleAnalysisManager &manager)
    {
        auto &analyses = manager.getResult<FunctionAnalysisManagerModuleProxy>(module).getManager();
        ModulePlan plan(module, analyses, stage);
        return plan.run() ? PreservedAnalyses::none() : PreservedAnalyses::all();
    }
    static bool isRequired()
    {
        return true;
    }
    StringRef stage;
};

} // namespace psnap

/* VectorizerStart hands out functions; the module is instrumented when the first of them gets
 * there, which is too early for the others. So that stage is the module pipeline's
 * OptimizerEarly: after inlining, simplification and mem2reg, before vectorisation. */
static void addCallbacks(PassBuilder &builder)
{
    const char *stage = std::getenv(PSNAP_ENV_STAGE);
    if (stage && StringRef(stage) == "vectorizer-start")
        builder.registerOptimizerEarlyEPCallback(
#if LLVM_VERSION_MAJOR >= 20
            [](ModulePassManager &manager, OptimizationLevel, ThinOrFullLTOPhase) {
#else
            [](ModulePassManager &manager, OptimizationLevel) {
#endif
                manager.addPass(psnap::CapturePass("vectorizer-start"));
            });
    else
        builder.registerOptimizerLastEPCallback(
#if LLVM_VERSION_MAJOR >= 20
            [](ModulePassManager &manager, OptimizationLevel, ThinOrFullLTOPhase) {
#else
            [](ModulePassManager &manager, OptimizationLevel) {
#endif
                manager.addPass(psnap::CapturePass("optimized"));
            });
}

extern "C" LLVM_ATTRIBUTE_WEAK __attribute__((visibility("default"))) PassPluginLibraryInfo
llvmGetPassPluginInfo()
{
    return {LLVM_PLUGIN_API_VERSION, "psnap", PSNAP_VERSION, addCallbacks};
}
