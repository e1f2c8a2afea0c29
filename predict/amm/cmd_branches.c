/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Branch probabilities as CSV: from,to,probability and the block's place in the source. Blocks are
 * called as --by block calls them, `entry` and `exit` are the program's.
 */
#include "predict/amm/cmd_branches.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/room.h"
#include "formats/base/text.h"

struct branch *branches_of(const struct measure *measure)
{
    struct branch *branches = calloc(measure->transition_count + 1, sizeof *branches);

    for (size_t i = 0; i < measure->transition_count && branches; i++) {
        const struct transition *from = &measure->transitions[i];
        const double windows = from->from == PSNAP_NONE ? 1 : measure->windows[from->from];
        branches[i] = (struct branch){from->from, from->to, (double)from->count / windows};
    }
    return branches;
}

static void write_block(FILE *file, uint32_t block, const char *none)
{
    if (block == PSNAP_NONE)
        fprintf(file, "%s,", none);
    else
        fprintf(file, "b%" PRIu32 ",", block);
}

void branches_write(const struct measure *measure, const struct branch *branches, FILE *file)
{
    const struct psnap_program *program = measure->program;
    char number[32];

    fputs("from,to,probability,place\n", file);
    for (size_t i = 0; i < measure->transition_count; i++) {
        const uint32_t from = branches[i].from;
        const uint32_t loop = from == PSNAP_NONE ? PSNAP_NONE : program->blocks[from].loop;
        write_block(file, from, "entry");
        write_block(file, branches[i].to, "exit");
        fprintf(file, "%s,", psnap_text_from_real(branches[i].probability, number));
        if (loop < program->loop_count)
            fprintf(file, "\"%s line %" PRIu32 "\"", program->loops[loop].id,
                    program->blocks[from].src_line);
        fputc('\n', file);
    }
}

/* The field that *text begins with, cut off at its comma; *text is what comes after. */
static char *take_field(char **text)
{
    char *field = *text;

    *text += strcspn(field, ",");
    if (**text)
        *(*text)++ = '\0';
    return field;
}

static bool take_block(const char *text, const char *none, uint32_t blocks, uint32_t *block)
{
    uint64_t number;

    *block = PSNAP_NONE;
    if (!strcmp(text, none))
        return true;
    if (text[0] != 'b' || !psnap_text_u64(text + 1, &number) || number >= blocks)
        return false;
    *block = (uint32_t)number;
    return true;
}

/* Whether `text`, which may have lost its quotes in a spreadsheet, is the place that
 * branches_write() gives a block; no text is any place. */
static bool is_place(const char *text, const struct psnap_program *program, uint32_t block)
{
    const uint32_t loop = block == PSNAP_NONE ? PSNAP_NONE : program->blocks[block].loop;
    const char *id = loop < program->loop_count ? program->loops[loop].id : "";
    const bool is_quoted = *text == '"';
    char line[32];

    if (!*text)
        return true;
    text += is_quoted;
    snprintf(line, sizeof line, " line %" PRIu32 "%s",
             block == PSNAP_NONE ? 0 : program->blocks[block].src_line, is_quoted ? "\"" : "");
    return *id && !strncmp(text, id, strlen(id)) && !strcmp(text + strlen(id), line);
}

static enum psnap_status take_line(char *line, const struct psnap_program *program,
                                   struct branch *branch, struct psnap_error *error)
{
    const uint32_t blocks = program->block_count;
    const char *from = take_field(&line), *to = take_field(&line), *value = take_field(&line);

    if (!take_block(from, "entry", blocks, &branch->from))
        return psnap_error_set(error, PSNAP_ERROR_VALUE,
                               "'%.60s' is no block of the input: 'entry' or b0 to b%" PRIu32, from,
                               blocks - 1);
    if (!take_block(to, "exit", blocks, &branch->to))
        return psnap_error_set(error, PSNAP_ERROR_VALUE,
                               "'%.60s' is no block of the input: 'exit' or b0 to b%" PRIu32, to,
                               blocks - 1);
    if (!psnap_text_real(value, &branch->probability) || branch->probability < 0 ||
        (branch->from != PSNAP_NONE && branch->probability > 1 + CHAIN_TOLERANCE))
        return psnap_error_set(error, PSNAP_ERROR_VALUE, "'%.60s' is no probability", value);
    if (!is_place(line, program, branch->from))
        return psnap_error_set(error, PSNAP_ERROR_VALUE,
                               "block '%.60s' of the input is not at %.200s: the probabilities are "
                               "of another build or program; write them with "
                               "--write-probabilities from a trace of this one",
                               from, line);
    return PSNAP_OK;
}

struct branch *branches_read(const char *path, const struct psnap_program *program, size_t *count,
                             struct psnap_error *error)
{
    FILE *file = fopen(path, "re");
    struct branch *branches = NULL;
    char *line = NULL;
    size_t room = 0, line_room = 0;
    uint32_t number = 0;
    enum psnap_status status = PSNAP_OK;

    *count = 0;
    if (!file) {
        psnap_error_system(error, errno, "cannot open '%.200s'", path);
        return NULL;
    }
    while (!status && getline(&line, &line_room, file) > 0) {
        struct branch *grown;
        line[strcspn(line, "\r\n")] = '\0';
        if (!number++ && strncmp(line, "from,to,probability", 19) != 0)
            status = psnap_error_set(error, PSNAP_ERROR_SYNTAX,
                                     "the first line is to be from,to,probability; "
                                     "--write-probabilities makes such a file");
        if (status || number == 1 || !line[0])
            continue;
        grown = psnap_with_room(branches, &room, *count + 1, sizeof *grown);
        if (grown)
            branches = grown;
        status = grown ? take_line(line, program, &branches[*count], error)
                       : psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        *count += !status;
    }
    if (!status && !feof(file))
        status = psnap_error_system(error, errno, "cannot read it");
    else if (!status && !*count)
        status = psnap_error_set(error, PSNAP_ERROR_VALUE, "there are no probabilities in it");
    if (status)
        psnap_error_at(error, path, number, 0);
    fclose(file);
    free(line);
    if (status) {
        free(branches);
        return NULL;
    }
    return branches;
}
