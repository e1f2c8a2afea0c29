/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Adding profiles (add.h). A batch goes through four stages: read and hash, by threads; look for
 * the ids in the index, and compare the bytes of those that are there; parse the others and derive
 * their facts, by threads; compress, by threads, and commit. XXH3 is no cryptographic hash: whoever
 * wants to can make two profiles of one id, so equal ids are not taken for equal bytes.
 */
#include "profile/repo/add.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "formats/base/parallel.h"
#include "profile/repo/gc.h"

struct batch {
    struct adder *adder;
    struct add_item *items;
    size_t count;
    const struct codec_dictionary *dictionary;
    struct codec *codecs[PSNAP_PARALLEL_MAX];
    struct repo_bytes body;
};

static void fail_item(struct add_item *item, enum psnap_status code, const char *message)
{
    psnap_error_set(&item->error, code, "%s", message);
    psnap_error_at(&item->error, item->path, 0, 0);
    item->state = ADD_FAILED;
}

static void read_fd(struct add_item *item, int fd, uint64_t limit)
{
    for (;;) {
        const size_t piece = item->raw.size ? (size_t)1 << 18 : (size_t)1 << 16;
        uint8_t *room = repo_bytes_room(&item->raw, piece);
        const ssize_t n = room ? read(fd, room, piece) : -1;
        if (n < 0 && room && errno == EINTR)
            continue;
        if (n < 0) {
            psnap_error_file(&item->error, room ? errno : ENOMEM, "read", item->path);
            item->state = ADD_FAILED;
        }
        if (n <= 0)
            return;
        item->raw.size += (size_t)n;
        if (item->raw.size > limit)
            return;
    }
}

static void read_path(struct add_item *item, uint64_t limit)
{
    const bool is_stdin = !strcmp(item->path, "-");
    const int fd = is_stdin ? STDIN_FILENO : open(item->path, O_RDONLY | O_CLOEXEC);

    if (fd < 0) {
        psnap_error_file(&item->error, errno, "open", item->path);
        item->state = ADD_FAILED;
        return;
    }
    read_fd(item, fd, limit);
    if (!is_stdin)
        close(fd);
}

static void read_item(void *context, unsigned thread, size_t i)
{
    struct batch *batch = context;
    struct add_item *item = &batch->items[i];
    const uint64_t limit = batch->adder->options.limit_bytes;
    char message[128];

    (void)thread;
    item->state = ADD_NEW;
    if (!item->has_raw)
        read_path(item, limit);
    if (item->state == ADD_FAILED)
        return;
    if (item->raw.size > limit) {
        snprintf(message, sizeof message,
                 "longer than %" PRIu64 " bytes, the limit of a profile (--max-size)", limit);
        fail_item(item, PSNAP_ERROR_LIMIT, message);
        return;
    }
    repo_id_of(item->raw.data, item->raw.size, &item->id);
}

/* Whether one of this id is there already, whole and the same. */
static void find_known(struct adder *adder, struct add_item *item)
{
    struct repo_bytes there = {0};
    struct repo_id pack;
    uint64_t offset;

    if (item->state != ADD_NEW ||
        index_place(adder->index, &item->id, 0, &pack, &offset, NULL) <= 0)
        return;
    if (!index_read(adder->index, &item->id, &there, NULL)) { /* else it is damaged there */
        if (there.size == item->raw.size && !memcmp(there.data, item->raw.data, there.size))
            item->state = ADD_KNOWN;
        else
            fail_item(item, PSNAP_ERROR_VALUE,
                      "another profile in the repository has the same id: one of them was made to");
    }
    repo_bytes_release(&there);
}

static int compare_items(const void *a, const void *b)
{
    const struct add_item *const *p = a, *const *q = b;
    const int order = memcmp(&(*p)->id, &(*q)->id, sizeof(*p)->id);

    return order ? order : (*p > *q) - (*p < *q);
}

/* Of the new items with the same bytes the first one is added. */
static bool find_twins(struct batch *batch)
{
    struct add_item **sorted = malloc((batch->count + 1) * sizeof *sorted);
    size_t n = 0;

    if (!sorted)
        return false;
    for (size_t i = 0; i < batch->count; i++)
        if (batch->items[i].state == ADD_NEW)
            sorted[n++] = &batch->items[i];
    qsort(sorted, n, sizeof *sorted, compare_items);
    for (size_t i = 1, first = 0; i < n; i++) {
        if (!repo_id_is_same(&sorted[i]->id, &sorted[first]->id)) {
            first = i;
            continue;
        }
        if (sorted[i]->raw.size == sorted[first]->raw.size &&
            !memcmp(sorted[i]->raw.data, sorted[first]->raw.data, sorted[i]->raw.size)) {
            sorted[i]->state = ADD_KNOWN;
            sorted[i]->twin = sorted[first];
        } else {
            fail_item(sorted[i], PSNAP_ERROR_VALUE,
                      "another profile has the same id: one of them was made to");
        }
    }
    free(sorted);
    return true;
}

static void parse_item(void *context, unsigned thread, size_t i)
{
    struct batch *batch = context;
    struct add_item *item = &batch->items[i];
    struct psnap_profile *profile;
    FILE *file;

    (void)thread;
    if (item->state != ADD_NEW)
        return;
    file = item->raw.size ? fmemopen(item->raw.data, item->raw.size, "r") : fopen("/dev/null", "r");
    if (!file) {
        fail_item(item, PSNAP_ERROR_MEMORY, "out of memory");
        return;
    }
    profile =
        psnap_profile_read(file, strcmp(item->path, "-") != 0 ? item->path : "stdin", &item->error);
    if (!profile)
        item->state = ADD_FAILED;
    else if (!facts_write(profile, &item->facts))
        fail_item(item, PSNAP_ERROR_MEMORY, "out of memory");
    psnap_profile_free(profile);
    fclose(file);
}

static void compress_item(void *context, unsigned thread, size_t i)
{
    struct batch *batch = context;
    struct add_item *item = &batch->items[i];
    const struct repo_bytes *raws[2] = {&item->raw, &item->facts};
    struct codec *codec;

    if (item->state != ADD_NEW)
        return;
    if (!batch->codecs[thread])
        batch->codecs[thread] = codec_new();
    codec = batch->codecs[thread];
    for (int k = 0; k < 2 && item->state == ADD_NEW; k++) {
        struct record *record = &item->records[k];
        *record = (struct record){.type = k ? RECORD_FACTS : RECORD_PROFILE, .id = item->id};
        if (!codec || codec_compress(codec, batch->dictionary, CODEC_LEVEL_ADD, raws[k]->data,
                                     raws[k]->size, &item->stored, record, NULL))
            fail_item(item, PSNAP_ERROR_MEMORY, "out of memory");
    }
}

/* The same bytes are no better in another file. */
static void fail_twins(struct batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        struct add_item *item = &batch->items[i];
        if (!item->twin || item->twin->state != ADD_FAILED)
            continue;
        item->error = item->twin->error;
        psnap_error_at(&item->error, item->path, item->error.src_line, item->error.column);
        item->state = ADD_FAILED;
    }
}

static char *time_now(void)
{
    const time_t now = time(NULL);
    struct tm utc;
    char text[32];

    if (!gmtime_r(&now, &utc) || !strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc))
        return NULL;
    return strdup(text);
}

static bool replace_text(char **text, const char *by)
{
    char *copy;

    if (!by || (*text && !strcmp(*text, by)))
        return false;
    copy = strdup(by);
    if (!copy)
        return false;
    free(*text);
    *text = copy;
    return true;
}

/* Adds to a note what is said now; whether it has changed. */
static bool say(const struct add_options *options, const struct note *said, struct note *note)
{
    char *tags = note->tags ? strdup(note->tags) : NULL;
    const double fidelity = isnan(options->fidelity) && said ? said->fidelity : options->fidelity;
    bool has_changed;

    if (said)
        note_add_tags(note, said->tags);
    for (size_t i = 0; i < options->tag_count; i++)
        note_add_tag(note, options->tags[i]);
    has_changed = !tags != !note->tags || (tags && strcmp(tags, note->tags) != 0);
    free(tags);
    if (said && replace_text(&note->licence, said->licence))
        has_changed = true;
    if (said && replace_text(&note->input, said->input))
        has_changed = true;
    if (replace_text(&note->licence, options->licence))
        has_changed = true;
    if (replace_text(&note->input, options->input))
        has_changed = true;
    if (!isnan(fidelity) && !(note->fidelity == fidelity)) {
        note->fidelity = fidelity;
        has_changed = true;
    }
    return has_changed;
}

static enum psnap_status add_note(struct batch *batch, const struct add_item *item,
                                  struct psnap_error *error)
{
    struct adder *adder = batch->adder;
    struct repo_bytes lines = {0};
    struct record record = {.type = RECORD_NOTE};
    struct note note;
    enum psnap_status status = index_note(adder->index, &item->id, &note, error);

    if (!status && (say(&adder->options, item->note, &note) || !note.version)) {
        note.version++;
        if (!note.added)
            note.added = time_now();
        note_write(&note, &lines);
        repo_id_of(lines.data, lines.size, &record.id);
        record.stored = lines.data;
        record.stored_bytes = record.raw_bytes = (uint32_t)lines.size;
        if (lines.is_short)
            batch->body.is_short = true;
        else
            pack_add(&batch->body, &record);
        repo_bytes_release(&lines);
    }
    note_release(&note);
    return status;
}

static bool says_something(const struct add_options *options)
{
    return options->tag_count || options->licence || options->input || !isnan(options->fidelity);
}

static enum psnap_status write_body(struct batch *batch, struct psnap_error *error)
{
    const bool says = says_something(&batch->adder->options);
    enum psnap_status status = PSNAP_OK;

    for (size_t i = 0; i < batch->count; i++) {
        struct add_item *item = &batch->items[i];
        if (item->state != ADD_NEW)
            continue;
        item->records[0].stored = item->stored.data;
        item->records[1].stored = item->stored.data + item->records[0].stored_bytes;
        pack_add(&batch->body, &item->records[0]);
        pack_add(&batch->body, &item->records[1]);
    }
    for (size_t i = 0; !status && i < batch->count; i++)
        if (batch->items[i].state != ADD_FAILED &&
            (says || batch->items[i].note || batch->items[i].state == ADD_NEW))
            status = add_note(batch, &batch->items[i], error);
    return status;
}

/* Between these nothing that the batch needs is removed. */
static enum psnap_status commit_locked(struct batch *batch, struct psnap_error *error)
{
    struct adder *adder = batch->adder;
    struct repo_id pack;
    enum psnap_status status;

    batch->dictionary = repo_dictionary_for_new(adder->repo);
    psnap_parallel(batch->count, compress_item, batch);
    status = write_body(batch, error);
    if (status || (!batch->body.size && !batch->body.is_short))
        return status;
    status = repo_commit(adder->repo, REPO_OBJECT, &batch->body, &pack, error);
    return status ? status : index_take_pack(adder->index, &pack, &batch->body, error);
}

enum psnap_status add_batch(struct adder *adder, struct add_item *items, size_t count,
                            struct psnap_error *error)
{
    struct batch batch = {.adder = adder, .items = items, .count = count};
    size_t added = 0;
    enum psnap_status status;

    psnap_parallel(count, read_item, &batch);
    for (size_t i = 0; i < count; i++)
        find_known(adder, &items[i]);
    status =
        find_twins(&batch) ? PSNAP_OK : psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    if (!status) {
        psnap_parallel(count, parse_item, &batch);
        fail_twins(&batch);
        status = repo_lock(adder->repo, REPO_SHARED, error);
    }
    if (!status)
        status = commit_locked(&batch, error);
    repo_unlock(adder->repo);
    for (size_t i = 0; i < count; i++) {
        added += items[i].state == ADD_NEW;
        repo_bytes_release(&items[i].raw);
        repo_bytes_release(&items[i].facts);
        repo_bytes_release(&items[i].stored);
    }
    for (unsigned i = 0; i < PSNAP_PARALLEL_MAX; i++)
        codec_free(batch.codecs[i]);
    repo_bytes_release(&batch.body);
    if (!status)
        repo_gc_when_due(adder->repo, adder->index, added);
    return status;
}

static uint64_t bytes_of(const char *path)
{
    struct stat about;

    return strcmp(path, "-") != 0 && !stat(path, &about) && S_ISREG(about.st_mode)
               ? (uint64_t)about.st_size
               : ADD_LIMIT_BYTES;
}

enum psnap_status add_paths(struct adder *adder, char **paths, size_t count,
                            void (*done)(void *context, const struct add_item *item), void *context,
                            struct psnap_error *error)
{
    struct add_item *items = calloc(ADD_BATCH, sizeof *items);
    enum psnap_status status =
        items ? PSNAP_OK : psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");

    for (size_t next = 0; !status && next < count;) {
        uint64_t bytes = 0;
        size_t n = 0;
        for (; n < ADD_BATCH && next < count && (!n || bytes < ADD_BATCH_BYTES); n++) {
            bytes += bytes_of(paths[next]);
            items[n] = (struct add_item){.path = paths[next++]};
        }
        status = add_batch(adder, items, n, error);
        for (size_t i = 0; !status && i < n; i++)
            done(context, &items[i]);
    }
    free(items);
    return status;
}
