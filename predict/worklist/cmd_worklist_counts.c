/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counts of items, and the results that they add up to. An item's counts are, for each machine, a
 * line "machine NUMBER" and a record for each row,
 *
 *     + SCOPE ACCESSES HITS WRITE_BACKS HITS WRITE_BACKS ... ; ID_BYTES NAME_BYTES
 *     ID NAME
 *
 * with a pair of numbers for each level, SCOPE as a number; "-" is to be subtracted, as
 * parts of a simulation have it (simcore/simcore.h). Sums are taken modulo 2^64.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/cmd_csv.h"
#include "formats/base/room.h"
#include "predict/worklist/cmd_worklist.h"

struct numbers {
    uint64_t accesses, hits[PSNAP_LEVELS_MAX], write_backs[PSNAP_LEVELS_MAX];
};

struct row {
    uint64_t scope, machine;
    const char *id, *name; /* in an item's rows */
    struct numbers numbers;
};

struct rows {
    struct row *rows;
    size_t count, room;
};

/* ---------------------------------------------------------------------- writing */

static void write_row(FILE *file, bool is_added, enum psnap_scope scope, uint32_t levels,
                      const struct numbers *numbers, const char *id, const char *name)
{
    fprintf(file, "%c %d %" PRIu64, is_added ? '+' : '-', (int)scope, numbers->accesses);
    for (uint32_t l = 0; l < levels; l++)
        fprintf(file, " %" PRIu64 " %" PRIu64, numbers->hits[l], numbers->write_backs[l]);
    fprintf(file, " ; %zu %zu\n%s %s\n", strlen(id), strlen(name), id, name);
}

static void write_scope(const struct scope_rows *rows, const struct group *group, size_t m,
                        bool is_added, FILE *file)
{
    for (size_t i = 0; i < rows->count; i++) {
        const struct psnap_tally *tally = &rows->rows[i].tallies[m];
        struct numbers numbers = {.accesses = tally->accesses};
        memcpy(numbers.hits, tally->hits, sizeof numbers.hits);
        memcpy(numbers.write_backs, tally->write_backs, sizeof numbers.write_backs);
        write_row(file, is_added, rows->scope, group->machines[m].level_count, &numbers,
                  rows->rows[i].id, rows->rows[i].name);
    }
}

void counts_write(const struct compare_side *side, const struct group *group, bool is_added,
                  bool by_loop, FILE *file)
{
    for (size_t m = 0; m < group->count; m++) {
        fprintf(file, "machine %zu\n", group->numbers[m]);
        write_scope(&side->total, group, m, is_added, file);
        if (by_loop)
            write_scope(&side->loops, group, m, is_added, file);
    }
}

/* ---------------------------------------------------------------------- reading */

/* A number and the byte behind it, which is to be `end`; false: it is another one. */
static bool take_number(char **at, char end, uint64_t *number)
{
    if (**at < '0' || **at > '9')
        return false;
    *number = strtoull(*at, at, 10);
    return *(*at)++ == end;
}

/* So many bytes and the one behind them, which becomes their end; NULL: it is another one. */
static const char *take_text(char **at, uint64_t bytes, char end)
{
    char *text = *at;

    if (bytes > UINT32_MAX || strnlen(text, bytes + 1) <= bytes || text[bytes] != end)
        return NULL;
    text[bytes] = '\0';
    *at += bytes + 1;
    return text;
}

/* The next record of counts, of a machine; false: there is none there. */
static bool take_row(const struct worklist *list, uint64_t machine, char **at, struct row *row)
{
    const uint64_t sign = **at == '-' ? UINT64_MAX : 1;
    struct numbers *numbers = &row->numbers;
    uint64_t id_bytes, name_bytes;

    *row = (struct row){.machine = machine};
    if ((**at != '+' && **at != '-') || (*at)[1] != ' ')
        return false;
    *at += 2;
    if (!take_number(at, ' ', &row->scope) || row->scope >= PSNAP_SCOPE_COUNT ||
        !take_number(at, ' ', &numbers->accesses))
        return false;
    for (uint32_t l = 0; l < list->machines[row->machine].level_count; l++)
        if (!take_number(at, ' ', &numbers->hits[l]) ||
            !take_number(at, ' ', &numbers->write_backs[l]))
            return false;
    if (strncmp(*at, "; ", 2) != 0)
        return false;
    *at += 2;
    if (!take_number(at, ' ', &id_bytes) || !take_number(at, '\n', &name_bytes))
        return false;
    row->id = take_text(at, id_bytes, ' ');
    row->name = row->id ? take_text(at, name_bytes, '\n') : NULL;
    numbers->accesses *= sign;
    for (uint32_t l = 0; l < PSNAP_LEVELS_MAX; l++) {
        numbers->hits[l] *= sign;
        numbers->write_backs[l] *= sign;
    }
    return row->name != NULL;
}

static enum psnap_status take_rows(const struct worklist *list, const struct item *item,
                                   struct rows *rows, struct psnap_error *error)
{
    uint64_t machine = UINT64_MAX;

    for (char *at = item->rows; *at;) {
        struct row *room = psnap_with_room(rows->rows, &rows->room, rows->count + 1, sizeof *room);
        if (!room)
            return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for results");
        rows->rows = room;
        if (!strncmp(at, "machine ", 8) && (at += 8, take_number(&at, '\n', &machine)))
            continue;
        if (machine >= list->machine_count || !take_row(list, machine, &at, &room[rows->count]))
            return psnap_error_set(
                error, PSNAP_ERROR_CORRUPT,
                "a result of %.200s is damaged: remove its folder " JOURNAL_FOLDER, item->input);
        rows->count++;
    }
    return PSNAP_OK;
}

/* ----------------------------------------------------------------------- adding */

static int by_place(const void *a, const void *b)
{
    const struct row *one = a, *other = b;
    int order = (one->scope > other->scope) - (one->scope < other->scope);

    order = order ? order : strcmp(one->id, other->id);
    return order ? order : (one->machine > other->machine) - (one->machine < other->machine);
}

/* As psnap sim orders rows: most accesses first; those of a row by machine. */
static int by_accesses(const void *a, const void *b)
{
    const struct row *one = a, *other = b;
    const uint64_t x = one->numbers.accesses, y = other->numbers.accesses;

    if (one->scope == other->scope && x != y)
        return (x < y) - (x > y);
    return by_place(a, b);
}

/* Adds up the rows of the same scope, id and machine, and leaves out those without accesses. */
static void add_up(struct rows *rows)
{
    size_t kept = 0;

    qsort(rows->rows, rows->count, sizeof *rows->rows, by_place);
    for (size_t i = 0, next; i < rows->count; i = next) {
        struct row sum = rows->rows[i];
        for (next = i + 1; next < rows->count && !by_place(&sum, &rows->rows[next]); next++) {
            const struct numbers *numbers = &rows->rows[next].numbers;
            sum.numbers.accesses += numbers->accesses;
            for (uint32_t l = 0; l < PSNAP_LEVELS_MAX; l++) {
                sum.numbers.hits[l] += numbers->hits[l];
                sum.numbers.write_backs[l] += numbers->write_backs[l];
            }
        }
        if (sum.numbers.accesses || sum.scope == PSNAP_SCOPE_TOTAL)
            rows->rows[kept++] = sum;
    }
    rows->count = kept;
    qsort(rows->rows, rows->count, sizeof *rows->rows, by_accesses);
}

/* --------------------------------------------------------------------- reporting */

static void put_head(struct psnap_csv *csv)
{
    static const char *const fields[] = {"input",      "edit",
                                         "seed",       "machine",
                                         "scope",      "id",
                                         "name",       "row_accesses",
                                         "level",      "level_name",
                                         "accesses",   "hits",
                                         "hit_rate",   "cumulative_hit_rate",
                                         "write_backs"};

    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        psnap_csv_text(csv, fields[i]);
    psnap_csv_end(csv);
}

static void put_row(const struct worklist *list, const struct item *item, const struct row *row,
                    struct psnap_csv *csv)
{
    const struct psnap_machine *machine = &list->machines[row->machine];
    struct psnap_tally tally = {.accesses = row->numbers.accesses};

    memcpy(tally.hits, row->numbers.hits, sizeof tally.hits);
    for (uint32_t l = 0; l < machine->level_count; l++) {
        psnap_csv_text(csv, item->input);
        psnap_csv_text(csv, item->edit);
        psnap_csv_u64(csv, item->seed);
        psnap_csv_text(csv, machine->name);
        psnap_csv_text(csv, psnap_scope_name((enum psnap_scope)row->scope));
        psnap_csv_text(csv, row->id);
        psnap_csv_text(csv, row->name);
        psnap_csv_u64(csv, tally.accesses);
        psnap_csv_u64(csv, l + UINT64_C(1));
        psnap_csv_text(csv, machine->levels[l].name);
        psnap_csv_u64(csv, psnap_tally_reached(&tally, l));
        psnap_csv_u64(csv, tally.hits[l]);
        psnap_csv_real(csv, psnap_tally_hit_rate(&tally, l));
        psnap_csv_real(csv, psnap_tally_cumulative(&tally, l));
        psnap_csv_u64(csv, row->numbers.write_backs[l]);
        psnap_csv_end(csv);
    }
}

enum psnap_status counts_report(struct worklist *list, FILE *file, struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;
    struct psnap_csv csv;

    psnap_csv_init(&csv, file);
    put_head(&csv);
    for (size_t i = 0; i < list->count && !status; i += list->items_of_stream) {
        struct rows rows = {0};
        for (size_t k = 0; k < list->items_of_stream && !status; k++)
            status = take_rows(list, &list->items[i + k], &rows, error);
        if (!status)
            add_up(&rows);
        for (size_t k = 0; k < rows.count && !status; k++)
            put_row(list, &list->items[i], &rows.rows[k], &csv);
        free(rows.rows);
    }
    return status;
}
