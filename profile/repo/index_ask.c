/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the index is asked: where an entry is, which ones a query finds, what was lost.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <xxhash.h>

#include "profile/repo/index.h"

const char *const entry_text_keys[INDEX_TEXTS] = {
    "program", "command",   "build_id", "language", "compiler", "host",  "recorded",
    "model",   "functions", "tags",     "licence",  "input",    "added",
};

int index_place(struct index *index, const struct repo_id *id, unsigned skip, struct repo_id *pack,
                uint64_t *offset, struct psnap_error *error)
{
    char text[REPO_ID_DIGITS + 1];
    struct db_rows *rows = db_select(index->db, error,
                                     "SELECT pack, offset FROM places WHERE id = ?"
                                     " ORDER BY pack, offset LIMIT 1 OFFSET ?",
                                     "ti", repo_id_text(id, text), (int64_t)skip);
    int found = 0;
    enum psnap_status status;

    if (!rows)
        return PSNAP_ERROR_IO;
    if (db_next(rows) && db_text(rows, 0) && repo_id_parse(db_text(rows, 0), pack)) {
        *offset = (uint64_t)db_integer(rows, 1);
        found = 1;
    }
    status = db_end(rows, error);
    return status ? (int)status : found;
}

enum psnap_status index_read(struct index *index, const struct repo_id *id, struct repo_bytes *raw,
                             struct psnap_error *error)
{
    struct repo_id pack;
    uint64_t offset = 0;
    char text[REPO_ID_DIGITS + 1];

    for (unsigned skip = 0;; skip++) {
        const int found = index_place(index, id, skip, &pack, &offset, error);
        if (found < 0)
            return (enum psnap_status)found;
        if (!found && skip)
            return PSNAP_ERROR_CORRUPT; /* as the last place said */
        if (!found)
            return psnap_error_set(error, PSNAP_ERROR_VALUE, "there is no profile '%s'",
                                   repo_id_text(id, text));
        if (!repo_read_record(index->repo, &pack, offset, RECORD_PROFILE, id, raw, error))
            return PSNAP_OK;
    }
}

enum psnap_status index_fetch(struct index *index, const struct repo_id *id, struct repo_bytes *raw,
                              struct psnap_error *error)
{
    struct psnap_error why;
    enum psnap_status status = index_read(index, id, raw, &why);

    if (status && !index_sync(index, NULL) && !index_read(index, id, raw, NULL))
        return PSNAP_OK;
    if (status && index_doubt(index) && !index_read(index, id, raw, NULL))
        return PSNAP_OK;
    if (status && error)
        *error = why;
    return status;
}

/* What may be the one that was meant, for the message. */
static enum psnap_status is_ambiguous(const char *prefix, const struct repo_bytes *ids,
                                      struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_VALUE, "'%s' is the beginning of more than one id:%s",
                           prefix, ids->is_short ? "" : (const char *)ids->data);
}

static enum psnap_status find_prefix(struct index *index, const char *prefix, struct repo_id *id,
                                     unsigned *count, struct psnap_error *error)
{
    struct repo_bytes ids = {0};
    struct db_rows *rows;
    unsigned found = 0;
    enum psnap_status status;
    char end[REPO_ID_DIGITS + 2];

    snprintf(end, sizeof end, "%sg", prefix);
    rows = db_select(index->db, error,
                     "SELECT id FROM entries WHERE id >= ? AND id < ? AND lost = 0 LIMIT 5", "tt",
                     prefix, end);
    if (!rows)
        return PSNAP_ERROR_IO;
    for (; db_next(rows); found++) {
        const char *text = db_text(rows, 0);
        repo_bytes_print(&ids, "%s %.16s", found ? "," : "", text);
        if (!repo_id_parse(text, id))
            found--;
    }
    *count = found;
    status = db_end(rows, error);
    if (!status && found > 1)
        status = is_ambiguous(prefix, &ids, error);
    repo_bytes_release(&ids);
    return status;
}

enum psnap_status index_find(struct index *index, const char *prefix, struct repo_id *id,
                             struct psnap_error *error)
{
    const size_t length = strlen(prefix);
    unsigned found = 0;
    enum psnap_status status;

    if (!length || length > REPO_ID_DIGITS || strspn(prefix, "0123456789abcdef") != length)
        return psnap_error_set(error, PSNAP_ERROR_VALUE,
                               "'%.100s' is no id, nor the beginning of one: these have up to %d "
                               "digits, 0 to 9 and a to f",
                               prefix, REPO_ID_DIGITS);
    do
        status = find_prefix(index, prefix, id, &found, error);
    while ((status == PSNAP_ERROR_CORRUPT || (!status && !found)) && index_doubt(index));
    if (!status && !found)
        status = psnap_error_set(error, PSNAP_ERROR_VALUE, "there is no profile '%s'", prefix);
    return status;
}

static char *copy(const char *text)
{
    return text ? strdup(text) : NULL;
}

enum psnap_status index_note(struct index *index, const struct repo_id *id, struct note *note,
                             struct psnap_error *error)
{
    char text[REPO_ID_DIGITS + 1];
    struct db_rows *rows =
        db_select(index->db, error,
                  "SELECT version, tags, licence, input, stated, added FROM notes"
                  " WHERE profile = ? ORDER BY version DESC, id DESC",
                  "t", repo_id_text(id, text));

    *note = (struct note){.profile = *id, .fidelity = NAN};
    if (!rows)
        return PSNAP_ERROR_IO;
    while (db_next(rows)) {
        const uint64_t version = (uint64_t)db_integer(rows, 0);
        const char *added = db_text(rows, 5);
        if (!note->version) {
            note->version = version;
            note->licence = copy(db_text(rows, 2));
            note->input = copy(db_text(rows, 3));
            note->fidelity = db_real(rows, 4);
            note->added = copy(added);
        }
        if (version < note->version)
            break;
        if (added && note->added && strcmp(added, note->added) < 0) {
            free(note->added);
            note->added = copy(added);
        }
        note_add_tags(note, db_text(rows, 1));
    }
    return db_end(rows, error);
}

enum psnap_status index_totals(struct index *index, uint64_t *count, uint64_t *bytes,
                               struct psnap_error *error)
{
    struct db_rows *rows = db_select(
        index->db, error, "SELECT count(*), total(bytes) FROM entries WHERE lost = 0", "");

    *count = *bytes = 0;
    if (!rows)
        return PSNAP_ERROR_IO;
    if (db_next(rows)) {
        *count = (uint64_t)db_integer(rows, 0);
        *bytes = (uint64_t)db_integer(rows, 1);
    }
    return db_end(rows, error);
}

enum psnap_status index_lost(struct index *index, struct repo_ids *ids, struct psnap_error *error)
{
    struct db_rows *rows =
        db_select(index->db, error, "SELECT id FROM entries WHERE lost <> 0 ORDER BY id", "");
    struct repo_id id;

    if (!rows)
        return PSNAP_ERROR_IO;
    while (db_next(rows))
        if (db_text(rows, 0) && repo_id_parse(db_text(rows, 0), &id))
            repo_ids_add(ids, &id);
    return db_end(rows, error);
}

enum psnap_status index_signature(struct index *index, const struct repo_id *id,
                                  uint8_t signature[SIGNATURE_BYTES], struct psnap_error *error)
{
    char text[REPO_ID_DIGITS + 1];
    size_t size = 0;
    struct db_rows *rows = db_select(index->db, error, "SELECT signature FROM entries WHERE id = ?",
                                     "t", repo_id_text(id, text));
    const void *blob;

    if (!rows)
        return PSNAP_ERROR_IO;
    memset(signature, 0, SIGNATURE_BYTES);
    blob = db_next(rows) ? db_blob(rows, 0, &size) : NULL;
    if (blob && size == SIGNATURE_BYTES)
        memcpy(signature, blob, size);
    return db_end(rows, error);
}

/* In the order of the columns below. */
static void fill_entry(struct db_rows *rows, struct entry *entry)
{
    size_t size = 0;
    int column = 0;

    entry->id = db_text(rows, column++);
    entry->bytes = (uint64_t)db_integer(rows, column++);
    entry->stored_bytes = (uint64_t)db_integer(rows, column++);
    for (int i = 0; i < INDEX_TEXTS; i++) {
        entry->texts[i] = db_text(rows, column++);
        if (!entry->texts[i])
            entry->texts[i] = "";
    }
    for (int i = 0; i < FACTS_COUNTS; i++)
        entry->counts[i] = (uint64_t)db_integer(rows, column++);
    entry->fidelity = db_real(rows, column++);
    entry->signature = db_blob(rows, column++, &size);
    if (size != SIGNATURE_BYTES)
        entry->signature = NULL;
    entry->similarity = db_real(rows, column);
}

static void write_select(const struct index_query *query, struct repo_bytes *sql)
{
    repo_bytes_print(sql, "SELECT id, bytes,"
                          " (SELECT min(stored) FROM places WHERE places.id = entries.id)");
    for (int i = 0; i < INDEX_TEXTS; i++)
        repo_bytes_print(sql, ", %s", entry_text_keys[i]);
    for (int i = 0; i < FACTS_COUNTS; i++)
        repo_bytes_print(sql, ", %s", facts_count_keys[i]);
    repo_bytes_print(sql,
                     ", coalesce(stated, certified), signature, %s FROM entries WHERE lost = 0",
                     query->is_like ? "similarity(signature, ?1) AS alike" : "NULL");
    if (query->where.size)
        repo_bytes_print(sql, " AND %.*s", (int)query->where.size, (const char *)query->where.data);
    repo_bytes_print(sql, " ORDER BY %sprogram, recorded, command, id",
                     query->is_like ? "alike DESC, " : "");
    if (query->limit)
        repo_bytes_print(sql, " LIMIT %llu", (unsigned long long)query->limit);
    repo_bytes_add(sql, "", 1);
}

/* Counts the rows that it gives. */
static enum psnap_status list(struct index *index, const struct index_query *query,
                              bool (*take)(void *context, const struct entry *entry), void *context,
                              uint64_t *taken, struct psnap_error *error)
{
    struct db_value values[DB_VALUES_MAX + 1];
    struct repo_bytes sql = {0};
    struct db_rows *rows = NULL;
    struct entry entry;
    enum psnap_status status = PSNAP_ERROR_IO;
    size_t count = 0;

    if (query->is_like)
        values[count++] =
            (struct db_value){.type = 'b', .blob = query->like, .size = SIGNATURE_BYTES};
    memcpy(values + count, query->values, query->count * sizeof *values);
    write_select(query, &sql);
    if (sql.is_short)
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    else
        rows = db_select_values(index->db, error, (const char *)sql.data, values,
                                count + query->count);
    if (rows) {
        bool goes_on = true;
        for (; goes_on && db_next(rows); ++*taken) {
            fill_entry(rows, &entry);
            goes_on = entry.id && take(context, &entry);
        }
        status = db_end(rows, error);
    }
    repo_bytes_release(&sql);
    return status;
}

enum psnap_status index_list(struct index *index, const struct index_query *query,
                             bool (*take)(void *context, const struct entry *entry), void *context,
                             struct psnap_error *error)
{
    uint64_t taken = 0;
    enum psnap_status status = list(index, query, take, context, &taken, error);

    return status && !taken && index_doubt(index) ? list(index, query, take, context, &taken, error)
                                                  : status;
}

/* Rows one after the other; columns apart. */
static enum psnap_status hash_rows(struct index *index, const char *sql, int columns,
                                   XXH3_state_t *state, struct psnap_error *error)
{
    struct db_rows *rows = db_select(index->db, error, sql, "");

    if (!rows)
        return PSNAP_ERROR_IO;
    while (db_next(rows))
        for (int i = 0; i < columns; i++) {
            size_t size;
            const void *value = db_blob(rows, i, &size); /* numbers as text */
            XXH3_64bits_update(state, &size, sizeof size);
            if (size)
                XXH3_64bits_update(state, value, size);
        }
    return db_end(rows, error);
}

enum psnap_status index_hash(struct index *index, uint64_t *hash, struct psnap_error *error)
{
    XXH3_state_t *state = XXH3_createState();
    enum psnap_status status;

    if (!state)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    XXH3_64bits_reset(state);
    status = hash_rows(index, "SELECT name, bytes FROM packs ORDER BY name", 2, state, error);
    if (!status)
        status =
            hash_rows(index, "SELECT * FROM places ORDER BY id, pack, offset", 4, state, error);
    if (!status)
        status = hash_rows(index, "SELECT * FROM notes ORDER BY id, pack", 9, state, error);
    if (!status)
        status = hash_rows(index,
                           "SELECT id, bytes, lost, known, program, command, build_id, language,"
                           " compiler, host, recorded, model, functions, accesses, loads, stores,"
                           " atomics, loops, regions, working_set, certified, signature, tags,"
                           " licence, input, stated, added FROM entries WHERE lost = 0 ORDER BY id",
                           27, state, error);
    *hash = XXH3_64bits_digest(state);
    XXH3_freeState(state);
    return status;
}
