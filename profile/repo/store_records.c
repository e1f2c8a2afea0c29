/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records in the files of a repository, and the dictionaries that they need. A record is read
 * alone from where it is said to be; where it is not whole there, or another one, its file is read
 * as a whole, which mends what can be mended.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "profile/repo/store.h"

static const struct codec_dictionary *find_loaded(const struct repo *repo, const struct repo_id *id)
{
    for (size_t i = 0; i < repo->loaded_count; i++)
        if (repo_id_is_same(codec_dictionary_id(repo->loaded[i]), id))
            return repo->loaded[i];
    return NULL;
}

static enum psnap_status keep_dictionary(struct repo *repo, const struct repo_bytes *bytes,
                                         struct psnap_error *error)
{
    struct codec_dictionary **longer =
        realloc(repo->loaded, (repo->loaded_count + 1) * sizeof *longer);
    struct codec_dictionary *dictionary = longer ? codec_dictionary_new(bytes, repo->level) : NULL;

    if (longer)
        repo->loaded = longer;
    if (!dictionary)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    repo->loaded[repo->loaded_count++] = dictionary;
    return PSNAP_OK;
}

enum psnap_status repo_dictionary(struct repo *repo, const struct repo_id *id,
                                  const struct codec_dictionary **dictionary,
                                  struct psnap_error *error)
{
    struct repo_bytes file = {0}, body = {0};
    struct sealed sealed;
    struct repo_id found;
    enum psnap_status status;
    char name[64];

    *dictionary = repo_id_is_none(id) ? NULL : find_loaded(repo, id);
    if (repo_id_is_none(id) || *dictionary)
        return PSNAP_OK;
    status = repo_read_sealed(repo, REPO_DICTIONARY, id, &file, &sealed, error);
    if (!status) {
        body.data = sealed.body;
        body.size = sealed.size;
        repo_id_of(body.data, body.size, &found);
        status = repo_id_is_same(&found, id)
                     ? keep_dictionary(repo, &body, error)
                     : psnap_error_set(error, PSNAP_ERROR_CORRUPT, "'%s/%s' is damaged: %s",
                                       repo->path, repo_file_name(REPO_DICTIONARY, id, name),
                                       sealed.damage[0] ? sealed.damage : "it has another's name");
    }
    if (!status)
        *dictionary = find_loaded(repo, id);
    repo_bytes_release(&file);
    return status;
}

const struct codec_dictionary *repo_dictionary_for_new(struct repo *repo)
{
    const struct codec_dictionary *dictionary = NULL;
    struct repo_ids ids = {0};

    if (!repo_files(repo, REPO_DICTIONARY, &ids, NULL, NULL, NULL))
        for (size_t i = 0; i < ids.count && !dictionary; i++)
            repo_dictionary(repo, &ids.items[i], &dictionary, NULL);
    repo_ids_release(&ids);
    return dictionary;
}

enum psnap_status repo_expand(struct repo *repo, const struct record *record,
                              struct repo_bytes *raw, struct psnap_error *error)
{
    const size_t begin = raw->size;
    const struct codec_dictionary *dictionary;
    struct repo_id found;
    enum psnap_status status;

    if (record->type != RECORD_PROFILE && record->raw_bytes > REPO_SAYS_MAX)
        return psnap_error_set(error, PSNAP_ERROR_CORRUPT, "it is longer than it can be");
    status = repo_dictionary(repo, &record->dictionary, &dictionary, error);
    if (!status)
        status = codec_expand(repo->codec, dictionary, record, raw, error);
    if (status || record->type == RECORD_FACTS) /* which have the id of their profile */
        return status;
    repo_id_of(raw->data + begin, raw->size - begin, &found);
    return repo_id_is_same(&found, &record->id)
               ? PSNAP_OK
               : psnap_error_set(error, PSNAP_ERROR_CORRUPT, "its content is another one's");
}

static bool is_wanted(const struct record *record, enum record_type type, const struct repo_id *id)
{
    return record->type == type && repo_id_is_same(&record->id, id);
}

/* Straight from where it is said to be. */
static bool read_at(struct repo *repo, int fd, uint64_t offset, enum record_type type,
                    const struct repo_id *id, struct repo_bytes *raw)
{
    uint8_t head[RECORD_HEAD_BYTES];
    struct repo_bytes stored = {0};
    struct record record;
    const size_t begin = raw->size;
    bool is_good =
        offset <= INT64_MAX / 2 &&
        pread(fd, head, sizeof head, (off_t)offset + SEAL_HEAD_BYTES) == (ssize_t)sizeof head &&
        pack_read_head(head, &record) && is_wanted(&record, type, id) &&
        record.stored_bytes <= REPO_RAW_MAX && repo_bytes_room(&stored, record.stored_bytes) &&
        pread(fd, stored.data, record.stored_bytes,
              (off_t)offset + SEAL_HEAD_BYTES + RECORD_HEAD_BYTES) ==
            (ssize_t)record.stored_bytes &&
        repo_sum_of(stored.data, record.stored_bytes) == record.sum;

    if (is_good) {
        record.stored = stored.data;
        is_good = !repo_expand(repo, &record, raw, NULL);
    }
    if (!is_good)
        raw->size = begin;
    repo_bytes_release(&stored);
    return is_good;
}

/* Of the whole file, mended. */
static enum psnap_status read_mended(struct repo *repo, const struct repo_id *pack,
                                     enum record_type type, const struct repo_id *id,
                                     struct repo_bytes *raw, struct psnap_error *error)
{
    const size_t begin = raw->size;
    struct repo_bytes file = {0};
    struct sealed sealed;
    struct record record;
    struct psnap_error why = {.message = "it is not there"};
    size_t at = 0;
    char name[64];
    enum psnap_status status = repo_read_sealed(repo, REPO_OBJECT, pack, &file, &sealed, error);

    if (status) {
        repo_bytes_release(&file);
        return status;
    }
    status = PSNAP_ERROR_CORRUPT;
    while (status && pack_next(sealed.body, sealed.size, &at, &record)) {
        if (!is_wanted(&record, type, id))
            continue;
        if (record.is_whole)
            status = repo_expand(repo, &record, raw, &why);
        else
            psnap_error_set(&why, PSNAP_ERROR_CORRUPT, "its bytes are damaged");
        if (status)
            raw->size = begin;
    }
    if (status) {
        psnap_error_set(error, PSNAP_ERROR_CORRUPT, "'%s/%s' is damaged: %s", repo->path,
                        repo_file_name(REPO_OBJECT, pack, name), why.message);
        if (sealed.damage[0])
            psnap_error_set(error, PSNAP_ERROR_CORRUPT, "'%s/%s' is damaged: %s", repo->path, name,
                            sealed.damage);
    }
    repo_bytes_release(&file);
    return status;
}

enum psnap_status repo_read_record(struct repo *repo, const struct repo_id *pack, uint64_t offset,
                                   enum record_type type, const struct repo_id *id,
                                   struct repo_bytes *raw, struct psnap_error *error)
{
    const int fd = repo_open_file(repo, REPO_OBJECT, pack);
    bool is_read = false;

    if (fd >= 0) {
        is_read = read_at(repo, fd, offset, type, id, raw);
        close(fd);
    }
    return is_read ? PSNAP_OK : read_mended(repo, pack, type, id, raw, error);
}
