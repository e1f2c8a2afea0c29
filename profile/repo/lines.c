/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Facts and notes as lines of text (lines.h). What comes from profiles of others is shown on
 * terminals, so that control characters do not get in.
 */
#include "profile/repo/lines.h"

#include <inttypes.h>
#include <math.h>

#include "formats/base/text.h"

void lines_add(struct repo_bytes *lines, const char *key, const char *text)
{
    size_t written = 0;

    if (!text || !*text)
        return;
    repo_bytes_print(lines, "%s ", key);
    while (*text) {
        const size_t length = psnap_text_shown(text), bytes = length ? length : 1;
        if (written + bytes > LINES_VALUE_MAX)
            break;
        repo_bytes_add(lines, length ? text : "?", bytes);
        written += bytes;
        text += bytes;
    }
    repo_bytes_add(lines, "\n", 1);
}

void lines_add_u64(struct repo_bytes *lines, const char *key, uint64_t value)
{
    repo_bytes_print(lines, "%s %" PRIu64 "\n", key, value);
}

void lines_add_real(struct repo_bytes *lines, const char *key, double value)
{
    char text[32];

    if (!isnan(value))
        repo_bytes_print(lines, "%s %s\n", key, psnap_text_from_real(value, text));
}

bool lines_next(const struct repo_bytes *lines, size_t *at, struct lines_member *member)
{
    while (*at < lines->size) {
        const char *line = (const char *)lines->data + *at, *blank;
        const char *end = memchr(line, '\n', lines->size - *at);
        const size_t length = end ? (size_t)(end - line) : lines->size - *at;

        *at += length + 1;
        blank = memchr(line, ' ', length);
        if (!blank || (size_t)(blank - line) >= sizeof member->key ||
            length - (size_t)(blank - line) > LINES_VALUE_MAX + 1 || memchr(line, '\0', length))
            continue;
        memcpy(member->key, line, (size_t)(blank - line));
        member->key[blank - line] = '\0';
        memcpy(member->value, blank + 1, length - (size_t)(blank - line) - 1);
        member->value[length - (size_t)(blank - line) - 1] = '\0';
        return true;
    }
    return false;
}

bool lines_begin(const struct repo_bytes *lines, const char *first, size_t *at)
{
    const size_t length = strlen(first);

    *at = length + 1;
    return lines->size > length && !memcmp(lines->data, first, length) &&
           lines->data[length] == '\n';
}
