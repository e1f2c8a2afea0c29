/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The code that records loops without calls. Where nothing of the thread's but
 * signal handlers can come in between, room is taken for many records at once,
 * a batch; each then costs a comparison and its stores:
 *
 *     open:    batch = __psnap_reserve(RECORD_WORDS_MAX), next = batch + 1
 *     append:  if (the record does not fit behind next)
 *                  batch = __psnap_renew_batch(batch, next), next = batch + 1
 *              at = next, next += words; at[..] = the record
 *     close:   __psnap_close_batch(batch, next)
 *
 * so that a closed batch is a sequence of ordinary records, an open one a record
 * that is not there yet, and what was not needed goes back to the ring, zero as it was.
 *
 * A hoisted loop without rows has its record before it, and stores there how many iterations
 * there have been, so that nothing is lost with a loop that a fault ends. Outside of batches it is
 * in one of its own. With rows:
 *
 *     before:     at = next, row = behind its fixed part, begun = iterations = 0; the fixed part
 *     iteration:  if (a row does not fit) { end: going on; renew; as before, with
 *                                           begun = iterations }
 *                 slot = row + 1, mask = 0
 *                 (at an access: *slot++ = address; in a guarded piece: mask |= its bit)
 *                 *row = mask, row = slot, at.words = row, iterations++
 *     exit:       at.iterations, at.words, end; next = slot
 *
 * Variables of this code are made as memory and promoted to registers.
 */
#include "code.h"

#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/PromoteMemToReg.h"

using namespace llvm;

namespace psnap
{

void BatchCode::begin(Instruction *here, Value *room)
{
    IRBuilder<> builder(here);

    builder.CreateStore(room, batch);
    builder.CreateStore(wordAt(builder, room, 1), next);
}

void BatchCode::open(Instruction *here)
{
    begin(here, module.emitRoom(here, PSNAP_RECORD_WORDS_MAX, ModulePlan::HOISTED_RECORD));
}

/* Calls a hook that takes the batch, and where it ends. */
Value *BatchCode::end(Instruction *here, FunctionCallee hook)
{
    IRBuilder<> builder(here);

    return module.callHook(here, hook, {get(builder, batch), get(builder, next)});
}

void BatchCode::close(Instruction *here)
{
    end(here, module.close_batch);
}

void BatchCode::renew(Instruction *here)
{
    begin(here, end(here, module.renew_batch));
}

/* Where a record of so many words begins; unless it `takes` them there may be another. */
Value *BatchCode::append(Instruction *here, uint32_t words, bool takes)
{
    Instruction *full = whenFull(here, next, batch, words);
    renew(full);
    IRBuilder<> builder(here);
    Value *at = get(builder, next);
    if (takes)
        builder.CreateStore(wordAt(builder, at, words), next);
    return at;
}

/* The terminator of the block in front of a loop. */
static Instruction *beforeLoop(BasicBlock *header, Instruction *latch)
{
    for (BasicBlock *block : predecessors(header))
        if (block != latch->getParent())
            return block->getTerminator();
    return nullptr;
}

void BatchCode::emit()
{
    open(beforeLoop(plan_batch.header, plan_batch.latch));
    for (const Exit &exit : plan_batch.exits) {
        BasicBlock *way_out = SplitBlockPredecessors(exit.to, {exit.from->getParent()}, ".psnap");
        ways_out[{exit.from, exit.to}] = way_out;
        close(way_out->getTerminator());
    }
}

Instruction *wayOut(const Exit &exit, const BatchCode *batch)
{
    BasicBlock *to = batch ? batch->ways_out.lookup({exit.from, exit.to}) : nullptr;

    return SplitBlockPredecessors(to ? to : exit.to, {exit.from->getParent()}, ".psnap")
        ->getTerminator();
}

class HoistCode : Code
{
  public:
    /* `the_batch` may be null where there are no rows. */
    HoistCode(ModulePlan &the_module, const FunctionPlan &the_plan, const Hoist &the_hoist,
              BatchCode *the_batch, std::vector<AllocaInst *> &all_variables)
        : Code(the_module, *the_plan.function, the_module.word, all_variables), plan(the_plan),
          hoist(the_hoist), batch(the_batch)
    {
    }

    void emit()
    {
        Instruction *before = beforeLoop(hoist.header, hoist.latch);

        iterations = variable(word);
        IRBuilder<>(before).CreateStore(number(0), iterations);
        if (!hoist.row_words)
            return emitCount(before);
        at = variable(module.pointer);
        row = variable(module.pointer);
        slot = variable(module.pointer);
        begun = variable(word);
        mask = hoist.guards ? variable(word) : nullptr;
        emitRows(before);
        for (const Exit &exit : hoist.exits) {
            Instruction *here = wayOut(exit, batch);
            IRBuilder<> builder(here);
            if (hoist.guards) /* of a partial row; if there is none nothing is there yet */
                put(builder, get(builder, mask), get(builder, row), 0);
            emitEnd(here, slot, exit.end);
        }
    }

  private:
    void putWords(IRBuilder<> &builder, Value *record)
    {
        uint64_t index = hoist.fixedWords() - hoist.words.size();
        for (Value *value : hoist.words)
            put(builder, value, record, index++);
    }

    /* Of a loop without rows: a record of as many iterations as there have been, in a batch that it
     * may be alone in. */
    void emitCount(Instruction *before)
    {
        const uint32_t words = hoist.fixedWords();
        Value *room =
            batch ? nullptr : module.emitRoom(before, words + 1, ModulePlan::HOISTED_RECORD);
        Value *record = batch ? batch->append(before, words) : nullptr;
        IRBuilder<> builder(before);

        if (!record)
            record = wordAt(builder, room, 1);
        put(builder, number(0), record, 1);
        putWords(builder, record);
        module.publish(builder, record, hoist.going_on);
        IRBuilder<> latch(hoist.latch);
        Value *count = latch.CreateAdd(get(latch, iterations), number(1));
        latch.CreateStore(count, iterations);
        storeWord(latch, count, wordAt(latch, record, 1))->setAtomic(AtomicOrdering::Monotonic);
        for (const Exit &exit : hoist.exits) {
            IRBuilder<> end(wayOut(exit, batch));
            module.publish(end, record, exit.end);
            if (!batch)
                storeWord(end, number(PSNAP_GAP + 1), room)->setAtomic(AtomicOrdering::Release);
        }
    }

    /* The record with the rows up to `tail` is done. */
    void emitEnd(Instruction *here, AllocaInst *tail, uint32_t end)
    {
        IRBuilder<> builder(here);
        Value *record = get(builder, at), *behind = get(builder, tail),
              *first = get(builder, begun);

        storeWord(builder, builder.CreateSub(get(builder, iterations), first),
                  wordAt(builder, record, 1))
            ->setAtomic(AtomicOrdering::Monotonic);
        storeWord(builder, wordsBetween(builder, record, behind), wordAt(builder, record, 2))
            ->setAtomic(AtomicOrdering::Release);
        if (end != hoist.going_on)
            module.publish(builder, record, end);
        builder.CreateStore(behind, batch->next);
    }

    void begin(Instruction *here, Value *record)
    {
        IRBuilder<> builder(here);
        Value *rows = wordAt(builder, record, hoist.fixedWords()),
              *first = get(builder, iterations);

        builder.CreateStore(record, at);
        builder.CreateStore(rows, row);
        builder.CreateStore(first, begun);
        put(builder, rows, record, 2);
        put(builder, first, record, 3);
        putWords(builder, record);
        module.publish(builder, record, hoist.going_on);
    }

    /* What happens in the loop: rows are begun, filled and ended. */
    void emitRows(Instruction *before)
    {
        begin(before, batch->append(before, hoist.fixedWords() + hoist.row_words, false));
        Instruction *top = &*hoist.header->getFirstInsertionPt();
        Instruction *full = whenFull(top, row, batch->batch, hoist.row_words);
        emitEnd(full, row, hoist.going_on);
        batch->renew(full);
        IRBuilder<> fresh(full);
        begin(full, get(fresh, batch->next));

        IRBuilder<> next(top);
        next.CreateStore(wordAt(next, get(next, row), hoist.guards > 0), slot);
        if (hoist.guards)
            next.CreateStore(number(0), mask);
        emitAddresses();
        IRBuilder<> end(hoist.latch);
        if (hoist.guards)
            put(end, get(end, mask), get(end, row), 0);
        end.CreateStore(get(end, slot), row);
        storeWord(end, get(end, slot), wordAt(end, get(end, at), 2))
            ->setAtomic(AtomicOrdering::Monotonic);
        end.CreateStore(end.CreateAdd(get(end, iterations), number(1)), iterations);
    }

    void emitAddresses()
    {
        auto move = hoist.moves.begin();

        for (size_t index : hoist.pieces) {
            const Piece &piece = plan.pieces[index];
            IRBuilder<> first(piece.first);
            if (piece.guard)
                first.CreateStore(
                    first.CreateOr(get(first, mask),
                                   number((int64_t)(UINT64_C(1) << (piece.guard - 1)))),
                    mask);
            for (const Access &access : piece.accesses)
                if (move++->base == NONE) {
                    IRBuilder<> builder(access.at);
                    Value *here = get(builder, slot);
                    put(builder, module.addressOf(builder, access), here, 0);
                    builder.CreateStore(wordAt(builder, here, 1), slot);
                }
        }
    }

    const FunctionPlan &plan;
    const Hoist &hoist;
    BatchCode *batch;
    AllocaInst *iterations = nullptr;
    AllocaInst *at = nullptr, *begun = nullptr, *row = nullptr, *slot = nullptr,
               *mask = nullptr; /* with rows */
};

void ModulePlan::emitBatches(const FunctionPlan &plan)
{
    std::vector<AllocaInst *> variables;
    std::vector<BatchCode> batches;

    for (const Batch &batch : plan.batches) {
        batches.emplace_back(*this, plan, batch, variables);
        batches.back().emit();
    }
    for (const Piece &piece : reverse(plan.pieces)) { /* as emit() does */
        if (piece.batch == NONE || piece.is_hoisted)
            continue;
        const Straight *code = piece.straight == NONE ? nullptr : &plan.straights[piece.straight];
        Value *record =
            batches[piece.batch].append(piece.first, code ? code->words() : piece.words);
        if (code)
            fillStraight(plan, *code, record);
        else
            fillPiece(piece, record);
    }
    for (const Hoist &hoist : plan.hoists)
        HoistCode(*this, plan, hoist, hoist.batch == NONE ? nullptr : &batches[hoist.batch],
                  variables)
            .emit();
    for (const Nest &nest : plan.nests)
        emitNest(*this, plan, nest, nest.batch == NONE ? nullptr : &batches[nest.batch], variables);
    if (!variables.empty()) {
        DominatorTree dominators(*plan.function);
        PromoteMemToReg(variables, dominators);
    }
}

} // namespace psnap
