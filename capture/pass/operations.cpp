/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls and arithmetic: which calls end a piece, which return fresh memory,
 * and how many operations of each kind a block executes. Vector operations
 * count by lanes; address arithmetic (getelementptr) is not counted, it is
 * mostly free in addressing modes.
 */
#include "pass.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace psnap
{

/* The C library's mathematical functions: no memory but errno, no call back. */
static bool mathFunction(const CallBase &call, const TargetLibraryInfo &library, bool &is_sqrt)
{
    static const char *const names[] = {
        "acos",  "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt",  "cos",
        "cosh",  "erf",   "exp",  "exp10", "exp2", "expm1", "fmod",  "hypot", "log",
        "log10", "log1p", "log2", "logb",  "pow",  "sin",   "sinh",  "tan",   "tanh"};
    const Function *callee = call.getCalledFunction();
    LibFunc known;

    is_sqrt = false;
    if (!callee || !callee->isDeclaration() || !library.getLibFunc(*callee, known))
        return false;
    StringRef name = callee->getName();
    StringRef stem = name.ends_with("f") || name.ends_with("l") ? name.drop_back() : name;
    if (name == "sqrt" || stem == "sqrt") {
        is_sqrt = true;
        return true;
    }
    for (const char *function : names)
        if (name == function || stem == function)
            return true;
    return false;
}

bool endsPiece(const Instruction &at, const TargetLibraryInfo &library)
{
    auto *call = dyn_cast<CallBase>(&at);
    bool is_sqrt;
    return call && !isa<IntrinsicInst>(call) && !mathFunction(*call, library, is_sqrt);
}

bool isAllocation(Instruction &at, const TargetLibraryInfo &library, Allocation &out)
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
    (void)library;
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

/* By name, as older versions of LLVM do not have them. */
static bool newerMathIntrinsic(StringRef name)
{
    static const char *const names[] = {"acos", "asin", "atan", "atan2",  "cosh",     "exp10",
                                        "modf", "sinh", "tan",  "sincos", "sincospi", "tanh"};

    if (!name.consume_front("llvm."))
        return false;
    for (const char *function : names)
        if (name == function)
            return true;
    return false;
}

static int intrinsicOperation(Intrinsic::ID id)
{
    switch (id) {
    case Intrinsic::fma:
    case Intrinsic::fmuladd:
        return PSNAP_OP_FP_FMA;
    case Intrinsic::sqrt:
        return PSNAP_OP_FP_SQRT;
    case Intrinsic::sin:
    case Intrinsic::cos:
    case Intrinsic::exp:
    case Intrinsic::exp2:
    case Intrinsic::log:
    case Intrinsic::log2:
    case Intrinsic::log10:
    case Intrinsic::pow:
    case Intrinsic::powi:
        return PSNAP_OP_FP_MATH;
    case Intrinsic::fabs:
    case Intrinsic::copysign:
    case Intrinsic::minnum:
    case Intrinsic::maxnum:
    case Intrinsic::minimum:
    case Intrinsic::maximum:
    case Intrinsic::floor:
    case Intrinsic::ceil:
    case Intrinsic::trunc:
    case Intrinsic::rint:
    case Intrinsic::nearbyint:
    case Intrinsic::round:
    case Intrinsic::roundeven:
    case Intrinsic::vector_reduce_fadd:
    case Intrinsic::vector_reduce_fmax:
    case Intrinsic::vector_reduce_fmin:
        return PSNAP_OP_FP_ADD;
    case Intrinsic::vector_reduce_fmul:
        return PSNAP_OP_FP_MUL;
    case Intrinsic::vector_reduce_mul:
    case Intrinsic::smul_with_overflow:
    case Intrinsic::umul_with_overflow:
        return PSNAP_OP_INT_MUL;
    case Intrinsic::abs:
    case Intrinsic::smax:
    case Intrinsic::smin:
    case Intrinsic::umax:
    case Intrinsic::umin:
    case Intrinsic::ctpop:
    case Intrinsic::ctlz:
    case Intrinsic::cttz:
    case Intrinsic::bswap:
    case Intrinsic::bitreverse:
    case Intrinsic::fshl:
    case Intrinsic::fshr:
    case Intrinsic::vector_reduce_add:
    case Intrinsic::vector_reduce_and:
    case Intrinsic::vector_reduce_or:
    case Intrinsic::vector_reduce_xor:
    case Intrinsic::vector_reduce_smax:
    case Intrinsic::vector_reduce_smin:
    case Intrinsic::vector_reduce_umax:
    case Intrinsic::vector_reduce_umin:
    case Intrinsic::sadd_with_overflow:
    case Intrinsic::uadd_with_overflow:
    case Intrinsic::ssub_with_overflow:
    case Intrinsic::usub_with_overflow:
        return PSNAP_OP_INT_ADD;
    default:
        return newerMathIntrinsic(Intrinsic::getBaseName(id)) ? PSNAP_OP_FP_MATH : -1;
    }
}

static int opcodeOperation(const Instruction &at)
{
    switch (at.getOpcode()) {
    case Instruction::Add:
    case Instruction::Sub:
    case Instruction::And:
    case Instruction::Or:
    case Instruction::Xor:
    case Instruction::Shl:
    case Instruction::LShr:
    case Instruction::AShr:
    case Instruction::ICmp:
    case Instruction::Select:
        return PSNAP_OP_INT_ADD;
    case Instruction::Mul:
        return PSNAP_OP_INT_MUL;
    case Instruction::UDiv:
    case Instruction::SDiv:
    case Instruction::URem:
    case Instruction::SRem:
        return PSNAP_OP_INT_DIV;
    case Instruction::FAdd:
    case Instruction::FSub:
    case Instruction::FNeg:
    case Instruction::FCmp:
        return PSNAP_OP_FP_ADD;
    case Instruction::FMul:
        return PSNAP_OP_FP_MUL;
    case Instruction::FDiv:
    case Instruction::FRem:
        return PSNAP_OP_FP_DIV;
    case Instruction::FPToSI:
    case Instruction::FPToUI:
    case Instruction::SIToFP:
    case Instruction::UIToFP:
    case Instruction::FPExt:
    case Instruction::FPTrunc:
        return PSNAP_OP_CONVERT;
    case Instruction::Switch:
        return PSNAP_OP_BRANCH;
    case Instruction::Br:
        return cast<BranchInst>(at).isConditional() ? PSNAP_OP_BRANCH : -1;
    default:
        return -1;
    }
}

void countOperations(const Instruction &at, const TargetLibraryInfo &library,
                     uint32_t (&counts)[PSNAP_OPERATION_COUNT])
{
    int operation;
    bool is_sqrt;

    if (auto *known = dyn_cast<IntrinsicInst>(&at))
        operation = intrinsicOperation(known->getIntrinsicID());
    else if (auto *call = dyn_cast<CallBase>(&at))
        operation = mathFunction(*call, library, is_sqrt)
                        ? (is_sqrt ? PSNAP_OP_FP_SQRT : PSNAP_OP_FP_MATH)
                        : PSNAP_OP_CALL;
    else
        operation = opcodeOperation(at);
    if (operation < 0)
        return;

    /* A comparison yields i1 lanes, a reduction a scalar: the operand knows the width. */
    Type *type = at.getNumOperands() ? at.getOperand(0)->getType() : at.getType();
    auto *lanes = dyn_cast<FixedVectorType>(type);
    counts[operation] += lanes ? lanes->getNumElements() : 1;
}

} // namespace psnap
