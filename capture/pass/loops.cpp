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

#include "llvm/Demangle/Demangle.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Support/Path.h"

#include <set>

using namespace llvm;

namespace psnap
{

std::string baseName(StringRef path)
{
    return sys::path::filename(path).str();
}

uint32_t firstLine(const BasicBlock &block)
{
    for (const Instruction &at : block)
        if (const DebugLoc &place = at.getDebugLoc())
            if (place.getLine())
                return place.getLine();
    return 0;
}

std::string siteName(const Instruction &call)
{
    std::string name = demangle(call.getFunction()->getName());
    const DILocation *place = call.getDebugLoc();

    if (place) {
        if (const DISubprogram *scope = place->getScope()->getSubprogram())
            name = scope->getName().str();
        name += " " + baseName(place->getFilename()) + ":" + std::to_string(place->getLine());
    }
    return name;
}

/* "ns::f<int>(long)" -> "ns::f<int>": the last parenthesis at depth 0 and what follows. */
static std::string withoutParameters(std::string name)
{
    int depth = 0;
    if (name.empty() || name.find('(') == std::string::npos)
        return name;
    for (size_t i = name.size(); i-- > 0;) {
        depth += name[i] == ')';
        depth -= name[i] == '(';
        if (name[i] == '(' && depth == 0 && i > 0)
            return name.substr(0, i);
    }
    return name;
}

/* The name a person knows, made unique among functions that would share it (overloads). */
std::string LoopNames::display(const std::string &linkage)
{
    auto known = linkage_names.find(linkage);
    if (known != linkage_names.end())
        return known->second;
    std::string name = withoutParameters(demangle(linkage));
    unsigned use = ++display_uses[name];
    if (use > 1)
        name += "#" + std::to_string(use);
    return linkage_names[linkage] = name;
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

void LoopNames::add(const Loop &loop, const Function &function)
{
    Entry entry = {};
    entry.loop = &loop;
    entry.linkage = function.getName().str();
    if (const DILocation *place = loop.getStartLoc()) {
        entry.src_line = place->getLine();
        entry.column = place->getColumn();
        entry.file = baseName(place->getFilename());
        if (const DISubprogram *scope = place->getScope()->getSubprogram())
            entry.linkage = scope->getLinkageName().empty() ? scope->getName().str()
                                                            : scope->getLinkageName().str();
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
        entry.name.function = display(entry.linkage);
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
    name.function = name.id = name.src_id = display(function.getName().str());
    if (const DISubprogram *scope = function.getSubprogram()) {
        name.file = baseName(scope->getFilename());
        name.src_line = scope->getLine();
    } else
        name.file = baseName(function.getParent()->getSourceFileName());
    return name;
}

} // namespace psnap
