/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap repo verify: every byte of every file is under a sum somewhere, and all of them are looked
 * at: the format file, dictionaries, objects (seal, name, records, hashes of contents). The index
 * is compared with one that is made now. What is lost is named: by the ids in the heads of damaged
 * records, and by the index, which still knows what a file had.
 */
#include "profile/repo/verify.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct verify {
    struct repo *repo;
    bool is_deep;
    void (*tell)(void *context, const struct finding *finding);
    void *context;
    struct verify_result *result;
    struct repo_ids good, bad; /* profiles */
};

static void PSNAP_PRINTF(5, 6) tell(struct verify *v, enum finding_kind kind, const char *path,
                                    const char *profile, const char *format, ...)
{
    char message[600];
    const struct finding finding = {kind, path, profile, message};
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    v->result->mended += kind == FOUND_MENDED;
    v->result->damaged += kind == FOUND_DAMAGED;
    v->tell(v->context, &finding);
}

static void tell_stranger(void *context, const char *path)
{
    tell(context, FOUND_STRANGER, path, NULL, "is not a file of the repository");
}

static void verify_format(struct verify *v)
{
    char path[32];

    snprintf(path, sizeof path, "psnap-repo-%d", REPO_FORMAT_VERSION);
    if (!repo_has_format(v->repo))
        tell(v, FOUND_MENDED, path, NULL, "its text is another; nothing is lost");
}

/* The body of a file, or a finding. */
static bool open_sealed(struct verify *v, enum repo_kind kind, const struct repo_id *id,
                        struct repo_bytes *file, struct sealed *sealed)
{
    struct psnap_error error;
    struct repo_id found;
    char path[64];

    repo_file_name(kind, id, path);
    if (repo_read_sealed(v->repo, kind, id, file, sealed, &error)) {
        tell(v, FOUND_DAMAGED, path, NULL, "%s", error.message);
        return false;
    }
    repo_id_of(sealed->body, sealed->size, &found);
    if (sealed->state == SEAL_MENDED)
        tell(v, FOUND_MENDED, path, NULL, "%s; nothing is lost", sealed->damage);
    else if (sealed->state == SEAL_DAMAGED)
        tell(v, FOUND_DAMAGED, path, NULL, "%s", sealed->damage);
    else if (!repo_id_is_same(&found, id))
        tell(v, FOUND_DAMAGED, path, NULL, "its content is another file's");
    return true;
}

static enum psnap_status verify_dictionaries(struct verify *v, struct psnap_error *error)
{
    struct repo_ids ids = {0};
    struct repo_bytes file = {0};
    struct sealed sealed;
    enum psnap_status status = repo_files(v->repo, REPO_DICTIONARY, &ids, tell_stranger, v, error);

    for (size_t i = 0; !status && i < ids.count; i++)
        v->result->files += open_sealed(v, REPO_DICTIONARY, &ids.items[i], &file, &sealed);
    repo_bytes_release(&file);
    repo_ids_release(&ids);
    return status;
}

/* Whether it is a profile still, and its facts what they were. */
static void verify_deeply(struct verify *v, const char *path, const struct record *record,
                          const struct repo_bytes *raw, const struct repo_bytes *facts)
{
    char id[REPO_ID_DIGITS + 1];
    struct repo_bytes again = {0};
    struct psnap_error error;
    FILE *file = raw->size ? fmemopen(raw->data, raw->size, "r") : NULL;
    struct psnap_profile *profile = file ? psnap_profile_read(file, "profile", &error) : NULL;

    repo_id_text(&record->id, id);
    if (!profile)
        tell(v, FOUND_DAMAGED, path, id, "this psnap refuses it: %s",
             file ? error.message : "out of memory");
    else if (facts_write(profile, &again) && facts->size &&
             (again.size != facts->size || memcmp(again.data, facts->data, again.size) != 0))
        tell(v, FOUND_MENDED, path, NULL, "the facts of %s are not those of its profile", id);
    psnap_profile_free(profile);
    repo_bytes_release(&again);
    if (file)
        fclose(file);
}

/* A profile, with its facts when they follow. */
struct pending {
    struct record record;
    struct repo_bytes raw;
    bool is_there;
};

static void end_pending(struct verify *v, const char *path, struct pending *pending,
                        const struct repo_bytes *facts)
{
    if (pending->is_there && v->is_deep)
        verify_deeply(v, path, &pending->record, &pending->raw, facts);
    pending->is_there = false;
}

static void verify_record(struct verify *v, const char *path, const struct record *record,
                          struct repo_bytes *raw, struct pending *pending)
{
    char id[REPO_ID_DIGITS + 1];
    struct psnap_error error = {.message = "its bytes are damaged"};
    struct note note;
    const bool is_profile = record->type == RECORD_PROFILE;
    bool is_good;

    raw->size = 0;
    is_good = record->is_whole && !repo_expand(v->repo, record, raw, &error);
    if (is_profile)
        repo_ids_add(is_good ? &v->good : &v->bad, &record->id);
    if (!is_good) {
        tell(v, FOUND_DAMAGED, path, NULL, "%s %s, at byte %zu: %s",
             is_profile                     ? "profile"
             : record->type == RECORD_FACTS ? "facts of"
                                            : "note",
             repo_id_text(&record->id, id), record->offset + SEAL_HEAD_BYTES, error.message);
        return;
    }
    if (record->type == RECORD_NOTE) {
        if (note_read(raw, &note))
            v->result->notes++;
        else
            tell(v, FOUND_DAMAGED, path, NULL, "note %s is no note", repo_id_text(&record->id, id));
        note_release(&note);
    } else if (is_profile) {
        pending->record = *record;
        pending->raw.size = 0;
        repo_bytes_add(&pending->raw, raw->data, raw->size);
        pending->is_there = true;
    } else if (record->type == RECORD_FACTS) {
        end_pending(v, path, pending, raw);
    }
}

static void verify_object(struct verify *v, const struct repo_id *id, struct repo_bytes *file)
{
    struct repo_bytes raw = {0};
    const struct repo_bytes none = {0};
    struct pending pending = {.is_there = false};
    struct sealed sealed;
    struct record record;
    char path[64];
    size_t at = 0;

    if (!open_sealed(v, REPO_OBJECT, id, file, &sealed))
        return;
    v->result->files++;
    repo_file_name(REPO_OBJECT, id, path);
    while (pack_next(sealed.body, sealed.size, &at, &record)) {
        if (record.skipped)
            tell(v, FOUND_DAMAGED, path, NULL, "%zu bytes before byte %zu are no record",
                 record.skipped, record.offset + SEAL_HEAD_BYTES);
        if (record.type == RECORD_PROFILE)
            end_pending(v, path, &pending, &none);
        verify_record(v, path, &record, &raw, &pending);
    }
    end_pending(v, path, &pending, &none);
    if (record.skipped)
        tell(v, FOUND_DAMAGED, path, NULL, "the last %zu bytes are no record", record.skipped);
    repo_bytes_release(&raw);
    repo_bytes_release(&pending.raw);
}

static enum psnap_status verify_objects(struct verify *v, struct psnap_error *error)
{
    struct repo_ids ids = {0};
    struct repo_bytes file = {0};
    enum psnap_status status = repo_files(v->repo, REPO_OBJECT, &ids, tell_stranger, v, error);

    for (size_t i = 0; !status && i < ids.count; i++)
        verify_object(v, &ids.items[i], &file);
    repo_bytes_release(&file);
    repo_ids_release(&ids);
    return status;
}

static enum psnap_status remake_index(struct verify *v, struct index *index, const char *why,
                                      struct psnap_error *error)
{
    tell(v, FOUND_MENDED, "cache/" INDEX_FILE, NULL, "%s, and is made anew; nothing is lost", why);
    return index_remake(index, error);
}

/* The index, sound; it may say other things than the objects. */
static struct index *open_index(struct verify *v, struct psnap_error *error)
{
    struct index *index = index_open(v->repo, error);

    if (!index)
        return NULL;
    if (index->notice[0])
        tell(v, FOUND_MENDED, "cache/" INDEX_FILE, NULL, "%s; nothing is lost", index->notice);
    if (!db_check(index->db, NULL) || !remake_index(v, index, "it is not sound", error))
        return index;
    index_close(index);
    return NULL;
}

/* An index that is up to date says what one says that is made now; else it is made anew. */
static enum psnap_status compare_index(struct verify *v, struct index *index,
                                       struct psnap_error *error)
{
    uint64_t hashes[2] = {0, 0};
    struct index *fresh = index_open_fresh(v->repo, error);
    enum psnap_status status = fresh ? index_sync(index, error) : PSNAP_ERROR_IO;

    if (!status)
        status = index_hash(index, &hashes[0], error);
    if (!status)
        status = index_hash(fresh, &hashes[1], error);
    index_close(fresh);
    if (!status && hashes[0] != hashes[1])
        status = remake_index(v, index, "it was not what the objects say", error);
    return status;
}

/* Somebody may have added it, or moved it to another file, since the files were listed. */
static bool is_there_now(struct index *index, const struct repo_id *id)
{
    struct repo_bytes raw = {0};
    const bool is_there = index && !index_read(index, id, &raw, NULL);

    repo_bytes_release(&raw);
    return is_there;
}

/* What the heads of damaged records name, and what the index knew. */
static enum psnap_status tell_lost(struct verify *v, struct index *index, struct psnap_error *error)
{
    struct repo_ids lost = {0};
    struct db_rows *rows;
    struct repo_id id;
    char text[REPO_ID_DIGITS + 1];
    enum psnap_status status = PSNAP_OK;

    repo_ids_sort(&v->good);
    for (size_t i = 0; i < v->bad.count; i++)
        if (!repo_ids_have(&v->good, &v->bad.items[i]))
            repo_ids_add(&lost, &v->bad.items[i]);
    rows = index ? db_select(index->db, error, "SELECT id FROM entries", "") : NULL;
    while (rows && db_next(rows))
        if (db_text(rows, 0) && repo_id_parse(db_text(rows, 0), &id) &&
            !repo_ids_have(&v->good, &id))
            repo_ids_add(&lost, &id);
    if (rows)
        status = db_end(rows, error);
    repo_ids_sort(&lost);
    if (lost.count && index)
        index_sync(index, NULL);
    for (size_t i = 0; i < lost.count; i++)
        if ((!i || !repo_id_is_same(&lost.items[i], &lost.items[i - 1])) &&
            !is_there_now(index, &lost.items[i]))
            tell(v, FOUND_DAMAGED, "objects", repo_id_text(&lost.items[i], text),
                 "profile %s is lost", text);
    for (size_t i = 0; i < v->good.count; i++)
        v->result->profiles += !i || !repo_id_is_same(&v->good.items[i], &v->good.items[i - 1]);
    repo_ids_release(&lost);
    return status;
}

/* Without gc meanwhile; where there can be no lock, nobody can change anything either. */
static enum psnap_status verify_files(struct verify *v, struct index **index,
                                      struct psnap_error *error)
{
    enum psnap_status status;

    repo_lock(v->repo, REPO_SHARED, NULL);
    *index = open_index(v, error);
    status = *index ? verify_dictionaries(v, error) : PSNAP_ERROR_IO;
    verify_format(v);
    if (!status)
        status = verify_objects(v, error);
    if (!status)
        status = tell_lost(v, *index, error);
    repo_unlock(v->repo);
    return status;
}

enum psnap_status repo_verify(struct repo *repo, bool is_deep,
                              void (*say)(void *context, const struct finding *finding),
                              void *context, struct verify_result *result,
                              struct psnap_error *error)
{
    struct verify v = {.repo = repo, .is_deep = is_deep, .tell = say, .context = context};
    struct index *index = NULL;
    enum psnap_status status;

    *result = (struct verify_result){0};
    v.result = result;
    status = verify_files(&v, &index, error);
    if (!status && index->is_file && !result->damaged) {
        repo_lock(repo, REPO_EXCLUSIVE, NULL); /* while two indexes are compared nobody adds */
        status = compare_index(&v, index, error);
        repo_unlock(repo);
    }
    index_close(index);
    repo_ids_release(&v.good);
    repo_ids_release(&v.bad);
    return status;
}
