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

static enum psnap_status look(const struct until *self, struct psnap_error *error)
{
    return psnap_deadline_is_set(self->deadline)
               ? psnap_error_set(error, PSNAP_ERROR_LIMIT, "psnap was told to end")
               : PSNAP_OK;
}

static ssize_t until_next(struct psnap_source *source, struct psnap_access *block, size_t capacity,
                          struct psnap_error *error)
{
    const struct until *self = (const struct until *)source;

    enum psnap_status status = look(self, error);

    return status ? status : psnap_source_next(self->inner, block, capacity, error);
}

static ssize_t until_next_run(struct psnap_source *source, struct psnap_access *block,
                              size_t capacity, struct psnap_run *run, struct psnap_error *error)
{
    const struct until *self = (const struct until *)source;

    enum psnap_status status = look(self, error);

    return status ? status : psnap_source_next_run(self->inner, block, capacity, run, error);
}

static void until_free(struct psnap_source *source)
{
    free(source);
}

struct psnap_source *psnap_until_source_new(struct psnap_source *inner,
                                            const struct psnap_deadline *deadline)
{
    static const struct psnap_source_ops ops = {until_next, until_free, until_next_run};
    struct until *self = calloc(1, sizeof *self);

    if (!self)
        return NULL;
    *self = (struct until){{&ops, inner->program}, inner, deadline};
    return &self->base;
}
