/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows of reports. What a scope adds up is a map from the simulator's rows
 * (references, threads or tags) to the report's; everything else is the same for
 * all scopes. A loop is a loop of the source: the parts that the optimiser made
 * of it have one src_id and are one row.
 */
#include "simcore/scope.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/text.h"

static const char *const scope_names[SCOPE_COUNT] = {"total", "loop", "block", "region", "thread"};

const char *scope_name(enum scope scope)
{
    return scope_names[scope];
}

bool scope_parse_list(const char *text, bool wanted[SCOPE_COUNT], struct psnap_error *error)
{
    memset(wanted, 0, SCOPE_COUNT * sizeof wanted[0]);
    for (;;) {
        const size_t length = strcspn(text, ",");
        bool known = false;

        for (int i = 0; i < SCOPE_COUNT; i++) {
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

/* ------------------------------------------------------------ loops by src_id */

struct named_loop {
    const char *src_id;
    uint32_t index;
};

static int by_src_id(const void *left, const void *right)
{
    const struct named_loop *a = left, *b = right;
    const int order = strcmp(a->src_id, b->src_id);

    return order ? order : (a->index > b->index) - (a->index < b->index);
}

/* heads[i]: the first loop of the program that has loop i's src_id. */
static uint32_t *loop_heads(const struct psnap_program *program)
{
    const uint32_t n = program->loop_count;
    struct named_loop *loops = malloc((n + 1) * sizeof *loops);
    uint32_t *heads = malloc((n + 1) * sizeof *heads);

    if (!loops || !heads) {
        free(loops);
        free(heads);
        return NULL;
    }
    for (uint32_t i = 0; i < n; i++)
        loops[i] = (struct named_loop){program->loops[i].src_id, i};
    qsort(loops, n, sizeof *loops, by_src_id);
    for (uint32_t i = 0; i < n; i++) {
        const bool same = i && !strcmp(loops[i].src_id, loops[i - 1].src_id);
        heads[loops[i].index] = same ? heads[loops[i - 1].index] : loops[i].index;
    }
    free(loops);
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

/* ---------------------------------------------------------- rows of each scope */

struct gatherer {
    const struct psnap_program *program;
    const struct touched_row *touched;
    uint32_t *heads; /* SCOPE_LOOP */
    enum psnap_sim_view view;
    uint32_t row_count; /* of the report, before empty ones are dropped */
};

/* The report's row of the simulator's row; `row_count - 1` is for what belongs nowhere. */
static uint32_t target_row(const struct gatherer *gatherer, enum scope scope, uint32_t row)
{
    const struct psnap_program *program = gatherer->program;
    uint32_t target = PSNAP_NONE;

    switch (scope) {
    case SCOPE_LOOP:
        if (program->refs[row].loop < program->loop_count)
            target = gatherer->heads[program->refs[row].loop];
        break;
    case SCOPE_BLOCK:
        target = program->refs[row].block;
        break;
    case SCOPE_TOTAL:
        target = 0;
        break;
    default:
        target = row;
        break;
    }
    return target < gatherer->row_count ? target : gatherer->row_count - 1;
}

static bool name_block(const struct psnap_program *program, uint32_t index, struct scope_row *row)
{
    const struct psnap_block *block = &program->blocks[index];
    const struct psnap_loop *loop =
        block->loop < program->loop_count ? &program->loops[block->loop] : NULL;

    row->id = format_text("b%" PRIu32, index);
    if (!loop)
        row->name = format_text("?");
    else if (block->src_line && loop->file && loop->file[0])
        row->name = format_text("%s %s:%" PRIu32, loop->id, loop->file, block->src_line);
    else
        row->name = format_text("%s", loop->id);
    return row->id && row->name;
}

static bool name_row(const struct gatherer *gatherer, enum scope scope, uint32_t index,
                     struct scope_row *row)
{
    const struct psnap_program *program = gatherer->program;
    const char *program_name = program->provenance.name;

    if (scope == SCOPE_TOTAL) {
        row->id = format_text("total");
        row->name = format_text("%s", program_name && *program_name ? program_name : "all");
    } else if (scope == SCOPE_THREAD) {
        row->id = format_text("%" PRIu32, index);
        row->name = format_text("thread %" PRIu32, index);
    } else if (scope == SCOPE_REGION) {
        row->id =
            format_text("%s/%s", gatherer->touched[index].loop, gatherer->touched[index].object);
        row->name = format_text("%s", gatherer->touched[index].object);
    } else if (index + 1 == gatherer->row_count) {
        row->id = format_text("?");
        row->name = format_text("unknown");
    } else if (scope == SCOPE_BLOCK) {
        return name_block(program, index, row);
    } else {
        row->id = format_text("%s", program->loops[index].src_id);
        row->name = loop_name(&program->loops[index]);
    }
    return row->id && row->name;
}

static bool prepare(struct gatherer *gatherer, enum scope scope, const struct psnap_sink *sim,
                    const struct touched *touched)
{
    gatherer->view = PSNAP_SIM_REF;
    switch (scope) {
    case SCOPE_TOTAL:
        gatherer->row_count = 1;
        break;
    case SCOPE_LOOP:
        gatherer->row_count = gatherer->program->loop_count + 1;
        gatherer->heads = loop_heads(gatherer->program);
        return gatherer->heads != NULL;
    case SCOPE_BLOCK:
        gatherer->row_count = gatherer->program->block_count + 1;
        break;
    case SCOPE_REGION:
        gatherer->view = PSNAP_SIM_TAG;
        gatherer->touched = touched_rows(touched, &gatherer->row_count);
        break;
    default:
        gatherer->view = PSNAP_SIM_THREAD;
        gatherer->row_count = psnap_sim_rows(sim, PSNAP_SIM_THREAD);
        break;
    }
    return true;
}

static int by_accesses(const void *left, const void *right)
{
    const struct scope_row *a = left, *b = right;
    const uint64_t x = a->tallies[0].accesses, y = b->tallies[0].accesses;

    return x != y ? (x < y) - (x > y) : strcmp(a->id, b->id);
}

/* Drops empty rows (but never a total) and names and orders the others. */
static bool finish(struct scope_rows *rows, const struct gatherer *gatherer)
{
    size_t kept = 0;
    bool fits = true;

    for (uint32_t i = 0; i < gatherer->row_count; i++) {
        struct scope_row row = rows->rows[i];

        rows->rows[i].tallies = NULL;
        if (row.tallies && (row.tallies[0].accesses || rows->scope == SCOPE_TOTAL))
            fits = name_row(gatherer, rows->scope, i, &row) && fits;
        if (row.id || row.name) {
            rows->rows[kept++] = row;
        } else {
            free(row.tallies);
        }
    }
    rows->count = kept;
    if (fits)
        qsort(rows->rows, kept, sizeof rows->rows[0], by_accesses);
    return fits;
}

static bool add_up(struct scope_rows *rows, const struct gatherer *gatherer,
                   const struct psnap_sink *sim, size_t machines)
{
    const uint32_t sim_rows = psnap_sim_rows(sim, gatherer->view);

    if (rows->scope == SCOPE_TOTAL) /* also of an empty stream */
        rows->rows[0].tallies = calloc(machines, sizeof *rows->rows[0].tallies);
    for (uint32_t i = 0; i < sim_rows; i++) {
        struct scope_row *row = &rows->rows[target_row(gatherer, rows->scope, i)];

        if (!row->tallies)
            row->tallies = calloc(machines, sizeof *row->tallies);
        if (!row->tallies)
            return false;
        for (size_t machine = 0; machine < machines; machine++)
            psnap_sim_add(sim, machine, gatherer->view, i, &row->tallies[machine]);
    }
    return true;
}

enum psnap_status scope_rows_init(struct scope_rows *rows, enum scope scope,
                                  const struct psnap_sink *sim, size_t machines,
                                  const struct psnap_program *program,
                                  const struct touched *touched, struct psnap_error *error)
{
    struct gatherer gatherer = {.program = program};
    bool fits = prepare(&gatherer, scope, sim, touched);

    *rows = (struct scope_rows){.scope = scope};
    rows->rows = fits ? calloc(gatherer.row_count + (size_t)1, sizeof *rows->rows) : NULL;
    fits = rows->rows != NULL;
    if (fits) {
        rows->count = gatherer.row_count;
        fits = add_up(rows, &gatherer, sim, machines) && finish(rows, &gatherer);
    }
    free(gatherer.heads);
    if (fits)
        return PSNAP_OK;
    scope_rows_release(rows);
    return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for the report");
}

void scope_rows_release(struct scope_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        free(rows->rows[i].id);
        free(rows->rows[i].name);
        free(rows->rows[i].tallies);
    }
    free(rows->rows);
    *rows = (struct scope_rows){0};
}

/* ------------------------------------------------------------------- machines */

struct psnap_machine *scope_machines(const char *const *texts, size_t n, struct psnap_error *error)
{
    struct psnap_machine *machines = calloc(n, sizeof *machines);

    if (!machines) {
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        enum psnap_status status = psnap_machine_find(texts[i], &machines[i], error);

        for (size_t j = 0; j < i && status == PSNAP_OK; j++)
            if (!strcmp(machines[i].name, machines[j].name))
                status = psnap_error_set(error, PSNAP_ERROR_USAGE,
                                         "two machines are called '%.200s'", machines[i].name);
        if (status != PSNAP_OK) {
            free(machines);
            return NULL;
        }
    }
    return machines;
}

static size_t write_size(char *text, size_t size, uint64_t bytes)
{
    if (bytes % (1 << 20) == 0)
        return (size_t)snprintf(text, size, "%" PRIu64 "M", bytes >> 20);
    if (bytes % (1 << 10) == 0)
        return (size_t)snprintf(text, size, "%" PRIu64 "K", bytes >> 10);
    return (size_t)snprintf(text, size, "%" PRIu64, bytes);
}

const char *scope_tlb_name(size_t level)
{
    static const char *const names[PSNAP_TLB_LEVELS_MAX] = {"TLB", "TLB2"};

    return names[level];
}

char *scope_machine_shape(const struct psnap_machine *machine, char *text, size_t size)
{
    size_t used = 0;

    for (uint32_t i = 0; i < machine->level_count && used < size; i++) {
        const struct psnap_cache_level *level = &machine->levels[i];

        if (i)
            used += (size_t)snprintf(text + used, size - used, ",");
        if (used < size)
            used += write_size(text + used, size - used, level->size_bytes);
        if (used < size)
            used += (size_t)snprintf(text + used, size - used, ":%" PRIu64 ":%" PRIu64,
                                     level->line_bytes, level->ways);
        if (used < size && level->replacement != PSNAP_REPLACE_LRU)
            used += (size_t)snprintf(text + used, size - used, ":%s",
                                     psnap_replacement_name(level->replacement));
    }
    return text;
}
