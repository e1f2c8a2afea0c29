/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names of loops: "function:line" after the function and line in which the
 * source has the loop, wherever it was inlined to. Two loops that start on one
 * line are told apart by their columns ("f:12:5"); without line numbers a loop
 * is the function's n-th ("f#1"). Several loops with one name are parts that
 * the optimiser made: "f:12.vector" and "f:12.rest" of a vectorised loop, else
 * "f:12.1", "f:12.2".
 */
#include "pass.h"

#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Instructions.h"

#include <set>

using namespace llvm;

namespace psnap
{

uint32_t firstLine(const BasicBlock &block)
{
    for (const Instruction &at : block)
        if (const DebugLoc &place = at.getDebugLoc())
            if (place.getLine())
                return place.getLine();
    return 0;
}

/* Which function of the source a scope is: line tables alone have no linkage names, so overloads
 * and instances are told apart by line and template arguments. */
static std::string functionKey(const DISubprogram &scope)
{
    if (!scope.getLinkageName().empty())
        return scope.getLinkageName().str();
    return scope.getName().str() + "@" + std::to_string(scope.getLine());
}

/* The name a person knows, made unique among functions that would share it (overloads). */
std::string LoopNames::display(const std::string &key, const std::string &name)
{
    auto known = names_by_key.find(key);
    if (known != names_by_key.end())
        return known->second;
    unsigned use = ++display_uses[name];
    return names_by_key[key] = use > 1 ? name + "#" + std::to_string(use) : name;
}

static bool hasVectorAccess(const Loop &loop)
{
    for (const BasicBlock *block : loop.blocks())
        for (const Instruction &at : *block) {
            if (isa<LoadInst>(at) && at.getType()->isVectorTy())
                return true;
            if (auto *store = dyn_cast<StoreInst>(&at))
                if (store->getValueOperand()->getType()->isVectorTy())
                    return true;
            if (auto *call = dyn_cast<CallInst>(&at))
                if (call->getType()->isVectorTy() && call->mayReadFromMemory())
                    return true;
        }
    return false;
}

/* The scalar loop that does the rest of a vectorised one: it comes right behind. */
static const Loop *restOf(const Loop &loop, const LoopInfo &loops)
{
    SmallVector<BasicBlock *, 4> open, exits;

    loop.getExitBlocks(exits);
    for (unsigned step = 0; step < 3; step++) {
        open.clear();
        for (BasicBlock *block : exits) {
            const Loop *next = loops.getLoopFor(block);
            if (next && next->getHeader() == block && next != &loop &&
                next->getParentLoop() == loop.getParentLoop())
                return next;
            if (next == loop.getParentLoop())
                open.append(succ_begin(block), succ_end(block));
        }
        exits = open;
    }
    return nullptr;
}

/* The first instruction of a loop that has a line. */
static const DILocation *bodyPlace(const Loop &loop)
{
    for (const BasicBlock *block : loop.blocks())
        for (const Instruction &at : *block)
            if (at.getDebugLoc() && at.getDebugLoc().getLine())
                return at.getDebugLoc();
    return nullptr;
}

/* Where the source has the loop. flang's vectorised loops do not know; then it is where their
 * rest is, or if there is none where the first instruction with a line is. */
static const DILocation *placeOf(const Loop &loop, const LoopInfo &loops)
{
    const DILocation *place = loop.getStartLoc();
    if (place)
        return place;
    const DILocation *body = bodyPlace(loop);
    const Loop *rest = body && findOptionMDForLoop(&loop, "llvm.loop.isvectorized")
                           ? restOf(loop, loops)
                           : nullptr;
    place = rest ? rest->getStartLoc() : nullptr;
    bool is_near = place && place->getInlinedAt() == body->getInlinedAt() &&
                   place->getScope()->getSubprogram() == body->getScope()->getSubprogram() &&
                   place->getLine() <= body->getLine();
    return is_near ? place : body;
}

void LoopNames::add(const Loop &loop, const LoopInfo &loops, const Function &function)
{
    Entry entry = {};
    entry.loop = &loop;
    const DISubprogram *home = function.getSubprogram();
    entry.key = home ? functionKey(*home) : function.getName().str();
    entry.function = home ? scopeName(*home) : functionName(function.getName());
    if (const DILocation *place = placeOf(loop, loops)) {
        entry.src_line = place->getLine();
        entry.column = place->getColumn();
        entry.file = baseName(place->getFilename());
        if (const DISubprogram *scope = place->getScope()->getSubprogram()) {
            entry.key = functionKey(*scope);
            entry.function = scopeName(*scope);
        }
    }
    entry.vectorized = findOptionMDForLoop(&loop, "llvm.loop.isvectorized") != nullptr;
    entry.has_vector_access = hasVectorAccess(loop);
    index[&loop] = entries.size();
    entries.push_back(entry);
}

void LoopNames::assign()
{
    std::map<std::string, std::set<uint32_t>> columns; /* "f:12" -> columns of its loops */
    std::map<std::string, std::vector<size_t>> parts;  /* src_id -> its loops */
    std::map<std::string, unsigned> unnamed;           /* function -> loops without a line */

    for (Entry &entry : entries) {
        entry.name.function = display(entry.key, entry.function);
        entry.name.file = entry.file;
        entry.name.src_line = entry.src_line;
        if (entry.src_line)
            columns[entry.name.function + ":" + std::to_string(entry.src_line)].insert(
                entry.column);
    }
    for (size_t i = 0; i < entries.size(); i++) {
        Name &name = entries[i].name;
        if (entries[i].src_line) {
            name.src_id = name.function + ":" + std::to_string(entries[i].src_line);
            if (columns[name.src_id].size() > 1)
                name.src_id += ":" + std::to_string(entries[i].column);
        } else
            name.src_id = name.function + "#" + std::to_string(++unnamed[name.function]);
        parts[name.src_id].push_back(i);
    }
    for (auto &loop : parts) {
        std::map<std::string, unsigned> uses;
        for (size_t i : loop.second) {
            Entry &entry = entries[i];
            std::string part = !entry.vectorized ? "" : entry.has_vector_access ? "vector" : "rest";
            unsigned use = ++uses[part];
            if (loop.second.size() == 1)
                part = "";
            else if (part.empty() || use > 1)
                part += std::to_string(use);
            entry.name.id = entry.name.src_id + (part.empty() ? "" : "." + part);
        }
    }
}

const LoopNames::Name &LoopNames::of(const Loop *loop) const
{
    return entries[index.at(loop)].name;
}

LoopNames::Name LoopNames::ofFunction(const Function &function)
{
    Name name;
    const DISubprogram *scope = function.getSubprogram();

    name.function = scope ? display(functionKey(*scope), scopeName(*scope))
                          : display(function.getName().str(), functionName(function.getName()));
    name.id = name.src_id = name.function;
    if (scope) {
        name.file = baseName(scope->getFilename());
        name.src_line = scope->getLine();
    } else
        name.file = baseName(function.getParent()->getSourceFileName());
    return name;
}

} // namespace psnap
