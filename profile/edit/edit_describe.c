/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Regions and patterns of loops after an edit of a model: they are derived from it anew. Objects
 * have their names from the regions that there were, and lie where arrays are now.
 */
#include "formats/base/program.h"
#include "profile/edit/edit.h"
#include "profile/model.h"

static bool add_object(struct psnap_program *program, const struct edit_array *array)
{
    __extension__ typedef unsigned __int128 wide;
    const wide bytes =
        (wide)(array->high - array->low + array->over - 1) / array->over * array->times;
    const struct psnap_object object = {.address = array->low + (uint64_t)array->shift - array->pad,
                                        .size_bytes = array->pad + (uint64_t)bytes + array->grown,
                                        .name = psnap_program_string(program, array->object),
                                        .kind = array->object_kind};

    return object.name && psnap_program_add_object(program, &object) != PSNAP_NONE;
}

/* Whether the array is in fields of another one then. */
static bool is_elsewhere(const struct editing *e, const struct edit_array *array)
{
    return array->field_count && &e->arrays[array->fields[0].in] != array;
}

enum psnap_status edit_describe(struct editing *e)
{
    struct psnap_program *program = psnap_program_new();
    bool is_done = program != NULL;
    enum psnap_status status = PSNAP_OK;

    for (uint32_t i = 0; is_done && i < e->array_count; i++) {
        const struct edit_array *array = &e->arrays[i];
        if (array->object && array->mixed == PSNAP_NONE && !is_elsewhere(e, array))
            is_done = add_object(program, array);
    }
    if (!is_done || model_derive(e->profile, program))
        status = edit_no_memory(e);
    psnap_program_free(program);
    return status;
}
