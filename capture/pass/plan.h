/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plan of a module: pass.cpp makes it, emit.cpp turns it into code.
 */
#ifndef PSNAP_CAPTURE_PLAN_H
#define PSNAP_CAPTURE_PLAN_H

#include "pass.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/PassManager.h"

#include <cstdlib>

namespace llvm
{
class SCEV;
class SCEVExpander;
class ScalarEvolution;
} // namespace llvm

namespace psnap
{

/* A word, numbered from 0, or, if there is none, a constant. */
struct Operand {
    uint32_t word = NONE;
    int64_t constant = 0;
};

/* factor * ((start + i * step modulo 2^bits) / divisor) in iteration i. */
struct Quotient {
    Operand start, step, factor;
    unsigned bits = 64;
    uint64_t divisor = 1;
};

/* How a reference of a hoisted loop moves: as in the table, but that words are numbered from 0. */
struct Move {
    uint32_t base = NONE, step = NONE;
    int64_t offset_bytes = 0, step_bytes = 0;
    std::vector<Quotient> quotients;
};

/* Accesses of a block between two calls. */
struct Piece {
    std::vector<Access> accesses;
    llvm::Instruction *first = nullptr; /* where its record is opened: at or before first access */
    uint32_t early = 0;                 /* so many accesses are in front of that (planBlock) */
    llvm::Instruction *last = nullptr;  /* last access; published behind it (or before `first`) */
    bool ends_in_call = false; /* ... or before it: a memcpy, which may be the program's own */
    uint32_t index = NONE, words = 1;
    uint32_t block = NONE; /* of the table */
    bool counts = false;   /* executions of the block */
    uint32_t guard = 0;    /* as in the table */
    bool is_hoisted = false;
    uint32_t batch = NONE;    /* of the function's */
    uint32_t straight = NONE; /* straight code of the function's, whose record has its accesses */
    llvm::Instruction *end() const
    {
        return early == accesses.size() ? first : ends_in_call ? last : last->getNextNode();
    }
    llvm::Instruction *placeOf(size_t access) const /* where its address is stored */
    {
        return access < early ? first : accesses[access].at;
    }
};

/* Stores a word of a record. Sanitizers are told to leave the store alone: in which order threads
 * have a ring is nothing that a sanitizer sees. */
inline llvm::StoreInst *storeWord(llvm::IRBuilder<> &builder, llvm::Value *value, llvm::Value *at)
{
    llvm::StoreInst *store = builder.CreateAlignedStore(value, at, llvm::Align(8));

    store->setMetadata(llvm::LLVMContext::MD_nosanitize,
                       llvm::MDNode::get(store->getContext(), {}));
    return store;
}

/* Pieces that are recorded by the pointers that their addresses are constant distances from
 * (straight.cpp). */
struct Straight {
    std::vector<size_t> pieces;     /* of the function's, in an order that all ways follow */
    std::vector<uint32_t> guard_of; /* each of them, as in the table */
    std::vector<llvm::Value *> bases;
    std::vector<bool> is_known; /* each base, where the first piece begins */
    std::vector<Move> moves;    /* for each access */
    uint32_t guards = 0;
    uint32_t end = NONE;                   /* index of the row that its record begins with */
    llvm::BasicBlock *closes_at = nullptr; /* null: behind the last access */
    uint32_t headerWords() const
    {
        return guards ? PSNAP_HOIST_ROWS_WORDS : PSNAP_HOIST_HEADER_WORDS;
    }
    uint32_t fixedWords() const
    {
        return headerWords() + (uint32_t)bases.size();
    }
    uint32_t words() const
    {
        return fixedWords() + (guards > 0);
    }
};

/* An edge out of a loop. */
struct Exit {
    llvm::Instruction *from; /* terminator of the exiting block */
    llvm::BasicBlock *to;
    uint32_t last, end; /* of a hoisted loop, as in the table; the index of the end's row */
};

/* A nest of loops without calls: room for its records is taken at once (batch.cpp). */
struct Batch {
    llvm::BasicBlock *header = nullptr;
    llvm::Instruction *latch = nullptr; /* its terminator */
    std::vector<Exit> exits;
};

/* A loop whose recording is hoisted (hoist.cpp). */
struct Hoist {
    llvm::BasicBlock *header = nullptr;
    llvm::Instruction *latch = nullptr; /* its terminator */
    std::vector<Exit> exits;
    std::vector<size_t> pieces;       /* of the function's, in the order of the iteration */
    std::vector<Move> moves;          /* for each of their accesses */
    std::vector<llvm::Value *> words; /* bases and steps */
    uint32_t guards = 0;
    uint32_t row_words = 0; /* of the longest row */
    uint32_t going_on = 0;  /* index of the end that is none, yet */
    uint32_t batch = NONE;  /* of the function's; there is one if there are rows */
    uint32_t fixedWords() const
    {
        return (row_words ? PSNAP_HOIST_ROWS_WORDS : PSNAP_HOIST_HEADER_WORDS) +
               (uint32_t)words.size();
    }
};

/* A loop of a nest that is not innermost. */
struct Level {
    llvm::Instruction *before = nullptr, *latch = nullptr; /* terminators: in front, of the latch */
    llvm::BasicBlock *header = nullptr;
    int outer = -1;                      /* index of the loop around it */
    uint32_t depth = 0;                  /* in the nest */
    uint32_t enter = NONE, again = NONE; /* steps of the table */
    uint32_t end = NONE;                 /* piece row of a record that stops there */
    uint32_t refs = 0;                   /* that an iteration touches, innermost loops apart */
};

/* Pieces of a nest that are executed one after the other: of an innermost loop, or once. */
struct Part {
    std::vector<size_t> pieces; /* of the function's */
    std::vector<Move> moves;    /* for each of their accesses */
    llvm::Instruction *before = nullptr;
    /* An innermost loop also has its latch's terminator, its step, and the number of its accesses,
     * as of `before`. */
    llvm::Instruction *latch = nullptr;
    uint32_t step = NONE;
    llvm::Value *accesses = nullptr;
};

/* A nest of loops that is recorded as one (nest.cpp). */
struct Nest {
    std::vector<Level> levels;
    std::vector<Exit> exits; /* `last`: step before which the nest stops */
    std::vector<Part> parts;
    std::vector<llvm::Value *> words; /* of the record, behind its header */
    std::vector<psnap_table_value> values;
    std::vector<psnap_table_step> steps; /* those that run parts have their index */
    uint32_t constants = 0, depth = 0;
    uint32_t batch = NONE;    /* of the function's */
    uint32_t going_on = NONE; /* index of the end that is none, yet */
    uint32_t headerWords() const
    {
        return PSNAP_NEST_HEADER_WORDS + 2 * depth;
    }
    uint32_t fixedWords() const
    {
        return headerWords() + (uint32_t)words.size();
    }
};

/* How a reference moves in a loop, or, if that is null, where it is. base is NONE if it has no form
 * that words can say: `word` finds one with a value, `base` one that is `offset` away (hoist.cpp).
 */
Move moveOf(
    llvm::ScalarEvolution &evolution, llvm::Value *pointer, const llvm::Loop *loop,
    llvm::function_ref<bool(const llvm::SCEV *value, uint32_t &word)> word,
    llvm::function_ref<bool(const llvm::SCEV *start, uint32_t &word, int64_t &offset)> base);
/* Edges out of the loop; none when there are too many, or odd ones (hoist.cpp). */
std::vector<Exit> exitsOf(const llvm::Loop &loop, const std::vector<llvm::BasicBlock *> &blocks);
/* The blocks of the loop in an order that every iteration follows; empty when there is none. */
std::vector<llvm::BasicBlock *> orderOf(llvm::Loop &loop, llvm::LoopInfo &loops);
bool isPlain(const Piece &piece);
bool hasCalls(const llvm::Loop &loop, const llvm::TargetLibraryInfo &library);

/* Whether the instruction stores to the frame of a function that is not optimised: its record may
 * be opened behind it, so that what it stores is not kept for it through a call. */
bool isEarly(const llvm::Instruction &at);

/* Where the program is when the call has returned (region.cpp). */
llvm::Instruction *behind(llvm::CallBase *call);

/* Pieces of each block, by their index in the plan. */
using PiecesOf = std::map<const llvm::BasicBlock *, std::vector<size_t>>;

struct FunctionPlan {
    llvm::Function *function;
    std::vector<Piece> pieces;
    std::vector<std::pair<Allocation, uint32_t>> allocations; /* and their sites */
    std::vector<Hoist> hoists;
    std::vector<Batch> batches;
    size_t batched; /* pieces in these */
    std::vector<Nest> nests;
    std::vector<Straight> straights;
};

class ModulePlan
{
  public:
    ModulePlan(llvm::Module &the_module, llvm::FunctionAnalysisManager &the_analyses,
               llvm::StringRef the_stage)
        : module(the_module), context(the_module.getContext()), analyses(the_analyses),
          stage(the_stage)
    {
        const char *wish = std::getenv(PSNAP_ENV_HOIST);
        hoisting = !wish || llvm::StringRef(wish) != "off";
        switching = wish && llvm::StringRef(wish) == "switch";
        marking = std::getenv(PSNAP_ENV_OPENMP) != nullptr;
        labelling = std::getenv(PSNAP_ENV_BLOCKS) != nullptr;
        hoisting &= !labelling; /* which may put code into the function */
    }
    bool run();

  private:
    friend struct Code;
    friend struct BatchCode;
    friend struct HoistCode;
    friend struct NestCode;
    void prepareLoops(llvm::Function &function);
    void labelBlocks(llvm::Function &function, uint32_t first_block);
    void plan(llvm::Function &function);
    void planBlock(llvm::BasicBlock &block, uint32_t index, bool counted, FunctionPlan &out);
    /* `blocks`: by their index in the table. */
    void dropCounts(FunctionPlan &out, const std::map<uint32_t, llvm::BasicBlock *> &blocks);
    void planHoists(FunctionPlan &out, const std::map<uint32_t, llvm::BasicBlock *> &blocks);
    bool planBatch(llvm::Loop &loop, const PiecesOf &pieces_of, FunctionPlan &out);
    bool planHoist(llvm::Loop &loop, const PiecesOf &pieces_of, llvm::SCEVExpander &expander,
                   FunctionPlan &out);
    bool planNest(llvm::Loop &loop, const PiecesOf &pieces_of, llvm::SCEVExpander &expander,
                  FunctionPlan &out);
    void planStraight(FunctionPlan &out);
    void number(FunctionPlan &out);
    void numberPiece(Piece &piece);
    void numberHoist(const FunctionPlan &plan, Hoist &hoist);
    void numberStraight(const FunctionPlan &plan, Straight &code);
    void numberMoves(const std::vector<Move> &moves, uint32_t words, psnap_table_hoist &hoist);
    void numberQuotients(const Move &move, uint32_t words, const psnap_table_hoist &hoist,
                         psnap_table_move &entry);
    void numberNest(const FunctionPlan &plan, Nest &nest);
    void declare();
    llvm::CallInst *callHook(llvm::Instruction *before, llvm::StringRef name,
                             llvm::ArrayRef<llvm::Value *> arguments, llvm::Type *result = nullptr);
    void emit(FunctionPlan &plan);
    void emitPiece(const FunctionPlan &plan, size_t index);
    void fillPiece(const Piece &piece, llvm::Value *record);
    void fillStraight(const FunctionPlan &plan, const Straight &code, llvm::Value *record);
    enum RecordKind { ANY_RECORD, HOISTED_RECORD, UNHOISTED_RECORD };
    llvm::Value *emitRoom(llvm::Instruction *here, uint32_t words, RecordKind kind);
    void publish(llvm::IRBuilder<> &builder, llvm::Value *record, uint32_t index);
    void emitBatches(const FunctionPlan &plan);
    llvm::Value *wordOf(llvm::IRBuilder<> &builder, llvm::Value *&record, uint32_t index);
    void emitAddresses(const Piece &piece, size_t index, llvm::Value *&record, uint32_t word);
    void emitAllocation(const Allocation &allocation, uint32_t site);
    void emitModule();
    /* region.cpp */
    void emitNote(llvm::GlobalVariable *description);
    llvm::Constant *earlyRing();
    void nameFunctions(const std::vector<llvm::Function *> &functions);
    void emitRegions(const FunctionPlan &plan, uint32_t index);
    void emitLeaving(llvm::ReturnInst *end, uint32_t index);
    llvm::Value *isWanted(llvm::IRBuilder<> &builder, uint32_t index);
    llvm::Value *frameOf(llvm::IRBuilder<> &builder);
    void callWithFrame(llvm::Instruction *before, llvm::StringRef hook);
    void emitSandbox(llvm::CallBase *call);
    llvm::GlobalVariable *functionNames();
    llvm::GlobalVariable *constant(llvm::Constant *value, const char *name);
    llvm::Constant *addressOfByte(llvm::GlobalVariable *array, uint32_t index);
    llvm::Value *toWord(llvm::IRBuilder<> &builder, llvm::Value *value);
    /* That of a plain access, as a word. */
    llvm::Value *addressOf(llvm::IRBuilder<> &builder, const Access &access);
    llvm::Value *laneAddress(llvm::IRBuilder<> &builder, const Access &access, uint32_t lane);

    llvm::Module &module;
    llvm::LLVMContext &context;
    llvm::FunctionAnalysisManager &analyses;
    llvm::StringRef stage;
    LoopNames names;
    Table table;
    std::vector<FunctionPlan> plans;
    llvm::GlobalVariable *pieces = nullptr, *sites = nullptr;
    llvm::AllocaInst *record_pointer = nullptr; /* of the function that gets its code */
    std::string function_names;                 /* as in PSNAP_FUNCTIONS_SECTION */
    llvm::GlobalVariable *wanted_functions = nullptr;
    bool hoisting, switching; /* PSNAP_ENV_HOIST */
    bool marking;             /* PSNAP_ENV_OPENMP */
    bool labelling;           /* PSNAP_ENV_BLOCKS */
    llvm::Type *word = nullptr;
    llvm::PointerType *pointer = nullptr;
};

} // namespace psnap

#endif
