/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which references are marks: those whose object has a mark's name. "omp.for static,4" and
 * "omp.for dynamic,4" have chunks of 4, "omp.for static,0" of an unknown number, "omp.for static"
 * has one chunk for each core; "omp.iteration 8" stands for 8 iterations.
 */
#include "predict/multicore/marks.h"

#include <string.h>

#include "formats/base/capture_abi.h"
#include "formats/base/room.h"
#include "formats/base/text.h"

static const struct {
    const char *name;
    enum mark_kind kind;
} names[] = {
    {PSNAP_MARK_PARALLEL, MARK_PARALLEL},     {PSNAP_MARK_PARALLEL_END, MARK_PARALLEL_END},
    {PSNAP_MARK_LOOP_END, MARK_LOOP_END},     {PSNAP_MARK_SINGLE, MARK_SINGLE},
    {PSNAP_MARK_SINGLE_END, MARK_SINGLE_END}, {PSNAP_MARK_BARRIER, MARK_BARRIER},
};

/* The number behind a prefix and a delimiter, or 0. */
static uint32_t number_behind(const char *text, char delimiter)
{
    const char *at = strrchr(text, delimiter);
    uint64_t number;

    return at && psnap_text_u64(at + 1, &number) && number <= UINT32_MAX ? (uint32_t)number : 0;
}

static struct mark mark_of(const struct psnap_ref *ref)
{
    const char *name = ref->object;

    if (!name || !psnap_capture_is_mark(name, ref->object_kind))
        return (struct mark){.kind = MARK_NONE};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (!strcmp(name, names[i].name))
            return (struct mark){.kind = (uint8_t)names[i].kind};
    if (strncmp(name, PSNAP_MARK_LOOP " ", strlen(PSNAP_MARK_LOOP " ")) != 0)
        return (struct mark){.count = number_behind(name, ' '), .kind = MARK_ITERATION};
    return (struct mark){.count = number_behind(name, ','),
                         .kind = MARK_LOOP,
                         .is_unknown = strchr(name, ',') && !number_behind(name, ',')};
}

bool marks_update(struct marks *marks, const struct psnap_program *program)
{
    struct mark *of;

    if (program->ref_count <= marks->count)
        return true;
    of = psnap_with_room(marks->of, &marks->room, program->ref_count, sizeof *of);
    if (!of)
        return false;
    marks->of = of;
    for (; marks->count < program->ref_count; marks->count++)
        of[marks->count] = mark_of(&program->refs[marks->count]);
    return true;
}

void marks_release(struct marks *marks)
{
    free(marks->of);
    *marks = (struct marks){0};
}
