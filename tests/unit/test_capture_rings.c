/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The collector's side of the rings, the test being the program: at any two instructions of a
 * thread's it may be held up for as long as it takes to read what is there. Rooms that are taken
 * and not marked yet, in chunks that are read in parts (behind a barrier) or that a signal handler
 * has left behind, in memory that is fresh or has been used before.
 */
#include "tests/unit/test.h"

#include <sys/mman.h>
#include <unistd.h>

#include "capture/capture.h"
#include "formats/base/capture_table.h"
#include "formats/base/layout.h"
#include "formats/base/program.h"
#include "formats/base/rng.h"

#define IMAGE UINT64_C(0x555555554000)
#define PIECES (IMAGE + 0x1000)
#define DATA (IMAGE + 0x10000)

enum { RECORD_WORDS = 2, BLOCK = 8192 };

static const uint64_t image[] = {PSNAP_EVENT_IMAGE, IMAGE, IMAGE + (1 << 24)};

/* A program with one ring in use, and what its accesses are to be: the next of DATA, as they are
 * recorded one by one. */
struct recorded {
    struct psnap_source *source;
    struct psnap_session *session;
    struct psnap_ring *ring;
    uint64_t written, seen;
};

/* Of a record that is to come. */
struct room {
    uint64_t *at;
    uint64_t number;
};

/* ------------------------------------------------------------- the program */

static uint64_t *chunk_of(const struct psnap_ring *ring)
{
    return ring->data + ring->produced % PSNAP_RING_CHUNKS * PSNAP_CHUNK_WORDS;
}

static void say(struct recorded *program, const uint64_t *words, size_t count)
{
    struct psnap_ring *control = psnap_session_ring(program->session, 0);

    memcpy(control->cursor, words, count * sizeof *words);
    control->cursor += count;
}

static void begin_ring(struct psnap_session *session, uint32_t index)
{
    struct psnap_ring *ring = psnap_session_ring(session, index);

    ring->data = psnap_ring_words(ring);
    ring->cursor = ring->data;
    ring->state = PSNAP_RING_ACTIVE;
}

/* A module of one block with one reference, whose piece begins with PIECES. */
static void say_module(struct recorded *program)
{
    static const struct {
        struct psnap_table_header header;
        struct psnap_table_loop function;
        struct psnap_table_block block;
        struct psnap_table_ref ref;
        struct psnap_table_piece piece;
        char strings[8];
    } table = {
        .header = {.magic = PSNAP_CAPTURE_MAGIC,
                   .abi = PSNAP_CAPTURE_ABI,
                   .loops = 1,
                   .blocks = 1,
                   .refs = 1,
                   .pieces = 1,
                   .string_bytes = sizeof table.strings},
        .function = {.id = 1, .src_id = 1, .parent = PSNAP_NONE},
        .ref = {.op = PSNAP_REF_PLAIN, .size = 8, .lanes = 1},
        .piece = {.refs = 1, .words = RECORD_WORDS},
        .strings = "\0main",
    };
    const uint64_t module[] = {PSNAP_EVENT_MODULE, PIECES, 0, 1, 0};
    uint64_t words[2 + (sizeof table + 7) / 8] = {PSNAP_EVENT_DATA, sizeof table};

    memcpy(words + 2, &table, sizeof table);
    say(program, image, sizeof image / sizeof *image);
    say(program, words, sizeof words / sizeof *words);
    say(program, module, sizeof module / sizeof *module);
}

static uint64_t *take_words(struct recorded *program, uint64_t words)
{
    uint64_t *room = program->ring->cursor;

    program->ring->cursor += words;
    assert_true(program->ring->cursor <= chunk_of(program->ring) + PSNAP_CHUNK_WORDS);
    return room;
}

static struct room take_room(struct recorded *program)
{
    return (struct room){take_words(program, RECORD_WORDS), program->written++};
}

static void fill(struct room room)
{
    room.at[0] = -(uint64_t)RECORD_WORDS;
    room.at[1] = DATA + 8 * room.number;
    __atomic_store_n(&room.at[0], PIECES, __ATOMIC_RELEASE);
}

static void put(struct recorded *program)
{
    fill(take_room(program));
}

/* A batch of one record. */
static uint64_t *open_batch(struct recorded *program)
{
    uint64_t *batch = take_words(program, PSNAP_RECORD_WORDS_MAX);

    batch[0] = -(uint64_t)PSNAP_RECORD_WORDS_MAX;
    fill((struct room){batch + 1, program->written++});
    return batch;
}

static void close_batch(uint64_t *batch)
{
    batch[1 + RECORD_WORDS] = PSNAP_GAP + PSNAP_RECORD_WORDS_MAX - 1 - RECORD_WORDS;
    __atomic_store_n(&batch[0], PSNAP_GAP + 1, __ATOMIC_RELEASE);
}

/* The room behind its record is given back, and may not be zero in what was compiled before. */
static void put_batch(struct recorded *program)
{
    uint64_t *batch = open_batch(program);

    close_batch(batch);
    program->ring->cursor = batch + 1 + RECORD_WORDS;
}

static void leave_chunk(struct recorded *program)
{
    struct psnap_ring *ring = program->ring;

    ring->used_words[ring->produced % PSNAP_RING_CHUNKS] =
        (uint32_t)(ring->cursor - chunk_of(ring));
    __atomic_store_n(&ring->produced, ring->produced + 1, __ATOMIC_RELEASE);
    ring->cursor = chunk_of(ring);
}

/* Another module comes where one was: the ring is to be read as far as it is now. */
static void say_reuse(struct recorded *program)
{
    const struct psnap_ring *ring = program->ring;
    const uint64_t reuse[] = {PSNAP_EVENT_REUSE, 1, 0,
                              ring->produced * PSNAP_CHUNK_WORDS +
                                  (uint64_t)(ring->cursor - chunk_of(ring))};

    say(program, reuse, sizeof reuse / sizeof *reuse);
    say(program, image, sizeof image / sizeof *image);
}

/* Another thread begins, in a ring of its own, behind what this one has done, whose ring is
 * returned. */
static struct psnap_ring *begin_thread(struct recorded *program)
{
    struct psnap_ring *before = program->ring;
    const uint64_t thread[] = {PSNAP_EVENT_THREAD, 1, 2,
                               before->produced * PSNAP_CHUNK_WORDS +
                                   (uint64_t)(before->cursor - chunk_of(before))};

    program->session->rings_used = 3;
    program->ring = psnap_session_ring(program->session, 2);
    program->ring->thread = 1;
    begin_ring(program->session, 2);
    say(program, thread, sizeof thread / sizeof *thread);
    return before;
}

/* ------------------------------------------------------------- what comes of it */

/* The next accesses are so many. */
static void expect(struct recorded *program, ssize_t count)
{
    static struct psnap_access block[BLOCK];
    struct psnap_place place = {PSNAP_GROUP_IMAGE, 0, DATA - IMAGE};
    struct psnap_error error = {0};
    ssize_t got = 0;

    do {
        const ssize_t n = psnap_source_next(program->source, block, BLOCK, &error);
        if (n < 0)
            fail_msg("%s", error.message);
        got += n;
        assert_true(got <= count && (n || !count));
        for (ssize_t i = 0; i < n; i++, program->seen++)
            assert_int_equal(block[i].address, psnap_layout_join(place) + 8 * program->seen);
    } while (got < count);
}

static int begin(void **state)
{
    static struct recorded program;
    struct psnap_error error = {0};

    alarm(60); /* what is not seen would be waited for */
    program = (struct recorded){.source = psnap_capture_open(-1, &error)};
    assert_non_null(program.source);
    program.session = mmap(NULL, PSNAP_SESSION_BYTES(PSNAP_RINGS_LEAST), PROT_READ | PROT_WRITE,
                           MAP_SHARED, psnap_capture_fd(program.source), 0);
    assert_true(program.session != MAP_FAILED);
    program.ring = psnap_session_ring(program.session, 1);
    program.session->rings_used = 2;
    program.session->program_pid = (uint32_t)getpid();
    begin_ring(program.session, 0);
    begin_ring(program.session, 1);
    say_module(&program);
    *state = &program;
    return 0;
}

/* All that was written has been read. */
static int end(void **state)
{
    struct recorded *program = *state;

    assert_int_equal(program->seen, program->written);
    program->session->closing = 1;
    expect(program, 0);
    munmap(program->session, PSNAP_SESSION_BYTES(PSNAP_RINGS_LEAST));
    psnap_source_free(program->source);
    return 0;
}

/* From now on records are in memory that has been used before; behind the last one of a chunk is
 * room that a batch has given back. */
static void use_all_chunks(struct recorded *program)
{
    for (int i = 0; i < PSNAP_RING_CHUNKS; i++) {
        for (int k = 0; k < 9; k++)
            put(program);
        put_batch(program);
        leave_chunk(program);
        expect(program, 10);
    }
}

/* The chunk that the thread is writing is read, up to a room that it has not marked. */
static void read_to_unmarked(struct recorded *program, int records)
{
    struct room room;

    for (int i = 0; i < records; i++)
        put(program);
    room = take_room(program);
    say_reuse(program);
    expect(program, records);
    fill(room);
    expect(program, 1);
    put(program);
    leave_chunk(program);
    expect(program, 1);
}

TEST_WITHIN(begin, end, unmarked)
{
    read_to_unmarked(*state, 5);
}

TEST_WITHIN(begin, end, unmarked_again)
{
    for (int records = 1; records < 13; records++) {
        use_all_chunks(*state);
        read_to_unmarked(*state, records);
    }
}

/* The chunk that was read in part is left behind as it was, and there is more behind it. */
TEST_WITHIN(begin, end, next_chunk)
{
    struct recorded *program = *state;

    put(program);
    say_reuse(program);
    expect(program, 1);
    leave_chunk(program);
    put(program);
    say_reuse(program);
    expect(program, 1);
}

/* What a thread does first comes before what the others go on with, in a chunk that was left. */
TEST_WITHIN(begin, end, thread_begins)
{
    struct recorded *program = *state;
    struct psnap_ring *other;

    put(program);
    put(program);
    other = begin_thread(program);
    put(program);
    program->ring = other;
    put(program);
    leave_chunk(program);
    expect(program, 4);
}

/* A thread that does nothing yet holds up no chunk. */
TEST_WITHIN(begin, end, thread_waits)
{
    struct recorded *program = *state;
    struct psnap_ring *other = begin_thread(program), *thread = program->ring;

    program->ring = other;
    put(program);
    leave_chunk(program);
    expect(program, 1);
    program->ring = thread;
    put(program);
    leave_chunk(program);
    expect(program, 1);
}

/* A signal handler has put its record behind a batch that was open. */
TEST_WITHIN(begin, end, gap)
{
    struct recorded *program = *state;
    uint64_t *batch = open_batch(program);

    put(program);
    close_batch(batch);
    put(program);
    say_reuse(program);
    expect(program, 3);
}

/* The batch is closed when the chunk is read up to its end, and then gives room back. */
TEST_WITHIN(begin, end, given_back)
{
    struct recorded *program = *state;
    uint64_t *batch;

    put(program);
    batch = open_batch(program);
    say_reuse(program);
    expect(program, 1);
    close_batch(batch);
    expect(program, 1);
    batch[1 + RECORD_WORDS] = 0;
    program->ring->cursor = batch + 1 + RECORD_WORDS;
    put(program);
    leave_chunk(program);
    expect(program, 1);
}

/* A signal handler that came between the room and its mark has left the chunk behind. */
static void leave_unmarked(struct recorded *program)
{
    struct room room;

    put(program);
    room = take_room(program);
    put(program);
    leave_chunk(program);
    expect(program, 1);
    fill(room);
    expect(program, 2);
}

TEST_WITHIN(begin, end, left_unmarked)
{
    leave_unmarked(*state);
    use_all_chunks(*state);
    leave_unmarked(*state);
}

/* The thread has ended in that handler. */
TEST_WITHIN(begin, end, never_marked)
{
    struct recorded *program = *state;

    put(program);
    take_words(program, PSNAP_RECORD_WORDS_MAX);
    put(program);
    leave_chunk(program);
    program->ring->state = PSNAP_RING_FINISHED;
    expect(program, 2);
}

/* A jump out of a signal handler has left a batch, and the thread goes on: what is complete in it
 * is read, what was begun is counted. */
TEST_WITHIN(begin, end, left_open)
{
    struct recorded *program = *state;
    struct psnap_capture_report report;
    uint64_t *batch;

    put(program);
    batch = open_batch(program);
    batch[1 + RECORD_WORDS + 1] = DATA; /* of a record that has no mark yet */
    put(program);
    leave_chunk(program);
    program->ring->state = PSNAP_RING_FINISHED;
    expect(program, 3);
    report = psnap_capture_report(program->source);
    assert_int_equal(report.cut_off, 1);
    assert_int_equal(report.accesses_lost, 1);
}

/* As the runtime does when it opens a chunk. */
static uint32_t begin_chunk(struct recorded *program)
{
    const uint32_t begin = program->ring->begins[program->ring->produced % PSNAP_RING_CHUNKS];

    program->ring->cursor = chunk_of(program->ring) + begin;
    return begin;
}

/* Both chunks, with a record each. */
static void fill_ring(struct recorded *program)
{
    for (int i = 0; i < PSNAP_RING_CHUNKS; i++) {
        begin_chunk(program);
        put(program);
        leave_chunk(program);
        expect(program, 1);
    }
}

/* A signal handler fills the ring while a batch is open, in which its thread goes on to write when
 * the handler has returned: until it is closed nothing else is there. */
TEST_WITHIN(begin, end, written_late)
{
    struct recorded *program = *state;
    uint64_t *batch;

    put(program);
    batch = open_batch(program);
    for (int i = 0; i < PSNAP_RING_CHUNKS; i++) {
        put(program);
        leave_chunk(program);
    }
    expect(program, 2 + PSNAP_RING_CHUNKS);
    for (int i = 0; i < 3; i++) {
        for (int w = 1; w < PSNAP_RECORD_WORDS_MAX; w++)
            batch[w] = DATA;
        assert_true(begin_chunk(program) > RECORD_WORDS + PSNAP_RECORD_WORDS_MAX);
        fill_ring(program);
    }
    close_batch(batch);
    fill_ring(program);
    assert_int_equal(begin_chunk(program), 0);
    assert_int_equal(batch[1], 0);
    fill_ring(program);
    assert_int_equal(psnap_capture_report(program->source).late, 1);
}

/* Nearly all of a chunk is in front of a batch: of one chunk, not of both. */
TEST_WITHIN(begin, end, late_at_end)
{
    struct recorded *program = *state;
    uint64_t *batches[PSNAP_RING_CHUNKS];

    for (int n = 0; n < PSNAP_RING_CHUNKS; n++) {
        for (int i = 0; i < 64500; i++)
            put(program);
        batches[n] = open_batch(program);
        leave_chunk(program);
        begin_chunk(program);
        leave_chunk(program);
        expect(program, 64501);
        assert_int_equal(*batches[n], n == 0 ? PSNAP_KEPT : 0);
        assert_int_equal(begin_chunk(program) > 0, n == 0);
        put(program);
        leave_chunk(program);
        expect(program, 1);
        begin_chunk(program);
    }
    close_batch(batches[0]);
    fill_ring(program);
    assert_int_equal(psnap_capture_report(program->source).late, 1);
}

/* Random bytes somewhere in a ring, or in what says how far it may be read. */
static void corrupt(struct recorded *program, struct psnap_rng *rng)
{
    const size_t places[] = {offsetof(struct psnap_ring, cursor),
                             offsetof(struct psnap_ring, aside),
                             offsetof(struct psnap_ring, data),
                             offsetof(struct psnap_ring, produced),
                             offsetof(struct psnap_ring, used_words),
                             offsetof(struct psnap_ring, state),
                             offsetof(struct psnap_ring, frame),
                             offsetof(struct psnap_ring, stack_low),
                             offsetof(struct psnap_ring, stack_high),
                             offsetof(struct psnap_ring, local),
                             offsetof(struct psnap_ring, local_low),
                             offsetof(struct psnap_ring, local_high),
                             offsetof(struct psnap_ring, consumed),
                             PSNAP_RING_HEADER_BYTES + 8 * psnap_rng_below(rng, 64),
                             PSNAP_RING_HEADER_BYTES + 8 * psnap_rng_below(rng, 64),
                             PSNAP_RING_HEADER_BYTES + 8 * psnap_rng_below(rng, PSNAP_RING_WORDS)};
    char *at = (char *)psnap_session_ring(program->session, (uint32_t)psnap_rng_below(rng, 2)) +
               places[psnap_rng_below(rng, sizeof places / sizeof *places)];
    uint64_t word;

    memcpy(&word, at, sizeof word);
    word = psnap_rng_below(rng, 3) ? word ^ UINT64_C(1) << psnap_rng_below(rng, 64)
                                   : psnap_rng_next(rng);
    memcpy(at, &word, sizeof word);
}

/* What a program that writes over its rings has done ends in an error or in accesses, soon. */
TEST(corrupt_rings)
{
    static struct psnap_access block[BLOCK];
    unsigned refused = 0;
    struct psnap_rng rng;

    psnap_rng_init(&rng, 1);
    for (int seed = 0; seed < 400; seed++) {
        struct psnap_error error = {0};
        struct recorded *program;
        ssize_t n;
        begin(state);
        program = *state;
        for (uint64_t i = psnap_rng_below(&rng, 100); i > 0; i--)
            put(program);
        if (psnap_rng_below(&rng, 2))
            leave_chunk(program);
        for (uint64_t i = psnap_rng_below(&rng, 3); i > 0; i--)
            put_batch(program);
        if (psnap_rng_below(&rng, 2))
            say_reuse(program);
        for (uint64_t i = psnap_rng_below(&rng, 4); i > 0; i--)
            corrupt(program, &rng);
        program->session->closing = 1;
        do
            n = psnap_source_next(program->source, block, BLOCK, &error);
        while (n > 0);
        refused += n < 0;
        assert_true(n == 0 || error.message[0]);
        munmap(program->session, PSNAP_SESSION_BYTES(PSNAP_RINGS_LEAST));
        psnap_source_free(program->source);
    }
    assert_true(refused > 100 && refused < 300);
}
