/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The capture pass. Each block is cut into call-free pieces; a piece becomes one
 * record in the thread's ring:
 *
 *     at = __psnap_reserve(words)       (at[0] = -words, an open record: readers pass over it)
 *     at[1..] = addresses, each stored where it is known
 *     at[0] = piece                     (release, after the piece's last access; a copy or fill,
 *                                        which may be a call, is the last and comes behind)
 *
 * so that a record is complete or marked, and signal handlers, which may come
 * between any two instructions, append theirs behind it. Blocks without accesses get a
 * record of their header word alone when they compute something, head a loop or
 * lead into one: executions of blocks, and so operations, iterations and
 * entries, are exact. Innermost loops without calls have one record for all or
 * many of their iterations instead (hoist.cpp), and so have whole nests of
 * loops (nest.cpp), but for functions that are not optimised: their variables are in memory, and
 * fast instruction selection makes long code of it. Runs at the end of the optimisation pipeline,
 * or, with PSNAP_STAGE=vectorizer-start, before vectorisation.
 */
#include "llvm_compat.h"
#include "plan.h"

#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Transforms/Utils/LoopSimplify.h"

#include <cstdlib>
#include <set>

using namespace llvm;

namespace psnap
{

static bool instrumentable(const Function &function)
{
    return !function.isDeclaration() && !function.hasAvailableExternallyLinkage() &&
           !function.hasFnAttribute(Attribute::Naked) && !function.hasFnAttribute(CAPTURED) &&
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
        names.add(*loop, loops, function);
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
    FunctionPlan out = {&function, {}, {}, {}, {}, 0, {}, {}};
    uint32_t body = (uint32_t)table.loops.size();
    uint32_t first_block = (uint32_t)table.blocks.size();
    std::map<const BasicBlock *, uint32_t> block_index;
    std::map<const Loop *, uint32_t> loop_index;
    std::map<uint32_t, BasicBlock *> blocks;
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
    for (auto &entry : block_index)
        blocks[entry.second] = const_cast<BasicBlock *>(entry.first);
    dropCounts(out, blocks);
    if (hoisting && !function.hasOptNone())
        planHoists(out, blocks);
    if (hoisting)
        planStraight(out);
    number(out);
    plans.push_back(std::move(out));
}

bool isEarly(const Instruction &at)
{
    auto *store = dyn_cast<StoreInst>(&at);
    return store && isa<AllocaInst>(store->getPointerOperand()) && at.getFunction()->hasOptNone();
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
        if (isAllocation(at, allocation)) {
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
        if (piece.first == &at && isEarly(at)) {
            piece.early = (uint32_t)piece.accesses.size();
            do
                piece.first = piece.first->getNextNode();
            while (piece.first->isDebugOrPseudoInst());
        }
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
        out.pieces[i].block = index;
        out.pieces[i].counts = i == first_piece;
    }
}

/* Gives a piece and its references their rows. */
void ModulePlan::numberPiece(Piece &piece)
{
    psnap_table_piece entry = {};

    entry.first_ref = (uint32_t)table.refs.size();
    entry.refs = (uint32_t)piece.accesses.size();
    entry.words = piece.words;
    entry.block = piece.counts ? piece.block : NONE;
    entry.guard = piece.guard;
    piece.index = (uint32_t)table.pieces.size();
    table.pieces.push_back(entry);
    for (const Access &access : piece.accesses) {
        psnap_table_ref ref = {};
        Object object = objectOf(access.op == PSNAP_REF_COPY ? access.source : access.pointer);
        const std::string mark = markName(*access.at);
        if (!mark.empty())
            object = {mark, PSNAP_MARK_KIND};
        ref.block = piece.block;
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

/* Those of a hoisted loop stand together, in the order of its iterations. */
void ModulePlan::number(FunctionPlan &plan)
{
    for (Hoist &hoist : plan.hoists) {
        for (size_t piece : hoist.pieces)
            numberPiece(plan.pieces[piece]);
        numberHoist(plan, hoist);
    }
    for (Nest &nest : plan.nests) {
        for (const Part &part : nest.parts)
            for (size_t piece : part.pieces)
                numberPiece(plan.pieces[piece]);
        numberNest(plan, nest);
    }
    for (Piece &piece : plan.pieces) {
        if (piece.index != NONE)
            continue;
        if (piece.straight == NONE) {
            numberPiece(piece);
            continue;
        }
        Straight &code = plan.straights[piece.straight];
        for (size_t each : code.pieces)
            numberPiece(plan.pieces[each]);
        numberStraight(plan, code);
    }
}

/* PSNAP_BLOCKS_COMMENT: instead of capture, which block of the table an instruction is of. */
void ModulePlan::labelBlocks(Function &function, uint32_t first_block)
{
    DISubprogram *scope = function.getSubprogram();
    uint32_t index = first_block;

    for (BasicBlock &block : function) {
        const DebugLoc place =
            scope ? DILocation::get(context, index + 1,
                                    PSNAP_BLOCKS_COLUMN(table.blocks[index].src_line), scope)
                  : nullptr;
        for (Instruction &at : block)
            at.setDebugLoc(place);
        index++;
    }
}

bool ModulePlan::run()
{
    if (module.getDataLayout().getPointerSizeInBits() != 64) {
        context.emitError("psnap captures the accesses of 64-bit programs only");
        return false;
    }
    std::vector<Function *> functions;
    for (Function &function : module)
        if (instrumentable(function))
            functions.push_back(&function);
    if (functions.empty())
        return false;

    for (GlobalVariable &global : module.globals())
        if (global.hasInitializer() && !global.hasPrivateLinkage() &&
            !global.hasAvailableExternallyLinkage() && !global.isThreadLocal() &&
            !global.getName().starts_with("llvm.") && global.getAddressSpace() == 0 &&
            global.getValueType()->isSized()) {
            uint64_t size = module.getDataLayout().getTypeAllocSize(global.getValueType());
            table.addGlobal(global, variableName(global), size ? size : 1);
        }
    for (Function *function : functions)
        prepareLoops(*function);
    if (marking)
        markOpenmp(functions, analyses);
    names.assign();
    nameFunctions(functions);
    for (Function *function : functions) {
        const uint32_t first_block = (uint32_t)table.blocks.size();
        plan(*function);
        if (labelling)
            labelBlocks(*function, first_block);
    }
    if (labelling) {
        module.appendModuleInlineAsm(PSNAP_BLOCKS_COMMENT);
        return true;
    }
    declare();
    for (FunctionPlan &plan : plans)
        emit(plan);
    for (size_t i = 0; i < plans.size(); i++)
        emitRegions(plans[i], (uint32_t)i);
    emitModule();
    if (std::getenv(PSNAP_ENV_LINES))
        StripDebugInfo(module);
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
 * OptimizerEarly: after inlining, simplification and mem2reg, before vectorisation. The linker's
 * pipeline of full LTO has callbacks of its own; what was compiled for it has not been
 * instrumented (psnap cc leaves the pass out). */
static void addCallbacks(PassBuilder &builder)
{
    const char *stage = std::getenv(PSNAP_ENV_STAGE);
    auto early = [](ModulePassManager &manager, OptimizationLevel, auto...) {
        manager.addPass(psnap::CapturePass("vectorizer-start"));
    };
    auto late = [](ModulePassManager &manager, OptimizationLevel, auto...) {
        manager.addPass(psnap::CapturePass("optimized"));
    };
    if (stage && StringRef(stage) == "vectorizer-start") {
        builder.registerOptimizerEarlyEPCallback(early);
        builder.registerFullLinkTimeOptimizationEarlyEPCallback(early);
    } else {
        builder.registerOptimizerLastEPCallback(late);
        builder.registerFullLinkTimeOptimizationLastEPCallback(late);
    }
}

extern "C" LLVM_ATTRIBUTE_WEAK __attribute__((visibility("default"))) PassPluginLibraryInfo
llvmGetPassPluginInfo()
{
    return {LLVM_PLUGIN_API_VERSION, "psnap", PSNAP_VERSION, addCallbacks};
}
