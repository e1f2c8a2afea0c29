/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lackey prints a line per instruction ("I  pc,size") and per access (" L",
 * " S", " M address,size", a modify being a load and a store). The lines become
 * records, of steps (guest_calls.c) and accesses. With --trace-sched=yes
 * Valgrind says which thread runs.
 *
 * Records are delivered one batch late: so a loop's first iteration is known to
 * be one when its accesses are delivered, unless it is longer than a batch;
 * what comes before counts for the loop around it.
 */
#include "capture/valgrind/engine_valgrind.h"

#include <stdlib.h>
#include <string.h>

#include "capture/valgrind/guest_calls.h"
#include "capture/valgrind/guest_roi.h"
#include "capture/valgrind/valgrind_pipe.h"

enum {
    BATCH = 1 << 16,
    THREADS = 512 /* Valgrind's own limit is 500 */
};

/* Of a record; a step is one of enum psnap_guest_step. */
enum {
    LOAD = PSNAP_STEP_LEAP + 1,
    STORE,
    THREAD, /* another thread runs; node: its slot, address: its number + 1 when it is new */
};

struct record {
    uint64_t address; /* of the access; depth of calls after a step */
    uint32_t node;
    uint16_t size;
    uint8_t type;
};

struct thread {
    struct psnap_guest_calls calls;
    /* When delivering: */
    uint32_t *rows;           /* the loop that each frame is in */
    uint32_t at_node, at_row; /* of the instruction delivered last */
    uint64_t outermost;       /* of its region of interest */
    uint16_t number;
};

struct batch {
    struct record *records;
    size_t count;
};

struct valgrind_source {
    struct psnap_source base;
    struct psnap_guest_code code;
    struct psnap_valgrind_pipe pipe;
    bool is_loaded; /* the program's mappings have been read */
    struct thread *threads[THREADS];
    struct thread *running, *delivered;
    uint16_t thread_count;
    /* batches: the one that is filled and the one that is delivered */
    struct batch batches[2];
    unsigned filling;
    size_t delivered_count;
    uint64_t split_address; /* rest of an access that is wider than 64 bytes */
    uint32_t split_bytes, split_ref;
    struct psnap_guest_roi roi;
    bool is_skipping; /* executions do not count */
};

static enum psnap_status no_memory(struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
}

/* Threads. */

static void free_thread(struct thread *thread)
{
    if (thread) {
        psnap_guest_calls_release(&thread->calls);
        free(thread->rows);
    }
    free(thread);
}

static struct thread *thread_at(struct valgrind_source *self, uint64_t slot)
{
    struct thread *thread = self->threads[slot];

    if (thread)
        return thread;
    thread = calloc(1, sizeof *thread);
    if (!thread)
        return NULL;
    thread->rows = malloc(PSNAP_GUEST_FRAMES * sizeof *thread->rows);
    if (!psnap_guest_calls_init(&thread->calls) || !thread->rows) {
        free_thread(thread);
        return NULL;
    }
    thread->rows[0] = PSNAP_NONE;
    thread->number = UINT16_MAX;
    return self->threads[slot] = thread;
}

static struct record *new_record(struct valgrind_source *self, int type)
{
    struct batch *batch = &self->batches[self->filling];
    struct record *record = &batch->records[batch->count++];

    *record = (struct record){.type = (uint8_t)type};
    return record;
}

/* From here on the thread in this slot runs. */
static enum psnap_status run_thread(struct valgrind_source *self, unsigned long slot, bool is_new,
                                    struct psnap_error *error)
{
    struct record *record;

    self->running = thread_at(self, slot);
    if (!self->running)
        return no_memory(error);
    if (is_new) {
        psnap_guest_calls_restart(&self->running->calls);
        if (self->thread_count < UINT16_MAX)
            self->thread_count++;
    }
    record = new_record(self, THREAD);
    record->node = (uint32_t)slot;
    record->address = is_new ? self->thread_count : 0;
    return PSNAP_OK;
}

/* "SCHED[2]:  acquired lock (...)" and, first of all of a thread, "SCHED[2]: entering ...". */
static enum psnap_status schedule(struct valgrind_source *self, const char *line,
                                  struct psnap_error *error)
{
    const char *at = strstr(line, "SCHED[");
    unsigned long slot = at ? strtoul(at + 6, NULL, 10) : 0;
    bool is_new = at && strstr(at, "]: entering ");

    if (!at || !slot || slot >= THREADS || (!is_new && !strstr(at, "acquired lock")))
        return PSNAP_OK;
    return run_thread(self, slot, is_new, error);
}

/* Lines. */

static enum psnap_status step(struct valgrind_source *self, uint64_t pc, uint8_t size,
                              struct psnap_error *error)
{
    struct psnap_guest_calls *calls = &self->running->calls;
    enum psnap_guest_step type;
    enum psnap_status status = psnap_guest_calls_step(calls, &self->code, pc, size, &type, error);
    struct record *record;

    if (status)
        return status;
    record = new_record(self, (int)type);
    record->node = calls->node;
    record->address = calls->depth;
    return PSNAP_OK;
}

static void note_access(struct valgrind_source *self, int type, uint64_t address, uint16_t size)
{
    struct record *record = new_record(self, type);

    record->address = address;
    record->size = size;
    psnap_guest_calls_access(&self->running->calls, type == STORE, address, size);
}

/* A whole line, which ends in '\n'. What lackey does not print is passed over. */
static enum psnap_status take_line(struct valgrind_source *self, char *line,
                                   struct psnap_error *error)
{
    const char kind = line[0] == 'I' ? 'I' : line[1];
    uint64_t address, size;
    char *at;

    if (line[0] == '-' && line[1] == '-') {
        line[strcspn(line, "\n")] = '\0';
        return schedule(self, line, error);
    }
    if ((line[0] != ' ' && line[0] != 'I') || line[2] != ' ')
        return PSNAP_OK;
    address = strtoull(line + 3, &at, 16);
    if (*at != ',')
        return PSNAP_OK;
    size = strtoull(at + 1, &at, 10);
    if (*at != '\n' || !size || size >= 10000)
        return PSNAP_OK;
    if (!self->running) { /* Valgrind has not named it */
        enum psnap_status status = run_thread(self, 1, true, error);
        if (status)
            return status;
    }
    if (kind == 'I')
        return step(self, address, (uint8_t)size, error);
    if (self->running->calls.node == PSNAP_FLOW_NONE)
        return PSNAP_OK;
    if (kind == 'L' || kind == 'M')
        note_access(self, LOAD, address, (uint16_t)size);
    if (kind == 'S' || kind == 'M')
        note_access(self, STORE, address, (uint16_t)size);
    return PSNAP_OK;
}

/* Waits until the program runs, reads its mappings before it can have ended, and lets it go on. */
static enum psnap_status begin(struct valgrind_source *self, struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;

    self->is_loaded = true;
    if (psnap_valgrind_pipe_wait(&self->pipe)) {
        status = psnap_guest_code_start(&self->code, self->pipe.pid, error);
        psnap_valgrind_pipe_open(&self->pipe);
    }
    return status;
}

/* Reads lines until the batch is full or the program has ended. */
static enum psnap_status fill(struct valgrind_source *self, struct psnap_error *error)
{
    struct batch *batch = &self->batches[self->filling];
    enum psnap_status status = PSNAP_OK;

    batch->count = 0;
    while (!status && batch->count < BATCH && !self->pipe.has_ended) {
        char *line;
        size_t length;
        status = psnap_valgrind_pipe_line(&self->pipe, &line, &length, error);
        if (!status && length > 4)
            status = take_line(self, line, error);
    }
    return status ? status : psnap_guest_code_update(&self->code, error);
}

/* Delivering. */

/* A loop that is entered, with those around it, counts; so does one that has come around. */
static void count_entries(struct valgrind_source *self, uint32_t from, uint32_t to)
{
    struct psnap_program *program = self->base.program;

    for (; to != PSNAP_NONE; to = program->loops[to].parent) {
        uint32_t around = from;
        while (around != PSNAP_NONE && around != to)
            around = program->loops[around].parent;
        if (around == to)
            break;
        program->blocks[program->loops[to].entry].executions++;
    }
}

static enum psnap_status deliver_step(struct valgrind_source *self, const struct record *record,
                                      struct psnap_error *error)
{
    struct psnap_program *program = self->base.program;
    struct thread *thread = self->delivered;
    enum psnap_status status;
    uint32_t *at;
    bool counts;

    thread->at_node = record->node;
    status = psnap_guest_code_row(&self->code, record->node, &thread->at_row, error);
    if (status)
        return status;
    at = &thread->rows[record->address % PSNAP_GUEST_FRAMES];
    if (record->type == PSNAP_STEP_CALL || record->type == PSNAP_STEP_LEAP)
        *at = PSNAP_NONE;
    else if (record->type == PSNAP_STEP_RESUME)
        *at = thread->at_row;
    if (self->roi.list)
        psnap_guest_roi_step(&self->roi, &self->code, record->node, record->address,
                             &thread->outermost);
    counts = !self->is_skipping && psnap_guest_roi_is_wanted(&self->roi);
    if (*at != thread->at_row) {
        if (counts)
            count_entries(self, *at, thread->at_row);
        *at = thread->at_row;
    }
    if (counts && self->code.rows[thread->at_row].header == record->node)
        program->blocks[program->loops[thread->at_row].header].executions++;
    return PSNAP_OK;
}

static enum psnap_status deliver_access(struct valgrind_source *self, const struct record *record,
                                        struct psnap_error *error)
{
    enum psnap_status status;

    if (!psnap_guest_roi_is_wanted(&self->roi))
        return PSNAP_OK;
    status = psnap_guest_code_ref(&self->code, self->delivered->at_node, self->delivered->at_row,
                                  record->type == LOAD ? PSNAP_LOAD : PSNAP_STORE, record->size,
                                  &self->split_ref, error);
    if (!status)
        status = psnap_guest_code_place(&self->code, self->split_ref, record->address,
                                        &self->split_address, error);
    self->split_bytes = record->size;
    return status;
}

/* The next part, of at most 64 bytes, of the access that is being delivered. */
static void put_part(struct valgrind_source *self, struct psnap_access *access)
{
    uint32_t bytes =
        self->split_bytes < PSNAP_ACCESS_SIZE_MAX ? self->split_bytes : PSNAP_ACCESS_SIZE_MAX;
    *access = (struct psnap_access){
        .address = self->split_address,
        .ref = self->split_ref,
        .size = (uint8_t)bytes,
        .kind = self->base.program->refs[self->split_ref].kind,
        .thread = self->delivered->number,
    };
    self->split_address += bytes;
    self->split_bytes -= bytes;
}

static enum psnap_status deliver(struct valgrind_source *self, const struct record *record,
                                 struct psnap_error *error)
{
    switch (record->type) {
    case LOAD:
    case STORE:
        return deliver_access(self, record, error);
    case THREAD:
        self->delivered = self->threads[record->node];
        if (record->address) {
            self->delivered->number = (uint16_t)(record->address - 1);
            self->delivered->rows[0] = PSNAP_NONE;
            psnap_guest_roi_end(&self->roi, &self->delivered->outermost);
        }
        return PSNAP_OK;
    default:
        return deliver_step(self, record, error);
    }
}

static ssize_t valgrind_next(struct psnap_source *base, struct psnap_access *block, size_t capacity,
                             struct psnap_error *error)
{
    struct valgrind_source *self = (struct valgrind_source *)base;
    enum psnap_status status = self->is_loaded ? PSNAP_OK : begin(self, error);
    size_t n = 0;

    while (!status && n < capacity) {
        struct batch *batch = &self->batches[!self->filling];
        if (self->split_bytes) {
            put_part(self, &block[n++]);
        } else if (self->delivered_count < batch->count) {
            status = deliver(self, &batch->records[self->delivered_count++], error);
        } else {
            if (self->pipe.has_ended && !self->batches[self->filling].count)
                break;
            self->filling = !self->filling; /* what was filled is delivered now */
            self->delivered_count = 0;
            status = fill(self, error);
        }
    }
    return status ? (ssize_t)status : (ssize_t)n;
}

static void valgrind_free(struct psnap_source *base)
{
    struct valgrind_source *self = (struct valgrind_source *)base;

    psnap_valgrind_pipe_release(&self->pipe);
    for (size_t i = 0; i < THREADS; i++)
        free_thread(self->threads[i]);
    psnap_guest_code_release(&self->code);
    psnap_guest_roi_release(&self->roi);
    psnap_program_free(self->base.program);
    free(self->batches[0].records);
    free(self->batches[1].records);
    free(self);
}

struct psnap_source *psnap_valgrind_new(struct psnap_error *error)
{
    static const struct psnap_source_ops ops = {.next = valgrind_next, .free = valgrind_free};
    struct valgrind_source *self = calloc(1, sizeof *self);
    enum psnap_status status;

    if (!self) {
        no_memory(error);
        return NULL;
    }
    status = psnap_valgrind_pipe_init(&self->pipe, error);
    self->base.ops = &ops;
    self->base.program = psnap_program_new();
    for (int i = 0; i < 2; i++) /* a line is three records at most */
        self->batches[i].records = malloc((BATCH + 2) * sizeof *self->batches[i].records);
    if (!status && (!self->base.program || !self->batches[0].records || !self->batches[1].records))
        status = no_memory(error);
    if (!status)
        status = psnap_guest_code_init(&self->code, self->base.program, error);
    if (status) {
        valgrind_free(&self->base);
        return NULL;
    }
    self->base.program->provenance.stage = "valgrind";
    return &self->base;
}

char **psnap_valgrind_command(struct psnap_source *source, char **argv)
{
    return psnap_valgrind_pipe_command(&((struct valgrind_source *)source)->pipe, argv);
}

/*
 * Valgrind adds itself to LD_PRELOAD. Where there is none it would be the last text on the stack,
 * before the kernel's 16 random bytes, and strcspn, which reads in steps of four, would make
 * accesses in the loader depend on them: no two runs would be the same.
 */
void psnap_valgrind_environment(void)
{
    unsetenv(PSNAP_ENV_SESSION);
    setenv("LD_PRELOAD", "", 0);
}

void psnap_valgrind_choose(struct psnap_source *source, const char *roi)
{
    ((struct valgrind_source *)source)->roi.list = roi;
}

const struct psnap_guest_roi *psnap_valgrind_roi(const struct psnap_source *source)
{
    return &((const struct valgrind_source *)source)->roi;
}

void psnap_valgrind_attend(struct psnap_source *source, uint64_t accesses, bool counts)
{
    (void)accesses; /* it has no runs */
    ((struct valgrind_source *)source)->is_skipping = !counts;
}

void psnap_valgrind_watch(struct psnap_source *source, pid_t pid)
{
    psnap_valgrind_pipe_watch(&((struct valgrind_source *)source)->pipe, pid);
}

void psnap_valgrind_drain(struct psnap_source *source)
{
    psnap_valgrind_pipe_drain(&((struct valgrind_source *)source)->pipe);
}
