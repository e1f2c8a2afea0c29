/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which instructions touch memory and how. One access is one load or store as
 * the IR makes it; gathers and scatters make one per active lane, masked
 * contiguous ones one from the first to the last active lane, copies and fills
 * 64-byte pieces. A load or store of 65 to 512 bytes is an access for each 64 of them; larger ones
 * are taken apart by the decoder. Scalable vectors and other address spaces are left alone.
 */
#include "pass.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace psnap
{

enum { PARTS_MAX = 8 }; /* of a wide load or store */

uint32_t accessWords(const Access &access)
{
    return psnap_ref_words(access.op, access.lanes);
}

/* Bytes that a value of this type takes in memory, 0 when that is not known here. */
static uint32_t storeSize(Type *type, const DataLayout &layout)
{
    TypeSize size = layout.getTypeStoreSize(type);
    return size.isScalable() || size.getFixedValue() > UINT32_MAX ? 0
                                                                  : (uint32_t)size.getFixedValue();
}

static void plain(Instruction &at, Value *pointer, Type *type, uint32_t kind,
                  const DataLayout &layout, std::vector<Access> &out)
{
    Access access;
    access.at = &at;
    access.pointer = pointer;
    access.kind = kind;
    access.size_bytes = storeSize(type, layout);
    if (!access.size_bytes || pointer->getType()->getPointerAddressSpace() != 0)
        return;
    uint32_t left = access.size_bytes;
    for (; left > PLAIN_BYTES_MAX && left <= PARTS_MAX * PLAIN_BYTES_MAX; left -= PLAIN_BYTES_MAX) {
        access.size_bytes = PLAIN_BYTES_MAX;
        out.push_back(access);
        access.offset_bytes += PLAIN_BYTES_MAX;
    }
    access.size_bytes = left;
    out.push_back(access);
}

static void vector(IntrinsicInst &at, psnap_ref_op op, Value *pointer, Value *mask, Type *type,
                   uint32_t kind, const DataLayout &layout, std::vector<Access> &out)
{
    auto *lanes = dyn_cast<FixedVectorType>(type);
    Type *scalar_pointer = pointer->getType()->getScalarType();

    if (!lanes || lanes->getNumElements() > 64 || scalar_pointer->getPointerAddressSpace() != 0)
        return;
    Access access;
    access.at = &at;
    access.pointer = pointer;
    access.extra = mask;
    access.op = op;
    access.kind = kind;
    access.lanes = lanes->getNumElements();
    access.size_bytes = storeSize(lanes->getElementType(), layout);
    if (access.size_bytes)
        out.push_back(access);
}

static void bulk(AnyMemIntrinsic &at, std::vector<Access> &out)
{
    Access access;

    if (at.getDestAddressSpace() != 0)
        return;
    access.at = &at;
    access.pointer = at.getRawDest();
    access.extra = at.getLength();
    access.size_bytes = 64;
    auto *copy = dyn_cast<AnyMemTransferInst>(&at);
    auto *length = dyn_cast<ConstantInt>(at.getLength());
    if (copy && copy->getSourceAddressSpace() != 0)
        return;
    if (length && length->getValue().ule(64)) { /* a struct: as a load and a store of it */
        access.extra = nullptr;
        access.size_bytes = (uint32_t)length->getZExtValue();
        if (access.size_bytes && copy) {
            Access load = access;
            load.pointer = copy->getRawSource();
            out.push_back(load);
        }
        access.kind = 1;
        if (access.size_bytes)
            out.push_back(access);
        return;
    }
    if (copy) {
        access.op = PSNAP_REF_COPY;
        access.source = copy->getRawSource();
        out.push_back(access);
        access.op = PSNAP_REF_NONE;
        access.kind = 1;
    } else {
        access.op = PSNAP_REF_FILL;
        access.kind = 1;
    }
    out.push_back(access);
}

/*
 * Intrinsics of x86 that programs call by hand; what the vectoriser makes is generic. Masks are
 * vectors of i1, or of integers whose sign bits count:
 *   avx[2].maskload(pointer, mask), avx[2].maskstore(pointer, mask, value)
 *   avx2.gather(else, base, index, mask, scale), avx512.mask.gather likewise
 *   avx512.mask.scatter(base, mask, index, value, scale)
 */
static void x86(IntrinsicInst &at, StringRef name, const DataLayout &layout,
                std::vector<Access> &out)
{
    bool is_gather = name.starts_with("avx2.gather.") || name.starts_with("avx512.mask.gather");
    bool is_scatter = name.starts_with("avx512.mask.scatter");
    auto argument = [&](unsigned i) { return at.getArgOperand(i); };

    if (name.starts_with("avx.maskload.") || name.starts_with("avx2.maskload."))
        return vector(at, PSNAP_REF_MASKED, argument(0), argument(1), at.getType(), 0, layout, out);
    if (name.starts_with("avx.maskstore.") || name.starts_with("avx2.maskstore."))
        return vector(at, PSNAP_REF_MASKED, argument(0), argument(1), argument(2)->getType(), 1,
                      layout, out);
    if ((!is_gather && !is_scatter) || at.arg_size() != 5)
        return;
    size_t before = out.size();
    if (is_gather)
        vector(at, PSNAP_REF_GATHER, argument(1), argument(3), at.getType(), 0, layout, out);
    else
        vector(at, PSNAP_REF_GATHER, argument(0), argument(1), argument(3)->getType(), 1, layout,
               out);
    if (out.size() == before)
        return;
    Access &access = out.back();
    auto *scale = dyn_cast<ConstantInt>(argument(4));
    access.index = argument(2);
    access.scale = scale ? scale->getZExtValue() : 1;
    /* Four indices may select two lanes, and the other way round. */
    unsigned indices = cast<FixedVectorType>(access.index->getType())->getNumElements();
    access.lanes = indices < access.lanes ? indices : access.lanes;
}

static void intrinsic(IntrinsicInst &at, const DataLayout &layout, std::vector<Access> &out)
{
    /* The mask is the last vector of i1 in all of these; finding it by type also fits
     * the LLVM versions that dropped the alignment argument. */
    auto mask = [&]() -> Value * {
        for (Value *argument : at.args())
            if (argument->getType()->isIntOrIntVectorTy(1) && argument->getType()->isVectorTy())
                return argument;
        return nullptr;
    };
    Value *first = at.arg_size() > 0 ? at.getArgOperand(0) : nullptr;
    Value *second = at.arg_size() > 1 ? at.getArgOperand(1) : nullptr;

    switch (at.getIntrinsicID()) {
    case Intrinsic::masked_load:
        return vector(at, PSNAP_REF_MASKED, first, mask(), at.getType(), 0, layout, out);
    case Intrinsic::masked_store:
        return vector(at, PSNAP_REF_MASKED, second, mask(), first->getType(), 1, layout, out);
    case Intrinsic::masked_gather:
        return vector(at, PSNAP_REF_GATHER, first, mask(), at.getType(), 0, layout, out);
    case Intrinsic::masked_scatter:
        return vector(at, PSNAP_REF_GATHER, second, mask(), first->getType(), 1, layout, out);
    case Intrinsic::masked_expandload:
        return vector(at, PSNAP_REF_PACKED, first, mask(), at.getType(), 0, layout, out);
    case Intrinsic::masked_compressstore:
        return vector(at, PSNAP_REF_PACKED, second, mask(), first->getType(), 1, layout, out);
    default:
        if (auto *memory = dyn_cast<AnyMemIntrinsic>(&at))
            bulk(*memory, out);
        else if (at.getCalledFunction()->getName().starts_with("llvm.x86.avx"))
            x86(at, at.getCalledFunction()->getName().drop_front(9), layout, out);
    }
}

void classify(Instruction &at, const DataLayout &layout, std::vector<Access> &out)
{
    if (auto *load = dyn_cast<LoadInst>(&at))
        plain(at, load->getPointerOperand(), load->getType(), 0, layout, out);
    else if (auto *store = dyn_cast<StoreInst>(&at))
        plain(at, store->getPointerOperand(), store->getValueOperand()->getType(), 1, layout, out);
    else if (auto *rmw = dyn_cast<AtomicRMWInst>(&at))
        plain(at, rmw->getPointerOperand(), rmw->getValOperand()->getType(), 2, layout, out);
    else if (auto *exchange = dyn_cast<AtomicCmpXchgInst>(&at))
        plain(at, exchange->getPointerOperand(), exchange->getNewValOperand()->getType(), 2, layout,
              out);
    else if (auto *call = dyn_cast<IntrinsicInst>(&at))
        intrinsic(*call, layout, out);
}

Object objectOf(const Value *pointer)
{
    Object object;
    if (!pointer || !pointer->getType()->isPointerTy())
        return object;
    const Value *base = getUnderlyingObject(pointer, 12);
    if (auto *global = dyn_cast<GlobalVariable>(base)) {
        if (!global->hasPrivateLinkage())
            object.name = variableName(*global);
    } else if (auto *slot = dyn_cast<AllocaInst>(base)) {
        object.kind = 2;
        object.name = functionName(slot->getFunction()->getName());
        if (slot->hasName())
            object.name += "." + slot->getName().str();
    } else if (auto *call = dyn_cast<CallBase>(base)) {
        Allocation allocation;
        if (isAllocation(*const_cast<CallBase *>(call), allocation)) {
            object.kind = 1;
            object.name = siteName(*call);
        }
    }
    return object;
}

} // namespace psnap
