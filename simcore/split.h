/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One stream's simulation in parts that can be simulated apart, with sums that are those of the
 * whole.
 *
 * Sets of a cache are independent where lines make room by the set's own order: what becomes of a
 * line follows from the accesses to its set alone. Where all levels of some machines have their
 * sets by address modulo a power of two, addresses that are equal modulo the least of these (the
 * period) meet in all levels or in none. The period is cut into as many ranges as there are parts,
 * at multiples of the longest line; a part is what lies in its range.
 *
 * An access counts once, however many lines it has, and so may belong to two parts. Therefore a
 * part is two windows on addresses modulo the period: the range and behind it as much as an access
 * may reach into the next ones; and that which is behind alone, whose counts are subtracted. An
 * access within a range is counted by its own part; as often as another has it behind, that one
 * adds and subtracts it. One that goes on into the next range is whole in the part where it begins;
 * its rest is subtracted there, and added by the next part, which sees no more of it. So the sum is
 * exact for accesses, hits and write-backs, of all references; a part's alone may be negative, and
 * counts are sums modulo 2^64.
 */
#ifndef PSNAP_SIMCORE_SPLIT_H
#define PSNAP_SIMCORE_SPLIT_H

#include "simcore/simcore.h"

struct split {
    uint64_t period_bytes, unit_bytes; /* powers of two: the longest line is a unit */
    uint32_t parts;
};

/*
 * Finds the split of machines into so many parts, without their TLBs. An error says which machine
 * cannot be: its sets are too few or not independent (random replacement, which draws for all sets;
 * prefetchers; victim caches; hashed sets).
 */
enum psnap_status split_plan(struct split *split, const struct psnap_machine *machines, size_t n,
                             uint32_t parts, struct psnap_error *error);

/* Of addresses modulo the period; it may go beyond, and begin again at 0. */
struct split_window {
    uint64_t begin, bytes;
};

/* What counts for a part, from 0, and what of it is to be subtracted. */
void split_windows(const struct split *split, uint32_t part, struct split_window *counted,
                   struct split_window *subtracted);

/* A sink that hands on to `to`, which it does not own, the bytes of accesses that lie in a window.
 * NULL: out of memory. */
struct psnap_sink *split_sink_new(const struct split *split, struct split_window window,
                                  struct psnap_sink *to);

#endif
