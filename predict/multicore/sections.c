/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sections by the mark that begins them, in the order in which they come first.
 */
#include "predict/multicore/sections.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/room.h"

static bool make_room(struct sections *sections)
{
    const size_t count = sections->count + 1;
    struct psnap_section *of = psnap_with_room(sections->of, &sections->room, count, sizeof *of);
    struct section_key *keys;

    if (!of)
        return false;
    sections->of = of;
    keys = psnap_with_room(sections->keys, &sections->key_room, count, sizeof *keys);
    if (!keys)
        return false;
    sections->keys = keys;
    return true;
}

bool sections_find(struct sections *sections, const struct psnap_program *program, uint32_t mark,
                   uint32_t cores, uint32_t *index)
{
    struct psnap_section section = {.id = "sequential", .file = ""};
    const struct psnap_loop *function;

    for (size_t i = 0; i < sections->count; i++)
        if (sections->keys[i].mark == mark) {
            *index = (uint32_t)i;
            return true;
        }
    if (!make_room(sections))
        return false;
    section.core_accesses = calloc(cores, sizeof *section.core_accesses);
    if (!section.core_accesses)
        return false;
    if (mark != PSNAP_NONE) {
        function = &program->loops[program->refs[mark].loop];
        section.id = function->id;
        section.file = function->file;
        section.src_line = function->src_line;
    }
    *index = (uint32_t)sections->count++;
    sections->of[*index] = section;
    sections->keys[*index] = (struct section_key){.mark = mark};
    return true;
}

bool sections_count(struct sections *sections, uint32_t index, uint32_t loop,
                    const struct psnap_access *access)
{
    struct psnap_section *section = &sections->of[index];
    size_t *const room = &sections->keys[index].loop_room;
    const size_t before = *room;

    if (loop >= before) {
        uint64_t *counts =
            psnap_with_room(section->loop_accesses, room, (size_t)loop + 1, sizeof *counts);
        if (!counts)
            return false;
        memset(counts + before, 0, (*room - before) * sizeof *counts);
        section->loop_accesses = counts;
        section->loop_count = (uint32_t)*room;
    }
    section->loop_accesses[loop]++;
    section->accesses++;
    section->bytes += access->size;
    return true;
}

void sections_release(struct sections *sections)
{
    for (size_t i = 0; i < sections->count; i++) {
        free(sections->of[i].core_accesses);
        free(sections->of[i].loop_accesses);
    }
    free(sections->of);
    free(sections->keys);
    *sections = (struct sections){0};
}
