/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Objects: a zstd frame with the number of the dictionary that it needs, if any. Some bits of a
 * frame mean nothing, so that another frame follows, which zstd skips, with the XXH3 of the first.
 * A dictionary is in two files, since many objects need it.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>
#include <zdict.h>
#include <zstd.h>

#include "profile/repo/repo.h"

enum {
    LEVEL = 6,
    DICTIONARY_BYTES = 64 << 10,
    SAMPLES_MIN = 32, /* of which there is a dictionary, of a sixth of them at most */
    SAMPLES_MIN_BYTES = 128 << 10,
    SAMPLES_MAX_BYTES = 96 * DICTIONARY_BYTES
};

struct dictionary {
    struct repo_id id;
    struct repo_bytes bytes;
};

static bool is_of(const struct repo_id *id, const struct repo_bytes *bytes)
{
    struct repo_id found;

    repo_id_of(bytes->data, bytes->size, &found);
    return !strcmp(found.text, id->text);
}

/* ---------------------------------------------------------------------- dictionaries */

static const char *const copies[] = {".dict", ".copy"};

static bool read_dictionary(const struct repo *repo, const char *path, struct dictionary *read)
{
    const char *name = path + strlen("dictionaries/");

    *read = (struct dictionary){.bytes = {NULL, 0}};
    return (repo_id_parse(name, copies[0], &read->id) ||
            repo_id_parse(name, copies[1], &read->id)) &&
           store_read(repo, path, &read->bytes) && is_of(&read->id, &read->bytes);
}

enum psnap_status dictionaries_load(struct repo *repo, struct psnap_error *error)
{
    struct repo_names names = {NULL};
    struct dictionary read;
    enum psnap_status status = store_list(repo, "dictionaries", &names, error);

    dictionaries_release(repo);
    repo->dictionaries = calloc(names.count + 1, sizeof read);
    for (size_t i = 0; i < names.count && repo->dictionaries; i++)
        if (read_dictionary(repo, names.items[i], &read))
            repo->dictionaries[repo->dictionary_count++] = read;
        else
            free(read.bytes.data);
    store_list_release(&names);
    return status;
}

/* Writes the files of a dictionary that are missing or damaged, and tells of them if they are not
 * new. */
static enum psnap_status write_dictionary(const struct repo *repo, const struct dictionary *whole,
                                          bool is_new, struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;
    struct dictionary there;
    char path[REPO_PATH];

    for (int i = 0; i < 2 && !status; i++) {
        snprintf(path, sizeof path, "dictionaries/%s%s", whole->id.text, copies[i]);
        if (!read_dictionary(repo, path, &there)) {
            status = store_write(repo, path, &whole->bytes, error);
            if (!is_new)
                repo->tell(repo->context, true, path,
                           "it is missing or damaged; its copy replaces it if it can be written");
        }
        free(there.bytes.data);
    }
    return status;
}

enum psnap_status dictionary_train(struct repo *repo, const struct repo_bytes *samples,
                                   size_t count, struct psnap_error *error)
{
    struct dictionary new = {.bytes = {malloc(DICTIONARY_BYTES), 0}};
    size_t *sizes = malloc((count + 1) * sizeof *sizes), used = 0, room;
    char *joined = malloc(SAMPLES_MAX_BYTES);
    enum psnap_status status = PSNAP_OK;
    unsigned n = 0;

    for (size_t i = 0; i < count && joined && sizes && !repo->dictionary_count; i++)
        if (samples[i].size <= SAMPLES_MAX_BYTES - used) {
            memcpy(joined + used, samples[i].data, samples[i].size);
            used += sizes[n++] = samples[i].size;
        }
    room = used / 6 < DICTIONARY_BYTES ? used / 6 : DICTIONARY_BYTES;
    if (new.bytes.data && used >= SAMPLES_MIN_BYTES &&n >= SAMPLES_MIN)
        new.bytes.size = ZDICT_trainFromBuffer(new.bytes.data, room, joined, sizes, n);
    if (new.bytes.size && !ZDICT_isError(new.bytes.size)) {
        repo_id_of(new.bytes.data, new.bytes.size, &new.id);
        status = write_dictionary(repo, &new, true, error);
        status = status ? status : dictionaries_load(repo, error);
    }
    free(joined);
    free(sizes);
    free(new.bytes.data);
    return status;
}

void dictionaries_check(const struct repo *repo)
{
    for (size_t i = 0; i < repo->dictionary_count; i++)
        write_dictionary(repo, &repo->dictionaries[i], false, NULL);
}

void dictionaries_release(struct repo *repo)
{
    while (repo->dictionary_count)
        free(repo->dictionaries[--repo->dictionary_count].bytes.data);
    free(repo->dictionaries);
    repo->dictionaries = NULL;
}

/* --------------------------------------------------------------------------- objects */

/* The skippable frame behind a profile's. */
struct sum {
    uint32_t magic, size;
    uint64_t sum;
};

static struct sum sum_of(const struct repo_bytes *object, size_t frame)
{
    return (struct sum){htole32(ZSTD_MAGIC_SKIPPABLE_START), htole32(sizeof(uint64_t)),
                        htole64(XXH3_64bits(object->data, frame))};
}

bool object_pack(const struct repo *repo, const struct repo_bytes *yaml, struct repo_bytes *object)
{
    const struct repo_bytes none = {NULL, 0},
                            *with = repo->dictionary_count ? &repo->dictionaries[0].bytes : &none;
    const size_t bound = ZSTD_compressBound(yaml->size);
    ZSTD_CCtx *context = ZSTD_createCCtx();
    struct sum sum;
    bool is_good;

    *object = (struct repo_bytes){malloc(bound + sizeof sum), 0};
    if (context && object->data)
        object->size = ZSTD_compress_usingDict(context, object->data, bound, yaml->data, yaml->size,
                                               with->data, with->size, LEVEL);
    is_good = object->size && !ZSTD_isError(object->size);
    if (is_good) {
        sum = sum_of(object, object->size);
        memcpy(object->data + object->size, &sum, sizeof sum);
        object->size += sizeof sum;
    }
    ZSTD_freeCCtx(context);
    return is_good;
}

/* Returns what is wrong; NULL: nothing. Several dictionaries may have the number that a frame has.
 */
static const char *unpack(const struct repo *repo, const struct repo_id *id,
                          const struct repo_bytes *object, struct repo_bytes *yaml)
{
    const size_t frame = object->size - sizeof(struct sum);
    const char *problem = "its dictionary is missing or damaged";
    struct repo_bytes with = {NULL, 0};
    unsigned long long size;
    ZSTD_DCtx *context;
    struct sum sum;

    if (object->size > sizeof sum)
        sum = sum_of(object, frame);
    if (object->size <= sizeof sum || memcmp(object->data + frame, &sum, sizeof sum) != 0)
        return "its checksum is another one";
    size = ZSTD_getFrameContentSize(object->data, frame); /* of errors the largest numbers */
    yaml->data = size > REPO_PROFILE_MAX ? NULL : malloc(size + 1);
    context = yaml->data ? ZSTD_createDCtx() : NULL;
    if (!context)
        return "it is too long, or memory is out";
    for (size_t i = 0; i <= repo->dictionary_count && problem; i++) {
        if (ZSTD_getDictID_fromDict(with.data, with.size) ==
            ZSTD_getDictID_fromFrame(object->data, frame)) {
            yaml->size = ZSTD_decompress_usingDict(context, yaml->data, size, object->data, frame,
                                                   with.data, with.size);
            problem = ZSTD_isError(yaml->size) ? ZSTD_getErrorName(yaml->size)
                      : is_of(id, yaml)        ? NULL
                                               : "it is another profile's";
        }
        if (i < repo->dictionary_count)
            with = repo->dictionaries[i].bytes;
    }
    ZSTD_freeDCtx(context);
    return problem;
}

enum psnap_status object_read(const struct repo *repo, const struct repo_id *id,
                              struct repo_bytes *yaml, struct psnap_error *error)
{
    struct repo_bytes object = {NULL, 0};
    const char *problem = NULL;
    char path[REPO_PATH];
    enum psnap_status status = PSNAP_OK;

    *yaml = (struct repo_bytes){NULL, 0};
    if (!store_read(repo, store_path(id, "", path), &object))
        status = psnap_error_system(error, errno, "cannot read it");
    else if ((problem = unpack(repo, id, &object, yaml)))
        status = psnap_error_set(error, PSNAP_ERROR_CORRUPT, "%s", problem);
    free(object.data);
    if (!status)
        return PSNAP_OK;
    psnap_error_at(error, path, 0, 0);
    free(yaml->data);
    yaml->data = NULL;
    return status;
}

enum psnap_status repo_find(const struct repo *repo, const char *prefix, struct repo_id *id,
                            struct psnap_error *error)
{
    struct repo_names names = {NULL};
    struct repo_id each;
    enum psnap_status status = store_list(repo, "objects", &names, error);
    size_t count = 0;

    for (size_t i = 0; i < names.count; i++) {
        const char *tag = store_parse(names.items[i], &each);
        if (tag && !*tag && !strncmp(each.text, prefix, strlen(prefix))) {
            *id = each;
            count++;
        }
    }
    store_list_release(&names);
    if (!status && count != 1)
        status = psnap_error_set(error, PSNAP_ERROR_VALUE,
                                 count ? "'%.100s' is the beginning of more than one id, of %zu"
                                       : "there is no profile '%.100s'",
                                 prefix, count);
    return status;
}
