/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether a certificate is for the profile that has it. It names the checksum (XXH3, 64 bits) of
 * the profile that it was made for: of its canonical text without the certificate, and without
 * what describes the program, which changes from one recording to the next and replays as nothing.
 * So comments, the order of keys and derived fields that are left out do not touch it, and an edit
 * of any other field does.
 *
 * The text is the writer's: a psnap that writes another one finds that older certificates do not
 * hold any more, and the version that stands in them says why.
 */
#include "profile/profile.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <xxhash.h>

enum psnap_status psnap_profile_content(const struct psnap_profile *profile, uint64_t *content,
                                        struct psnap_error *error)
{
    struct psnap_profile bare = *profile;
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    enum psnap_status status;

    if (!file)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for a checksum");
    bare.certificate = NULL;
    bare.content = bare.same_ranks = NULL;
    bare.provenance = (struct psnap_provenance){.stage = profile->provenance.stage};
    status = psnap_profile_write(&bare, file, error);
    if (fclose(file) != 0 && !status)
        status = psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for a checksum");
    if (!status)
        *content = XXH3_64bits(text, size);
    free(text);
    return status;
}

enum psnap_status psnap_profile_seal(struct psnap_profile *profile, struct psnap_error *error)
{
    char text[24];
    uint64_t content;
    enum psnap_status status = psnap_profile_content(profile, &content, error);

    if (status)
        return status;
    snprintf(text, sizeof text, "%016" PRIx64, content);
    profile->content = psnap_arena_strndup(profile->arena, text, 16);
    return profile->content
               ? PSNAP_OK
               : psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for a checksum");
}

int psnap_certificate_holds(const struct psnap_profile *profile, struct psnap_error *error)
{
    uint64_t content;
    enum psnap_status status;

    if (!profile->certificate)
        return 0;
    status = psnap_profile_content(profile, &content, error);
    return status ? (int)status : content == profile->certificate->content;
}

double psnap_certificate_points(double points)
{
    const double least = 1e-4;

    if (points > 0 && points < least)
        return least;
    return round(points * 1e4) / 1e4; /* NaN stays so */
}

char *psnap_certificate_level(const struct psnap_certificate_row *row, char text[16])
{
    if (row->is_tlb && row->level == 1)
        snprintf(text, 16, "TLB");
    else
        snprintf(text, 16, "%s%" PRIu32, row->is_tlb ? "TLB" : "L", row->level);
    return text;
}
