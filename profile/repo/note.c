/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Notes of entries (note.h).
 */
#include "profile/repo/note.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/base/text.h"
#include "profile/repo/lines.h"

#define FIRST_LINE "psnap-note 1"

bool note_is_tag(const char *tag)
{
    size_t length = 0;

    for (; tag[length]; length++)
        if ((unsigned char)tag[length] <= ' ' || tag[length] == 0x7f || tag[length] == '"')
            return false;
    return length > 0 && length <= NOTE_TAG_BYTES;
}

bool note_add_tag(struct note *note, const char *tag)
{
    const char *at = note->tags ? note->tags + 1 : "", *behind;
    const size_t length = strlen(tag);
    unsigned count = 0;
    char *longer;

    if (!note_is_tag(tag))
        return false;
    for (behind = at; *at; at += strcspn(at, "\n") + 1, count++) {
        const size_t other = strcspn(at, "\n");
        const int order = strncmp(at, tag, other > length ? other : length);
        if (other == length && !strncmp(at, tag, length))
            return true;
        if (order < 0)
            behind = at + other + 1;
    }
    if (count >= NOTE_TAGS_MAX)
        return false;
    if (!note->tags) {
        if (asprintf(&longer, "\n%s\n", tag) < 0)
            return false;
    } else if (asprintf(&longer, "%.*s%s\n%s", (int)(behind - note->tags), note->tags, tag,
                        behind) < 0) {
        return false;
    }
    free(note->tags);
    note->tags = longer;
    return true;
}

bool note_add_tags(struct note *note, const char *tags)
{
    char tag[NOTE_TAG_BYTES + 1];

    for (tags = tags ? tags + 1 : ""; *tags; tags += strcspn(tags, "\n") + 1) {
        snprintf(tag, sizeof tag, "%.*s", (int)strcspn(tags, "\n"), tags);
        if (!note_add_tag(note, tag))
            return false;
    }
    return true;
}

void note_write(const struct note *note, struct repo_bytes *lines)
{
    char id[REPO_ID_DIGITS + 1];

    repo_bytes_print(lines, "%s\nprofile %s\n", FIRST_LINE, repo_id_text(&note->profile, id));
    lines_add_u64(lines, "version", note->version);
    lines_add(lines, "added", note->added);
    lines_add(lines, "licence", note->licence);
    lines_add(lines, "input", note->input);
    lines_add_real(lines, "fidelity", note->fidelity);
    for (const char *tag = note->tags ? note->tags + 1 : ""; *tag; tag += strcspn(tag, "\n") + 1)
        repo_bytes_print(lines, "tag %.*s\n", (int)strcspn(tag, "\n"), tag);
}

static bool take(char **text, const char *value)
{
    free(*text);
    *text = strdup(value);
    return *text != NULL;
}

static bool read_member(struct note *note, const struct lines_member *member)
{
    if (!strcmp(member->key, "profile"))
        return repo_id_parse(member->value, &note->profile);
    if (!strcmp(member->key, "version"))
        return psnap_text_u64(member->value, &note->version);
    if (!strcmp(member->key, "added"))
        return take(&note->added, member->value);
    if (!strcmp(member->key, "licence"))
        return take(&note->licence, member->value);
    if (!strcmp(member->key, "input"))
        return take(&note->input, member->value);
    if (!strcmp(member->key, "fidelity"))
        return psnap_text_real(member->value, &note->fidelity);
    if (!strcmp(member->key, "tag"))
        return note_add_tag(note, member->value);
    return true;
}

bool note_read(const struct repo_bytes *lines, struct note *note)
{
    struct lines_member member;
    size_t at;
    bool is_good;

    *note = (struct note){.fidelity = NAN};
    is_good = lines_begin(lines, FIRST_LINE, &at);
    while (is_good && lines_next(lines, &at, &member))
        is_good = read_member(note, &member);
    if (is_good && note->version && note->version < UINT64_MAX && !repo_id_is_none(&note->profile))
        return true;
    note_release(note);
    return false;
}

void note_release(struct note *note)
{
    free(note->tags);
    free(note->licence);
    free(note->input);
    free(note->added);
    *note = (struct note){.fidelity = NAN};
}
