/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows of reports and their names. All that a scope is, is a map from references, threads or tags
 * to rows; everything else is the same for all scopes.
 */
#include "formats/base/scope.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/map.h"

static const char *const scope_names[PSNAP_SCOPE_COUNT] = {"total", "loop", "block", "region",
                                                           "thread"};

const char *psnap_scope_name(enum psnap_scope scope)
{
    return scope_names[scope];
}

bool psnap_scope_parse_list(const char *text, bool wanted[PSNAP_SCOPE_COUNT],
                            struct psnap_error *error)
{
    memset(wanted, 0, PSNAP_SCOPE_COUNT * sizeof wanted[0]);
    for (;;) {
        const size_t length = strcspn(text, ",");
        bool known = false;

        for (int i = 0; i < PSNAP_SCOPE_COUNT; i++) {
            if (strlen(scope_names[i]) == length && !strncmp(text, scope_names[i], length))
                known = wanted[i] = true;
        }
        if (!known) {
            psnap_error_set(error, PSNAP_ERROR_USAGE,
                            "--by takes total, loop, block, region and thread, not '%.*s'",
                            (int)(length < 100 ? length : 100), text);
            return false;
        }
        if (!text[length])
            return true;
        text += length + 1;
    }
}

enum psnap_view psnap_scope_view(enum psnap_scope scope)
{
    if (scope == PSNAP_SCOPE_REGION)
        return PSNAP_VIEW_TAG;
    return scope == PSNAP_SCOPE_THREAD ? PSNAP_VIEW_THREAD : PSNAP_VIEW_REF;
}

/* ------------------------------------------------------------ loops by src_id */

/* heads[i]: the first loop of the program that has loop i's src_id. */
static uint32_t *loop_heads(const struct psnap_program *program)
{
    uint32_t *heads = malloc((program->loop_count + (size_t)1) * sizeof *heads);
    struct psnap_map numbers = {0}; /* of loops, from 1 on */

    for (uint32_t i = 0; heads && i < program->loop_count; i++) {
        const char *id = program->loops[i].src_id;
        uint64_t key = psnap_map_hash(0, id), *number;

        while ((number = psnap_map_put(&numbers, key)) && *number &&
               strcmp(program->loops[*number - 1].src_id, id) != 0)
            key++;
        if (number) {
            *number = *number ? *number : i + UINT64_C(1);
            heads[i] = (uint32_t)*number - 1;
        } else {
            free(heads);
            heads = NULL;
        }
    }
    free(numbers.slots);
    return heads;
}

static char *format_text(const char *format, ...) PSNAP_PRINTF(1, 2);
static char *format_text(const char *format, ...)
{
    va_list arguments;
    char *text;

    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        text = NULL;
    va_end(arguments);
    return text;
}

static char *loop_name(const struct psnap_loop *loop)
{
    if (loop->file && loop->file[0] && loop->src_line)
        return format_text("%s %s:%" PRIu32, loop->function, loop->file, loop->src_line);
    if (loop->file && loop->file[0])
        return format_text("%s %s", loop->function, loop->file);
    return format_text("%s", loop->function ? loop->function : "");
}

/* --------------------------------------------------------------------- rows */

bool psnap_grouping_init(struct psnap_grouping *grouping, enum psnap_scope scope,
                         const struct psnap_program *program, uint32_t rows,
                         const struct psnap_touched *touched)
{
    *grouping = (struct psnap_grouping){.scope = scope, .program = program, .row_count = rows};
    switch (scope) {
    case PSNAP_SCOPE_TOTAL:
        grouping->row_count = 1;
        break;
    case PSNAP_SCOPE_LOOP:
        grouping->row_count = program->loop_count + 1; /* the last one is of no loop */
        grouping->heads = loop_heads(program);
        return grouping->heads != NULL;
    case PSNAP_SCOPE_BLOCK:
        grouping->row_count = program->block_count + 1;
        break;
    case PSNAP_SCOPE_REGION:
        grouping->touched = psnap_touched_rows(touched, &grouping->row_count);
        break;
    default:
        break;
    }
    return true;
}

void psnap_grouping_release(struct psnap_grouping *grouping)
{
    free(grouping->heads);
    grouping->heads = NULL;
}

uint32_t psnap_grouping_row(const struct psnap_grouping *grouping, uint32_t row)
{
    const struct psnap_program *program = grouping->program;
    uint32_t target = PSNAP_NONE;

    switch (grouping->scope) {
    case PSNAP_SCOPE_LOOP:
        if (program->refs[row].loop < program->loop_count)
            target = grouping->heads[program->refs[row].loop];
        break;
    case PSNAP_SCOPE_BLOCK:
        target = program->refs[row].block;
        break;
    case PSNAP_SCOPE_TOTAL:
        target = 0;
        break;
    default:
        target = row;
        break;
    }
    return target < grouping->row_count ? target : grouping->row_count - 1;
}

uint32_t psnap_grouping_loop(const struct psnap_grouping *grouping, uint32_t loop)
{
    return loop < grouping->program->loop_count ? grouping->heads[loop] : grouping->row_count - 1;
}

static void name_block(const struct psnap_program *program, uint32_t index, char **id, char **name)
{
    const struct psnap_block *block = &program->blocks[index];
    const struct psnap_loop *loop =
        block->loop < program->loop_count ? &program->loops[block->loop] : NULL;

    *id = format_text("b%" PRIu32, index);
    if (!loop)
        *name = format_text("?");
    else if (block->src_line && loop->file && loop->file[0])
        *name = format_text("%s %s:%" PRIu32, loop->id, loop->file, block->src_line);
    else
        *name = format_text("%s", loop->id);
}

bool psnap_grouping_name(const struct psnap_grouping *grouping, uint32_t row, char **id,
                         char **name)
{
    const struct psnap_program *program = grouping->program;
    const char *program_name = program->provenance.name;

    if (grouping->scope == PSNAP_SCOPE_TOTAL) {
        *id = format_text("total");
        *name = format_text("%s", program_name && *program_name ? program_name : "all");
    } else if (grouping->scope == PSNAP_SCOPE_THREAD) {
        *id = format_text("%" PRIu32, row);
        *name = format_text("thread %" PRIu32, row);
    } else if (grouping->scope == PSNAP_SCOPE_REGION) {
        *id = format_text("%s/%s", grouping->touched[row].loop, grouping->touched[row].object);
        *name = format_text("%s", grouping->touched[row].object);
    } else if (row + 1 == grouping->row_count) {
        *id = format_text("?");
        *name = format_text("unknown");
    } else if (grouping->scope == PSNAP_SCOPE_BLOCK) {
        name_block(program, row, id, name);
    } else {
        *id = format_text("%s", program->loops[row].src_id);
        *name = loop_name(&program->loops[row]);
    }
    return *id && *name;
}
