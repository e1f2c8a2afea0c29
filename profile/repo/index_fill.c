/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What comes into the index: records of packs. The same profile may be in several; notes are kept
 * by file, and the one that holds is written into the entry.
 */
#include "profile/repo/index_fill.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static enum psnap_status insert_profile(struct index *index, const char *pack,
                                        const struct record *record, struct psnap_error *error)
{
    char id[REPO_ID_DIGITS + 1];
    enum psnap_status status;

    repo_id_text(&record->id, id);
    status = db_run(index->db, error, "INSERT OR IGNORE INTO places VALUES (?, ?, ?, ?)", "ttii",
                    id, pack, (int64_t)record->offset, (int64_t)record->stored_bytes);
    if (!status)
        status = db_run(index->db, error,
                        "INSERT INTO entries (id, bytes, lost, known) VALUES (?, ?, 0, 0)"
                        " ON CONFLICT (id) DO UPDATE SET lost = 0",
                        "ti", id, (int64_t)record->raw_bytes);
    return status;
}

static enum psnap_status insert_facts(struct index *index, const struct repo_id *profile,
                                      const struct repo_bytes *lines, struct psnap_error *error)
{
    char id[REPO_ID_DIGITS + 1];
    struct facts f;
    enum psnap_status status;

    if (!facts_read(lines, &f))
        return PSNAP_OK; /* they are derived anew */
    status =
        db_run(index->db, error,
               "UPDATE entries SET program = ?, command = ?, build_id = ?, language = ?,"
               " compiler = ?, host = ?, recorded = ?, model = ?, functions = ?,"
               " accesses = ?, loads = ?, stores = ?, atomics = ?, loops = ?, regions = ?,"
               " working_set = ?, certified = ?, signature = ?, known = 1"
               " WHERE id = ? AND known = 0",
               "tttttttttiiiiiiirbt", f.texts[0], f.texts[1], f.texts[2], f.texts[3], f.texts[4],
               f.texts[5], f.texts[6], f.texts[7], f.texts[8], (int64_t)f.counts[0],
               (int64_t)f.counts[1], (int64_t)f.counts[2], (int64_t)f.counts[3],
               (int64_t)f.counts[4], (int64_t)f.counts[5], (int64_t)f.counts[6], f.fidelity,
               f.signature, sizeof f.signature, repo_id_text(profile, id));
    facts_release(&f);
    return status;
}

/* Writes the note that holds into its entry. */
static enum psnap_status settle_note(struct index *index, const struct repo_id *profile,
                                     struct psnap_error *error)
{
    char id[REPO_ID_DIGITS + 1];
    struct note note;
    enum psnap_status status = index_note(index, profile, &note, error);

    if (!status && note.version)
        status = db_run(index->db, error,
                        "UPDATE entries SET tags = ?, licence = ?, input = ?, stated = ?, added = ?"
                        " WHERE id = ?",
                        "tttrtt", note.tags, note.licence, note.input, note.fidelity, note.added,
                        repo_id_text(profile, id));
    if (!status)
        note_release(&note);
    return status;
}

static enum psnap_status insert_note(struct index *index, const char *pack,
                                     const struct record *record, const struct repo_bytes *lines,
                                     struct psnap_error *error)
{
    char id[REPO_ID_DIGITS + 1], profile[REPO_ID_DIGITS + 1];
    struct note note;
    enum psnap_status status;

    if (!note_read(lines, &note)) {
        index->unusable++;
        return PSNAP_OK;
    }
    status = db_run(
        index->db, error, "INSERT OR IGNORE INTO notes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        "tttitttrt", repo_id_text(&record->id, id), pack, repo_id_text(&note.profile, profile),
        (int64_t)note.version, note.tags, note.licence, note.input, note.fidelity, note.added);
    if (!status)
        status = settle_note(index, &note.profile, error);
    note_release(&note);
    return status;
}

static enum psnap_status take_record(struct index *index, const char *pack,
                                     const struct record *record, struct repo_bytes *raw,
                                     struct psnap_error *error)
{
    enum psnap_status status;

    if (!record->is_whole) {
        index->unusable++;
        return PSNAP_OK;
    }
    if (record->type == RECORD_PROFILE) {
        status = insert_profile(index, pack, record, error);
        return status ? status : settle_note(index, &record->id, error);
    }
    if (record->type != RECORD_FACTS && record->type != RECORD_NOTE)
        return PSNAP_OK; /* of a later version */
    raw->size = 0;
    if (repo_expand(index->repo, record, raw, NULL)) {
        index->unusable++;
        return PSNAP_OK;
    }
    return record->type == RECORD_FACTS ? insert_facts(index, &record->id, raw, error)
                                        : insert_note(index, pack, record, raw, error);
}

enum psnap_status index_fill(struct index *index, const struct repo_id *pack, const uint8_t *body,
                             size_t size, struct psnap_error *error)
{
    char name[REPO_ID_DIGITS + 1];
    struct repo_bytes raw = {0};
    struct record record;
    size_t at = 0;
    enum psnap_status status = db_run(index->db, error, "INSERT OR IGNORE INTO packs VALUES (?, ?)",
                                      "ti", repo_id_text(pack, name), (int64_t)size);

    while (!status && pack_next(body, size, &at, &record)) {
        index->unusable += record.skipped > 0;
        status = take_record(index, name, &record, &raw, error);
    }
    repo_bytes_release(&raw);
    return status;
}

/* The ids that a query of one column lists. */
static enum psnap_status list_ids(struct db_rows *rows, struct repo_ids *ids,
                                  struct psnap_error *error)
{
    struct repo_id id;

    if (!rows)
        return PSNAP_ERROR_IO;
    while (db_next(rows))
        if (db_text(rows, 0) && repo_id_parse(db_text(rows, 0), &id))
            repo_ids_add(ids, &id);
    return db_end(rows, error);
}

/* Entries have of their notes what those in other packs say. */
static enum psnap_status drop_notes(struct index *index, const char *pack,
                                    struct psnap_error *error)
{
    struct repo_ids ids = {0};
    enum psnap_status status = list_ids(
        db_select(index->db, error, "SELECT DISTINCT profile FROM notes WHERE pack = ?", "t", pack),
        &ids, error);

    if (!status)
        status = db_run(index->db, error,
                        "UPDATE entries SET tags = NULL, licence = NULL, input = NULL,"
                        " stated = NULL, added = NULL"
                        " WHERE id IN (SELECT profile FROM notes WHERE pack = ?)",
                        "t", pack);
    if (!status)
        status = db_run(index->db, error, "DELETE FROM notes WHERE pack = ?", "t", pack);
    for (size_t i = 0; i < ids.count && !status; i++)
        status = settle_note(index, &ids.items[i], error);
    repo_ids_release(&ids);
    return status;
}

enum psnap_status index_drop(struct index *index, const char *pack, struct psnap_error *error)
{
    enum psnap_status status = db_run(index->db, error,
                                      "UPDATE entries SET lost = NOT EXISTS (SELECT 1 FROM places"
                                      " WHERE places.id = entries.id AND places.pack <> ?1)"
                                      " WHERE id IN (SELECT id FROM places WHERE pack = ?1)",
                                      "t", pack);

    if (!status)
        status = db_run(index->db, error, "DELETE FROM places WHERE pack = ?", "t", pack);
    if (!status)
        status = drop_notes(index, pack, error);
    if (!status)
        status = db_run(index->db, error, "DELETE FROM packs WHERE name = ?", "t", pack);
    return status;
}

/* Of the profile itself; what cannot be read stays unknown. */
static enum psnap_status derive_one(struct index *index, const struct repo_id *id,
                                    struct psnap_error *error)
{
    struct repo_bytes raw = {0}, lines = {0};
    struct psnap_profile *profile = NULL;
    enum psnap_status status = PSNAP_OK;
    FILE *file = NULL;

    if (!index_read(index, id, &raw, NULL) && raw.size)
        file = fmemopen(raw.data, raw.size, "r");
    if (file)
        profile = psnap_profile_read(file, "profile", NULL);
    if (profile && facts_write(profile, &lines))
        status = insert_facts(index, id, &lines, error);
    else
        index->unusable++;
    psnap_profile_free(profile);
    if (file)
        fclose(file);
    repo_bytes_release(&raw);
    repo_bytes_release(&lines);
    return status;
}

enum psnap_status index_derive(struct index *index, struct psnap_error *error)
{
    struct repo_ids ids = {0};
    enum psnap_status status = list_ids(
        db_select(index->db, error, "SELECT id FROM entries WHERE known = 0 AND lost = 0", ""),
        &ids, error);

    for (size_t i = 0; !status && i < ids.count; i++)
        status = derive_one(index, &ids.items[i], error);
    repo_ids_release(&ids);
    return status;
}
