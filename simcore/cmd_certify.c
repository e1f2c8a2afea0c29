/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The certificate of a profile: the comparison (compare.c) of the stream that it is made of with
 * its own replay. The observed stream is simulated as it goes by, so nothing is kept of it; the
 * replay follows when it has ended.
 */
#include "simcore/cmd_certify.h"

#include <stdlib.h>

#include "profile/profile.h"
#include "simcore/cmd_certificate.h"
#include "simcore/cmd_side.h"
#include "simcore/cmd_turns.h"

#define SEED 0 /* of the replay: what every command takes by itself */

struct certifier {
    struct psnap_sink base;
    struct psnap_program *program; /* not owned */
    struct psnap_machine *machines;
    size_t n;
    struct psnap_sink *sim; /* NULL: it has failed */
    struct psnap_error sim_error;
};

/* A simulator that has failed is given up, its room others may need; the profile is made anyway. */
static enum psnap_status drop_sim(struct certifier *self, enum psnap_status status)
{
    if (status) {
        psnap_sink_free(self->sim);
        self->sim = NULL;
    }
    return PSNAP_OK;
}

static enum psnap_status certifier_put(struct psnap_sink *sink, const struct psnap_access *block,
                                       size_t n, struct psnap_error *error)
{
    struct certifier *self = (struct certifier *)sink;

    (void)error;
    if (!self->sim)
        return PSNAP_OK;
    return drop_sim(self, psnap_sink_put(self->sim, block, n, &self->sim_error));
}

static enum psnap_status certifier_put_nest(struct psnap_sink *sink, const struct psnap_nest *nest,
                                            struct psnap_error *error)
{
    struct certifier *self = (struct certifier *)sink;

    (void)error;
    if (!self->sim)
        return PSNAP_OK;
    return drop_sim(self, psnap_sink_put_nest(self->sim, nest, &self->sim_error));
}

static enum psnap_status certifier_finish(struct psnap_sink *sink, struct psnap_error *error)
{
    struct certifier *self = (struct certifier *)sink;

    (void)error;
    if (!self->sim)
        return PSNAP_OK;
    return drop_sim(self, psnap_sink_finish(self->sim, &self->sim_error));
}

static void certifier_free(struct psnap_sink *sink)
{
    struct certifier *self = (struct certifier *)sink;

    psnap_sink_free(self->sim);
    free(self->machines);
    free(self);
}

enum psnap_status psnap_certifier_check(const struct psnap_text_list *machines,
                                        struct psnap_error *error)
{
    size_t n;
    struct psnap_machine *found = side_machines(machines, &n, error);
    const bool is_good = found != NULL;

    free(found);
    return is_good ? PSNAP_OK : error->code;
}

struct psnap_sink *psnap_certifier_new(const struct psnap_text_list *machines,
                                       struct psnap_program *program, struct psnap_error *error)
{
    static const struct psnap_sink_ops ops = {certifier_put, certifier_finish, certifier_free, NULL,
                                              certifier_put_nest};
    struct certifier *self = calloc(1, sizeof *self);

    if (!self) {
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        return NULL;
    }
    self->base.ops = &ops;
    self->program = program;
    self->machines = side_machines(machines, &self->n, error);
    if (self->machines)
        self->sim = psnap_sim_new(self->machines, self->n, program, NULL, error);
    if (!self->sim) {
        certifier_free(&self->base);
        return NULL;
    }
    return &self->base;
}

/* ---- the certificate ---- */

static enum psnap_status observe(struct certifier *self, struct compare_side *observed,
                                 struct psnap_error *error)
{
    if (self->sim)
        return side_take(observed, self->sim, self->n, self->program, error);
    *error = self->sim_error;
    return error->code;
}

/* A replay on its way through the machines. */
struct replaying {
    const struct certifier *certifier;
    struct compare_side *synthetic;
};

static enum psnap_status replay(void *context, struct psnap_source *source,
                                struct psnap_error *error)
{
    const struct replaying *to = context;

    return side_run(to->synthetic, source, to->certifier->machines, to->certifier->n, error);
}

enum psnap_status psnap_certifier_certify(struct psnap_sink *certifier,
                                          struct psnap_profile *profile,
                                          const struct psnap_deadline *deadline,
                                          struct psnap_error *error)
{
    struct certifier *self = (struct certifier *)certifier;
    struct compare_side observed = {.path = "observed", .deadline = deadline};
    struct compare_side synthetic = {.path = "synthetic", .deadline = deadline};
    struct psnap_certificate *certificate = NULL;
    struct compare compare = {0};
    enum psnap_status status = observe(self, &observed, error);

    if (!status)
        status = psnap_turns_replay(profile, SEED, UINT64_MAX, replay,
                                    &(struct replaying){self, &synthetic}, error);
    if (!status)
        status = compare_init(&compare, self->machines, self->n, &observed, &synthetic, error);
    if (!status)
        status = certificate_of(&compare, profile, SEED, &certificate, error);
    if (!status)
        profile->certificate = certificate;
    compare_release(&compare);
    side_release(&observed);
    side_release(&synthetic);
    return status;
}
