/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Notes: what people say of an entry and its profile does not: tags, licence, input, fidelity; and
 * when it was added. A
 * note is never changed; a later one, with a higher version, has all that holds from then on. Two
 * that were written at once have the same version: their tags hold together, the earlier time, and
 * of the rest what the one with the higher id says.
 */
#ifndef PSNAP_PROFILE_REPO_NOTE_H
#define PSNAP_PROFILE_REPO_NOTE_H

#include "profile/repo/bytes.h"

enum { NOTE_TAGS_MAX = 64, NOTE_TAG_BYTES = 100 };

struct note {
    struct repo_id profile;
    uint64_t version; /* from 1; 0: there is none */
    char *tags;       /* "\nhpc\nsparse\n", sorted; owned, as all of these; NULL: none */
    char *licence, *input;
    double fidelity; /* points; NaN: nothing is said */
    char *added;     /* when the profile was: UTC, ISO 8601 */
};

/* As lines (lines.h). */
void note_write(const struct note *note, struct repo_bytes *lines);
bool note_read(const struct repo_bytes *lines, struct note *note);
/* Adds a tag, once; false: it is none, there are too many, or memory is out. */
bool note_add_tag(struct note *note, const char *tag);
/* All tags of another. */
bool note_add_tags(struct note *note, const char *tags);
bool note_is_tag(const char *tag);
void note_release(struct note *note);

#endif
