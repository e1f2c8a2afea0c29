/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the pass knows of a module while it works: first everything is looked
 * at (loops named, accesses classified, pieces cut), then code is changed,
 * last the static table is written. Nothing is looked at after it was changed.
 */
#ifndef PSNAP_CAPTURE_PASS_H
#define PSNAP_CAPTURE_PASS_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Instruction.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassManager.h"

#include "formats/base/capture_table.h"

namespace psnap
{

constexpr uint32_t NONE = UINT32_MAX;
/* Attribute of functions that have been instrumented: what -emit-llvm wrote may be compiled on. */
constexpr char CAPTURED[] = "psnap-captured";
/* Metadata of loads that are marks: their names. */
constexpr char MARK[] = "psnap.mark";

/* One reference: an instruction's way of touching memory. A copy makes two. */
struct Access {
    llvm::Instruction *at = nullptr;
    llvm::Value *pointer = nullptr; /* or vector of pointers; destination of a copy */
    llvm::Value *extra = nullptr;   /* lane mask, or length in bytes */
    llvm::Value *source = nullptr;  /* of a copy */
    llvm::Value *index = nullptr;   /* of a gather with one base: vector, times scale, bytes */
    uint64_t scale = 1;
    psnap_ref_op op = PSNAP_REF_PLAIN;
    uint32_t kind = 0; /* 0 load, 1 store, 2 atomic */
    uint32_t size_bytes = 0;
    uint32_t lanes = 1;
    uint32_t offset_bytes = 0; /* of a part of a wide load or store, from the pointer on */
};

enum { PLAIN_BYTES_MAX = 64 }; /* of an access that is one for the decoder */

/* Words the access takes in a ring record. */
uint32_t accessWords(const Access &access);

/* Appends what `at` does to memory: none, one or two accesses. */
void classify(llvm::Instruction &at, const llvm::DataLayout &layout, std::vector<Access> &out);

/* The call may run instrumented code, so a piece must not be open across it. */
bool endsPiece(const llvm::Instruction &at, const llvm::TargetLibraryInfo &library);

/* Adds the operations of `at` to the counts of its block. */
void countOperations(const llvm::Instruction &at, const llvm::TargetLibraryInfo &library,
                     uint32_t (&counts)[PSNAP_OPERATION_COUNT]);

/* A call that returns fresh memory: where the pointer and the size are found. */
struct Allocation {
    llvm::CallBase *call = nullptr;
    llvm::Value *size = nullptr;
    llvm::Value *times = nullptr;      /* second factor of the size, or null */
    llvm::Value *pointer_at = nullptr; /* the pointer is stored here (posix_memalign), or null */
};
bool isAllocation(llvm::Instruction &at, Allocation &out);

/* Rows and strings of the static table, in the order of capture_abi.h. */
class Table
{
  public:
    Table();
    uint32_t string(llvm::StringRef text); /* offset of a terminated copy, same text same offset */
#define ROWS(row, rows) std::vector<psnap_table_##row> rows;
    PSNAP_TABLE_ROWS(ROWS)
#undef ROWS
    std::vector<llvm::Constant *> global_values; /* their addresses */
    void addGlobal(llvm::GlobalVariable &global, llvm::StringRef name, uint64_t size_bytes);
    /* The piece row with which records of `words` end, of the latest hoist or nest (`kind`). */
    uint32_t addEnd(uint32_t psnap_table_piece::*kind, uint32_t words, uint32_t last);
    /* The whole table as u32 words, header first. */
    std::vector<uint32_t> words(llvm::StringRef source, llvm::StringRef language,
                                llvm::StringRef compiler, llvm::StringRef stage);

  private:
    std::map<std::string, uint32_t> offsets;
    std::string strings;
};

/*
 * Names of loops. A loop of the source is (function, file, line, column); the
 * loops that the optimiser made of it are its parts. Ids depend only on source,
 * compiler and flags: loops are added in module order, then named.
 */
class LoopNames
{
  public:
    void add(const llvm::Loop &loop, const llvm::LoopInfo &loops, const llvm::Function &function);
    void assign();
    struct Name {
        std::string id, src_id, function, file;
        uint32_t src_line = 0;
    };
    const Name &of(const llvm::Loop *loop) const;
    Name ofFunction(const llvm::Function &function); /* its pseudo-loop */

  private:
    struct Entry {
        const llvm::Loop *loop;
        std::string key, function, file;
        uint32_t src_line, column;
        bool vectorized, has_vector_access;
        Name name;
    };
    std::string display(const std::string &key, const std::string &name);
    std::vector<Entry> entries;
    std::map<const llvm::Loop *, size_t> index;
    std::map<std::string, std::string> names_by_key; /* function -> its display name */
    std::map<std::string, unsigned> display_uses;
};

/* The name of a function of the source, as in profiles; line tables alone have no linkage names. */
std::string scopeName(const llvm::DISubprogram &scope);

/* "f.c" of a path; the source line of the first instruction that has one. */
std::string baseName(llvm::StringRef path);
uint32_t firstLine(const llvm::BasicBlock &block);

/* The variable behind a pointer: name ("" when unknown) and kind (global, allocation, stack). */
struct Object {
    std::string name;
    uint32_t kind = 0;
};
std::string variableName(const llvm::GlobalVariable &global); /* "ns::table" */
std::string functionName(llvm::StringRef linkage);            /* "ns::f" */
llvm::StringRef languageOf(const llvm::Module &module); /* "C", "C++", "Fortran"; "" is unknown */
Object objectOf(const llvm::Value *pointer);
std::string siteName(const llvm::Instruction &call);

/* Marks what OpenMP does in these functions, those of a module (openmp.cpp); the name of a mark, ""
 * for other instructions. */
void markOpenmp(const std::vector<llvm::Function *> &functions,
                llvm::FunctionAnalysisManager &analyses);
std::string markName(const llvm::Instruction &at);

} // namespace psnap

#endif
