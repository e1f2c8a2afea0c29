/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The profile reader. What it takes must be written, read back and written the
 * same again, be no different by psnap diff, and must replay: the first accesses are looked at,
 * each in the working set of a region of its loop, but for walks, which may go anywhere. What it
 * refuses has an error.
 */
#include "profile/diff/diff.h"
#include "profile/profile.h"
#include "replay/replay.h"
#include "tests/fuzz/fuzz.h"

static struct psnap_profile *read_bytes(const void *data, size_t size)
{
    struct psnap_error error = {.code = PSNAP_OK};
    FILE *file = open_text(data, size);
    struct psnap_profile *profile;

    profile = psnap_profile_read(file, "fuzz", &error);
    must(profile || (error.code < 0 && error.message[0]));
    fclose(file);
    return profile;
}

static char *write_bytes(const struct psnap_profile *profile, size_t *size)
{
    char *text = NULL;
    FILE *file = open_memstream(&text, size);

    must(file && psnap_profile_write(profile, file, NULL) == PSNAP_OK && fclose(file) == 0);
    return text;
}

static int is_in(const struct psnap_profile_region *region, const struct psnap_access *access)
{
    return access->address >= region->low && access->size <= region->bytes &&
           access->address - region->low <= region->bytes - access->size;
}

/* It says what the profile said that it was written of, also to psnap diff. */
static void compare(const struct psnap_profile *profile, const struct psnap_profile *back)
{
    uint64_t content[2];
    struct profile_diff diff;

    must(!psnap_profile_content(profile, &content[0], NULL));
    must(!psnap_profile_content(back, &content[1], NULL) && content[0] == content[1]);
    must(!profile->certificate == !back->certificate);
    must(!profile_diff_init(&diff, profile, back, NULL) && diff.is_same);
    for (uint32_t i = 0; i < diff.pair_count; i++)
        must(diff.pairs[i].match == DIFF_SAME_ID && !diff.pairs[i].changes);
    profile_diff_release(&diff);
}

/* The access is in a region of its loop. */
static void look_at(const struct psnap_profile *profile, const struct psnap_program *program,
                    const struct psnap_access *access)
{
    const char *id;
    int found = 0;

    must(access->ref < program->ref_count);
    if (profile->stream)
        return;
    id = program->loops[program->refs[access->ref].loop].id;
    for (uint32_t l = 0; l < profile->loop_count; l++) {
        const struct psnap_profile_loop *loop = &profile->loops[l];
        for (uint32_t i = 0; i < loop->region_count && !strcmp(loop->id, id); i++)
            found |= is_in(&loop->regions[i], access);
    }
    must(found);
}

static void replay(const struct psnap_profile *profile)
{
    struct psnap_source *source = psnap_replay_new(profile, 1, NULL);
    struct psnap_access block[64];
    uint64_t count = 0;
    ssize_t n = 1;

    must(source != NULL);
    while (count < 2000 && (n = psnap_source_next(source, block, 64, NULL)) > 0)
        for (ssize_t i = 0; i < n; i++, count++)
            look_at(profile, source->program, &block[i]);
    if (n == 0) {
        struct psnap_profile_totals totals;
        psnap_profile_totals(profile, &totals);
        must(count == totals.accesses);
    }
    psnap_source_free(source);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct psnap_profile *profile, *back;
    char *text, *again;
    size_t bytes, more;

    if (!size)
        return 0;
    profile = read_bytes(data, size);
    if (!profile)
        return 0;
    text = write_bytes(profile, &bytes);
    back = read_bytes(text, bytes);
    must(back != NULL);
    again = write_bytes(back, &more);
    must(bytes == more && !memcmp(text, again, bytes));
    compare(profile, back);
    replay(back);
    free(text);
    free(again);
    psnap_profile_free(profile);
    psnap_profile_free(back);
    return 0;
}
