/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A source that passes another one on until somebody wants an end (deadline.h).
 */
#include <stdlib.h>

#include "formats/base/stream.h"

struct until {
    struct psnap_source base;
    struct psnap_source *inner; /* not owned */
    const struct psnap_deadline *deadline;
};

static ssize_t until_next_nest(struct psnap_source *source, struct psnap_access *room,
                               size_t capacity, const struct psnap_access **block,
                               struct psnap_nest *nest, struct psnap_error *error)
{
    const struct until *self = (const struct until *)source;

    if (psnap_deadline_is_set(self->deadline))
        return psnap_error_set(error, PSNAP_ERROR_LIMIT, "psnap was told to end");
    return psnap_source_next_nest(self->inner, room, capacity, block, nest, error);
}

struct psnap_source *psnap_until_source_new(struct psnap_source *inner,
                                            const struct psnap_deadline *deadline)
{
    static const struct psnap_source_ops ops = {.next_nest = until_next_nest};
    struct until *self = calloc(1, sizeof *self);

    if (!self)
        return NULL;
    *self = (struct until){{&ops, inner->program, NULL}, inner, deadline};
    return &self->base;
}
