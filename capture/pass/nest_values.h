/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Addresses, counts (nest_values.cpp) and conditions (nest_conditions.cpp) of a nest as rows of
 * its table.
 */
#ifndef PSNAP_CAPTURE_NEST_VALUES_H
#define PSNAP_CAPTURE_NEST_VALUES_H

#include "plan.h"

#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Transforms/Utils/ScalarEvolutionExpander.h"

namespace llvm
{
class DominatorTree;
}

namespace psnap
{

class NestValues
{
  public:
    NestValues(llvm::SCEVExpander &the_expander, const llvm::Loop &the_root,
               const llvm::LoopInfo &all_loops, const llvm::DominatorTree &all_dominators)
        : evolution(*the_expander.getSE()), expander(the_expander), root(the_root),
          loops(all_loops), dominators(all_dominators),
          before(the_root.getLoopPreheader()->getTerminator())
    {
    }
    /* Numbers of values, or NONE: the value has no such form. `scope`: the block that uses it,
     * or, where that is in an innermost loop, the block in front of it. */
    uint32_t of(const llvm::SCEV *value, const llvm::BasicBlock *scope);
    uint32_t condition(llvm::Value *value, const llvm::BasicBlock *scope);
    /* How a reference moves with `inner`, or, if that is null, where it is. base is NONE if it has
     * no such form. */
    Move move(llvm::Value *pointer, const llvm::Loop *inner, const llvm::BasicBlock *scope);
    /* Of values that depend on where a block was entered from: rows that are set there, and to
     * what. */
    using Sets = std::vector<std::pair<uint32_t, uint32_t>>;
    Sets setsOn(const llvm::BasicBlock *from, const llvm::BasicBlock *to) const;
    bool isSetIn(const llvm::BasicBlock *block) const;
    size_t setCount() const
    {
        return joins.size();
    }
    /* Rows that have to be computed for the value, those that it shares with others included. */
    uint32_t weight(uint32_t value) const;
    /* The rows of what `uses` has, each with the block whose branch alone needs it, or null; those
     * that are computed at the beginning of a block together, and those for its branch.
     * What was returned before becomes numbers behind `header` words by `number`. */
    struct Range {
        uint32_t first = 0, count = 0;
    };
    struct Ranges {
        Range begin, branch;
    };
    using Uses = std::vector<std::pair<uint32_t, const llvm::BasicBlock *>>;
    void arrange(const std::vector<llvm::BasicBlock *> &blocks, const Uses &uses, uint32_t header,
                 Nest &nest, std::map<const llvm::BasicBlock *, Ranges> &ranges);
    uint32_t number(uint32_t value) const
    {
        return value == NONE ? NONE : numbers[value];
    }
    void expand(llvm::Type *word, std::vector<llvm::Value *> &out);

  private:
    /* A word of the record (`is_word`; of a condition `known` instead of `evolved`), or a row. */
    struct Entry {
        bool is_word;
        const llvm::SCEV *evolved;
        llvm::Value *known;
        psnap_value_op op;
        unsigned bits;
        uint64_t a, b;                 /* entries, or what the operation has there */
        const llvm::BasicBlock *place; /* where it is computed anew; null: before the nest */
        bool is_row() const
        {
            return !is_word && op != PSNAP_VALUE_CONSTANT;
        }
        bool has_second() const
        {
            return op != PSNAP_VALUE_SEXT && op != PSNAP_VALUE_TRUNC;
        }
    };
    struct Need { /* of an entry */
        bool is_used = false, is_shared = false;
        const llvm::BasicBlock *branch = nullptr; /* that needs it, if no other does */
    };
    struct Join { /* a value that depends on where its block was entered from */
        const llvm::PHINode *phi;
        uint32_t entry;
        std::map<const llvm::BasicBlock *, uint32_t> incoming;
    };
    bool fits(const llvm::SCEV *value, const llvm::BasicBlock *scope) const;
    uint32_t add(const Entry &entry);
    std::vector<Need> needs(const Uses &uses) const;
    uint32_t constant(uint64_t value, unsigned bits);
    uint32_t operation(psnap_value_op op, unsigned bits, uint32_t a, uint32_t b);
    uint32_t word(const llvm::SCEV *value);
    uint32_t make(const llvm::SCEV *value);
    uint32_t makeNary(const llvm::SCEVNAryExpr &value, psnap_value_op op, unsigned bits);
    uint32_t comparison(llvm::CmpInst::Predicate predicate, const llvm::SCEV *left,
                        const llvm::SCEV *right, const llvm::BasicBlock *scope);
    uint32_t lane(llvm::Value *value, unsigned index, const llvm::BasicBlock *scope);
    uint32_t lanes(llvm::Value *value, psnap_value_op op, const llvm::BasicBlock *scope);
    uint32_t mask(const llvm::ICmpInst &compare, const llvm::BasicBlock *scope);
    uint32_t invert(uint32_t condition);
    const llvm::SCEV *laneOf(llvm::Value *value, unsigned index) const;
    const llvm::SCEV *scalar(llvm::Value *value) const;
    uint32_t join(const llvm::PHINode &phi);
    uint32_t makeAny(const llvm::SCEV *value);
    uint32_t logic(llvm::Instruction &at, llvm::function_ref<uint32_t(llvm::Value *)> operand);
    const llvm::BasicBlock *later(const llvm::BasicBlock *a, const llvm::BasicBlock *b) const;

    llvm::ScalarEvolution &evolution;
    llvm::SCEVExpander &expander;
    const llvm::Loop &root;
    const llvm::LoopInfo &loops;
    const llvm::DominatorTree &dominators;
    llvm::Instruction *before;
    std::vector<Join> joins;
    std::vector<Entry> entries;
    std::vector<uint32_t> numbers;
    std::map<const llvm::SCEV *, uint32_t> known;
    std::vector<std::pair<const llvm::SCEV *, uint32_t>> bases;
};

} // namespace psnap

#endif
