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
#include "formats/base/cmd_csv.h"
#include "formats/base/cmd.h"
#include "predict/csv.h"

#define HEADING "from,to,probability"

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

static void write_block(struct psnap_csv *csv, uint32_t block, const char *none)
{
    char text[16];

    snprintf(text, sizeof text, "b%" PRIu32, block);
    psnap_csv_text(csv, block == PSNAP_NONE ? none : text);
}

/* Where a block is, "" if that is not known; the caller frees it. */
static char *place_of(const struct psnap_program *program, uint32_t block)
{
    const uint32_t loop = block == PSNAP_NONE ? PSNAP_NONE : program->blocks[block].loop;

    if (loop >= program->loop_count)
        return psnap_shown("%s", "");
    return psnap_shown("%s line %" PRIu32, program->loops[loop].id,
                       program->blocks[block].src_line);
}

void branches_write(const struct measure *measure, const struct branch *branches, FILE *file)
{
    struct psnap_csv csv;

    psnap_csv_init(&csv, file);
    fputs(HEADING ",place\n", file);
    for (size_t i = 0; i < measure->transition_count; i++) {
        char *place = place_of(measure->program, branches[i].from);
        write_block(&csv, branches[i].from, "entry");
        write_block(&csv, branches[i].to, "exit");
        psnap_csv_real(&csv, branches[i].probability);
        psnap_csv_text(&csv, place);
        psnap_csv_end(&csv);
        free(place);
    }
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

/* Whether `text` is the place that branches_write() gives a block; no text is any place. */
static bool is_place(const char *text, const struct psnap_program *program, uint32_t block)
{
    char *place = place_of(program, block);
    const bool is_same = !strcmp(text, place);

    free(place);
    return is_same;
}

static enum psnap_status take_record(const struct csv_reader *reader,
                                     const struct psnap_program *program, struct branch *branch,
                                     struct psnap_error *error)
{
    const char *texts[] = {"", "", "", ""};
    const uint32_t blocks = program->block_count;

    for (size_t i = 0; i < reader->count && i < 4; i++)
        texts[i] = csv_text(reader, i);
    if (!take_block(texts[0], "entry", blocks, &branch->from))
        return csv_error(reader, 0, error,
                         "'%.60s' is no block of the input: 'entry' or b0 to b%" PRIu32, texts[0],
                         blocks - 1);
    if (reader->count < 2 || !take_block(texts[1], "exit", blocks, &branch->to))
        return csv_error(reader, reader->count > 1, error,
                         "'%.60s' is no block of the input: 'exit' or b0 to b%" PRIu32, texts[1],
                         blocks - 1);
    if (!psnap_text_real(texts[2], &branch->probability) || branch->probability < 0 ||
        (branch->from != PSNAP_NONE && branch->probability > 1 + CHAIN_TOLERANCE))
        return csv_error(reader, reader->count > 2 ? 2 : 0, error, "'%.60s' is no probability",
                         texts[2]);
    if (*texts[3] && !is_place(texts[3], program, branch->from))
        return csv_error(reader, 3, error,
                         "block '%.60s' of the input is not at %.200s: the probabilities are "
                         "of another build or program; write them with "
                         "--write-probabilities from a trace of this one",
                         texts[0], texts[3]);
    return PSNAP_OK;
}

static enum psnap_status read_head(struct csv_reader *reader, struct psnap_error *error)
{
    bool has_one, is_head;
    enum psnap_status status = csv_next(reader, &has_one, error);

    if (status)
        return status;
    is_head = has_one && reader->count >= 3 && !strcmp(csv_text(reader, 0), "from") &&
              !strcmp(csv_text(reader, 1), "to") && !strcmp(csv_text(reader, 2), "probability");
    if (!is_head)
        psnap_error_set(error, PSNAP_ERROR_SYNTAX,
                        "the first line is to be " HEADING "; --write-probabilities makes such a "
                        "file");
    return is_head ? PSNAP_OK : PSNAP_ERROR_SYNTAX;
}

struct branch *branches_read(const char *path, const struct psnap_program *program, size_t *count,
                             struct psnap_error *error)
{
    FILE *file = fopen(path, "re");
    struct csv_reader reader = {.file = file, .path = path};
    struct branch *branches = NULL;
    size_t room = 0;
    bool has_one = true;
    enum psnap_status status;

    *count = 0;
    if (!file) {
        psnap_error_system(error, errno, "cannot open '%.200s'", path);
        return NULL;
    }
    status = read_head(&reader, error);
    while (!status && !(status = csv_next(&reader, &has_one, error)) && has_one) {
        struct branch *grown = psnap_with_room(branches, &room, *count + 1, sizeof *grown);
        if (grown)
            branches = grown;
        status = grown ? take_record(&reader, program, &branches[*count], error)
                       : psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        *count += !status;
    }
    if (!status && !*count)
        status = psnap_error_set(error, PSNAP_ERROR_VALUE, "there are no probabilities in it");
    if (status && !error->file[0])
        psnap_error_at(error, path, reader.src_line, 0);
    fclose(file);
    csv_release(&reader);
    if (status) {
        free(branches);
        return NULL;
    }
    return branches;
}
