/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compression of records: zstd, with a dictionary that was trained on the first profiles.
 */
#ifndef PSNAP_PROFILE_REPO_CODEC_H
#define PSNAP_PROFILE_REPO_CODEC_H

#include "profile/repo/pack.h"

enum { CODEC_LEVEL_ADD = 6, CODEC_LEVEL_GC = 15 };

/* A dictionary made ready; used by any number of threads at once. */
struct codec_dictionary;
struct codec_dictionary *codec_dictionary_new(const struct repo_bytes *bytes, int level);
void codec_dictionary_free(struct codec_dictionary *dictionary);
const struct repo_id *codec_dictionary_id(const struct codec_dictionary *dictionary);

/* One for each thread. NULL: out of memory. */
struct codec;
struct codec *codec_new(void);
void codec_free(struct codec *codec);

/* Compresses `raw` into `stored`, which `record` then points to, without dictionary when that is
 * NULL, or not at all when that is shorter; codec, sizes and dictionary of the record are set. */
enum psnap_status codec_compress(struct codec *codec, const struct codec_dictionary *dictionary,
                                 int level, const void *raw, size_t size, struct repo_bytes *stored,
                                 struct record *record, struct psnap_error *error);
/* Appends the record's bytes to `raw`; more than the record says, or others, are an error. */
enum psnap_status codec_expand(struct codec *codec, const struct codec_dictionary *dictionary,
                               const struct record *record, struct repo_bytes *raw,
                               struct psnap_error *error);

/* A dictionary for bytes like the samples', which lie one after the other. False: they are too few,
 * or too much alike or unlike, for one. */
bool codec_train(const void *samples, const size_t *sizes, unsigned count,
                 struct repo_bytes *dictionary);

#endif
