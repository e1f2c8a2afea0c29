/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A chunk while it is written: its lanes, with what is predicted of them, and a log of the tokens
 * that a nest made. pst_encode.c puts accesses and runs into it, pst_nest.c whole iterations of
 * loops, pst_writer.c has it. Private to these.
 */
#ifndef PSNAP_FORMATS_PST_ENCODE_H
#define PSNAP_FORMATS_PST_ENCODE_H

#include <string.h>

#include "formats/pst.h"

#define PSNAP_PST_LOG_EVENTS (UINT32_C(1) << 13)

struct psnap_pst_write_lane {
    uint64_t key; /* the second half of the access record */
    uint64_t last, step;
    uint32_t next;     /* lane predicted after this one */
    uint32_t next_run; /* right predictions since the last token */
    uint32_t run;      /* the same of addresses */
    uint32_t follows;  /* the base is the access before, else the lane's last one */
    uint64_t other;    /* step from the other base at the last token */
    uint32_t score;    /* tokens in a row at which it would have been right */
    uint32_t wins;     /* a lane that does not follow does when so many were */
    struct psnap_pst_favourite favourite; /* of them */
};

/* A token in the log. */
struct psnap_pst_event {
    uint32_t track;   /* twice the lane, plus 1 for its addresses */
    uint32_t at;      /* accesses before it in the chunk */
    uint32_t earlier; /* the track's event before it, if that is one */
    uint32_t run;
    uint32_t follows;        /* of the lane, of addresses */
    uint64_t value, address; /* of the token, and what it stands for */
    uint64_t other;          /* step from the base not in use */
    uint64_t predicted;      /* in place of the value */
    bool is_first;           /* of the track's events in the iteration */
    uint32_t score_then;     /* behind it, when it comes again, */
    uint64_t other_then;     /* and its other step */
};

/* The end of a loop's iteration. */
struct psnap_pst_mark {
    uint32_t accesses, events; /* of the chunk and of the log, up to there; no accesses: none */
};

struct psnap_pst_log {
    struct psnap_pst_event *events; /* EVENTS of them; NULL: none are noted */
    uint32_t count;
    bool is_on;
    struct psnap_pst_mark marks[PSNAP_NEST_LEVELS][2]; /* the last two, the later one behind */
};

struct psnap_pst_encoder {
    struct psnap_pst_write_lane *lanes; /* and one more, with NO_KEY */
    struct psnap_pst_lane *tracks;
    struct psnap_pst_folder folder;
    struct psnap_map numbers; /* of lanes by their keys, from 1 on */
    uint32_t lane_count, lane_room;
    uint32_t previous;    /* lane of the last access */
    uint64_t address;     /* and its address */
    uint32_t accesses;    /* of the chunk so far */
    uint32_t token_limit; /* of a chunk; may be set to fewer than CHUNK_TOKENS */
    struct psnap_pst_bases bases;
    struct psnap_pst_log log;
};

static inline uint64_t psnap_pst_key(const struct psnap_access *access)
{
    uint64_t key;

    memcpy(&key, (const char *)access + sizeof access->address, sizeof key);
    return key;
}

/* Folds the event's token, and changes what its lane predicts, but for runs. False: out of memory.
 */
bool psnap_pst_take_event(struct psnap_pst_encoder *encoder, const struct psnap_pst_event *event);

/* Forgets the events, and where iterations ended. */
static inline void psnap_pst_log_clear(struct psnap_pst_log *log)
{
    log->count = 0;
    memset(log->marks, 0, sizeof log->marks);
}

/* Adds an event; when there is no room, all before it are forgotten. */
static inline void psnap_pst_log_add(struct psnap_pst_encoder *encoder,
                                     const struct psnap_pst_event *event)
{
    struct psnap_pst_log *log = &encoder->log;
    uint32_t *last = &encoder->tracks[event->track >> 1].logged[event->track & 1];

    if (log->count == PSNAP_PST_LOG_EVENTS)
        psnap_pst_log_clear(log);
    log->events[log->count] = *event;
    log->events[log->count].earlier = *last;
    *last = log->count++;
}

#endif
