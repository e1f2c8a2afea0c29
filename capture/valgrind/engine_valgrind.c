/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lackey prints a line per instruction ("I  pc,size") and per access (" L",
 * " S", " M address,size", a modify being a load and a store). The lines become
 * records, of steps (guest_calls.c) and accesses. With --trace-sched=yes
 * Valgrind says which thread runs.
 *
 * It prints each line with a write of its own, into a pipe. The pipe starts small and almost full
 * (Valgrind writes at most 128 bytes at once). So the program cannot have ended when its mappings
 * are first read. The reader sleeps when there is little to read: waking it up for each line would
 * cost more than the line.
 *
 * Regions of interest are from the first instruction of a function that was named, looked up by the
 * symbol and for C++ by the name in the source ("ns::f"), until the thread executes one of a frame
 * above it. What tail calls lead to counts as called; a longjmp or an exception ends in a frame
 * above, and is seen there.
 *
 * Records are delivered one batch late: so a loop's first iteration is known to
 * be one when its accesses are delivered, unless it is longer than a batch;
 * what comes before counts for the loop around it.
 */
#include "capture/valgrind/engine_valgrind.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "capture/collect/process.h"
#include "capture/valgrind/guest_code.h"

enum {
    BATCH = 1 << 16,
    THREADS = 512, /* Valgrind's own limit is 500 */
    READ_BYTES = 1 << 16,
    PIPE_BYTES = 1 << 18, /* fewer switches between the two; more, and its mappings lag behind */
    LINE_BYTES = 256,     /* longer ones are no lackey's */
    PIPE_START = 4096,    /* bytes of the pipe until the mappings are read */
    PIPE_FREE = 1024      /* of these, free: about 40 lines */
};

enum { UNKNOWN, OTHER, WANTED }; /* of a function: is it recorded? */

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
    uint32_t rows[PSNAP_GUEST_FRAMES]; /* the loop that each frame is in */
    uint32_t at_node, at_row;          /* of the instruction delivered last */
    uint64_t outermost;                /* depth of its region of interest, plus one; 0: none */
    uint16_t number;
};

struct batch {
    struct record *records;
    size_t count;
};

struct valgrind_source {
    struct psnap_source base;
    struct psnap_guest_code code;
    char path[4096], log_option[32]; /* of valgrind */
    int ends[2];                     /* of the pipe: read, write; -1: closed */
    pid_t pid;
    char *text; /* read and not taken: [at, end) */
    size_t at, end;
    bool is_in_long_line;
    bool has_ended; /* nothing will come */
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
    const char *roi;                 /* names, a line each; NULL or empty: all is wanted */
    uint32_t open_regions;           /* threads in a region */
    uint64_t regions, found_regions; /* as in struct psnap_roi_report */
    bool is_skipping;                /* executions do not count */
};

static enum psnap_status no_memory(struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
}

/* Threads. */

static struct thread *thread_at(struct valgrind_source *self, uint64_t slot)
{
    struct thread *thread = self->threads[slot];

    if (thread)
        return thread;
    thread = calloc(1, sizeof *thread);
    if (!thread)
        return NULL;
    psnap_guest_calls_restart(&thread->calls);
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

/* The pipe. */

/* A pipe of PIPE_START bytes, of which PIPE_FREE are not filled with empty lines. */
static enum psnap_status make_pipe(struct valgrind_source *self, struct psnap_error *error)
{
    char lines[PIPE_START - PIPE_FREE];

    memset(lines, '\n', sizeof lines);
    if (pipe2(self->ends, O_CLOEXEC) != 0 || fcntl(self->ends[1], F_SETPIPE_SZ, PIPE_START) < 0 ||
        write(self->ends[1], lines, sizeof lines) != (ssize_t)sizeof lines ||
        fcntl(self->ends[1], F_SETFD, 0) != 0) /* for Valgrind alone: closed when it has started */
        return psnap_error_system(error, errno, "cannot make a pipe for valgrind");
    return PSNAP_OK;
}

static void close_end(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void pause_ms(long ms)
{
    const struct timespec time = {0, ms * 1000000};
    nanosleep(&time, NULL);
}

/* Waits until the program runs, which it will not do for long without open_wide(); false when it
 * has ended before. */
static bool wait_for_start(struct valgrind_source *self)
{
    int waiting = 0;

    while (ioctl(self->ends[0], FIONREAD, &waiting) == 0 && waiting <= PIPE_START - PIPE_FREE) {
        if (psnap_child_has_ended(self->pid))
            return false; /* it cannot be run, and Valgrind has said why */
        pause_ms(1);
    }
    return true;
}

static void open_wide(struct valgrind_source *self)
{
    fcntl(self->ends[0], F_SETPIPE_SZ, PIPE_BYTES);
    fcntl(self->ends[0], F_SETFL, O_NONBLOCK);
}

/* More text behind what is there; sets has_ended when nothing will come. */
static enum psnap_status read_text(struct valgrind_source *self, struct psnap_error *error)
{
    bool had_ended = false;
    ssize_t n;

    memmove(self->text, self->text + self->at, self->end - self->at);
    self->end -= self->at;
    self->at = 0;
    for (;;) {
        n = read(self->ends[0], self->text + self->end, READ_BYTES);
        if (n > 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
            break;
        if (n == 0 || had_ended) {
            self->has_ended = true;
            return PSNAP_OK;
        }
        had_ended = psnap_child_has_ended(self->pid); /* its children may keep the pipe open */
        if (!had_ended)
            pause_ms(1);
    }
    if (n < 0)
        return psnap_error_system(error, errno, "cannot read what valgrind prints");
    self->end += (size_t)n;
    if (n < READ_BYTES / 4)
        pause_ms(1);
    return PSNAP_OK;
}

/* The next line, of `length` bytes and a newline; none (length 0) where it was too long or nothing
 * will come any more. Valid until the next call. */
static enum psnap_status next_line(struct valgrind_source *self, char **line, size_t *length,
                                   struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;

    *length = 0;
    while (!status && !self->has_ended) {
        const size_t left = self->end - self->at;
        const char *end;
        *line = self->text + self->at;
        end = memchr(*line, '\n', left);
        if (end) {
            self->at += (size_t)(end - *line) + 1;
            *length = self->is_in_long_line ? 0 : (size_t)(end - *line);
            self->is_in_long_line = false;
            break;
        }
        if (left >= LINE_BYTES) { /* pass over it, part by part */
            self->at = self->end;
            self->is_in_long_line = true;
        }
        status = read_text(self, error);
    }
    return status;
}

/* Waits until the program runs, reads its mappings before it can have ended, and lets it go on. */
static enum psnap_status begin(struct valgrind_source *self, struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;

    self->is_loaded = true;
    if (wait_for_start(self)) {
        status = psnap_guest_code_start(&self->code, self->pid, error);
        open_wide(self);
    }
    return status;
}

/* Reads lines until the batch is full or the program has ended. */
static enum psnap_status fill(struct valgrind_source *self, struct psnap_error *error)
{
    struct batch *batch = &self->batches[self->filling];
    enum psnap_status status = PSNAP_OK;

    batch->count = 0;
    while (!status && batch->count < BATCH && !self->has_ended) {
        char *line;
        size_t length;
        status = next_line(self, &line, &length, error);
        if (!status && length > 4)
            status = take_line(self, line, error);
    }
    return status ? status : psnap_guest_code_update(&self->code, error);
}

/* Regions of interest. */

static bool is_wanted(const struct valgrind_source *self)
{
    return !self->roi || !*self->roi || self->open_regions;
}

static bool is_named(struct valgrind_source *self, struct psnap_guest_function *function)
{
    struct psnap_place_in_source place;
    uint64_t bits = 0;

    if (function->wish == UNKNOWN && function->symbol) {
        bits = psnap_roi_find(self->roi, function->symbol, strcspn(function->symbol, "@"));
        if (!bits && !strncmp(function->symbol, "_Z", 2) && function->image) {
            psnap_symbols_place(function->image, function->low, true, &place);
            bits = psnap_roi_find(self->roi, place.function, strlen(place.function));
        }
        self->found_regions |= bits;
    }
    if (function->wish == UNKNOWN)
        function->wish = bits ? WANTED : OTHER;
    return function->wish == WANTED;
}

static void end_region(struct valgrind_source *self)
{
    self->open_regions -= self->delivered->outermost != 0;
    self->delivered->outermost = 0;
}

/* The thread executes `node`, `depth` frames deep. */
static void look_for_region(struct valgrind_source *self, uint32_t node, uint64_t depth)
{
    struct psnap_guest_function *function =
        &self->code.functions[self->code.flow.nodes[node].function];
    struct thread *thread = self->delivered;

    if (thread->outermost && depth + 1 < thread->outermost)
        end_region(self);
    if (thread->outermost || function->low != self->code.nodes[node].pc ||
        !is_named(self, function))
        return;
    thread->outermost = depth + 1;
    self->regions += !self->open_regions++;
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
    if (self->roi)
        look_for_region(self, record->node, record->address);
    counts = !self->is_skipping && is_wanted(self);
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

    if (!is_wanted(self))
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
            end_region(self);
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
            if (self->has_ended && !self->batches[self->filling].count)
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

    close_end(&self->ends[0]);
    close_end(&self->ends[1]);
    free(self->text);
    for (size_t i = 0; i < THREADS; i++)
        free(self->threads[i]);
    psnap_guest_code_release(&self->code);
    psnap_program_free(self->base.program);
    free(self->batches[0].records);
    free(self->batches[1].records);
    free(self);
}

struct psnap_source *psnap_valgrind_new(struct psnap_error *error)
{
    static const struct psnap_source_ops ops = {.next = valgrind_next, .free = valgrind_free};
    struct valgrind_source *self = calloc(1, sizeof *self);
    enum psnap_status status = PSNAP_OK;

    if (!self) {
        no_memory(error);
        return NULL;
    }
    self->base.ops = &ops;
    self->base.program = psnap_program_new();
    self->ends[0] = self->ends[1] = -1;
    self->text = malloc(READ_BYTES + LINE_BYTES);
    for (int i = 0; i < 2; i++) /* a line is three records at most */
        self->batches[i].records = malloc((BATCH + 2) * sizeof *self->batches[i].records);
    psnap_guest_code_init(&self->code, self->base.program);
    if (!self->base.program || !self->text || !self->batches[0].records ||
        !self->batches[1].records)
        status = no_memory(error);
    else if (!psnap_find_program("valgrind", self->path, sizeof self->path))
        status = psnap_error_set(error, PSNAP_ERROR_UNSUPPORTED,
                                 "valgrind is not installed (Debian package valgrind)");
    else
        status = make_pipe(self, error);
    if (status) {
        valgrind_free(&self->base);
        return NULL;
    }
    self->base.program->provenance.stage = "valgrind";
    return &self->base;
}

char **psnap_valgrind_command(struct psnap_source *source, char **argv)
{
    static const char *const options[] = {"--command-line-only=yes",
                                          "--tool=lackey",
                                          "--trace-mem=yes",
                                          "--basic-counts=no",
                                          "--trace-sched=yes",
                                          "--child-silent-after-fork=yes",
                                          "--vgdb=no",
                                          "-q"};
    struct valgrind_source *self = (struct valgrind_source *)source;
    const size_t option_count = sizeof options / sizeof *options;
    size_t count = 0;
    char **command;

    while (argv[count])
        count++;
    command = malloc((option_count + count + 4) * sizeof *command);
    if (!command)
        return NULL;
    snprintf(self->log_option, sizeof self->log_option, "--log-fd=%d", self->ends[1]);
    command[0] = self->path;
    memcpy(command + 1, options, sizeof options);
    command[option_count + 1] = self->log_option;
    command[option_count + 2] = "--";
    memcpy(command + option_count + 3, argv, (count + 1) * sizeof *argv);
    return command;
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
    ((struct valgrind_source *)source)->roi = roi;
}

struct psnap_roi_report psnap_valgrind_roi(const struct psnap_source *source)
{
    const struct valgrind_source *self = (const struct valgrind_source *)source;

    return (struct psnap_roi_report){self->roi && *self->roi, self->regions, self->found_regions, 0,
                                     true};
}

void psnap_valgrind_attend(struct psnap_source *source, uint64_t accesses, bool counts)
{
    (void)accesses; /* it has no runs */
    ((struct valgrind_source *)source)->is_skipping = !counts;
}

void psnap_valgrind_watch(struct psnap_source *source, pid_t pid)
{
    struct valgrind_source *self = (struct valgrind_source *)source;

    close_end(&self->ends[1]);
    self->pid = pid;
    self->has_ended = !pid;
}

void psnap_valgrind_drain(struct psnap_source *source)
{
    struct valgrind_source *self = (struct valgrind_source *)source;
    struct psnap_error error;

    open_wide(self);
    while (!self->has_ended) {
        self->at = self->end;
        if (read_text(self, &error))
            break;
    }
}
