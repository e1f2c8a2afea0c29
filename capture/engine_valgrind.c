/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lackey prints a line per instruction ("I  pc,size") and per access (" L",
 * " S", " M address,size", a modify being a load and a store), each with a
 * write of its own, into a pipe. The lines become records; from the records'
 * order follow calls, returns and jumps, and from these the flow graph. With
 * --trace-sched=yes Valgrind says which thread runs.
 *
 *   call     an instruction that stored a word and was not followed by the one
 *            behind it: that word is its return address (x86)
 *   return   one that loaded the word that a call had stored, and went behind it
 *   jump     anything else; to another function it is a tail call, or a signal:
 *            the loops of the function that was left are left; in the middle of a
 *            function that has called it is a longjmp, or an exception
 *
 * Records are delivered one batch late: so a loop's first iteration is known to
 * be one when its accesses are delivered, unless it is longer than a batch;
 * what comes before counts for the loop around it.
 *
 * The pipe starts small and almost full (Valgrind writes at most 128 bytes at
 * once). So the program cannot have ended when its mappings are first read. The reader sleeps when
 * there is little to read: waking it up for each line would cost more than the line.
 */
#include "capture/engine_valgrind.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "capture/guest_code.h"

enum {
    BATCH = 1 << 16,
    READ_BYTES = 1 << 16,
    PIPE_BYTES = 1 << 18, /* fewer switches between the two; more, and its mappings lag behind */
    LINE_BYTES = 256,     /* longer ones are no lackey's */
    PIPE_START = 4096,    /* bytes of the pipe until the mappings are read */
    PIPE_FREE = 1024,     /* of these, free: about 40 lines */
    FRAMES = 1 << 12,     /* calls that are remembered; deeper, the outermost are forgotten */
    THREADS = 512,        /* Valgrind's own limit is 500 */
    SEARCH = 256          /* frames that a return may leave at once */
};

#define NONE PSNAP_FLOW_NONE

enum record_type {
    STEP,   /* an instruction of the function that runs */
    CALL,   /* the first of a function that was called; address: depth */
    RETURN, /* one behind a call; address: depth */
    RESUME, /* one behind a call that has been forgotten */
    LEAP,   /* one of another function, without a call */
    LOAD,
    STORE,
    THREAD, /* another thread runs; node: its slot, address: its number */
};

struct record {
    uint64_t address;
    uint32_t node;
    uint16_t size;
    uint8_t type;
};

/* A call that has not returned. */
struct frame {
    uint64_t slot, back; /* where its return address lies, and what it is */
    uint32_t caller;
};

struct thread {
    struct frame *frames;              /* the one at depth d: frames[d % FRAMES] */
    uint64_t depth, known;             /* of which the topmost `known` frames are there */
    uint32_t node;                     /* executed last */
    uint64_t stored, loaded, returned; /* addresses: of the last instruction, of the last return */
    bool has_stored, has_loaded;
    /* When delivering: */
    uint32_t *rows; /* the loop that each frame is in */
    uint64_t row_depth;
    uint32_t at_node, at_row; /* of the instruction delivered last */
    uint16_t number;
};

struct batch {
    struct record *records;
    size_t count;
};

struct valgrind_source {
    struct psnap_source base;
    struct psnap_guest_code code;
    int pipe[2]; /* read, write */
    pid_t pid;
    char path[4096], log_option[32];
    bool is_loaded, has_ended;
    /* reading */
    unsigned char *text;
    size_t text_at, text_end;
    bool is_in_long_line;
    struct thread *threads[THREADS];
    struct thread *running, *delivered;
    uint16_t thread_count;
    /* batches: the one that is filled and the one that is delivered */
    struct batch batches[2];
    unsigned filling;
    size_t delivered_count;
    uint64_t split_address; /* rest of an access that is wider than 64 bytes */
    uint32_t split_bytes, split_ref;
};

/* Looks for valgrind in the PATH. */
static bool find_valgrind(char *path, size_t size)
{
    const char *folders = getenv("PATH");

    for (folders = folders ? folders : "/usr/bin:/bin"; *folders;) {
        size_t length = strcspn(folders, ":");
        int written =
            snprintf(path, size, "%.*s%svalgrind", (int)length, folders, length ? "/" : "");
        if (written > 0 && (size_t)written < size && access(path, X_OK) == 0)
            return true;
        folders += length + (folders[length] == ':');
    }
    return false;
}

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
    thread->frames = malloc(FRAMES * sizeof *thread->frames);
    thread->rows = malloc(FRAMES * sizeof *thread->rows);
    if (!thread->frames || !thread->rows) {
        free(thread->frames);
        free(thread->rows);
        free(thread);
        return NULL;
    }
    thread->node = NONE;
    thread->rows[0] = PSNAP_NONE;
    thread->number = UINT16_MAX;
    return self->threads[slot] = thread;
}

static struct record *new_record(struct valgrind_source *self, enum record_type type)
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
        self->running->node = NONE;
        self->running->depth = self->running->known = 0;
        self->running->has_stored = self->running->has_loaded = false;
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

/* Instructions. */

static void push_frame(struct thread *thread, uint64_t slot, uint64_t back, uint32_t caller)
{
    /* what lies below the stack pointer is dead: left by a longjmp, or an exception */
    while (thread->known && thread->frames[thread->depth % FRAMES].slot <= slot) {
        thread->depth--;
        thread->known--;
    }
    thread->depth++;
    thread->known += thread->known < FRAMES - 1;
    thread->frames[thread->depth % FRAMES] = (struct frame){slot, back, caller};
}

/* Whether a load from `slot` and going on at `pc` is a return; then *caller is what called. */
static bool pop_frame(struct thread *thread, uint64_t slot, uint64_t pc, uint32_t *caller)
{
    for (uint64_t n = 0; n < thread->known && n < SEARCH; n++) {
        const struct frame *frame = &thread->frames[(thread->depth - n) % FRAMES];
        if (frame->slot != slot)
            continue;
        if (frame->back != pc)
            return false;
        *caller = frame->caller;
        thread->returned = slot;
        thread->depth -= n + 1;
        thread->known -= n + 1;
        return true;
    }
    return false;
}

/* Whether a load from `slot` was the return to a call that has been forgotten, which lies above all
 * that have returned. */
static bool pop_forgotten(struct thread *thread, uint64_t slot)
{
    if (thread->known || !thread->depth || slot <= thread->returned)
        return false;
    thread->returned = slot;
    thread->depth--;
    return true;
}

/* Whether going on at `to`, in the middle of another function, is a longjmp (or a landing pad) in
 * one that has called and not been returned to. */
static bool unwind(struct valgrind_source *self, uint32_t to)
{
    const struct psnap_guest_code *code = &self->code;
    const uint32_t function = code->flow.nodes[to].function;
    struct thread *thread = self->running;

    if (code->functions[function].low == code->nodes[to].pc)
        return false; /* a tail call */
    for (uint64_t n = 0; n < thread->known && n < SEARCH; n++) {
        const struct frame *frame = &thread->frames[(thread->depth - n) % FRAMES];
        if (code->flow.nodes[frame->caller].function != function)
            continue;
        thread->depth -= n + 1;
        thread->known -= n + 1;
        return true;
    }
    return false;
}

/* Goes from one instruction to another of the same function, if it is that. */
static enum psnap_status follow(struct valgrind_source *self, uint32_t from, uint32_t to,
                                bool is_known, enum record_type *type, struct psnap_error *error)
{
    const struct psnap_flow_node *nodes = self->code.flow.nodes;

    if (nodes[from].function != nodes[to].function) {
        *type = LEAP;
        return PSNAP_OK;
    }
    *type = STEP;
    if (!is_known && from != self->code.rest && !psnap_flow_add_edge(&self->code.flow, from, to))
        return no_memory(error);
    return PSNAP_OK;
}

/* To the instruction behind `from`. */
static enum psnap_status fall(struct valgrind_source *self, uint32_t from, uint64_t pc,
                              uint8_t size, uint32_t *to, enum record_type *type,
                              struct psnap_error *error)
{
    bool is_known = self->code.nodes[from].fall != NONE;
    enum psnap_status status = PSNAP_OK;

    *to = self->code.nodes[from].fall;
    if (!is_known)
        status = psnap_guest_code_node(&self->code, pc, size, from, to, error);
    if (status)
        return status;
    self->code.nodes[from].fall = *to;
    return follow(self, from, *to, is_known, type, error);
}

/* To an instruction that is not behind `from`. */
static enum psnap_status jump(struct valgrind_source *self, uint32_t from, uint64_t pc,
                              uint8_t size, uint32_t *to, enum record_type *type,
                              struct psnap_error *error)
{
    struct thread *thread = self->running;
    struct psnap_guest_node *node = &self->code.nodes[from];
    bool is_call = thread->has_stored && node->pc != pc, /* not the repetition of a string store */
        is_known = node->jump != NONE && self->code.nodes[node->jump].pc == pc;
    enum psnap_status status = PSNAP_OK;
    uint32_t caller;

    if (!is_call && thread->has_loaded && pop_frame(thread, thread->loaded, pc, &caller)) {
        status = fall(self, caller, pc, size, to, type, error);
        *type = RETURN;
        return status;
    }
    *to = node->jump;
    if (!is_known)
        status = psnap_guest_code_node(&self->code, pc, size, is_call ? NONE : from, to, error);
    if (status)
        return status;
    node = &self->code.nodes[from];
    node->jump = *to;
    if (!is_call && thread->has_loaded && pop_forgotten(thread, thread->loaded)) {
        *type = RESUME;
        return PSNAP_OK;
    }
    if (!is_call) {
        status = follow(self, from, *to, is_known, type, error);
        if (*type == LEAP && unwind(self, *to))
            *type = RETURN;
        return status;
    }
    push_frame(thread, thread->stored, node->pc + node->size, from);
    *type = CALL;
    return PSNAP_OK;
}

static enum psnap_status step(struct valgrind_source *self, uint64_t pc, uint8_t size,
                              struct psnap_error *error)
{
    struct thread *thread = self->running;
    uint32_t from = thread->node, to;
    enum record_type type = LEAP;
    enum psnap_status status;
    struct record *record;

    if (from == NONE)
        status = psnap_guest_code_node(&self->code, pc, size, NONE, &to, error);
    else if (pc == self->code.nodes[from].pc + self->code.nodes[from].size)
        status = fall(self, from, pc, size, &to, &type, error);
    else
        status = jump(self, from, pc, size, &to, &type, error);
    if (status)
        return status;
    thread->node = to;
    thread->has_stored = thread->has_loaded = false;
    record = new_record(self, type);
    record->node = to;
    record->address = thread->depth;
    return PSNAP_OK;
}

/* Lines. */

static const unsigned char *scan_hex(const unsigned char *at, uint64_t *value)
{
    uint64_t sum = 0;

    for (;; at++) {
        unsigned digit = *at - '0';
        if (digit > 9) {
            digit = (unsigned)(*at | 0x20) - 'a' + 10;
            if (digit < 10 || digit > 15)
                break;
        }
        sum = sum << 4 | digit;
    }
    *value = sum;
    return at;
}

static void note_access(struct valgrind_source *self, enum record_type type, uint64_t address,
                        uint16_t size)
{
    struct thread *thread = self->running;
    struct record *record = new_record(self, type);

    record->address = address;
    record->size = size;
    if (type == STORE && size == sizeof(uint64_t)) {
        thread->stored = address;
        thread->has_stored = true;
    } else if (type == LOAD && size == sizeof(uint64_t)) {
        thread->loaded = address;
        thread->has_loaded = true;
    }
}

/* A whole line, which ends in '\n'. What lackey does not print is passed over. */
static enum psnap_status take_line(struct valgrind_source *self, unsigned char *line,
                                   struct psnap_error *error)
{
    unsigned char kind = line[0] == 'I' ? 'I' : line[1];
    const unsigned char *at = line + 3;
    uint64_t address, size = 0;

    if (line[0] == '-' && line[1] == '-') {
        line[strcspn((char *)line, "\n")] = '\0';
        return schedule(self, (char *)line, error);
    }
    if ((line[0] != ' ' && line[0] != 'I') || line[2] != ' ')
        return PSNAP_OK;
    at = scan_hex(at, &address);
    if (*at++ != ',')
        return PSNAP_OK;
    while (*at >= '0' && *at <= '9' && size < 10000)
        size = 10 * size + (*at++ - '0');
    if (*at != '\n' || !size || size >= 10000)
        return PSNAP_OK;
    if (!self->running) { /* Valgrind has not named it */
        enum psnap_status status = run_thread(self, 1, true, error);
        if (status)
            return status;
    }
    if (kind == 'I')
        return step(self, address, (uint8_t)size, error);
    if (self->running->node == NONE)
        return PSNAP_OK;
    if (kind == 'L' || kind == 'M')
        note_access(self, LOAD, address, (uint16_t)size);
    if (kind == 'S' || kind == 'M')
        note_access(self, STORE, address, (uint16_t)size);
    return PSNAP_OK;
}

/* The pipe. */

static void pause_ms(long ms)
{
    const struct timespec time = {0, ms * 1000000};
    nanosleep(&time, NULL);
}

static bool program_has_ended(const struct valgrind_source *self)
{
    siginfo_t about = {0};

    return waitid(P_PID, (id_t)self->pid, &about, WEXITED | WNOHANG | WNOWAIT) != 0 ||
           about.si_pid == self->pid;
}

/* Waits until the program runs, or has ended, and reads its mappings; lets it run on then. */
static enum psnap_status wait_for_program(struct valgrind_source *self, struct psnap_error *error)
{
    int waiting = 0;

    self->is_loaded = true;
    while (ioctl(self->pipe[0], FIONREAD, &waiting) == 0 && waiting <= PIPE_START - PIPE_FREE)
        if (program_has_ended(self))
            return PSNAP_OK; /* it cannot be run, and Valgrind has said why */
        else
            pause_ms(1);
    fcntl(self->pipe[0], F_SETPIPE_SZ, PIPE_BYTES);
    fcntl(self->pipe[0], F_SETFL, O_NONBLOCK);
    return psnap_guest_code_start(&self->code, self->pid, error);
}

/* More text behind what is there; sets has_ended when nothing will come. */
static enum psnap_status read_text(struct valgrind_source *self, struct psnap_error *error)
{
    bool had_ended = false;
    ssize_t n;

    if (!self->is_loaded) {
        enum psnap_status status = wait_for_program(self, error);
        if (status)
            return status;
    }
    memmove(self->text, self->text + self->text_at, self->text_end - self->text_at);
    self->text_end -= self->text_at;
    self->text_at = 0;
    for (;;) {
        n = read(self->pipe[0], self->text + self->text_end, READ_BYTES);
        if (n > 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
            break;
        if (n == 0 || had_ended) {
            self->has_ended = true;
            return PSNAP_OK;
        }
        had_ended = program_has_ended(self); /* its children may keep the pipe open */
        if (!had_ended)
            pause_ms(1);
    }
    if (n < 0)
        return psnap_error_system(error, errno, "cannot read what valgrind prints");
    self->text_end += (size_t)n;
    if (n < READ_BYTES / 4)
        pause_ms(1);
    return PSNAP_OK;
}

/* Reads lines until the batch is full or the program has ended. */
static enum psnap_status fill(struct valgrind_source *self, struct psnap_error *error)
{
    struct batch *batch = &self->batches[self->filling];
    enum psnap_status status = PSNAP_OK;

    batch->count = 0;
    while (!status && batch->count < BATCH && !self->has_ended) {
        unsigned char *line = self->text + self->text_at, *end;
        size_t left = self->text_end - self->text_at;
        end = memchr(line, '\n', left);
        if (!end) {
            if (left >= LINE_BYTES) { /* pass over it, part by part */
                self->text_at = self->text_end;
                self->is_in_long_line = true;
            }
            status = read_text(self, error);
            continue;
        }
        self->text_at += (size_t)(end - line) + 1;
        if (!self->is_in_long_line && end - line > 4)
            status = take_line(self, line, error);
        self->is_in_long_line = false;
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

    thread->at_node = record->node;
    status = psnap_guest_code_row(&self->code, record->node, &thread->at_row, error);
    if (status)
        return status;
    thread->row_depth = record->address;
    at = &thread->rows[thread->row_depth % FRAMES];
    if (record->type == CALL || record->type == LEAP)
        *at = PSNAP_NONE;
    else if (record->type == RESUME)
        *at = thread->at_row;
    if (*at != thread->at_row) {
        count_entries(self, *at, thread->at_row);
        *at = thread->at_row;
    }
    if (self->code.rows[thread->at_row].header == record->node)
        program->blocks[program->loops[thread->at_row].header].executions++;
    return PSNAP_OK;
}

static enum psnap_status deliver_access(struct valgrind_source *self, const struct record *record,
                                        struct psnap_error *error)
{
    enum psnap_status status = psnap_guest_code_ref(
        &self->code, self->delivered->at_node, self->delivered->at_row,
        record->type == LOAD ? PSNAP_LOAD : PSNAP_STORE, record->size, &self->split_ref, error);

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
    enum psnap_status status = PSNAP_OK;
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

static void close_end(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void valgrind_free(struct psnap_source *base)
{
    struct valgrind_source *self = (struct valgrind_source *)base;

    close_end(&self->pipe[0]);
    close_end(&self->pipe[1]);
    for (size_t i = 0; i < THREADS; i++)
        if (self->threads[i]) {
            free(self->threads[i]->frames);
            free(self->threads[i]->rows);
            free(self->threads[i]);
        }
    psnap_guest_code_release(&self->code);
    psnap_program_free(self->base.program);
    free(self->batches[0].records);
    free(self->batches[1].records);
    free(self->text);
    free(self);
}

/* A pipe of PIPE_START bytes, of which PIPE_FREE are not filled with empty lines. */
static enum psnap_status make_pipe(struct valgrind_source *self, struct psnap_error *error)
{
    char lines[PIPE_START - PIPE_FREE];

    memset(lines, '\n', sizeof lines);
    if (pipe2(self->pipe, O_CLOEXEC) != 0 || fcntl(self->pipe[1], F_SETPIPE_SZ, PIPE_START) < 0 ||
        write(self->pipe[1], lines, sizeof lines) != (ssize_t)sizeof lines ||
        fcntl(self->pipe[1], F_SETFD, 0) != 0) /* for Valgrind alone: closed when it has started */
        return psnap_error_system(error, errno, "cannot make a pipe for valgrind");
    return PSNAP_OK;
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
    self->pipe[0] = self->pipe[1] = -1;
    self->base.ops = &ops;
    self->base.program = psnap_program_new();
    for (int i = 0; i < 2; i++) /* a line is three records at most */
        self->batches[i].records = malloc((BATCH + 2) * sizeof *self->batches[i].records);
    self->text = malloc(READ_BYTES + LINE_BYTES);
    if (!self->base.program || !self->batches[0].records || !self->batches[1].records ||
        !self->text)
        status = no_memory(error);
    if (!status)
        status = psnap_guest_code_init(&self->code, self->base.program, error);
    if (!status && !find_valgrind(self->path, sizeof self->path))
        status = psnap_error_set(error, PSNAP_ERROR_UNSUPPORTED,
                                 "valgrind is not installed (Debian package valgrind)");
    if (!status)
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
    struct valgrind_source *self = (struct valgrind_source *)source;
    static const char *const options[] = {"--command-line-only=yes",
                                          "--tool=lackey",
                                          "--trace-mem=yes",
                                          "--basic-counts=no",
                                          "--trace-sched=yes",
                                          "--child-silent-after-fork=yes",
                                          "--vgdb=no",
                                          "-q"};
    const size_t option_count = sizeof options / sizeof *options;
    size_t count = 0;
    char **command;

    while (argv[count])
        count++;
    command = malloc((option_count + count + 4) * sizeof *command);
    if (!command)
        return NULL;
    snprintf(self->log_option, sizeof self->log_option, "--log-fd=%d", self->pipe[1]);
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

void psnap_valgrind_watch(struct psnap_source *source, pid_t pid)
{
    struct valgrind_source *self = (struct valgrind_source *)source;

    close_end(&self->pipe[1]);
    self->pid = pid;
    self->has_ended = !pid;
}

void psnap_valgrind_drain(struct psnap_source *source)
{
    struct valgrind_source *self = (struct valgrind_source *)source;
    struct psnap_error error;

    self->is_loaded = true; /* its mappings do not matter */
    fcntl(self->pipe[0], F_SETPIPE_SZ, PIPE_BYTES);
    fcntl(self->pipe[0], F_SETFL, O_NONBLOCK);
    while (!self->has_ended) {
        self->text_at = self->text_end;
        if (read_text(self, &error))
            break;
    }
}
