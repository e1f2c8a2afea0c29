/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads taken apart and put together in turn, against the obvious way: queues
 * of all accesses, from which rounds are dealt.
 */
/* cmocka wants these first */
#include "formats/base/stream.h"
#include "tests/unit/vectors.h"
#include "tests/unit/test.h"

enum { THREADS = 7, MOST = 20000 };

static struct psnap_access stream[MOST], wanted[MOST];

/* Deals wanted[] from stream[] in rounds; threads in order of their numbers. */
static size_t deal(size_t n)
{
    size_t at[THREADS] = {0}, out = 0;

    while (out < n)
        for (uint16_t thread = 0; thread < THREADS; thread++) {
            while (at[thread] < n && stream[at[thread]].thread != thread)
                at[thread]++;
            if (at[thread] < n)
                wanted[out++] = stream[at[thread]++];
        }
    return out;
}

static struct psnap_source *open_all(size_t n, struct psnap_program *program)
{
    struct psnap_source *lanes[THREADS];

    for (uint16_t thread = 0; thread < THREADS; thread++)
        lanes[thread] = psnap_thread_source_new(vector_source_new(stream, n, program), thread);
    return psnap_interleave_source_new(lanes, THREADS, program);
}

TEST(test_turns)
{
    struct psnap_program *program = psnap_program_new();
    struct psnap_error error;

    srand(1);
    for (int round = 0; round < 40; round++) {
        const size_t n = round < 3 ? (size_t)round : (size_t)(rand() % MOST);
        const size_t block_size = 1 + (size_t)(rand() % 3000);
        struct psnap_access *block = calloc(block_size, sizeof *block);
        uint16_t thread = 0;
        size_t seen = 0;
        ssize_t got;
        for (size_t i = 0; i < n; i++) {
            if (rand() % 100 == 0 || round % 2)
                thread = (uint16_t)(rand() % THREADS);
            if (round == 10)
                thread = 3; /* others are empty */
            stream[i] = (struct psnap_access){.address = i, .size = 4, .thread = thread};
        }
        struct psnap_source *source = open_all(n, program);
        assert_non_null(source);
        assert_ptr_equal(source->program, program);
        assert_int_equal(deal(n), n);
        while ((got = psnap_source_next(source, block, block_size, &error)) > 0)
            for (ssize_t i = 0; i < got; i++, seen++) {
                assert_true(seen < n);
                assert_int_equal(block[i].address, wanted[seen].address);
                assert_int_equal(block[i].thread, wanted[seen].thread);
            }
        assert_int_equal(got, 0);
        assert_int_equal(seen, n);
        psnap_source_free(source);
        free(block);
    }
    psnap_program_free(program);
}
