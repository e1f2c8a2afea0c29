/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A what-if session: scenarios, each some edits of a profile, and what comes of them in the caches.
 * Private to cmd_whatif*.c.
 */
#ifndef PSNAP_CMD_WHATIF_H
#define PSNAP_CMD_WHATIF_H

#include "simcore/cmd_side.h"

struct scenario {
    char *name;
    char **edits; /* lines (profile/edit/cmd_edit.h) */
    size_t edit_count;
    struct compare_side side;
};

struct session {
    const char *input;
    bool is_cumulative, by_loop;
    struct psnap_machine *machines;
    size_t machine_count;
    struct scenario *scenarios; /* the first has no edits: the profile as it is */
    size_t count, room;
};

/* A scenario of edits with ; between them; named so, unless `name`. False: out of memory. */
bool session_add(struct session *session, const char *name, const char *edits);
/* Adds the scenarios of a YAML file (cmd_whatif_list.c has its form). */
enum psnap_status session_read(struct session *session, const char *path,
                               struct psnap_error *error);
void session_release(struct session *session);

/* The scenario that one is compared with: the one before it, or the profile as it is. */
size_t session_before(const struct session *session, size_t i);

void session_print_tables(const struct session *session);
void session_print_json(const struct session *session);

#endif
