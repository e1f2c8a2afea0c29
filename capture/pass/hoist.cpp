/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Innermost loops are recorded as a whole (capture_abi.h says what a record
 * looks like). For an address that scalar evolution knows as {base,+,step} of the
 * loop, with a step that does not change in it, or as invariant, only base and
 * step are recorded, once; so much is exact, for evolution is modulo 2^64 as
 * addresses are. What an index of fewer bits makes when it wraps around is no such
 * address. The others, loaded or computed otherwise, go into rows, a row for
 * each iteration.
 *
 * A loop without rows costs a counter of its iterations; its one record is
 * written behind it, on the way out. Rows are stored in a record of the greatest
 * length, which is closed when it is full or the loop ends; what it did not need
 * goes back to the ring:
 *
 *     before:     record = room, row = behind its fixed part, begun = iterations = 0
 *     iteration:  if (row is beyond the last that fits) { close; as before; begun = iterations }
 *                 next = row + 1, mask = 0
 *                 (at an access: *next++ = address; in a guarded piece: mask |= its bit)
 *                 *row = mask, row = next, iterations++
 *     close:      fill in the fixed part; *row = gap, record's header = end (release);
 *                 compare_and_swap(&ring->cursor, record + all, row)
 *
 * If a signal handler has appended its records by then the gap stays. (One that
 * comes between the last two steps and fills the whole ring to the same place
 * would lose its own.) An exit in mid-iteration has a partial row, and
 * an end that says how far it came: blocks are in an order that all iterations
 * follow, so that is a number of pieces. Variables of this code are
 * made as memory and promoted to registers.
 *
 * Not hoisted: loops in which a piece ends (calls), with accesses that are not
 * plain (masked, gathered, copied, over 64 bytes), whose blocks have no order (goto into
 * the middle), without exit or with more than EXITS_MAX.
 */
#include "plan.h"

#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/LoopIterator.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/PromoteMemToReg.h"
#include "llvm/Transforms/Utils/ScalarEvolutionExpander.h"

#include <set>

using namespace llvm;

namespace psnap
{

enum { EXITS_MAX = 8, BASES_MAX = 64, ROW_WORDS_MAX = 64 };
enum { PLAIN_BYTES_MAX = 64 };

/* ------------------------------------------------------------- what can be hoisted */

/* The blocks of the loop in an order that every iteration follows; empty when there is none. */
static std::vector<BasicBlock *> orderOf(Loop &loop, const LoopInfo &loops)
{
    LoopBlocksRPO order(&loop);
    order.perform(&loops);
    std::vector<BasicBlock *> blocks(order.begin(), order.end());
    std::map<const BasicBlock *, size_t> place;

    for (size_t i = 0; i < blocks.size(); i++)
        place[blocks[i]] = i;
    for (size_t i = 0; i < blocks.size(); i++)
        for (BasicBlock *next : successors(blocks[i]))
            if (next != loop.getHeader() && loop.contains(next) && place[next] <= i)
                return {};
    return blocks;
}

static bool isPlain(const Piece &piece)
{
    for (const Access &access : piece.accesses)
        if (access.op != PSNAP_REF_PLAIN || access.size_bytes > PLAIN_BYTES_MAX)
            return false;
    return true;
}

static bool hasCalls(const Loop &loop, const TargetLibraryInfo &library)
{
    for (const BasicBlock *block : loop.blocks())
        for (const Instruction &at : *block)
            if (endsPiece(at, library))
                return true;
    return false;
}

/* Moves of the references of a loop, and the values they need. */
class Moves
{
  public:
    Moves(ScalarEvolution &the_evolution, SCEVExpander &the_expander, const Loop &the_loop)
        : evolution(the_evolution), expander(the_expander), loop(the_loop),
          before(the_loop.getLoopPreheader()->getTerminator())
    {
    }
    Move of(Value *pointer);
    size_t size() const
    {
        return words.size();
    }
    std::vector<Value *> expand(Type *word);

  private:
    bool find(const SCEV *value, bool is_base, uint32_t &index, int64_t &offset);

    ScalarEvolution &evolution;
    SCEVExpander &expander;
    const Loop &loop;
    Instruction *before;
    std::vector<std::pair<const SCEV *, bool>> words; /* and whether they are bases */
};

/* The word that holds `value`, or, if it is a base, one that is a constant `offset` from it. */
bool Moves::find(const SCEV *value, bool is_base, uint32_t &index, int64_t &offset)
{
    for (index = 0; index < words.size(); index++) {
        if (words[index].second != is_base)
            continue;
        auto *way = dyn_cast<SCEVConstant>(evolution.getMinusSCEV(value, words[index].first));
        if (way && way->getAPInt().getSignificantBits() <= 64 && (is_base || way->isZero())) {
            offset = way->getAPInt().getSExtValue();
            return true;
        }
    }
    offset = 0;
    if (words.size() == BASES_MAX || !expander.isSafeToExpandAt(value, before))
        return false;
    words.push_back({value, is_base});
    return true;
}

Move Moves::of(Value *pointer)
{
    const SCEV *address = evolution.getSCEV(pointer), *start = address, *step = nullptr;
    Move move, irregular;
    int64_t none;

    if (auto *recurrence = dyn_cast<SCEVAddRecExpr>(address)) {
        if (recurrence->getLoop() == &loop && recurrence->isAffine()) {
            start = recurrence->getStart();
            step = recurrence->getOperand(1);
        }
    }
    if (!step && !evolution.isLoopInvariant(address, &loop))
        return irregular;
    if (auto *constant = dyn_cast_or_null<SCEVConstant>(step))
        move.step_bytes = constant->getAPInt().getSExtValue();
    else if (step && !find(step, false, move.step, none))
        return irregular;
    return find(start, true, move.base, move.offset_bytes) ? move : irregular;
}

std::vector<Value *> Moves::expand(Type *word)
{
    std::vector<Value *> values;

    for (auto &wanted : words) {
        Value *value = expander.expandCodeFor(wanted.first, nullptr, before);
        IRBuilder<> builder(before);
        values.push_back(value->getType()->isPointerTy() ? builder.CreatePtrToInt(value, word)
                                                         : builder.CreateSExtOrTrunc(value, word));
    }
    return values;
}

using PiecesOf = std::map<const BasicBlock *, std::vector<size_t>>;

/* Cuts the loop's way into pieces and exits; false when it cannot be hoisted. */
static bool takeBlocks(Loop &loop, const LoopInfo &loops, const DominatorTree &dominators,
                       const PiecesOf &pieces_of, FunctionPlan &plan, Hoist &hoist)
{
    hoist.header = loop.getHeader();
    hoist.latch = loop.getLoopLatch()->getTerminator();
    for (BasicBlock *block : orderOf(loop, loops)) {
        auto pieces = pieces_of.find(block);
        bool is_guarded = !dominators.dominates(block, loop.getLoopLatch());
        if (pieces != pieces_of.end())
            for (size_t i : pieces->second) {
                if (!isPlain(plan.pieces[i]))
                    return false;
                plan.pieces[i].guard = is_guarded ? ++hoist.guards : 0;
                hoist.pieces.push_back(i);
            }
        Instruction *from = block->getTerminator();
        uint32_t last = from == hoist.latch ? 0 : (uint32_t)hoist.pieces.size();
        std::set<BasicBlock *> targets(succ_begin(block), succ_end(block));
        for (BasicBlock *to : targets)
            if (!loop.contains(to)) {
                if ((!isa<BranchInst>(from) && !isa<SwitchInst>(from)) || to->isEHPad())
                    return false;
                hoist.exits.push_back({from, to, last, 0});
            }
    }
    return !hoist.exits.empty() && hoist.exits.size() <= EXITS_MAX &&
           hoist.guards <= PSNAP_HOIST_GUARDS_MAX;
}

void ModulePlan::planHoists(FunctionPlan &plan, const std::map<uint32_t, BasicBlock *> &blocks)
{
    Function &function = *plan.function;
    auto &loops = analyses.getResult<LoopAnalysis>(function);
    auto &dominators = analyses.getResult<DominatorTreeAnalysis>(function);
    auto &library = analyses.getResult<TargetLibraryAnalysis>(function);
    const DataLayout &layout = module.getDataLayout();
    PiecesOf pieces_of;

    if (loops.empty() || layout.getPointerSizeInBits() != 64)
        return;
    for (size_t i = 0; i < plan.pieces.size(); i++)
        pieces_of[blocks.at(plan.pieces[i].block)].push_back(i);
    ScalarEvolution evolution(function, library, analyses.getResult<AssumptionAnalysis>(function),
                              dominators, loops);
    SCEVExpander expander(evolution, layout, "psnap");
    for (Loop *loop : loops.getLoopsInPreorder()) {
        Hoist hoist;
        if (!loop->isInnermost() || !loop->isLoopSimplifyForm() || hasCalls(*loop, library))
            continue;
        bool is_taken = takeBlocks(*loop, loops, dominators, pieces_of, plan, hoist);
        Moves moves(evolution, expander, *loop);
        hoist.loop = loop_index[loop];
        hoist.row_words = hoist.guards > 0;
        for (size_t i = 0; i < hoist.pieces.size() && is_taken; i++)
            for (const Access &access : plan.pieces[hoist.pieces[i]].accesses) {
                hoist.moves.push_back(moves.of(access.pointer));
                hoist.row_words += hoist.moves.back().base == NONE;
            }
        if (!is_taken || hoist.moves.size() > PSNAP_HOIST_REFS_MAX ||
            hoist.row_words > ROW_WORDS_MAX) {
            for (size_t i : hoist.pieces)
                plan.pieces[i].guard = 0;
            continue;
        }
        for (size_t i : hoist.pieces)
            plan.pieces[i].is_hoisted = true;
        hoist.words = moves.expand(Type::getInt64Ty(context));
        plan.hoists.push_back(std::move(hoist));
    }
}

/* Rows of a hoist whose pieces have theirs. */
void ModulePlan::numberHoist(const FunctionPlan &plan, Hoist &hoist)
{
    uint32_t header = hoist.row_words ? PSNAP_HOIST_ROWS_WORDS : PSNAP_HOIST_HEADER_WORDS;
    auto wordOf = [&](uint32_t index) { return index == NONE ? 0 : header + index; };
    psnap_table_hoist row = {};

    row.loop = hoist.loop;
    row.first_piece = plan.pieces[hoist.pieces[0]].index;
    row.pieces = (uint32_t)hoist.pieces.size();
    row.first_move = (uint32_t)table.moves.size();
    row.words = hoist.fixedWords();
    row.rows = hoist.row_words != 0;
    row.guards = hoist.guards;
    table.hoists.push_back(row);
    for (const Move &move : hoist.moves) {
        psnap_table_move entry = {};
        entry.base = wordOf(move.base);
        entry.offset_low = (uint32_t)move.offset_bytes;
        entry.offset_high = (uint32_t)(move.offset_bytes >> 32);
        entry.step = wordOf(move.step);
        entry.step_low = (uint32_t)move.step_bytes;
        entry.step_high = (uint32_t)(move.step_bytes >> 32);
        table.moves.push_back(entry);
    }
    auto addEnd = [&](uint32_t last) {
        psnap_table_piece end = {};
        end.words = row.words;
        end.block = NONE;
        end.hoist = (uint32_t)table.hoists.size();
        end.last = last;
        table.pieces.push_back(end);
        return (uint32_t)table.pieces.size() - 1;
    };
    std::map<uint32_t, uint32_t> ends;
    if (row.rows)
        hoist.going_on = addEnd(NONE);
    for (Hoist::Exit &exit : hoist.exits) {
        if (!ends.count(exit.last))
            ends[exit.last] = addEnd(exit.last);
        exit.end = ends[exit.last];
    }
}

/* ------------------------------------------------------------- the code */

class HoistCode
{
  public:
    HoistCode(ModulePlan &the_module, const FunctionPlan &the_plan, const Hoist &the_hoist,
              std::vector<AllocaInst *> &all_variables)
        : module(the_module), plan(the_plan), hoist(the_hoist), variables(all_variables),
          word(module.word)
    {
    }
    void emit();

  private:
    AllocaInst *variable(Type *type);
    Value *wordAt(IRBuilder<> &builder, Value *record, uint64_t index)
    {
        return builder.CreateConstInBoundsGEP1_64(word, record, index);
    }
    void put(IRBuilder<> &builder, Value *value, Value *record, uint64_t index)
    {
        builder.CreateAlignedStore(value, wordAt(builder, record, index), Align(8));
    }
    Value *get(IRBuilder<> &builder, AllocaInst *from)
    {
        return builder.CreateLoad(from->getAllocatedType(), from);
    }
    Value *number(uint64_t value)
    {
        return ConstantInt::get(word, value);
    }
    void putWords(IRBuilder<> &builder, Value *at);
    void emitRecord(Instruction *here, uint32_t end);
    void emitOpening(Instruction *here);
    void emitClosing(Instruction *here, AllocaInst *tail, uint32_t end);
    void emitRows();

    ModulePlan &module;
    const FunctionPlan &plan;
    const Hoist &hoist;
    std::vector<AllocaInst *> &variables;
    Type *word;
    AllocaInst *iterations = nullptr;
    AllocaInst *record = nullptr, *begun = nullptr, *row = nullptr, *next = nullptr,
               *mask = nullptr; /* with rows */
};

AllocaInst *HoistCode::variable(Type *type)
{
    IRBuilder<> builder(&*plan.function->getEntryBlock().getFirstInsertionPt());
    variables.push_back(builder.CreateAlloca(type));
    return variables.back();
}

void HoistCode::putWords(IRBuilder<> &builder, Value *at)
{
    uint64_t index = hoist.fixedWords() - hoist.words.size();
    for (Value *value : hoist.words)
        put(builder, value, at, index++);
}

/* Of a loop without rows. */
void HoistCode::emitRecord(Instruction *here, uint32_t end)
{
    Value *at = module.emitRoom(here, hoist.fixedWords(), module.wanted(here, true));
    IRBuilder<> builder(here);

    put(builder, ConstantInt::getSigned(word, -(int64_t)hoist.fixedWords()), at, 0);
    put(builder, get(builder, iterations), at, 1);
    putWords(builder, at);
    module.publish(builder, at, end);
}

void HoistCode::emitOpening(Instruction *here)
{
    Value *at = module.emitRoom(here, PSNAP_RECORD_WORDS_MAX, module.wanted(here, true));
    IRBuilder<> builder(here);

    put(builder, ConstantInt::getSigned(word, -(int64_t)PSNAP_RECORD_WORDS_MAX), at, 0);
    builder.CreateStore(at, record);
    builder.CreateStore(wordAt(builder, at, hoist.fixedWords()), row);
    builder.CreateStore(get(builder, iterations), begun);
}

void HoistCode::emitClosing(Instruction *here, AllocaInst *behind, uint32_t end)
{
    IRBuilder<> builder(here);
    Value *at = get(builder, record), *tail = get(builder, behind);
    Value *first = get(builder, begun), *all = wordAt(builder, at, PSNAP_RECORD_WORDS_MAX);
    Value *words = builder.CreateExactUDiv(
        builder.CreateSub(builder.CreatePtrToInt(tail, word), builder.CreatePtrToInt(at, word)),
        number(8));

    put(builder, builder.CreateSub(get(builder, iterations), first), at, 1);
    put(builder, words, at, 2);
    put(builder, first, at, 3);
    putWords(builder, at);
    put(builder, builder.CreateSub(number(PSNAP_GAP + PSNAP_RECORD_WORDS_MAX), words), tail, 0);
    module.publish(builder, at, end);
    Value *ring = builder.CreateLoad(module.pointer, builder.CreateThreadLocalAddress(module.ring));
    module.emitClaim(builder, ring, all, tail);
}

/* What happens in the loop: rows are begun, filled and ended. */
void HoistCode::emitRows()
{
    Instruction *top = &*hoist.header->getFirstInsertionPt();
    IRBuilder<> check(top);
    const uint32_t last_row = PSNAP_RECORD_WORDS_MAX - 1 - hoist.row_words; /* 1 for the gap */
    Value *is_full =
        check.CreateICmpUGT(get(check, row), wordAt(check, get(check, record), last_row));
    MDNode *cold = MDBuilder(module.context).createBranchWeights(1, 1u << 20);
    Instruction *full = SplitBlockAndInsertIfThen(is_full, top, false, cold);
    emitClosing(full, row, hoist.going_on);
    emitOpening(full);

    IRBuilder<> begin(top);
    begin.CreateStore(wordAt(begin, get(begin, row), hoist.guards > 0), next);
    if (hoist.guards)
        begin.CreateStore(number(0), mask);

    auto move = hoist.moves.begin();
    for (size_t index : hoist.pieces) {
        const Piece &piece = plan.pieces[index];
        IRBuilder<> at_piece(piece.first);
        if (piece.guard)
            at_piece.CreateStore(
                at_piece.CreateOr(get(at_piece, mask), number(UINT64_C(1) << (piece.guard - 1))),
                mask);
        for (const Access &access : piece.accesses)
            if (move++->base == NONE) {
                IRBuilder<> builder(access.at);
                Value *slot = get(builder, next);
                put(builder, builder.CreatePtrToInt(access.pointer, word), slot, 0);
                builder.CreateStore(wordAt(builder, slot, 1), next);
            }
    }
    IRBuilder<> end(hoist.latch);
    if (hoist.guards)
        put(end, get(end, mask), get(end, row), 0);
    end.CreateStore(get(end, next), row);
}

void HoistCode::emit()
{
    Instruction *before = nullptr;
    for (BasicBlock *block : predecessors(hoist.header))
        if (block != hoist.latch->getParent())
            before = block->getTerminator();

    iterations = variable(word);
    IRBuilder<>(before).CreateStore(number(0), iterations);
    if (hoist.row_words) {
        record = variable(module.pointer);
        row = variable(module.pointer);
        next = variable(module.pointer);
        begun = variable(word);
        mask = hoist.guards ? variable(word) : nullptr;
        emitOpening(before);
        emitRows();
    }
    IRBuilder<> latch(hoist.latch);
    latch.CreateStore(latch.CreateAdd(get(latch, iterations), number(1)), iterations);
    for (const Hoist::Exit &exit : hoist.exits) {
        BasicBlock *way_out = SplitBlockPredecessors(exit.to, {exit.from->getParent()}, ".psnap");
        Instruction *here = way_out->getTerminator();
        IRBuilder<> builder(here);
        if (!hoist.row_words) {
            emitRecord(here, exit.end);
            continue;
        }
        if (hoist.guards) /* a row that is done already is not that of the mask: the gap's place */
            put(builder, get(builder, mask), get(builder, row), 0);
        emitClosing(here, next, exit.end);
    }
}

void ModulePlan::emitHoists(const FunctionPlan &plan)
{
    std::vector<AllocaInst *> variables;

    for (const Hoist &hoist : plan.hoists)
        HoistCode(*this, plan, hoist, variables).emit();
    if (!variables.empty()) {
        DominatorTree dominators(*plan.function);
        PromoteMemToReg(variables, dominators);
    }
}

} // namespace psnap
