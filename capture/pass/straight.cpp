/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Straight code: accesses of a block, outside hoisted loops, whose addresses are constant distances
 * from a few pointers, as those of a structure's fields or of a small matrix are. Their record has
 * these pointers alone, and is that of a hoisted loop which stops in its first iteration
 * (capture_abi.h): the decoder knows no other form. A pointer is stored where the first access that
 * needs it is, so that it is known there.
 */
#include "plan.h"

#include "llvm/IR/Instructions.h"

#include <algorithm>

using namespace llvm;

namespace psnap
{

/* A record by bases has at most this part of the words of one by addresses. */
enum { STRAIGHT_SHARE = 2 };

void ModulePlan::planStraight(FunctionPlan &plan)
{
    const DataLayout &layout = module.getDataLayout();

    for (Piece &piece : plan.pieces) {
        if (piece.is_hoisted || piece.ends_in_call || !isPlain(piece) ||
            piece.accesses.size() > PSNAP_HOIST_REFS_MAX)
            continue;
        std::vector<Value *> bases;
        std::vector<Move> moves;
        for (const Access &access : piece.accesses) {
            APInt offset(64, 0);
            Value *base = access.pointer->stripAndAccumulateConstantOffsets(
                layout, offset, /*AllowNonInbounds=*/true);
            auto known = std::find(bases.begin(), bases.end(), base);
            Move move;
            move.base = (uint32_t)(known - bases.begin());
            move.offset_bytes = offset.getSExtValue();
            if (known == bases.end())
                bases.push_back(base);
            moves.push_back(move);
        }
        if ((PSNAP_HOIST_HEADER_WORDS + bases.size()) * STRAIGHT_SHARE > piece.words)
            continue;
        piece.bases = std::move(bases);
        piece.moves = std::move(moves);
    }
}

/* Rows of the loop that the piece is the only one of, and of its end. */
void ModulePlan::numberStraight(Piece &piece)
{
    psnap_table_hoist row = {};

    row.loop = table.blocks[piece.block].loop;
    row.first_piece = piece.index;
    row.pieces = 1;
    row.words = piece.recordWords();
    row.straight = 1;
    numberMoves(piece.moves, PSNAP_HOIST_HEADER_WORDS, row);
    table.hoists.push_back(row);
    piece.end = table.addEnd(&psnap_table_piece::hoist, row.words, 1);
}

void ModulePlan::fillStraight(const Piece &piece, Value *record)
{
    uint32_t next = 0;
    auto put = [&](IRBuilder<> &builder, uint32_t at, Value *value) {
        builder.CreateAlignedStore(value, builder.CreateConstInBoundsGEP1_64(word, record, at),
                                   Align(8));
    };

    for (size_t i = 0; i < piece.accesses.size(); i++) {
        if (piece.moves[i].base != next)
            continue;
        IRBuilder<> builder(piece.accesses[i].at);
        put(builder, PSNAP_HOIST_HEADER_WORDS + next, toWord(builder, piece.bases[next]));
        next++;
    }
    IRBuilder<> end(piece.last->getNextNode());
    put(end, 1, ConstantInt::get(word, 0)); /* whole iterations */
    publish(end, record, piece.end);
}

} // namespace psnap
