/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Objects: a zstd frame with a checksum and the number of the dictionary that it needs, if any.
 * Some bits of a frame mean nothing, so that another frame follows, which zstd skips, with the
 * XXH3 of the first. A dictionary is in two files, since many objects need it.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>
#include <zdict.h>
#include <zstd.h>

#include "formats/base/parallel.h"
#include "formats/base/room.h"
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
    ZSTD_DDict *out;
};

struct codec {
    ZSTD_CCtx *in[PSNAP_PARALLEL_MAX]; /* of threads, as they need them */
    ZSTD_DCtx *out[PSNAP_PARALLEL_MAX];
    struct dictionary *dictionaries; /* owned */
    size_t count, room;
};

/* ---------------------------------------------------------------------- dictionaries */

static const char *const dictionary_ends[] = {".dict", ".copy"};

static bool is_dictionary(const char *file, struct repo_id *id)
{
    return repo_id_parse(file, dictionary_ends[0], id) ||
           repo_id_parse(file, dictionary_ends[1], id);
}

static bool read_dictionary(int folder, const char *file, struct repo_id *id,
                            struct repo_bytes *bytes)
{
    struct repo_id found;

    *bytes = (struct repo_bytes){NULL, 0};
    if (!is_dictionary(file, id) || !store_read(folder, file, bytes))
        return false;
    repo_id_of(bytes->data, bytes->size, &found);
    return !strcmp(found.text, id->text);
}

const char *dictionary_check(const struct repo *repo, int folder, const char *file)
{
    struct repo_bytes bytes;
    struct repo_id id;
    const bool is_good = read_dictionary(folder, file, &id, &bytes);
    const char *problem = is_good ? NULL : "its name is not the hash of what is in it";
    char other[REPO_NAME];

    snprintf(other, sizeof other, "%s%s", id.text,
             dictionary_ends[repo_id_parse(file, dictionary_ends[0], &id)]);
    if (is_good && faccessat(folder, other, F_OK, AT_SYMLINK_NOFOLLOW))
        problem = store_write(repo, folder, other, &bytes, NULL)
                      ? "the other copy of it is missing"
                      : "the other copy of it was missing, and is written anew";
    free(bytes.data);
    return problem;
}

static bool is_known(const struct codec *codec, const struct repo_id *id)
{
    for (size_t i = 0; i < codec->count; i++)
        if (!strcmp(codec->dictionaries[i].id.text, id->text))
            return true;
    return false;
}

/* Takes over its bytes unless it fails. */
static bool keep(struct codec *codec, const struct repo_id *id, struct repo_bytes *bytes)
{
    struct dictionary *new;

    if (!psnap_make_room(&codec->dictionaries, &codec->room, codec->count + 1, sizeof *new))
        return false;
    new = &codec->dictionaries[codec->count];
    *new = (struct dictionary){*id, *bytes, ZSTD_createDDict(bytes->data, bytes->size)};
    if (!new->out)
        return false;
    codec->count++;
    bytes->data = NULL;
    return true;
}

static void load(void *context, int folder, const char *name, const char *file)
{
    struct codec *codec = context;
    struct repo_bytes bytes = {NULL, 0};
    struct repo_id id;

    (void)name;
    if (is_dictionary(file, &id) && !is_known(codec, &id) &&
        read_dictionary(folder, file, &id, &bytes))
        keep(codec, &id, &bytes);
    free(bytes.data);
}

enum psnap_status dictionaries_load(struct repo *repo, struct psnap_error *error)
{
    if (!repo->codec)
        repo->codec = calloc(1, sizeof *repo->codec);
    if (!repo->codec)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    return store_walk(repo->root, "dictionaries", load, repo->codec)
               ? PSNAP_OK
               : repo_fail(repo, "read", "dictionaries", error);
}

/* Both files, before anything needs them. */
static enum psnap_status write_dictionary(const struct repo *repo, const struct repo_id *id,
                                          const struct repo_bytes *bytes, struct psnap_error *error)
{
    const int folder = store_folder(repo->root, "dictionaries", true);
    enum psnap_status status =
        folder < 0 ? repo_fail(repo, "write", "dictionaries", error) : PSNAP_OK;
    char name[REPO_NAME];

    for (int i = 0; i < 2 && !status; i++) {
        snprintf(name, sizeof name, "%s%s", id->text, dictionary_ends[i]);
        status = store_write(repo, folder, name, bytes, error);
    }
    if (!status && fsync(repo->root))
        status = repo_fail(repo, "write", "dictionaries", error);
    if (folder >= 0)
        close(folder);
    return status;
}

enum psnap_status dictionary_train(struct repo *repo, const struct repo_bytes *samples,
                                   size_t count, struct psnap_error *error)
{
    struct repo_bytes bytes = {malloc(DICTIONARY_BYTES), 0};
    size_t *sizes = malloc((count + 1) * sizeof *sizes), used = 0;
    char *joined = malloc(SAMPLES_MAX_BYTES);
    enum psnap_status status = PSNAP_OK;
    struct repo_id id;
    unsigned n = 0;

    for (size_t i = 0; i < count && joined && sizes && !repo->codec->count; i++)
        if (samples[i].size <= SAMPLES_MAX_BYTES - used) {
            memcpy(joined + used, samples[i].data, samples[i].size);
            used += sizes[n++] = samples[i].size;
        }
    if (bytes.data && n >= SAMPLES_MIN && used >= SAMPLES_MIN_BYTES)
        bytes.size = ZDICT_trainFromBuffer(
            bytes.data, used / 6 < DICTIONARY_BYTES ? used / 6 : DICTIONARY_BYTES, joined, sizes,
            n);
    if (bytes.size && !ZDICT_isError(bytes.size)) {
        repo_id_of(bytes.data, bytes.size, &id);
        status = write_dictionary(repo, &id, &bytes, error);
        if (!status && !keep(repo->codec, &id, &bytes))
            status = psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    }
    free(joined);
    free(sizes);
    free(bytes.data);
    return status;
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

static ZSTD_CCtx *new_context(const struct codec *codec)
{
    ZSTD_CCtx *context = ZSTD_createCCtx();

    if (!context)
        return NULL;
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, LEVEL);
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
    if (codec->count)
        ZSTD_CCtx_loadDictionary(context, codec->dictionaries[0].bytes.data,
                                 codec->dictionaries[0].bytes.size);
    return context;
}

bool object_pack(struct repo *repo, unsigned thread, const struct repo_bytes *yaml,
                 struct repo_bytes *object)
{
    ZSTD_CCtx **context = &repo->codec->in[thread];
    const size_t bound = ZSTD_compressBound(yaml->size);
    struct sum sum;

    if (!*context)
        *context = new_context(repo->codec);
    *object = (struct repo_bytes){malloc(bound + sizeof sum), 0};
    if (!*context || !object->data)
        return false;
    object->size = ZSTD_compress2(*context, object->data, bound, yaml->data, yaml->size);
    if (ZSTD_isError(object->size))
        return false;
    sum = sum_of(object, object->size);
    memcpy(object->data + object->size, &sum, sizeof sum);
    object->size += sizeof sum;
    return true;
}

static enum psnap_status damaged(const char *path, const char *reason, struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_CORRUPT, "'%s' is damaged: %s", path, reason);
}

static enum psnap_status unpack(struct codec *codec, unsigned thread, const char *path,
                                const struct repo_bytes *object, struct repo_bytes *yaml,
                                struct psnap_error *error)
{
    const size_t size = object->size - sizeof(struct sum);
    bool has_dictionary = false;
    unsigned long long expanded;
    struct sum sum;
    unsigned wanted;

    if (object->size > sizeof sum)
        sum = sum_of(object, size);
    if (object->size <= sizeof sum || memcmp(object->data + size, &sum, sizeof sum) != 0)
        return damaged(path, "its sum is another one", error);
    wanted = ZSTD_getDictID_fromFrame(object->data, size);
    expanded = ZSTD_getFrameContentSize(object->data, size);
    if (!codec->out[thread])
        codec->out[thread] = ZSTD_createDCtx();
    yaml->data = expanded > REPO_FILE_MAX ? NULL : malloc(expanded + 1);
    if (!yaml->data || !codec->out[thread])
        return damaged(path, "it is too long, or memory is out", error);
    ZSTD_DCtx_refDDict(codec->out[thread], NULL);
    yaml->size = ZSTD_decompressDCtx(codec->out[thread], yaml->data, expanded, object->data, size);
    for (size_t i = 0; i < codec->count && wanted && ZSTD_isError(yaml->size); i++)
        if (ZSTD_getDictID_fromDDict(codec->dictionaries[i].out) == wanted) {
            has_dictionary = true; /* others may have this number, too */
            ZSTD_DCtx_refDDict(codec->out[thread], codec->dictionaries[i].out);
            yaml->size =
                ZSTD_decompressDCtx(codec->out[thread], yaml->data, expanded, object->data, size);
        }
    if (wanted && !has_dictionary)
        return damaged(path, "its dictionary is not in 'dictionaries', or damaged", error);
    return ZSTD_isError(yaml->size) ? damaged(path, ZSTD_getErrorName(yaml->size), error)
                                    : PSNAP_OK;
}

int object_folder(const struct repo *repo, const struct repo_id *id, bool makes)
{
    const char name[] = {id->text[0], id->text[1], '\0'};

    errno = ENOENT;
    return repo->objects < 0 ? -1 : store_folder(repo->objects, name, makes);
}

enum psnap_status object_read(struct repo *repo, unsigned thread, const struct repo_id *id,
                              struct repo_bytes *yaml, struct psnap_error *error)
{
    const int folder = object_folder(repo, id, false);
    struct repo_bytes object = {NULL, 0};
    struct repo_id found = {""};
    char path[REPO_NAME];
    enum psnap_status status;

    *yaml = (struct repo_bytes){NULL, 0};
    snprintf(path, sizeof path, "objects/%.2s/%s" REPO_PROFILE, id->text, id->text + 2);
    if (folder < 0 || !store_read(folder, path + strlen("objects/ab/"), &object))
        status = repo_fail(repo, "read", path, error);
    else
        status = unpack(repo->codec, thread, path, &object, yaml, error);
    if (!status)
        repo_id_of(yaml->data, yaml->size, &found);
    if (!status && strcmp(found.text, id->text) != 0)
        status = damaged(path, "it is another profile's", error);
    if (folder >= 0)
        close(folder);
    free(object.data);
    if (status) {
        free(yaml->data);
        yaml->data = NULL;
    }
    return status;
}

void object_release(struct repo *repo)
{
    struct codec *codec = repo->codec;

    if (!codec)
        return;
    for (unsigned i = 0; i < PSNAP_PARALLEL_MAX; i++) {
        ZSTD_freeCCtx(codec->in[i]);
        ZSTD_freeDCtx(codec->out[i]);
    }
    for (size_t i = 0; i < codec->count; i++) {
        ZSTD_freeDDict(codec->dictionaries[i].out);
        free(codec->dictionaries[i].bytes.data);
    }
    free(codec->dictionaries);
    free(codec);
}

/* ------------------------------------------------------------------------------- ids */

struct search {
    const char *prefix;
    struct repo_id found;
    unsigned count;
    int reason;        /* a folder cannot be listed */
    char text[5 * 20]; /* the first few of them */
};

static void match_file(void *context, int folder, const char *name, const char *file)
{
    struct search *search = context;
    char whole[REPO_NAME];
    struct repo_id id;

    (void)folder;
    snprintf(whole, sizeof whole, "%s%.90s", name, file);
    if (strncmp(whole, search->prefix, strlen(search->prefix)) != 0 ||
        !repo_id_parse(whole, REPO_PROFILE, &id))
        return;
    search->found = id;
    if (search->count++ < 5)
        sprintf(search->text + strlen(search->text), " %.16s", id.text);
}

static void match_folder(void *context, int folder, const char *name, const char *file)
{
    struct search *search = context;

    (void)name;
    if (strlen(file) == 2 && !strncmp(file, search->prefix, strnlen(search->prefix, 2)) &&
        !store_walk(folder, file, match_file, context))
        search->reason = errno;
}

enum psnap_status repo_find(const struct repo *repo, const char *prefix, struct repo_id *id,
                            struct psnap_error *error)
{
    struct search search = {.prefix = prefix};
    const size_t length = strlen(prefix);

    if (!length || length > REPO_ID_DIGITS || strspn(prefix, "0123456789abcdef") != length)
        return psnap_error_set(error, PSNAP_ERROR_VALUE,
                               "'%.100s' is no id, nor the beginning of one: these have up to %d "
                               "digits, 0 to 9 and a to f",
                               prefix, REPO_ID_DIGITS);
    if (!store_walk(repo->root, "objects", match_folder, &search) || (errno = search.reason))
        return repo_fail(repo, "read", "objects", error);
    if (search.count > 1)
        return psnap_error_set(error, PSNAP_ERROR_VALUE,
                               "'%s' is the beginning of more than one id:%s", prefix, search.text);
    *id = search.found;
    return search.count
               ? PSNAP_OK
               : psnap_error_set(error, PSNAP_ERROR_VALUE, "there is no profile '%s'", prefix);
}

enum psnap_status repo_get(struct repo *repo, const char *prefix, struct repo_bytes *yaml,
                           struct psnap_error *error)
{
    struct repo_id id;
    const enum psnap_status status = repo_find(repo, prefix, &id, error);

    return status ? status : object_read(repo, 0, &id, yaml, error);
}
