/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls and arithmetic: which calls end a piece, which return fresh memory,
 * and how many operations of each kind a block executes. Vector operations
 * count by lanes; address arithmetic (getelementptr) is not counted, it is
 * mostly free in addressing modes.
 */
#include "pass.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace psnap
{

/* The C library's mathematical functions: no memory but errno, no call back. */
static bool mathFunction(const CallBase &call, const TargetLibraryInfo &library, bool &is_sqrt)
{
    static const StringSet<> names = {"acos",  "acosh", "asin",  "asinh", "atan",  "atan2", "atanh",
                                      "cbrt",  "cos",   "cosh",  "erf",   "exp",   "exp10", "exp2",
                                      "expm1", "fmod",  "hypot", "log",   "log10", "log1p", "log2",
                                      "logb",  "pow",   "sin",   "sinh",  "tan",   "tanh"};
    const Function *callee = call.getCalledFunction();
    LibFunc known;

    is_sqrt = false;
    if (!callee || !callee->isDeclaration() || !library.getLibFunc(*callee, known))
        return false;
    StringRef name = callee->getName();
    StringRef stem = name.ends_with("f") || name.ends_with("l") ? name.drop_back() : name;
    is_sqrt = name == "sqrt" || stem == "sqrt";
    return is_sqrt || names.contains(name) || names.contains(stem);
}

bool endsPiece(const Instruction &at, const TargetLibraryInfo &library)
{
    auto *call = dyn_cast<CallBase>(&at);
    bool is_sqrt;
    return call && !isa<IntrinsicInst>(call) && !mathFunction(*call, library, is_sqrt);
}

bool isAllocation(Instruction &at, Allocation &out)
{
    auto *call = dyn_cast<CallBase>(&at);
    const Function *callee = call ? call->getCalledFunction() : nullptr;
    if (!callee || !callee->isDeclaration() || isa<IntrinsicInst>(call))
        return false;

    StringRef name = callee->getName();
    unsigned arguments = call->arg_size();
    auto is = [&](const char *function, unsigned count) {
        return name == function && arguments == count;
    };
    out.call = call;
    out.times = out.pointer_at = nullptr;
    if (is("malloc", 1) || is("valloc", 1) || name.starts_with("_Znwm") ||
        name.starts_with("_Znam"))
        out.size = call->getArgOperand(0);
    else if (is("realloc", 2) || is("aligned_alloc", 2) || is("memalign", 2) || is("mmap", 6) ||
             is("mmap64", 6))
        out.size = call->getArgOperand(1);
    else if (is("calloc", 2)) {
        out.size = call->getArgOperand(0);
        out.times = call->getArgOperand(1);
    } else if (is("reallocarray", 3)) {
        out.size = call->getArgOperand(1);
        out.times = call->getArgOperand(2);
    } else if (is("posix_memalign", 3)) {
        out.size = call->getArgOperand(2);
        out.pointer_at = call->getArgOperand(0);
    } else
        return false;
    return out.size->getType()->isIntegerTy(64);
}

struct Counted {
    int operation;
    const char *names; /* a blank between them */
};

/* Intrinsics by their names without "llvm.": no version of LLVM has them all. */
static const Counted intrinsics[] = {
    {PSNAP_OP_FP_FMA, "fma fmuladd"},
    {PSNAP_OP_FP_SQRT, "sqrt"},
    {PSNAP_OP_FP_MATH,
     "sin cos exp exp2 log log2 log10 pow powi acos asin atan atan2 cosh exp10 modf "
     "sinh tan sincos sincospi tanh"},
    {PSNAP_OP_FP_ADD, "fabs copysign minnum maxnum minimum maximum floor ceil trunc rint nearbyint "
                      "round roundeven vector.reduce.fadd vector.reduce.fmax vector.reduce.fmin"},
    {PSNAP_OP_FP_MUL, "vector.reduce.fmul"},
    {PSNAP_OP_INT_MUL, "vector.reduce.mul smul.with.overflow umul.with.overflow"},
    {PSNAP_OP_INT_ADD, "abs smax smin umax umin ctpop ctlz cttz bswap bitreverse fshl fshr "
                       "vector.reduce.add vector.reduce.and vector.reduce.or vector.reduce.xor "
                       "vector.reduce.smax vector.reduce.smin vector.reduce.umax "
                       "vector.reduce.umin sadd.with.overflow uadd.with.overflow "
                       "ssub.with.overflow usub.with.overflow"},
};

/* Other instructions, as assembly of LLVM writes them. */
static const Counted opcodes[] = {
    {PSNAP_OP_INT_ADD, "add sub and or xor shl lshr ashr icmp select"},
    {PSNAP_OP_INT_MUL, "mul"},
    {PSNAP_OP_INT_DIV, "udiv sdiv urem srem"},
    {PSNAP_OP_FP_ADD, "fadd fsub fneg fcmp"},
    {PSNAP_OP_FP_MUL, "fmul"},
    {PSNAP_OP_FP_DIV, "fdiv frem"},
    {PSNAP_OP_CONVERT, "fptosi fptoui sitofp uitofp fpext fptrunc"},
    {PSNAP_OP_BRANCH, "switch"},
};

static StringMap<int> operationsOf(ArrayRef<Counted> table)
{
    StringMap<int> operations;
    SmallVector<StringRef, 32> names;

    for (const Counted &row : table) {
        names.clear();
        StringRef(row.names).split(names, ' ');
        for (StringRef name : names)
            operations[name] = row.operation;
    }
    return operations;
}

/* -1: it is not counted. */
static int operationOf(const Instruction &at)
{
    static const StringMap<int> of_intrinsics = operationsOf(intrinsics);
    static const StringMap<int> of_opcodes = operationsOf(opcodes);
    auto *known = dyn_cast<IntrinsicInst>(&at);
    auto *branch = dyn_cast<BranchInst>(&at);

    if (branch)
        return branch->isConditional() ? PSNAP_OP_BRANCH : -1;
    const StringMap<int> &operations = known ? of_intrinsics : of_opcodes;
    StringRef name = known ? Intrinsic::getBaseName(known->getIntrinsicID()) : at.getOpcodeName();
    name.consume_front("llvm.");
    auto row = operations.find(name);
    return row == operations.end() ? -1 : row->second;
}

void countOperations(const Instruction &at, const TargetLibraryInfo &library,
                     uint32_t (&counts)[PSNAP_OPERATION_COUNT])
{
    auto *call = dyn_cast<CallBase>(&at);
    int operation;
    bool is_sqrt;

    if (call && !isa<IntrinsicInst>(call))
        operation = mathFunction(*call, library, is_sqrt)
                        ? (is_sqrt ? PSNAP_OP_FP_SQRT : PSNAP_OP_FP_MATH)
                        : PSNAP_OP_CALL;
    else
        operation = operationOf(at);
    if (operation < 0)
        return;

    /* A comparison yields i1 lanes, a reduction a scalar: the operand knows the width. */
    Type *type = at.getNumOperands() ? at.getOperand(0)->getType() : at.getType();
    auto *lanes = dyn_cast<FixedVectorType>(type);
    counts[operation] += lanes ? lanes->getNumElements() : 1;
}

} // namespace psnap
