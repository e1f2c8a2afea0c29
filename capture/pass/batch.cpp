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
 *
 * Nests of loops (nest.cpp): the record, in front of the nest, always says
 * how far the nest has come: in which iteration of all loops but the innermost, and where in that,
 * which is `progress`, in front of the record: a step, and iterations of an innermost loop.
 *
 *     before the nest:   record = reserve, accesses = 0; from, to, progress = 0; words
 *     before a loop:     progress = its step; an innermost one: accesses += its own
 *                                             others: to[loop] = 0
 *     going round:       an innermost one: progress++
 *                        others: progress = its step AGAIN, and the iteration that is over
 *                        accesses += those of the iteration
 *                        if (accesses > NEST_ACCESSES) { accesses = 0; end: at this step
 *                                                        record = __psnap_renew_nest(record) }
 *                        to[loop]++
 *     exit:              end: at the exit's step
 *
 * so that the collector does not wait for the end of a long nest, and loses nothing with one that
 * a fault ends or a killed program leaves behind. The record is in a batch of its own: that of a
 * loop around the nest is closed while it lasts.
 */
#include "plan.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/PromoteMemToReg.h"

using namespace llvm;

namespace psnap
{

/* What the parts of this code write with. */
struct Code {
    AllocaInst *variable(Type *type)
    {
        IRBuilder<> builder(&*plan.function->getEntryBlock().getFirstInsertionPt());
        variables.push_back(builder.CreateAlloca(type));
        return variables.back();
    }
    Value *wordAt(IRBuilder<> &builder, Value *record, uint64_t index)
    {
        return builder.CreateConstInBoundsGEP1_64(word, record, index);
    }
    void put(IRBuilder<> &builder, Value *value, Value *record, uint64_t index)
    {
        storeWord(builder, value, wordAt(builder, record, index));
    }
    Value *get(IRBuilder<> &builder, AllocaInst *from)
    {
        return builder.CreateLoad(from->getAllocatedType(), from);
    }
    Constant *number(int64_t value)
    {
        return ConstantInt::getSigned(word, value);
    }
    Value *wordsBetween(IRBuilder<> &builder, Value *from, Value *to)
    {
        return builder.CreateExactSDiv(
            builder.CreateSub(builder.CreatePtrToInt(to, word), builder.CreatePtrToInt(from, word)),
            number(8));
    }
    /* Code before `here` that runs when `next` leaves no room in the batch for `words` and a gap.
     */
    Instruction *whenFull(Instruction *here, AllocaInst *next, AllocaInst *batch, uint32_t words)
    {
        IRBuilder<> check(here);
        Value *last = wordAt(check, get(check, batch), PSNAP_RECORD_WORDS_MAX - 1 - words);
        Value *is_full = check.CreateICmpUGT(get(check, next), last);
        MDNode *cold = MDBuilder(here->getContext()).createBranchWeights(1, 1u << 20);
        return SplitBlockAndInsertIfThen(is_full, here, false, cold);
    }

    ModulePlan &module;
    const FunctionPlan &plan;
    std::vector<AllocaInst *> &variables;
    Type *word = module.word;
};

/* The terminator of the block in front of a loop. */
static Instruction *beforeLoop(BasicBlock *header, Instruction *latch)
{
    for (BasicBlock *block : predecessors(header))
        if (block != latch->getParent())
            return block->getTerminator();
    return nullptr;
}

struct BatchCode : Code {
    void emit()
    {
        open(beforeLoop(plan_batch.header, plan_batch.latch));
        for (const Exit &exit : plan_batch.exits) {
            BasicBlock *way_out =
                SplitBlockPredecessors(exit.to, {exit.from->getParent()}, ".psnap");
            ways_out[{exit.from, exit.to}] = way_out;
            close(way_out->getTerminator());
        }
    }

    void open(Instruction *here)
    {
        begin(here, module.emitRoom(here, PSNAP_RECORD_WORDS_MAX, ModulePlan::HOISTED_RECORD));
    }

    void close(Instruction *here)
    {
        end(here, "__psnap_close_batch");
    }

    void renew(Instruction *here)
    {
        begin(here, end(here, "__psnap_renew_batch", module.pointer));
    }

    /* Where a record of so many words begins; unless it `takes` them there may be another. */
    Value *append(Instruction *here, uint32_t words, bool takes = true)
    {
        Instruction *full = whenFull(here, next, batch, words);
        renew(full);
        IRBuilder<> builder(here);
        Value *at = get(builder, next);
        if (takes)
            builder.CreateStore(wordAt(builder, at, words), next);
        return at;
    }

    void begin(Instruction *here, Value *room)
    {
        IRBuilder<> builder(here);

        builder.CreateStore(room, batch);
        builder.CreateStore(wordAt(builder, room, 1), next);
    }

    /* Calls a hook that takes the batch, and where it ends. */
    Value *end(Instruction *here, StringRef hook, Type *result = nullptr)
    {
        IRBuilder<> builder(here);

        return module.callHook(here, hook, {get(builder, batch), get(builder, next)}, result);
    }

    const Batch &plan_batch;

    AllocaInst *batch = variable(module.pointer), *next = variable(module.pointer);
    DenseMap<std::pair<Instruction *, BasicBlock *>, BasicBlock *> ways_out{};
};

/* Where code for an exit goes: behind its loop, within the batch, if any, that the loop is in. */
static Instruction *wayOut(const Exit &exit, const BatchCode *batch)
{
    BasicBlock *to = batch ? batch->ways_out.lookup({exit.from, exit.to}) : nullptr;

    return SplitBlockPredecessors(to ? to : exit.to, {exit.from->getParent()}, ".psnap")
        ->getTerminator();
}

struct HoistCode : Code {
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

    const Hoist &hoist;
    BatchCode *batch; /* may be null where there are no rows */
    AllocaInst *iterations = nullptr;
    AllocaInst *at = nullptr, *begun = nullptr, *row = nullptr, *slot = nullptr,
               *mask = nullptr; /* with rows */
};

struct NestCode : Code {
    void emit()
    {
        Instruction *before = nest.levels[0].before;

        accesses = variable(word);
        record = variable(module.pointer);
        if (batch)
            batch->close(before);
        begin(before);
        for (const Part &part : nest.parts)
            if (part.accesses)
                emitInnermost(part);
        for (const Level &level : nest.levels)
            emitAgain(level);
        for (const Exit &exit : nest.exits) {
            Instruction *here = wayOut(exit, batch);
            IRBuilder<> builder(here);
            Value *last = get(builder, record);
            module.publish(builder, last, exit.end);
            storeWord(builder, number(PSNAP_GAP + 2),
                      builder.CreateConstInBoundsGEP1_64(word, last, (uint64_t)-2))
                ->setAtomic(AtomicOrdering::Release);
            if (batch)
                batch->open(here);
        }
    }

    void begin(Instruction *before)
    {
        Value *room = module.emitRoom(before, nest.fixedWords() + 2, ModulePlan::HOISTED_RECORD);
        IRBuilder<> builder(before);
        Value *first = wordAt(builder, room, 2);
        uint32_t index = nest.headerWords();

        builder.CreateStore(first, record);
        builder.CreateStore(number(0), accesses);
        putProgress(builder, number(0));
        for (uint32_t i = 1; i < index; i++)
            put(builder, number(0), first, i);
        for (Value *value : nest.words)
            put(builder, value, first, index++);
        module.publish(builder, first, nest.going_on);
    }

    void putProgress(IRBuilder<> &builder, Value *progress)
    {
        Value *at = builder.CreateConstInBoundsGEP1_64(word, get(builder, record), UINT64_MAX);
        storeWord(builder, progress, at)->setAtomic(AtomicOrdering::Monotonic);
    }

    void emitInnermost(const Part &part)
    {
        AllocaInst *progress = variable(word);

        addAccesses(part.before, part.accesses);
        IRBuilder<> before(part.before);
        before.CreateStore(progressAt(part.step), progress);
        putProgress(before, progressAt(part.step));
        IRBuilder<> latch(part.latch);
        Value *next = latch.CreateAdd(get(latch, progress), number(1));
        latch.CreateStore(next, progress);
        putProgress(latch, next);
    }

    /* On the way from the latch to the header. */
    void emitAgain(const Level &level)
    {
        BasicBlock *way =
            SplitBlockPredecessors(level.header, {level.latch->getParent()}, ".psnap");
        Instruction *here = way->getTerminator();
        AllocaInst *iteration = variable(word);

        IRBuilder<> before(level.before);
        before.CreateStore(number(0), iteration);
        putProgress(before, progressAt(level.enter));
        put(before, number(0), get(before, record), to(level));
        addAccesses(here, number(1 + (int64_t)level.refs));
        IRBuilder<> check(here);
        putProgress(check, check.CreateOr(get(check, iteration), progressAt(level.again)));
        Value *is_enough = check.CreateICmpUGT(get(check, accesses), number(PSNAP_NEST_ACCESSES));
        MDNode *cold = MDBuilder(here->getContext()).createBranchWeights(1, 1u << 20);
        Instruction *cut = SplitBlockAndInsertIfThen(is_enough, here, false, cold);
        IRBuilder<> end(cut);
        module.publish(end, get(end, record), level.end);
        end.CreateStore(
            module.callHook(cut, "__psnap_renew_nest",
                            {get(end, record), number(nest.fixedWords()), number(nest.depth)},
                            module.pointer),
            record);
        IRBuilder<> renewed(cut);
        module.publish(renewed, get(renewed, record), nest.going_on);
        renewed.CreateStore(number(0), accesses);

        IRBuilder<> next(here);
        Value *count = next.CreateAdd(get(next, iteration), number(1));
        next.CreateStore(count, iteration);
        storeWord(next, count, wordAt(next, get(next, record), to(level)))
            ->setAtomic(AtomicOrdering::Release);
    }

    void addAccesses(Instruction *here, Value *count)
    {
        IRBuilder<> builder(here);
        builder.CreateStore(builder.CreateAdd(get(builder, accesses), count), accesses);
    }

    Constant *progressAt(uint32_t step)
    {
        return number((int64_t)((uint64_t)step << PSNAP_NEST_STEP_SHIFT));
    }
    uint32_t to(const Level &level) /* its word */
    {
        return PSNAP_NEST_HEADER_WORDS + nest.depth + level.depth;
    }

    const Nest &nest;
    BatchCode *batch;
    AllocaInst *accesses = nullptr;
    AllocaInst *record = nullptr;
};

void ModulePlan::emitBatches(const FunctionPlan &plan)
{
    std::vector<AllocaInst *> variables;
    std::vector<BatchCode> batches;

    for (const Batch &batch : plan.batches) {
        batches.push_back({{*this, plan, variables}, batch});
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
        HoistCode{
            {*this, plan, variables}, hoist, hoist.batch == NONE ? nullptr : &batches[hoist.batch]}
            .emit();
    for (const Nest &nest : plan.nests)
        NestCode{
            {*this, plan, variables}, nest, nest.batch == NONE ? nullptr : &batches[nest.batch]}
            .emit();
    if (!variables.empty()) {
        DominatorTree dominators(*plan.function);
        PromoteMemToReg(variables, dominators);
    }
}

} // namespace psnap
