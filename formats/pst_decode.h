/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A chunk while it is read: its lanes, with what is predicted of them, and the
 * tokens that correct that. pst_decode.c makes and runs it, pst.c has it. Private to these.
 */
#ifndef PSNAP_FORMATS_PST_DECODE_H
#define PSNAP_FORMATS_PST_DECODE_H

#include <string.h>

#include "formats/pst.h"

struct psnap_pst_read_lane {
    uint64_t key; /* the second half of the access record */
    uint64_t last, step;
    uint32_t next;     /* lane predicted after this one */
    uint32_t next_run; /* right predictions to come before the next token */
    uint32_t run;      /* the same of addresses */
    uint32_t follows;  /* the base is the access before, else the lane's last one */
};

/* The token that ends the run under way, and those after it. */
struct psnap_pst_read_track {
    struct psnap_pst_unfolder unfolder;
    struct psnap_pst_token token;
    uint64_t expected; /* value of the next token, if it is a literal that says so */
    bool ended;        /* there is none */
};

struct psnap_pst_read_tracks {
    struct psnap_pst_read_track next, address;
    uint64_t other;                       /* step from the other base at the last token */
    uint32_t score;                       /* tokens in a row at which it would have been right */
    uint32_t wins;                        /* a lane that does not follow does when so many were */
    struct psnap_pst_favourite favourite; /* of them */
    bool absolute;                        /* values of literals are addresses, else steps */
};

struct psnap_pst_decoder {
    struct psnap_pst_read_lane *lanes;
    struct psnap_pst_read_tracks *tracks;
    uint64_t *values; /* of literals, track after track */
    uint32_t *runs;
    struct psnap_pst_copy *copies;
    struct psnap_pst_token *windows;
    struct psnap_pst_unfold_level *levels;
    size_t lane_room, track_room, value_room, run_room, copy_room, window_room, level_room;
    uint32_t lane_count;
    uint32_t current;  /* lane of the last access */
    uint32_t left;     /* accesses to come */
    uint64_t address;  /* of the last access */
    uint32_t patience; /* accesses to go through one by one before runs are looked for again */
    bool started;
};

#endif
