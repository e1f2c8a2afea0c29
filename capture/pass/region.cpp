/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions as regions of interest. Every function looks at a byte of its own when
 * it is entered and before it returns, and if the user has named it tells the
 * runtime (runtime/region.c):
 *
 *     if (wanted[i]) __psnap_enter(frame)
 *     ...
 *     if (wanted[i]) __psnap_leave(frame)
 *     return
 *
 * where `frame`, the address of the return address, tells activations apart. A tail call
 * stays one where the byte is not set:
 *
 *     if (wanted[i]) { r = call g(); __psnap_leave(frame); return r }
 *     return tail call g()
 *
 * but for those that must be: what they call is outside. Who catches an exception or
 * a longjmp says so, for the frames below it. Functions that were inlined by now have
 * no such code; the names of those that the debug information knows are kept, so that
 * they can be told from those that never were.
 *
 * What else the runtime is to know of calls is put around them here as well: that they may have
 * made a child, and that they are about to put the program into a sandbox (runtime/quiet.c).
 */
#include "plan.h"

#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <set>
#include <sys/syscall.h>

using namespace llvm;

namespace psnap
{

/* One entry of PSNAP_FUNCTIONS_SECTION. */
static void addNames(std::string &text, char letter, const std::set<std::string> &names)
{
    text += letter;
    for (const std::string &name : names)
        if (!name.empty())
            text += name + '\0';
    text += '\0';
}

/* The functions of the source that `function` has copies of, but for the system's. */
static void findInlined(const Function &function, std::set<std::string> &names)
{
    std::set<const DILocalScope *> seen;

    for (const Instruction &at : instructions(function))
        for (const DILocation *place = at.getDebugLoc(); place && place->getInlinedAt();
             place = place->getInlinedAt())
            if (seen.insert(place->getScope()).second && !place->getFilename().starts_with("/usr/"))
                names.insert(scopeName(*place->getScope()->getSubprogram()));
}

void ModulePlan::nameFunctions(const std::vector<Function *> &functions)
{
    std::set<std::string> inlined;

    for (const Function *function : functions) {
        const DISubprogram *scope = function->getSubprogram();
        std::string linkage = function->getName().str();
        addNames(function_names, PSNAP_FUNCTION_OWN,
                 {linkage, functionName(linkage), scope ? scopeName(*scope) : ""});
        findInlined(*function, inlined);
    }
    for (const std::string &name : inlined)
        addNames(function_names, PSNAP_FUNCTION_INLINED, {name});
}

/* Kept by the module's description, which refers to it. */
GlobalVariable *ModulePlan::functionNames()
{
    auto *names = constant(ConstantDataArray::getString(context, function_names, false),
                           "__psnap_function_names");
    names->setSection(PSNAP_FUNCTIONS_SECTION);
    names->setAlignment(Align(1));
    return names;
}

/* Adds the note by which the runtime finds the module when its code runs before its constructor
 * (PSNAP_NOTE_SECTION): the description's distance from the note, which needs no relocation. */
void ModulePlan::emitNote(GlobalVariable *description)
{
    Type *half = Type::getInt32Ty(context);
    auto number = [&](uint32_t value) { return ConstantInt::get(half, value); };
    Constant *name = ConstantDataArray::getString(context, PSNAP_NOTE_NAME);
    Constant *start[] = {number(sizeof PSNAP_NOTE_NAME), number(sizeof(uint64_t)),
                         number(PSNAP_CAPTURE_ABI), name};
    auto *type = StructType::get(context, {half, half, half, name->getType(), word}, true);
    auto *note = new GlobalVariable(module, type, true, GlobalValue::InternalLinkage, nullptr,
                                    "__psnap_note");
    Constant *way = ConstantExpr::getSub(ConstantExpr::getPtrToInt(description, word),
                                         ConstantExpr::getPtrToInt(note, word));
    note->setInitializer(ConstantStruct::get(type, {start[0], start[1], start[2], start[3], way}));
    note->setSection(PSNAP_NOTE_SECTION);
    note->setAlignment(Align(4));
    appendToUsed(module, {note});
}

/* The resolvers of the module's ifuncs, which run before thread-local storage is there, say so when
 * they begin (runtime/early.c). The ring that they then write to, or null without such. */
Constant *ModulePlan::earlyRing()
{
    auto *type = FunctionType::get(Type::getVoidTy(context), false);
    std::set<Function *> resolvers;

    for (GlobalIFunc &ifunc : module.ifuncs())
        if (Function *resolver = ifunc.getResolverFunction())
            if (!resolver->isDeclaration())
                resolvers.insert(resolver);
    if (resolvers.empty())
        return ConstantPointerNull::get(pointer);
    FunctionCallee begin = module.getOrInsertFunction("__psnap_resolving", type);
    auto *early = cast<GlobalVariable>(module.getOrInsertGlobal("__psnap_early", pointer));
    for (GlobalValue *ours :
         {static_cast<GlobalValue *>(early), cast<GlobalValue>(begin.getCallee())})
        ours->setVisibility(GlobalValue::HiddenVisibility);
    for (Function *resolver : resolvers)
        IRBuilder<>(&*resolver->getEntryBlock().getFirstNonPHIOrDbgOrAlloca()).CreateCall(begin);
    return early;
}

Value *ModulePlan::isWanted(IRBuilder<> &builder, uint32_t index)
{
    Type *byte = Type::getInt8Ty(context);
    Value *flag = builder.CreateLoad(byte, addressOfByte(wanted_functions, index));
    return builder.CreateICmpNE(flag, ConstantInt::get(byte, 0));
}

Value *ModulePlan::frameOf(IRBuilder<> &builder)
{
    if (Triple(module.getTargetTriple()).getArch() == Triple::x86_64 &&
        !builder.GetInsertBlock()
             ->getParent()
             ->hasOptNone()) /* where it would be slow to compile */
        return builder.CreateIntrinsic(Intrinsic::addressofreturnaddress, {pointer}, {});
    return builder.CreateIntrinsic(Intrinsic::frameaddress, {pointer}, {builder.getInt32(0)});
}

void ModulePlan::callWithFrame(Instruction *before, StringRef hook)
{
    IRBuilder<> builder(before);
    callHook(before, hook, frameOf(builder));
}

/* A child that these may make goes on behind them, and no fork handler has been called in it. */
static bool makesChild(const CallInst &call)
{
    const Function *callee = call.getCalledFunction();
    return callee && !call.isMustTailCall() &&
           (callee->getName() == "_Fork" || callee->getName() == "syscall");
}

/* How many threads a call makes that begin behind all that was before; UINT64_MAX: some, which
 * begin before it returns. */
static uint64_t threadsOf(const CallBase &call)
{
    const Function *callee = call.getCalledFunction();
    const StringRef name = callee ? callee->getName() : "";
    if (name == "pthread_create" || name == "thrd_create" ||
        name.starts_with("_ZNSt6thread15_M_start_thread"))
        return 1;
    return name == "GOMP_parallel" || name.starts_with("__kmpc_fork_") ? UINT64_MAX : 0;
}

static bool isNumber(const Type *type)
{
    return type->isIntegerTy() || type->isPointerTy();
}

/* After it the system may kill the program for calls of the runtime's, as far as is known here.
 * Functions of these names that are the program's own may have another prototype. */
static bool mayEnterSandbox(const CallBase &call)
{
    const Function *callee = call.getCalledFunction();
    const StringRef name = callee ? callee->getName() : "";
    const unsigned count = call.arg_size();
    if (!call.getType()->isIntegerTy() || count == 0 ||
        !all_of(call.args(), [](const Use &use) { return isNumber(use->getType()); }))
        return false;
    auto *first = dyn_cast<ConstantInt>(call.getArgOperand(0));
    if (name == "seccomp_load")
        return count == 1;
    if (name == "seccomp")
        return count == 3;
    if (name == "prctl")
        return !first || first->equalsInt(PR_SET_SECCOMP);
    return name == "syscall" &&
           (!first || first->equalsInt(SYS_seccomp) || first->equalsInt(SYS_prctl));
}

Instruction *behind(CallBase *call)
{
    if (auto *invoke = dyn_cast<InvokeInst>(call)) {
        BasicBlock *block = invoke->getNormalDest();
        if (!block->getSinglePredecessor())
            block = SplitEdge(invoke->getParent(), block);
        return &*block->getFirstInsertionPt();
    }
    return call->getNextNode();
}

/* The first hook gets the call's arguments as syscall() has them, and decides whether the call
 * enters a sandbox; the second hook, behind the call, gets its result. */
void ModulePlan::emitSandbox(CallBase *call)
{
    const StringRef name = call->getCalledFunction()->getName();
    Instruction *next = behind(call);
    IRBuilder<> before(call);
    std::vector<Value *> all;

    if (auto *plain = dyn_cast<CallInst>(call))
        plain->setTailCallKind(CallInst::TCK_NoTail);
    if (name == "prctl")
        all.push_back(before.getInt64(SYS_prctl));
    else if (name != "syscall")
        all.push_back(before.getInt64(SYS_seccomp));
    if (name == "seccomp_load") {
        all.push_back(before.getInt64(SECCOMP_SET_MODE_FILTER));
        all.push_back(before.getInt64(0));
    }
    for (Value *argument : call->args())
        if (all.size() < 4)
            all.push_back(argument->getType()->isPointerTy()
                              ? before.CreatePtrToInt(argument, word)
                              : before.CreateSExtOrTrunc(argument, word));
    while (all.size() < 4)
        all.push_back(before.getInt64(0));
    callHook(call, "__psnap_sandboxed", all);
    callHook(next, "__psnap_sandbox_tried", {IRBuilder<>(next).CreateSExtOrTrunc(call, word)});
}

/* The function that a child runs which this makes, or NULL. */
static Function *childOf(const CallInst &call)
{
    const Function *callee = call.getCalledFunction();
    if (!callee || callee->getName() != "clone" || call.arg_empty())
        return nullptr;
    auto *child = dyn_cast<Function>(call.getArgOperand(0)->stripPointerCasts());
    return child && !child->isDeclaration() ? child : nullptr;
}

/* The instruction in front of this one in its block, but for debugger's ones, or NULL. */
static Instruction *previousOf(const Instruction &at)
{
    const Instruction *before = at.getPrevNode();
    while (before && before->isDebugOrPseudoInst())
        before = before->getPrevNode();
    return const_cast<Instruction *>(before);
}

/* The call whose result, if any, is returned right away. */
static CallInst *tailCallBefore(ReturnInst *end)
{
    auto *call = dyn_cast_or_null<CallInst>(previousOf(*end));
    Value *result = end->getReturnValue();
    if (!call || !call->isTailCall() || isa<IntrinsicInst>(call) || (result && result != call))
        return nullptr;
    return call;
}

/* Blocks that end in a tail call and go to a shared return get returns of their own, as the code
 * generator would give them: it does not when there is code before the return. */
static void splitReturns(Function &function)
{
    std::vector<ReturnInst *> ends;
    for (BasicBlock &block : function)
        if (auto *end = dyn_cast<ReturnInst>(block.getTerminator()))
            ends.push_back(end);
    for (ReturnInst *end : ends) {
        BasicBlock *block = end->getParent();
        /* Looked up each time: it is erased once what is left to merge is all the same. */
        auto mergedOf = [&]() {
            auto *merged = dyn_cast_or_null<PHINode>(end->getReturnValue());
            return merged && merged->getParent() == block ? merged : nullptr;
        };
        const Instruction *before_end = previousOf(*end);
        bool is_bare = (!before_end || isa<PHINode>(before_end)) && !block->isEntryBlock();
        std::vector<BasicBlock *> before(pred_begin(block), pred_end(block));
        for (BasicBlock *from : before) {
            auto *jump = dyn_cast<BranchInst>(from->getTerminator());
            auto *call = jump ? dyn_cast_or_null<CallInst>(previousOf(*jump)) : nullptr;
            PHINode *merged = mergedOf();
            if (is_bare && jump && jump->isUnconditional() && call && call->isTailCall() &&
                (merged ? merged->getIncomingValueForBlock(from) == call : !end->getReturnValue()))
                FoldReturnIntoUncondBranch(end, block, from);
        }
        if (is_bare && pred_empty(block))
            DeleteDeadBlock(block);
    }
}

void ModulePlan::emitLeaving(ReturnInst *end, uint32_t index)
{
    CallInst *tail = tailCallBefore(end);
    Instruction *here = tail ? static_cast<Instruction *>(tail) : end;
    MDNode *cold = MDBuilder(context).createBranchWeights(1, 1u << 20);
    IRBuilder<> builder(here);
    bool ends = tail && !tail->isMustTailCall();
    Instruction *then = SplitBlockAndInsertIfThen(isWanted(builder, index), here, ends, cold);

    if (!ends) {
        callWithFrame(then, "__psnap_leave");
        return;
    }
    auto *call = cast<CallInst>(tail->clone());
    call->setTailCallKind(CallInst::TCK_None);
    call->insertInto(then->getParent(), then->getIterator());
    callWithFrame(then, "__psnap_leave");
    IRBuilder<> finish(then);
    if (end->getReturnValue())
        finish.CreateRet(call);
    else
        finish.CreateRetVoid();
    then->eraseFromParent();
}

/* Behind all else that was put into the function, and so first at its entry and last at its end. */
void ModulePlan::emitRegions(const FunctionPlan &plan, uint32_t index)
{
    Function &function = *plan.function;
    MDNode *cold = MDBuilder(context).createBranchWeights(1, 1u << 20);
    std::vector<Instruction *> landings, children;
    std::vector<CallBase *> sandboxes, starts;
    std::vector<ReturnInst *> ends;

    splitReturns(function);
    for (Instruction &at : instructions(function)) {
        auto *call = dyn_cast<CallInst>(&at);
        if (isa<LandingPadInst>(at))
            landings.push_back(&*at.getParent()->getFirstInsertionPt());
        else if (call && call->canReturnTwice())
            landings.push_back(call->getNextNode());
        else if (call && makesChild(*call))
            children.push_back(call->getNextNode());
        auto *any = dyn_cast<CallBase>(&at);
        if (any && !isa<CallBrInst>(any) && mayEnterSandbox(*any))
            sandboxes.push_back(any);
        if (any && !isa<CallBrInst>(any) && threadsOf(*any))
            starts.push_back(any);
        if (Function *child = call ? childOf(*call) : nullptr)
            children.push_back(&*child->getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
        if (auto *end = dyn_cast<ReturnInst>(&at))
            ends.push_back(end);
    }
    for (Instruction *at : landings)
        callWithFrame(at, "__psnap_landed");
    for (CallBase *call : sandboxes)
        emitSandbox(call);
    for (Instruction *at : children)
        callHook(at, "__psnap_forked", {});
    for (CallBase *call : starts) {
        const uint64_t threads = threadsOf(*call);
        auto *plain = dyn_cast<CallInst>(call);
        callHook(call, "__psnap_creating", ConstantInt::get(word, threads));
        if (threads != 1 && !(plain && plain->isMustTailCall()))
            callHook(behind(call), "__psnap_creating", ConstantInt::get(word, 0));
    }
    for (ReturnInst *end : ends)
        emitLeaving(end, index);

    Instruction *first = &*function.getEntryBlock().getFirstNonPHIOrDbgOrAlloca();
    while (isEarly(*first) || first->isDebugOrPseudoInst())
        first = first->getNextNode();
    IRBuilder<> builder(first);
    callWithFrame(SplitBlockAndInsertIfThen(isWanted(builder, index), first, false, cold),
                  "__psnap_enter");
}

} // namespace psnap
