/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The certificate of a profile: the comparison (compare.c) of the stream that it is made of with
 * its own replay.
 *
 * The observed stream is simulated as it goes by, so nothing has to be kept of it; the replay
 * follows when it has ended. Threads are the exception: a comparison takes them in turn, access by
 * access, and they do not come so. The stream is therefore written as a .pst into a file without a
 * name as well, which is needed only if a second thread appears: then the simulation is given up,
 * and done from that file in the end, as `psnap compare` does it with a trace. The file is of
 * bounded size (SPOOL_BYTES); beyond, streams of several threads get no certificate.
 */
#include "simcore/cmd_certify.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/formats.h"
#include "profile/profile.h"
#include "simcore/cmd_certificate.h"
#include "simcore/cmd_side.h"
#include "simcore/cmd_turns.h"

#define SPOOL_BYTES (UINT64_C(4) << 30)
#define SEED 0 /* of the replay: what every command takes by itself */

struct certifier {
    struct psnap_sink base;
    struct psnap_program *program; /* not owned */
    struct psnap_machine *machines;
    size_t n;
    struct psnap_sink *sim; /* NULL: it has failed, or there are several threads */
    bool has_thread, is_mixed;
    uint16_t thread; /* of all accesses so far, unless mixed */
    struct psnap_error sim_error, spool_error;
    FILE *spool;
    struct psnap_sink *writer; /* NULL: it has failed */
    struct psnap_trace_limit limit;
};

/* ---- the stream as it goes by ---- */

static void close_spool(struct certifier *self)
{
    psnap_sink_free(self->writer);
    self->writer = NULL;
    if (self->spool)
        fclose(self->spool);
    self->spool = NULL;
}

/* A file without a name in the folder of `near`, or for what is no file in this one. */
static void open_spool(struct certifier *self, const char *near)
{
    const char *slash = strncmp(near, "/dev/", 5) != 0 ? strrchr(near, '/') : NULL;
    char *name = NULL;
    int fd = -1;

    if (asprintf(&name, "%.*s.psnap-certify-XXXXXX", slash ? (int)(slash + 1 - near) : 0, near) < 0)
        name = NULL;
    if (name)
        fd = mkostemp(name, O_CLOEXEC);
    if (fd >= 0) {
        unlink(name);
        self->spool = fdopen(fd, "w+b");
    }
    if (!self->spool) {
        psnap_error_system(&self->spool_error, errno, "cannot keep the stream of several threads");
        if (fd >= 0)
            close(fd);
    } else
        self->writer = psnap_trace_writer_new_limited(self->spool, self->program, &self->limit,
                                                      &self->spool_error);
    free(name);
}

/* Notes whether accesses are of the thread that all before were of. */
static void watch_threads(struct certifier *self, const struct psnap_access *block, size_t n)
{
    uint16_t others = 0;

    if (!self->has_thread && n) {
        self->thread = block[0].thread;
        self->has_thread = true;
    }
    for (size_t i = 0; i < n; i++)
        others |= block[i].thread ^ self->thread;
    if (!others)
        return;
    self->is_mixed = true;
    psnap_sink_free(self->sim);
    self->sim = NULL;
}

/* What has failed is given up: the simulator, or the file, whose room others may need. */
static void drop_sim(struct certifier *self, enum psnap_status status)
{
    if (!status)
        return;
    psnap_sink_free(self->sim);
    self->sim = NULL;
}

static void drop_spool(struct certifier *self, enum psnap_status status)
{
    if (status)
        close_spool(self);
}

static enum psnap_status certifier_put(struct psnap_sink *sink, const struct psnap_access *block,
                                       size_t n, struct psnap_error *error)
{
    struct certifier *self = (struct certifier *)sink;

    (void)error;
    if (!self->is_mixed)
        watch_threads(self, block, n);
    if (self->sim)
        drop_sim(self, psnap_sink_put(self->sim, block, n, &self->sim_error));
    if (self->writer)
        drop_spool(self, psnap_sink_put(self->writer, block, n, &self->spool_error));
    return PSNAP_OK;
}

static enum psnap_status certifier_put_run(struct psnap_sink *sink, const struct psnap_run *run,
                                           struct psnap_error *error)
{
    struct certifier *self = (struct certifier *)sink;

    (void)error;
    if (!self->is_mixed && run->count)
        watch_threads(self, run->first, run->width);
    if (self->sim)
        drop_sim(self, psnap_sink_put_run(self->sim, run, &self->sim_error));
    if (self->writer)
        drop_spool(self, psnap_sink_put_run(self->writer, run, &self->spool_error));
    return PSNAP_OK;
}

static enum psnap_status certifier_finish(struct psnap_sink *sink, struct psnap_error *error)
{
    struct certifier *self = (struct certifier *)sink;

    (void)error;
    if (self->sim)
        drop_sim(self, psnap_sink_finish(self->sim, &self->sim_error));
    if (!self->is_mixed)
        close_spool(self);
    else if (self->writer)
        drop_spool(self, psnap_sink_finish(self->writer, &self->spool_error));
    return PSNAP_OK;
}

static void certifier_free(struct psnap_sink *sink)
{
    struct certifier *self = (struct certifier *)sink;

    psnap_sink_free(self->sim);
    close_spool(self);
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
                                       struct psnap_program *program, const char *near,
                                       struct psnap_error *error)
{
    static const struct psnap_sink_ops ops = {certifier_put, certifier_finish, certifier_free,
                                              certifier_put_run};
    struct certifier *self = calloc(1, sizeof *self);

    if (!self) {
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        return NULL;
    }
    self->base.ops = &ops;
    self->program = program;
    self->limit.max_bytes = SPOOL_BYTES;
    self->machines = side_machines(machines, &self->n, error);
    if (self->machines)
        self->sim = psnap_sim_new(self->machines, self->n, program, NULL, error);
    if (!self->sim) {
        certifier_free(&self->base);
        return NULL;
    }
    open_spool(self, near);
    return &self->base;
}

/* ---- the certificate ---- */

/* What the stream came to; threads in turn. */
static enum psnap_status observe(struct certifier *self, struct compare_side *observed,
                                 struct psnap_error *error)
{
    const struct psnap_input_options options = {.from = "pst", .count = UINT64_MAX};
    char path[64];

    if (self->sim)
        return side_take(observed, self->sim, self->n, self->program, error);
    if (!self->is_mixed) {
        *error = self->sim_error;
        return error->code;
    }
    if (!self->writer) {
        *error = self->spool_error;
        return error->code;
    }
    if (self->limit.is_reached)
        return psnap_error_set(error, PSNAP_ERROR_LIMIT,
                               "the stream has several threads, which are compared in turn, and is "
                               "too large to be kept for that (%llu GiB): make it of a part "
                               "(--count, --window), or compare a trace",
                               (unsigned long long)(SPOOL_BYTES >> 30));
    snprintf(path, sizeof path, "/proc/self/fd/%d", fileno(self->spool));
    observed->path = path;
    return side_run_input(observed, &options, self->machines, self->n, error);
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
