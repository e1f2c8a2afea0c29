/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Marks of what OpenMP does with the code, for `psnap cc --psnap-openmp`: one-byte loads of the
 * function's own frame whose reference has a mark's name (PSNAP_MARK_* of the capture ABI) for
 * its object. A sequential run with these says which iterations other cores would have made.
 *
 *   PARALLEL        where a function that __kmpc_fork_call() gets begins; its address is above
 *                   all that the thread has for itself on its stack
 *   LOOP SCHEDULE   behind __kmpc_for_static_init or __kmpc_dispatch_init
 *   ITERATION N     in each iteration of the loop between that and LOOP_END, which stands for N
 *                   of the source where the loop was unrolled or vectorised
 *   SINGLE          behind __kmpc_single, __kmpc_master and __kmpc_masked
 *   BARRIER         behind __kmpc_barrier and reductions that have one
 *   *_END           where each of these ends
 *
 * They come after all optimisation, so code is as it would be without them.
 */
#include "pass.h"

#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"

#include <algorithm>
#include <set>

using namespace llvm;

namespace psnap
{

static StringRef calleeOf(const Instruction &at)
{
    auto *call = dyn_cast<CallBase>(&at);
    const Function *callee = call ? call->getCalledFunction() : nullptr;
    return callee ? callee->getName() : "";
}

static bool beginsLoop(StringRef callee)
{
    return callee.starts_with("__kmpc_for_static_init") ||
           callee.starts_with("__kmpc_dispatch_init");
}

static bool endsLoop(StringRef callee)
{
    return callee == "__kmpc_for_static_fini" || callee == "__kmpc_dispatch_deinit";
}

/* "static", "static,4", "dynamic,1": what the call's schedule means (kmp.h: enum sched_type). A
 * chunk of 0 is one that is known only when the program runs, as is that of schedule(runtime). */
static std::string scheduleOf(const CallBase &call)
{
    const bool is_static = call.getCalledFunction()->getName().contains("static");
    auto *kind = dyn_cast<ConstantInt>(call.getArgOperand(2));
    auto *chunk = dyn_cast<ConstantInt>(call.getArgOperand(call.arg_size() - 1));
    const uint64_t schedule = kind ? kind->getZExtValue() & 0xffff : 34;
    const bool is_known = chunk && schedule != 37; /* kmp_sch_runtime */
    std::string name = is_static || schedule == 33 || schedule == 34 ? "static" : "dynamic";

    if (is_static && schedule != 33)
        return name;
    return name + "," + std::to_string(is_known ? std::max<int64_t>(chunk->getSExtValue(), 1) : 0);
}

struct Marks {
    void add(bool is_outlined)
    {
        std::vector<std::pair<Loop *, bool>> found;
        std::vector<Instruction *> calls;
        std::vector<ReturnInst *> ends;

        for (Loop *loop : loops.getLoopsInPreorder()) {
            const Instruction *begin = constructOf(*loop->getHeader());
            const Loop *parent = loop->getParentLoop();
            if (!begin || !beginsLoop(calleeOf(*begin)))
                continue;
            if (parent && !parent->contains(begin->getParent()))
                continue; /* within one that was found */
            const StringRef schedule = calleeOf(*begin);
            found.push_back(
                {loop, schedule.contains("dispatch") ||
                           StringRef(scheduleOf(cast<CallBase>(*begin))).contains(',')});
        }
        for (BasicBlock &block : function)
            for (Instruction &at : block)
                if (auto *end = dyn_cast<ReturnInst>(&at))
                    ends.push_back(end);
                else if (calleeOf(at).starts_with("__kmpc_"))
                    calls.push_back(&at);
        for (auto &loop : found)
            markIterations(*loop.first, loop.second);
        for (Instruction *call : calls)
            markCall(*call, calleeOf(*call));
        if (!is_outlined)
            return;
        put(frame()->getNextNode(), PSNAP_MARK_PARALLEL);
        for (ReturnInst *end : ends)
            put(end, PSNAP_MARK_PARALLEL_END);
    }

    void put(Instruction *before, const Twine &name)
    {
        IRBuilder<> builder(before);
        LoadInst *load = builder.CreateLoad(builder.getInt8Ty(), frame());
        load->setMetadata(MARK, MDNode::get(context, MDString::get(context, name.str())));
    }

    /* Where the function's frame is, known from its beginning on. */
    Instruction *frame()
    {
        if (!frame_call) {
            IRBuilder<> entry(&*function.getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
            frame_call = entry.CreateIntrinsic(Intrinsic::frameaddress, {entry.getPtrTy()},
                                               {entry.getInt32(0)});
        }
        return frame_call;
    }

    void markCall(Instruction &at, StringRef callee)
    {
        Instruction *next = at.getNextNode();
        if (!next) /* an invoke */
            return;
        if (beginsLoop(callee))
            put(next, PSNAP_MARK_LOOP " " + Twine(scheduleOf(cast<CallBase>(at))));
        else if (endsLoop(callee))
            put(next, PSNAP_MARK_LOOP_END);
        else if (callee == "__kmpc_single" || callee == "__kmpc_master" ||
                 callee == "__kmpc_masked")
            put(next, PSNAP_MARK_SINGLE);
        else if (callee == "__kmpc_end_single" || callee == "__kmpc_end_master" ||
                 callee == "__kmpc_end_masked")
            put(next, PSNAP_MARK_SINGLE_END);
        else if (callee == "__kmpc_barrier" || callee == "__kmpc_end_reduce")
            put(next, PSNAP_MARK_BARRIER);
    }

    /* The loop's iterations are those of the source, or it is one around: that of chunks. */
    void markIterations(Loop &loop, bool is_chunk)
    {
        if (is_chunk) {
            for (Loop *inner : loop.getSubLoops())
                markIterations(*inner, false);
            return;
        }
        BasicBlock *place =
            loop.getHeader(); /* which may look whether there is one more iteration */
        if (loop.isLoopExiting(place) && place != loop.getLoopLatch())
            for (BasicBlock *next : successors(place))
                if (loop.contains(next) && next->getSinglePredecessor() == place)
                    place = next;
        put(&*place->getFirstInsertionPt(), PSNAP_MARK_ITERATION " " + Twine(iterationsOf(loop)));
    }

    /* The last call that begins or ends a worksharing loop on all ways to a block, or null. */
    const Instruction *constructOf(const BasicBlock &header)
    {
        for (auto *node = dominators.getNode(&header)->getIDom(); node; node = node->getIDom())
            for (const Instruction &at : reverse(*node->getBlock()))
                if (beginsLoop(calleeOf(at)) || endsLoop(calleeOf(at)))
                    return &at;
        return nullptr;
    }

    /* How many iterations one of the loop stands for: the step of the variable that ends it, which
     * OpenMP lets begin with steps of 1. */
    uint64_t iterationsOf(const Loop &loop)
    {
        const ICmpInst *end = loop.getLatchCmpInst();
        if (!end)
            return 1;
        for (const Value *side : end->operands()) {
            auto *chain = dyn_cast<SCEVAddRecExpr>(evolution.getSCEV(const_cast<Value *>(side)));
            auto *step = chain && chain->getLoop() == &loop && side->getType()->isIntegerTy()
                             ? dyn_cast<SCEVConstant>(chain->getStepRecurrence(evolution))
                             : nullptr;
            uint64_t count = step ? step->getAPInt().abs().getLimitedValue() : 0;
            if (count >= 1 && count <= PSNAP_MARK_ITERATIONS_MAX)
                return count;
        }
        return 1;
    }

    Function &function;
    FunctionAnalysisManager &analyses;
    LLVMContext &context = function.getContext();
    LoopInfo &loops = analyses.getResult<LoopAnalysis>(function);
    DominatorTree &dominators = analyses.getResult<DominatorTreeAnalysis>(function);
    ScalarEvolution &evolution = analyses.getResult<ScalarEvolutionAnalysis>(function);
    Instruction *frame_call = nullptr;
};

void markOpenmp(const std::vector<Function *> &functions, FunctionAnalysisManager &analyses)
{
    std::set<const Value *> outlined;

    for (Function *function : functions)
        for (const BasicBlock &block : *function)
            for (const Instruction &at : block)
                if (calleeOf(at).starts_with("__kmpc_fork_call") &&
                    cast<CallBase>(at).arg_size() > 2)
                    outlined.insert(cast<CallBase>(at).getArgOperand(2)->stripPointerCasts());
    for (Function *function : functions)
        Marks{*function, analyses}.add(outlined.count(function) != 0);
}

std::string markName(const Instruction &at)
{
    const MDNode *mark = at.getMetadata(MARK);
    return mark ? cast<MDString>(mark->getOperand(0))->getString().str() : "";
}

} // namespace psnap
