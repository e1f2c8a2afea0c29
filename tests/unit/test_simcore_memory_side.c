/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a machine asks of its memory, request by request: small machines of which it can be said by
 * hand, and others whose requests are as many as the simulator counts.
 */
#include "tests/unit/test_simcore_support.h"
#include "tests/unit/vectors.h"

struct request {
    char kind;
    uint64_t address;
    uint8_t size;
};

/* Runs accesses through a machine and compares what is asked of memory. */
static void expect(const struct psnap_machine *machine, const struct psnap_access *accesses,
                   size_t n, const struct request *wanted, size_t wanted_count)
{
    struct psnap_error error;
    struct psnap_memory_side side;
    struct psnap_sink *to = vector_sink_new();
    struct psnap_sink *sink = psnap_memory_side_new(machine, to, &side, &error);
    const struct psnap_access *got;
    size_t count;

    assert_non_null(sink);
    assert_int_equal(psnap_sink_put(sink, accesses, n, &error), PSNAP_OK);
    assert_int_equal(psnap_sink_finish(sink, &error), PSNAP_OK);
    got = vector_sink_data(to, &count);
    assert_int_equal(count, wanted_count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(got[i].kind, wanted[i].kind == 'R' ? PSNAP_LOAD : PSNAP_STORE);
        assert_int_equal(got[i].address, wanted[i].address);
        assert_int_equal(got[i].size, wanted[i].size);
    }
    assert_int_equal(side.accesses, n);
    psnap_sink_free(sink);
    psnap_sink_free(to);
}

TEST(lines_and_write_backs)
{
    const struct psnap_machine machine = machine_of("64:64:1"); /* one line */
    const struct psnap_access accesses[] = {{0x1004, 0, 4, PSNAP_STORE, 0},
                                            {0x1008, 0, 4, PSNAP_LOAD, 0},
                                            {0x203c, 1, 8, PSNAP_LOAD, 0}, /* two lines */
                                            {0x2040, 1, 8, PSNAP_ATOMIC, 0},
                                            {0x3000, 1, 64, PSNAP_STORE, 0}};
    const struct request wanted[] = {{'R', 0x1000, 64}, {'W', 0x1000, 64}, {'R', 0x2000, 64},
                                     {'R', 0x2040, 64}, {'W', 0x2040, 64}, {'R', 0x3000, 64}};

    expect(&machine, accesses, COUNT(accesses), wanted, COUNT(wanted));
}

/* 0x2000 takes the place of 0x1040 in the first level while the second one has the line: it becomes
 * dirty there, and goes to memory whole. */
TEST(long_lines_come_in_pieces)
{
    const struct psnap_machine machine = machine_of("64:32:2,128:128:1");
    const struct psnap_access accesses[] = {{0x1044, 0, 4, PSNAP_STORE, 0},
                                            {0x1078, 0, 8, PSNAP_LOAD, 0},
                                            {0x2000, 0, 8, PSNAP_LOAD, 0},
                                            {0x2040, 0, 8, PSNAP_LOAD, 0}};
    const struct request wanted[] = {{'R', 0x1000, 64}, {'R', 0x1040, 64}, {'W', 0x1000, 64},
                                     {'W', 0x1040, 64}, {'R', 0x2000, 64}, {'R', 0x2040, 64}};

    expect(&machine, accesses, 2, wanted, 2);
    expect(&machine, accesses, COUNT(accesses), wanted, COUNT(wanted));
}

TEST(stores_that_go_through)
{
    struct psnap_machine machine = machine_of("64:64:1");
    const struct psnap_access accesses[] = {{0x1004, 0, 4, PSNAP_STORE, 0},
                                            {0x1008, 0, 4, PSNAP_LOAD, 0},
                                            {0x103c, 0, 8, PSNAP_STORE, 0}};
    const struct request wanted[] = {
        {'W', 0x1004, 4}, {'R', 0x1000, 64}, {'W', 0x1040, 4}, {'W', 0x103c, 4}};

    machine.levels[0].write_through = machine.levels[0].no_write_allocate = true;
    expect(&machine, accesses, COUNT(accesses), wanted, COUNT(wanted));
}

/* Reads are the misses of the last level, where no access is in two lines; writes of a single
 * level are its write-backs. */
TEST(counts_of_the_simulator)
{
    static const char *const machines[] = {"1K:64:2", "1K:64:2,4K:64:4", "512:32:full,8K:128:4"};
    struct psnap_access accesses[5000];
    struct psnap_rng rng;

    psnap_rng_init(&rng, 3);
    for (size_t i = 0; i < COUNT(accesses); i++)
        accesses[i] = (struct psnap_access){4096 + 8 * psnap_rng_below(&rng, 2500), 0, 8,
                                            (uint8_t)psnap_rng_below(&rng, 2), 0};
    for (size_t m = 0; m < COUNT(machines); m++) {
        const struct psnap_machine machine = machine_of(machines[m]);
        const size_t last = machine.level_count - 1;
        const struct psnap_tally tally = tally_of(&machine, accesses, COUNT(accesses));
        struct psnap_memory_side side;
        struct psnap_sink *to = null_sink_new();
        struct psnap_sink *sink = psnap_memory_side_new(&machine, to, &side, NULL);

        assert_int_equal(psnap_sink_put(sink, accesses, COUNT(accesses), NULL), PSNAP_OK);
        assert_int_equal(side.reads, psnap_tally_reached(&tally, last) - tally.hits[last]);
        assert_int_equal(side.read_bytes, side.reads * machine.levels[last].line_bytes);
        assert_true(last ? side.writes >= tally.write_backs[last]
                         : side.writes == tally.write_backs[0]);
        assert_true(side.writes > 0);
        psnap_sink_free(sink);
        psnap_sink_free(to);
    }
}

static enum psnap_status fail_put(struct psnap_sink *self, const struct psnap_access *block,
                                  size_t n, struct psnap_error *error)
{
    (void)self, (void)block, (void)n;
    return psnap_error_set(error, PSNAP_ERROR_IO, "the disk is full");
}

TEST(a_failure_behind_it_is_told)
{
    static const struct psnap_sink_ops ops = {.put = fail_put};
    const struct psnap_machine machine = machine_of("64:64:1");
    const struct psnap_access access = {0x1004, 0, 4, PSNAP_STORE, 0};
    struct psnap_sink to = {&ops};
    struct psnap_memory_side side;
    struct psnap_error error;
    struct psnap_sink *sink = psnap_memory_side_new(&machine, &to, &side, &error);

    assert_int_equal(psnap_sink_put(sink, &access, 1, &error), PSNAP_ERROR_IO);
    assert_string_equal(error.message, "the disk is full");
    psnap_sink_free(sink);
}
