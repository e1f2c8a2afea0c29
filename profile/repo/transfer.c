/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Export as an archive, and import (transfer.h). The names in an archive are for messages alone:
 * what a member is called decides whether it is looked at, by its last letters, and nothing else.
 */
#include "profile/repo/transfer.h"

#include <math.h>
#include <stdlib.h>

#include "formats/base/text.h"

enum { NOTE_BYTES_MAX = 64 << 10 };

struct each {
    const struct transfer *transfer;
    const struct repo_bytes *raw; /* NULL: it cannot be read, and `error` says why */
    enum psnap_status status;
    struct psnap_error *error;
    bool is_taken, is_short; /* is_short: of memory */
    struct repo_ids ids;
};

static bool take_entry(void *context, const struct entry *entry)
{
    struct each *each = context;

    each->is_taken = true;
    each->status = each->transfer->take(each->transfer->context, entry, each->raw, each->error);
    return false;
}

static bool collect(void *context, const struct entry *entry)
{
    struct each *each = context;
    struct repo_id id;

    each->is_short = repo_id_parse(entry->id, &id) && !repo_ids_add(&each->ids, &id);
    return !each->is_short;
}

/* One that the index has, and the objects may have elsewhere than it says, or not at all. */
static enum psnap_status transfer_one(struct index *index, const struct repo_id *id,
                                      struct repo_bytes *raw, struct each *each)
{
    char text[REPO_ID_DIGITS + 1];
    struct index_query query = {.where = {.data = (uint8_t[]){"id = ?"}, .size = 6}, .count = 1};
    struct entry unknown = {.id = repo_id_text(id, text)};
    struct psnap_error why;
    enum psnap_status status;

    query.values[0] = (struct db_value){.type = 't', .text = text};
    raw->size = 0;
    each->raw = index_fetch(index, id, raw, &why) ? NULL : raw;
    if (!each->raw)
        psnap_error_set(each->error, why.code, "%s: %s", text, why.message);
    each->is_taken = false;
    status = index_list(index, &query, take_entry, each, each->error);
    for (int i = 0; i < INDEX_TEXTS; i++)
        unknown.texts[i] = "";
    if (!status && !each->is_taken)
        take_entry(each, &unknown);
    return status ? status : each->status;
}

/* Ids first: an index that turns out to be wrong is made anew, while nobody reads rows of it. */
enum psnap_status transfer_each(struct index *index, const struct index_query *query,
                                const struct transfer *transfer, struct psnap_error *error)
{
    struct each each = {.transfer = transfer, .error = error};
    struct repo_bytes raw = {0};
    enum psnap_status status = index_list(index, query, collect, &each, error);

    if (status && index_doubt(index)) {
        each.ids.count = 0;
        status = index_list(index, query, collect, &each, error);
    }
    if (!status && each.is_short)
        status = psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    for (size_t i = 0; i < each.ids.count && !status; i++)
        status = transfer_one(index, &each.ids.items[i], &raw, &each);
    repo_ids_release(&each.ids);
    repo_bytes_release(&raw);
    return status;
}

struct tar_export {
    struct index *index;
    struct tar_writer *writer;
    void (*refused)(void *context, const struct psnap_error *error);
    void *context;
};

static enum psnap_status put_note(struct tar_export *export, const struct entry *entry,
                                  struct psnap_error *error)
{
    struct repo_bytes lines = {0};
    struct repo_id id;
    struct note note;
    char name[64];
    enum psnap_status status = PSNAP_OK;

    if (!repo_id_parse(entry->id, &id))
        return PSNAP_OK;
    status = index_note(export->index, &id, &note, error);
    if (!status && note.version) {
        note_write(&note, &lines);
        snprintf(name, sizeof name, "notes/%.32s.note", entry->id);
        status = lines.is_short ? psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory")
                                : tar_put(export->writer, name, lines.data, lines.size, error);
        repo_bytes_release(&lines);
    }
    note_release(&note);
    return status;
}

static enum psnap_status put_profile(void *context, const struct entry *entry,
                                     const struct repo_bytes *raw, struct psnap_error *error)
{
    struct tar_export *export = context;
    char name[64];
    enum psnap_status status;

    if (!raw) {
        export->refused(export->context, error);
        return PSNAP_OK;
    }
    status = put_note(export, entry, error);
    snprintf(name, sizeof name, "profiles/%.32s.yaml", entry->id);
    return status ? status : tar_put(export->writer, name, raw->data, raw->size, error);
}

enum psnap_status export_tar(struct index *index, const struct index_query *query,
                             struct tar_writer *writer,
                             void (*refused)(void *context, const struct psnap_error *error),
                             void *context, struct psnap_error *error)
{
    struct tar_export export = {index, writer, refused, context};
    const struct transfer transfer = {put_profile, &export};

    return transfer_each(index, query, &transfer, error);
}

static void forget_batch(struct importer *importer)
{
    for (size_t i = 0; i < importer->count; i++) {
        repo_bytes_release(&importer->items[i].raw);
        note_release(&importer->notes[i]);
        free(importer->names[i]);
    }
    importer->count = 0;
    importer->bytes = 0;
}

static enum psnap_status flush(struct importer *importer, struct psnap_error *error)
{
    enum psnap_status status =
        importer->count ? add_batch(importer->adder, importer->items, importer->count, error)
                        : PSNAP_OK;

    for (size_t i = 0; !status && i < importer->count; i++)
        importer->done(importer->context, &importer->items[i]);
    forget_batch(importer);
    return status;
}

/* Takes over the bytes, and the note when it is of this profile. */
static enum psnap_status push(struct importer *importer, const char *name, struct repo_bytes *raw,
                              struct psnap_error *error)
{
    const size_t i = importer->count;
    struct add_item *item = &importer->items[i];
    struct repo_id id;

    importer->names[i] = strdup(name);
    if (!importer->names[i])
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    *item = (struct add_item){.path = importer->names[i], .raw = *raw, .has_raw = true};
    *raw = (struct repo_bytes){0};
    importer->notes[i] = (struct note){.fidelity = NAN};
    repo_id_of(item->raw.data, item->raw.size, &id);
    if (importer->note.version && repo_id_is_same(&importer->note.profile, &id)) {
        importer->notes[i] = importer->note;
        importer->note = (struct note){.fidelity = NAN};
        item->note = &importer->notes[i];
    }
    importer->count++;
    importer->bytes += item->raw.size;
    if (importer->count == ADD_BATCH || importer->bytes > ADD_BATCH_BYTES)
        return flush(importer, error);
    return PSNAP_OK;
}

static void take_note(struct importer *importer, const char *name, const struct repo_bytes *lines)
{
    note_release(&importer->note);
    if (!note_read(lines, &importer->note))
        importer->left_out(importer->context, name, "no note");
}

static enum psnap_status take_member(struct importer *importer, struct tar_reader *reader,
                                     const struct tar_member *member, struct psnap_error *error)
{
    const bool is_note = psnap_text_ends_in(member->name, ".note");
    const uint64_t limit = is_note ? NOTE_BYTES_MAX : importer->adder->options.limit_bytes;
    struct repo_bytes raw = {0};
    enum psnap_status status;

    if (!member->is_file) {
        if (!psnap_text_ends_in(member->name, "/"))
            importer->left_out(importer->context, member->name, "no regular file");
        return PSNAP_OK;
    }
    if (!is_note && !psnap_text_ends_in(member->name, ".yaml") &&
        !psnap_text_ends_in(member->name, ".yml")) {
        importer->left_out(importer->context, member->name, "its name does not end in .yaml");
        return PSNAP_OK;
    }
    importer->found += !is_note;
    if (member->bytes > limit) {
        importer->left_out(importer->context, member->name, "too long (--max-size)");
        return PSNAP_OK;
    }
    status = tar_read(reader, member, &raw, error);
    if (!status && is_note)
        take_note(importer, member->name, &raw);
    else if (!status)
        status = push(importer, member->name, &raw, error);
    repo_bytes_release(&raw);
    return status;
}

enum psnap_status import_tar(struct importer *importer, struct tar_reader *reader,
                             struct psnap_error *error)
{
    struct tar_member member;
    struct psnap_error late;
    enum psnap_status status = PSNAP_OK, flushed;
    int next = 0;

    importer->found = 0;
    while (!status && (next = tar_next(reader, importer->limit_total, &member, error)) > 0)
        status = take_member(importer, reader, &member, error);
    if (!status && next < 0)
        status = (enum psnap_status)next;
    if (!status && !importer->found)
        status = psnap_error_set(error, PSNAP_ERROR_VALUE, "there is no profile in it");
    flushed = flush(importer, status ? &late : error); /* what came before damage is good */
    return status ? status : flushed;
}

struct copying {
    struct importer *importer;
    struct index *from;
};

static enum psnap_status copy_profile(void *context, const struct entry *entry,
                                      const struct repo_bytes *raw, struct psnap_error *error)
{
    struct copying *copying = context;
    struct importer *importer = copying->importer;
    struct repo_bytes copy = {0};
    struct repo_id id;
    enum psnap_status status;

    if (!raw) {
        importer->left_out(importer->context, entry->id, error->message);
        return PSNAP_OK;
    }
    note_release(&importer->note);
    if (repo_id_parse(entry->id, &id) && index_note(copying->from, &id, &importer->note, error))
        return error->code;
    repo_bytes_add(&copy, raw->data, raw->size);
    status = copy.is_short ? psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory")
                           : push(importer, entry->id, &copy, error);
    repo_bytes_release(&copy);
    return status;
}

enum psnap_status import_repository(struct importer *importer, struct index *from,
                                    struct psnap_error *error)
{
    struct copying copying = {importer, from};
    const struct index_query all = {.limit = 0};
    const struct transfer transfer = {copy_profile, &copying};
    enum psnap_status status = transfer_each(from, &all, &transfer, error);

    return status ? status : flush(importer, error);
}

void importer_release(struct importer *importer)
{
    forget_batch(importer);
    note_release(&importer->note);
}
