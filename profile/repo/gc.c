/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap repo gc: small files of objects are merged into larger ones, profiles that were added
 * before there was a dictionary are compressed with it, files with damage that can be undone are
 * written anew. New files are committed and read back before old ones are removed. What goes for
 * good: temporary files of writers that died, second copies, notes that a later one that can be
 * read replaces, dictionaries that nothing needs. A file with damage
 * that cannot be undone stays as it is, until what is lost is to be forgotten: then what can be
 * read of it is merged, too, and the file goes. Everything is expanded and its hash looked at
 * first: a record that has another's id (in a file from elsewhere) does not pass for a copy of it.
 *
 * Nobody adds meanwhile (an exclusive lock). Readers may find a file gone: they look again. Where
 * `add` has left many small files it merges these, and looks at no others.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/base/room.h"
#include "profile/repo/gc.h"
#include "profile/repo/note.h"

#define SMALL_BYTES ((size_t)4 << 20) /* a file that is merged with others */
enum { SMALL_FILES_MAX = 64 };        /* of more `add` merges them */
enum { TRAIN_PROFILES_MIN = 32, TRAIN_SAMPLES_MAX = 4096, TRAIN_SAMPLE_BYTES = 64 << 10 };
#define TRAIN_BYTES_MIN ((size_t)384 << 10)
#define TRAIN_BYTES_MAX ((size_t)6 << 20)
#define FULL_BYTES ((size_t)8 << 20) /* one that takes no more */

struct note_version {
    struct repo_id profile;
    uint64_t version;
};

struct gc {
    struct repo *repo;
    struct index *index;
    struct gc_result *result;
    struct repo_ids small;      /* files */
    struct repo_set there;      /* profiles and notes in files that stay or are new */
    struct repo_set needed;     /* dictionaries */
    struct note_version *notes; /* those that can be read; sorted by profile, once all are there */
    size_t note_count, note_room;
    bool has_plain; /* a profile without dictionary */
    bool has_lost;  /* a file whose records are not all known stays */
    const struct gc_options *options;
    struct repo_set doubtful; /* such files, which go */
    const struct codec_dictionary *dictionary;
    struct repo_ids made; /* files */
    struct repo_bytes body;
};

static enum psnap_status out_of_memory(struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
}

/* Whether a record is what it says. */
static bool can_read(struct gc *gc, const struct record *record, struct repo_bytes *raw)
{
    raw->size = 0;
    return record->is_whole &&
           (record->type == RECORD_PROFILE || record->type == RECORD_FACTS ||
            record->type == RECORD_NOTE) &&
           !repo_expand(gc->repo, record, raw, NULL);
}

static void take_note(struct gc *gc, const struct repo_bytes *lines)
{
    struct note note;
    struct note_version *notes =
        note_read(lines, &note)
            ? psnap_with_room(gc->notes, &gc->note_room, gc->note_count + 1, sizeof *notes)
            : NULL;

    if (notes) {
        gc->notes = notes;
        notes[gc->note_count++] = (struct note_version){note.profile, note.version};
    }
    note_release(&note);
}

static int compare_notes(const void *a, const void *b)
{
    const struct note_version *p = a, *q = b;
    const int order = memcmp(&p->profile, &q->profile, sizeof p->profile);

    return order ? order : (p->version > q->version) - (p->version < q->version);
}

/* Whether all of a file can be read; what it has. */
static bool look_at(struct gc *gc, const struct sealed *sealed, struct repo_ids *records)
{
    struct repo_bytes raw = {0};
    struct record record;
    size_t at = 0;
    bool is_good = sealed->state != SEAL_DAMAGED;

    while (pack_next(sealed->body, sealed->size, &at, &record)) {
        const bool is_read = can_read(gc, &record, &raw);
        is_good = is_good && is_read && !record.skipped;
        if (!is_read && gc->options->forgets)
            continue;
        if (is_read && record.type == RECORD_NOTE)
            take_note(gc, &raw);
        if (record.type != RECORD_FACTS)
            repo_ids_add(records, &record.id);
        if (!repo_id_is_none(&record.dictionary))
            repo_set_add(&gc->needed, &record.dictionary);
        else if (record.type == RECORD_PROFILE && sealed->size < SMALL_BYTES)
            gc->has_plain = true;
    }
    repo_bytes_release(&raw);
    return is_good && !record.skipped;
}

/* Damage that was undone on reading is undone in the file. */
static enum psnap_status mend(struct gc *gc, enum repo_kind kind, const struct repo_id *id,
                              const struct sealed *sealed, struct psnap_error *error)
{
    const struct repo_bytes body = {.data = sealed->body, .size = sealed->size};
    struct repo_id found;

    repo_id_of(body.data, body.size, &found);
    if (sealed->state != SEAL_MENDED || !repo_id_is_same(&found, id))
        return PSNAP_OK;
    gc->result->mended++;
    return repo_commit(gc->repo, kind, &body, &found, error);
}

static enum psnap_status sort_file(struct gc *gc, const struct repo_id *id, struct repo_bytes *file,
                                   struct psnap_error *error)
{
    struct repo_ids records = {0};
    struct sealed sealed;
    enum psnap_status status = PSNAP_OK;

    if (repo_read_sealed(gc->repo, REPO_OBJECT, id, file, &sealed, NULL)) {
        gc->has_lost = true;
        gc->result->damaged++;
        return PSNAP_OK;
    }
    gc->result->bytes_before += file->size;
    if (!look_at(gc, &sealed, &records)) {
        gc->has_lost = gc->has_lost || !gc->options->forgets;
        gc->result->damaged += !gc->options->forgets;
        if (gc->options->forgets &&
            (!repo_ids_add(&gc->small, id) || !repo_set_add(&gc->doubtful, id)))
            status = out_of_memory(error);
    } else {
        status = mend(gc, REPO_OBJECT, id, &sealed, error);
        if (sealed.size < SMALL_BYTES)
            repo_ids_add(&gc->small, id);
        for (size_t i = 0; sealed.size >= SMALL_BYTES && i < records.count; i++)
            repo_set_add(&gc->there, &records.items[i]);
    }
    repo_ids_release(&records);
    return status;
}

static bool is_small(const struct gc *gc, const struct repo_id *id)
{
    const int fd = repo_open_file(gc->repo, REPO_OBJECT, id);
    struct stat about;
    const bool is_small = fd >= 0 && !fstat(fd, &about) && about.st_size < (off_t)SMALL_BYTES;

    if (fd >= 0)
        close(fd);
    return is_small;
}

static enum psnap_status sort_files(struct gc *gc, struct psnap_error *error)
{
    struct repo_ids ids = {0};
    struct repo_bytes file = {0};
    enum psnap_status status = repo_files(gc->repo, REPO_OBJECT, &ids, NULL, NULL, error);

    for (size_t i = 0; !status && i < ids.count; i++)
        if (!gc->options->is_quick || is_small(gc, &ids.items[i]))
            status = sort_file(gc, &ids.items[i], &file, error);
    if (gc->note_count)
        qsort(gc->notes, gc->note_count, sizeof *gc->notes, compare_notes);
    repo_bytes_release(&file);
    repo_ids_release(&ids);
    return status;
}

/* The profiles and facts of small files, one after the other; long ones are cut. */
struct samples {
    struct repo_bytes bytes;
    size_t sizes[TRAIN_SAMPLES_MAX], count;
};

static void take_samples(struct gc *gc, const struct repo_id *id, struct repo_bytes *file,
                         struct samples *samples)
{
    struct repo_bytes raw = {0};
    struct sealed sealed;
    struct record record;
    size_t at = 0;

    if (repo_read_sealed(gc->repo, REPO_OBJECT, id, file, &sealed, NULL))
        return;
    while (samples->bytes.size < TRAIN_BYTES_MAX && samples->count < TRAIN_SAMPLES_MAX &&
           pack_next(sealed.body, sealed.size, &at, &record)) {
        raw.size = 0;
        if (record.type == RECORD_NOTE || repo_expand(gc->repo, &record, &raw, NULL))
            continue;
        samples->sizes[samples->count] =
            raw.size < TRAIN_SAMPLE_BYTES ? raw.size : TRAIN_SAMPLE_BYTES;
        repo_bytes_add(&samples->bytes, raw.data, samples->sizes[samples->count++]);
    }
    repo_bytes_release(&raw);
}

/* The first dictionary; without one it goes on. */
static void train(struct gc *gc)
{
    struct repo_bytes file = {0}, dictionary = {0};
    struct samples *samples = calloc(1, sizeof *samples);
    struct repo_id id;

    for (size_t i = 0; samples && i < gc->small.count; i++)
        take_samples(gc, &gc->small.items[i], &file, samples);
    if (samples && samples->count >= 2 * TRAIN_PROFILES_MIN &&
        samples->bytes.size >= TRAIN_BYTES_MIN && !samples->bytes.is_short &&
        codec_train(samples->bytes.data, samples->sizes, (unsigned)samples->count, &dictionary))
        repo_commit(gc->repo, REPO_DICTIONARY, &dictionary, &id, NULL);
    if (samples)
        repo_bytes_release(&samples->bytes);
    free(samples);
    repo_bytes_release(&file);
    repo_bytes_release(&dictionary);
}

/* Commits what was merged so far, and reads it back. */
static enum psnap_status flush(struct gc *gc, struct psnap_error *error)
{
    struct repo_bytes file = {0};
    struct sealed sealed;
    struct repo_id id;
    enum psnap_status status;

    if (!gc->body.size && !gc->body.is_short)
        return PSNAP_OK;
    status = repo_commit(gc->repo, REPO_OBJECT, &gc->body, &id, error);
    if (!status)
        status = repo_read_sealed(gc->repo, REPO_OBJECT, &id, &file, &sealed, error);
    if (!status && (sealed.state != SEAL_WHOLE || sealed.size != gc->body.size ||
                    memcmp(sealed.body, gc->body.data, sealed.size) != 0))
        status = psnap_error_set(error, PSNAP_ERROR_IO,
                                 "a file that was just written reads back otherwise");
    if (!status && !repo_ids_add(&gc->made, &id))
        status = out_of_memory(error);
    gc->result->written += !status;
    gc->body.size = 0;
    repo_bytes_release(&file);
    return status;
}

/* Whether a later note that can be read, in a file that stays or is merged, says all that this one
 * does. What the index says is not enough: its later note may be damaged. */
static bool is_superseded(struct gc *gc, const struct record *record, struct repo_bytes *raw)
{
    struct note note = {.version = 0};
    struct note_version next;
    size_t low = 0, high = gc->note_count;

    raw->size = 0;
    if (repo_expand(gc->repo, record, raw, NULL) || !note_read(raw, &note))
        return false;
    next = (struct note_version){note.profile, note.version + 1};
    while (low < high) { /* the first one that is not before `next` */
        const size_t middle = low + (high - low) / 2;
        if (compare_notes(&gc->notes[middle], &next) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    note_release(&note);
    return low < gc->note_count && repo_id_is_same(&gc->notes[low].profile, &next.profile);
}

static enum psnap_status copy_record(struct gc *gc, const struct record *record,
                                     struct repo_bytes *raw, struct psnap_error *error)
{
    struct repo_bytes stored = {0};
    struct record copy = *record;
    enum psnap_status status = PSNAP_OK;

    raw->size = 0;
    if (gc->dictionary && repo_id_is_none(&record->dictionary) && record->type != RECORD_NOTE &&
        !repo_expand(gc->repo, record, raw, NULL))
        status = codec_compress(gc->repo->codec, gc->dictionary, gc->repo->level, raw->data,
                                raw->size, &stored, &copy, error);
    if (!status)
        pack_add(&gc->body, &copy);
    if (!status && !repo_id_is_none(&copy.dictionary) &&
        !repo_set_add(&gc->needed, &copy.dictionary))
        status = out_of_memory(error);
    repo_bytes_release(&stored);
    return status;
}

/* Of each profile one copy; its facts follow it. */
static enum psnap_status merge_file(struct gc *gc, const struct repo_id *id,
                                    struct repo_bytes *file, struct repo_bytes *raw,
                                    struct psnap_error *error)
{
    const bool is_doubtful = repo_set_has(&gc->doubtful, id);
    struct sealed sealed;
    struct record record;
    size_t at = 0;
    bool is_twin = false;
    enum psnap_status status = repo_read_sealed(gc->repo, REPO_OBJECT, id, file, &sealed, error);

    while (!status && pack_next(sealed.body, sealed.size, &at, &record)) {
        if (is_doubtful && !can_read(gc, &record, raw)) {
            is_twin = is_twin || record.type == RECORD_PROFILE; /* its facts go with it */
            continue;
        }
        if (record.type != RECORD_FACTS) {
            is_twin = repo_set_has(&gc->there, &record.id);
            gc->result->twins += is_twin;
        }
        if (is_twin)
            continue;
        if (record.type == RECORD_NOTE && is_superseded(gc, &record, raw)) {
            gc->result->notes++;
            continue;
        }
        if (record.type == RECORD_PROFILE && gc->body.size >= FULL_BYTES)
            status = flush(gc, error);
        if (!status)
            status = copy_record(gc, &record, raw, error);
        if (!status && record.type != RECORD_FACTS && !repo_set_add(&gc->there, &record.id))
            status = out_of_memory(error);
    }
    gc->result->merged++;
    return status;
}

static enum psnap_status merge(struct gc *gc, struct psnap_error *error)
{
    struct repo_bytes file = {0}, raw = {0};
    enum psnap_status status = PSNAP_OK;

    for (size_t i = 0; !status && i < gc->small.count; i++)
        status = merge_file(gc, &gc->small.items[i], &file, &raw, error);
    if (!status)
        status = flush(gc, error);
    repo_ids_sort(&gc->made);
    for (size_t i = 0; !status && i < gc->small.count; i++)
        if (!repo_ids_have(&gc->made, &gc->small.items[i]))
            status = repo_remove(gc->repo, REPO_OBJECT, &gc->small.items[i], error);
    repo_bytes_release(&file);
    repo_bytes_release(&raw);
    return status;
}

/* Where something is won by it. */
static enum psnap_status merge_sorted(struct gc *gc, struct psnap_error *error)
{
    if (gc->has_plain && !repo_dictionary_for_new(gc->repo))
        train(gc);
    gc->dictionary = repo_dictionary_for_new(gc->repo);
    if (gc->small.count > 1 || gc->doubtful.count || (gc->has_plain && gc->dictionary))
        return merge(gc, error);
    return PSNAP_OK;
}

/* Nothing needs them; of files that cannot be read nobody knows what they need. */
static enum psnap_status clear_dictionaries(struct gc *gc, struct psnap_error *error)
{
    struct repo_ids ids = {0};
    struct repo_bytes file = {0};
    struct sealed sealed;
    enum psnap_status status = repo_files(gc->repo, REPO_DICTIONARY, &ids, NULL, NULL, error);

    for (size_t i = 0; !status && i < ids.count; i++) {
        const struct repo_id *id = &ids.items[i];
        if (!repo_set_has(&gc->needed, id) && !gc->has_lost && ids.count > 1) {
            status = repo_remove(gc->repo, REPO_DICTIONARY, id, error);
            gc->result->dictionaries++;
        } else if (!repo_read_sealed(gc->repo, REPO_DICTIONARY, id, &file, &sealed, NULL)) {
            status = mend(gc, REPO_DICTIONARY, id, &sealed, error);
        }
    }
    repo_bytes_release(&file);
    repo_ids_release(&ids);
    return status;
}

static enum psnap_status measure(struct gc *gc, struct psnap_error *error)
{
    struct repo_ids ids = {0};
    struct repo_bytes file = {0};
    struct sealed sealed;
    enum psnap_status status = repo_files(gc->repo, REPO_OBJECT, &ids, NULL, NULL, error);

    for (size_t i = 0; !status && i < ids.count; i++)
        if (!repo_read_sealed(gc->repo, REPO_OBJECT, &ids.items[i], &file, &sealed, NULL))
            gc->result->bytes_after += file.size;
    repo_bytes_release(&file);
    repo_ids_release(&ids);
    return status;
}

/* Merges what is sorted, and the index knows. */
static enum psnap_status tidy(struct gc *gc, struct psnap_error *error)
{
    enum psnap_status status = sort_files(gc, error);

    if (!status)
        status = merge_sorted(gc, error);
    if (!status && !gc->options->is_quick)
        status = clear_dictionaries(gc, error);
    return status ? status : index_sync(gc->index, error);
}

static enum psnap_status tidy_all(struct gc *gc, struct psnap_error *error)
{
    enum psnap_status status;

    gc->repo->level = CODEC_LEVEL_GC;
    gc->result->temporaries = repo_sweep(gc->repo);
    status = repo_has_format(gc->repo) ? PSNAP_OK : repo_write_format(gc->repo, error);
    if (!status)
        status = tidy(gc, error);
    if (!status && gc->options->forgets)
        status = index_forget_lost(gc->index, error);
    return status ? status : measure(gc, error);
}

static void release(struct gc *gc)
{
    repo_ids_release(&gc->small);
    repo_set_release(&gc->there);
    repo_set_release(&gc->needed);
    repo_set_release(&gc->doubtful);
    repo_ids_release(&gc->made);
    repo_bytes_release(&gc->body);
    free(gc->notes);
}

enum psnap_status repo_gc(struct repo *repo, struct index *index, const struct gc_options *options,
                          struct gc_result *result, struct psnap_error *error)
{
    struct gc gc = {.repo = repo, .index = index, .result = result, .options = options};
    enum psnap_status status =
        repo_lock(repo, options->is_quick ? REPO_EXCLUSIVE_NOW : REPO_EXCLUSIVE, error);

    *result = (struct gc_result){0};
    if (!status && !index && !(gc.index = index_open(repo, error)))
        status = PSNAP_ERROR_IO;
    if (!status)
        status = options->is_quick ? tidy(&gc, error) : tidy_all(&gc, error);
    repo_unlock(repo);
    if (gc.index != index)
        index_close(gc.index);
    release(&gc);
    return status;
}

void repo_gc_when_due(struct repo *repo, struct index *index, size_t added)
{
    const bool may_train = added >= TRAIN_PROFILES_MIN && !repo_dictionary_for_new(repo);
    const struct gc_options options = {.is_quick = true};
    struct gc_result result;
    uint64_t small = 0;

    if (!index_small_packs(index, SMALL_BYTES, &small, NULL) &&
        (small > SMALL_FILES_MAX || may_train))
        repo_gc(repo, index, &options, &result, NULL);
}
