/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records of nests against the loops that they stand for, written out in C: a triangle
 * with a row that is skipped, a value that depends on the way taken, a partial last
 * iteration and an exit in the middle, as one record and cut in two at each place where it can be.
 * Then with words changed, in the ring and in the table: an error or a stream, and an end.
 */
#include "tests/unit/test.h"

#include "tests/unit/test_capture_support.h"

#define DATA (IMAGE + 0x10000)

/*
 *     for (i = 0;; i++) {                 level 0: its iterations are known only when it is left
 *         touch(ref 0, DATA + 64 * i);
 *         for (j = 0; j < 4; j++) {       level 1
 *             if (j == i) first = 1; else first = i + j;
 *             for (k = first; k < 9; k++)      innermost; its last iteration is half of one
 *                 { touch(ref 1, DATA + 4096 * j + 8 * k); touch(ref 2, DATA + 4096 * i - 8 * k); }
 *         }
 *         if (...) break;                 exit
 *         touch(ref 3, DATA + 8 * i)
 *     }
 */
enum {
    WORDS = PSNAP_NEST_HEADER_WORDS + 4 + 1, /* two levels, DATA */
    BASE = WORDS - 1,
    ZERO = WORDS, /* constants */
    ONE,
    FIRST, /* which is set */
    EIGHT,
    PAGE,
    LINE,
    NINE,
    MINUS_EIGHT,
    THREE,
    CONSTANTS_END,
    I = CONSTANTS_END, /* of level 0 */
    OWN,
    LAST,
    I_PAGE,
    J, /* of level 1 */
    IS_EQUAL,
    SUM,
    J_PAGE,
    IS_LESS,
    COUNT, /* computed where FIRST has been set */
    FIRST_BYTES,
    START,
    DOWN_BYTES,
    DOWN,
    VALUES_END
};

enum { PIECE_OWN, PIECE_UP, PIECE_DOWN, PIECE_LAST, AGAIN_0, AGAIN_1, EXIT, GOING_ON, PIECES_END };
enum { STEP_ENTER_1 = 2, STEP_RUN = 8, STEP_AGAIN_1 = 12, STEP_EXIT = 13, STEP_AGAIN_0 = 15 };

static const struct psnap_table_ref refs[] = {
    {.op = PSNAP_REF_PLAIN, .size = 8, .lanes = 1, .block = 1},
    {.op = PSNAP_REF_PLAIN, .size = 8, .lanes = 1, .block = 2},
    {.op = PSNAP_REF_PLAIN, .size = 4, .lanes = 1, .block = 2, .kind = 1},
    {.op = PSNAP_REF_PLAIN, .size = 2, .lanes = 1, .block = 3},
};

static const struct psnap_table_piece pieces[PIECES_END] = {
    [PIECE_OWN] = {.first_ref = 0, .refs = 1, .words = 2, .block = 1},
    [PIECE_UP] = {.first_ref = 1, .refs = 1, .words = 2, .block = 2},
    [PIECE_DOWN] = {.first_ref = 2, .refs = 1, .words = 2, .block = PSNAP_NONE},
    [PIECE_LAST] = {.first_ref = 3, .refs = 1, .words = 2, .block = 3},
    [AGAIN_0] = {.words = WORDS, .block = PSNAP_NONE, .last = STEP_AGAIN_0, .nest = 1},
    [AGAIN_1] = {.words = WORDS, .block = PSNAP_NONE, .last = STEP_AGAIN_1, .nest = 1},
    [EXIT] = {.words = WORDS, .block = PSNAP_NONE, .last = STEP_EXIT, .nest = 1},
    [GOING_ON] = {.words = WORDS, .block = PSNAP_NONE, .last = PSNAP_NONE, .nest = 1},
};

static const struct psnap_table_hoist hoists[] = {
    {.first_piece = PIECE_OWN, .pieces = 1, .first_move = 0, .words = VALUES_END, .nest = 1},
    {.first_piece = PIECE_UP, .pieces = 2, .first_move = 1, .words = VALUES_END, .nest = 1},
    {.first_piece = PIECE_LAST, .pieces = 1, .first_move = 3, .words = VALUES_END, .nest = 1},
};

static const struct psnap_table_move moves[] = {
    {.base = OWN},
    {.base = START, .stride = 8},
    {.base = DOWN, .stride = -8},
    {.base = LAST},
};

static const struct psnap_table_value values[VALUES_END - WORDS] = {
    [ONE - WORDS] = {PSNAP_VALUE_CONSTANT, 64, 1, 0},
    [ZERO - WORDS] = {PSNAP_VALUE_CONSTANT, 64, 0, 0},
    [FIRST - WORDS] = {PSNAP_VALUE_CONSTANT, 64, 0, 0},
    [EIGHT - WORDS] = {PSNAP_VALUE_CONSTANT, 64, 8, 0},
    [PAGE - WORDS] = {PSNAP_VALUE_CONSTANT, 64, 4096, 0},
    [LINE - WORDS] = {PSNAP_VALUE_CONSTANT, 64, 64, 0},
    [NINE - WORDS] = {PSNAP_VALUE_CONSTANT, 64, 9, 0},
    [MINUS_EIGHT - WORDS] = {PSNAP_VALUE_CONSTANT, 64, (uint32_t)-8, UINT32_MAX},
    [THREE - WORDS] = {PSNAP_VALUE_CONSTANT, 64, 3, 0},
    [I - WORDS] = {PSNAP_VALUE_RECURRENCE, 64, ZERO, ONE},
    [OWN - WORDS] = {PSNAP_VALUE_RECURRENCE, 64, BASE, LINE},
    [LAST - WORDS] = {PSNAP_VALUE_RECURRENCE, 64, BASE, EIGHT},
    [I_PAGE - WORDS] = {PSNAP_VALUE_RECURRENCE, 64, BASE, PAGE},
    [J - WORDS] = {PSNAP_VALUE_RECURRENCE, 64, ZERO, ONE},
    [IS_EQUAL - WORDS] = {PSNAP_VALUE_EQ, 64, I, J},
    [SUM - WORDS] = {PSNAP_VALUE_ADD, 64, I, J},
    [J_PAGE - WORDS] = {PSNAP_VALUE_RECURRENCE, 64, BASE, PAGE},
    [IS_LESS - WORDS] = {PSNAP_VALUE_SLT, 64, J, THREE},
    [COUNT - WORDS] = {PSNAP_VALUE_UMAX, 64, FIRST, NINE},
    [FIRST_BYTES - WORDS] = {PSNAP_VALUE_MUL, 64, FIRST, EIGHT},
    [START - WORDS] = {PSNAP_VALUE_ADD, 64, J_PAGE, FIRST_BYTES},
    [DOWN_BYTES - WORDS] = {PSNAP_VALUE_MUL, 64, FIRST, MINUS_EIGHT},
    [DOWN - WORDS] = {PSNAP_VALUE_ADD, 64, I_PAGE, DOWN_BYTES},
};

static const struct psnap_table_step steps[] = {
    {PSNAP_STEP_ENTER, 0, I - WORDS, J - I, 0},
    {PSNAP_STEP_RUN, 0, 0, 0, 0},
    {PSNAP_STEP_ENTER, 1, J - WORDS, COUNT - J, 0},
    {PSNAP_STEP_BRANCH, 1, IS_EQUAL, 4, 6},
    {PSNAP_STEP_SET, 1, FIRST, ONE, 0},
    {PSNAP_STEP_GOTO, 1, 7, 0, 0},
    {PSNAP_STEP_SET, 1, FIRST, SUM, 0},
    {PSNAP_STEP_COMPUTE, 1, COUNT - WORDS, VALUES_END - COUNT, 0},
    {PSNAP_STEP_RUN, 1, 1, COUNT, 1},
    {PSNAP_STEP_BRANCH, 1, IS_LESS, 12, 10},
    {PSNAP_STEP_GOTO, 1, 13, 0, 0},
    {PSNAP_STEP_GOTO, 1, 13, 0, 0}, /* nothing leads here */
    {PSNAP_STEP_AGAIN, 1, 2, 0, 0},
    {PSNAP_STEP_GOTO, 0, 14, 0, 0},
    {PSNAP_STEP_RUN, 0, 2, 0, 0},
    {PSNAP_STEP_AGAIN, 0, 0, 0, 0},
};

static const struct psnap_table_nest nests[] = {{
    .levels = 2,
    .words = WORDS,
    .values = VALUES_END - WORDS,
    .constants = CONSTANTS_END - WORDS,
    .steps = sizeof steps / sizeof *steps,
}};

enum { ACCESSES_MAX = 20000, OUTER = 5, BLOCKS = 4 };
static struct table table;
static uint64_t ring[4 * WORDS];
static size_t ring_words;
static struct psnap_access expected[ACCESSES_MAX];
static size_t expected_count;
static uint64_t executions[BLOCKS];
static size_t before[OUTER][4][10]; /* accesses before an iteration of the innermost loop */

static void make_table(void)
{
    static const char strings[8] = "\0main";
    static const struct psnap_table_block blocks[BLOCKS];
    const struct psnap_table_loop loop = {.id = 1, .src_id = 1, .parent = PSNAP_NONE};
    const struct psnap_table_header header = {
        .magic = PSNAP_CAPTURE_MAGIC,
        .abi = PSNAP_CAPTURE_ABI,
        .loops = 1,
        .blocks = BLOCKS,
        .refs = sizeof refs / sizeof *refs,
        .pieces = PIECES_END,
        .hoists = sizeof hoists / sizeof *hoists,
        .moves = sizeof moves / sizeof *moves,
        .nests = 1,
        .values = sizeof values / sizeof *values,
        .steps = sizeof steps / sizeof *steps,
        .string_bytes = sizeof strings,
    };

    table.count = 0;
    put_rows(&table, &header, sizeof header);
    put_rows(&table, &loop, sizeof loop);
    put_rows(&table, blocks, sizeof blocks);
    put_rows(&table, refs, sizeof refs);
    put_rows(&table, pieces, sizeof pieces);
    put_rows(&table, hoists, sizeof hoists);
    put_rows(&table, moves, sizeof moves);
    put_rows(&table, nests, sizeof nests);
    put_rows(&table, values, sizeof values);
    put_rows(&table, steps, sizeof steps);
    put_rows(&table, strings, sizeof strings);
}

/* ------------------------------------------------------------- the loops, and their records */

static void touch(uint32_t ref, uint64_t address)
{
    assert_true(expected_count < ACCESSES_MAX);
    expected[expected_count++] = (struct psnap_access){
        .address = canonical(address),
        .ref = ref,
        .size = (uint8_t)refs[ref].size,
        .kind = (uint8_t)refs[ref].kind,
        .thread = 3,
    };
}

static void run_loops(void)
{
    expected_count = 0;
    memset(executions, 0, sizeof executions);
    for (uint64_t i = 0; i < OUTER; i++) {
        touch(0, DATA + 64 * i);
        executions[1]++;
        for (uint64_t j = 0; j < 4; j++) {
            const uint64_t first = j == i ? 1 : i + j, count = first > 9 ? first : 9;
            for (uint64_t k = 0; k <= count; k++) {
                before[i][j][k] = expected_count;
                touch(1, DATA + 4096 * j + 8 * (first + k));
                executions[2]++;
                if (k < count)
                    touch(2, DATA + 4096 * i - 8 * (first + k));
            }
        }
        if (i == OUTER - 1)
            break;
        touch(3, DATA + 8 * i);
        executions[3]++;
    }
}

static void put_record(uint32_t end, uint64_t begun, const uint64_t *from, uint64_t i, uint64_t j)
{
    const uint64_t record[WORDS] = {PIECES + end, begun, from[0], from[1], i, j, DATA};

    memcpy(ring + ring_words, record, sizeof record);
    ring_words += WORDS;
}

/* All of it in one record (cut 0), or cut before an iteration of the outer or the middle loop. */
static void make_ring(unsigned cut)
{
    const uint64_t start[2] = {0, 0}, middle[2] = {cut / 8, cut % 8};
    const bool is_outer = cut % 8 == 7, is_cut = is_outer || cut % 8 < 3;

    ring_words = 0;
    if (is_cut)
        put_record(is_outer ? AGAIN_0 : AGAIN_1, 0, start, middle[0], middle[1]);
    put_record(EXIT,
               !is_cut    ? 0
               : is_outer ? STEP_AGAIN_0
                          : STEP_AGAIN_1,
               is_cut ? middle : start, OUTER - 1, 3);
}

/* The nest was left at a step, of which `count` iterations were done; or the iteration there is
 * over. */
static void make_left(uint64_t i, uint64_t j, uint64_t step, uint64_t count)
{
    const uint64_t start[2] = {0, 0};

    ring[0] = -(uint64_t)(WORDS + 2);
    ring[1] = step << PSNAP_NEST_STEP_SHIFT | count;
    ring_words = 2;
    put_record(GOING_ON, 0, start, i, j);
}

/* ------------------------------------------------------------- decoding them */

static enum psnap_status open_decoder(struct psnap_decoder *decoder, struct psnap_error *error)
{
    return open_ring(decoder, &table, PIECES_END, ring, ring_words, error);
}

TEST(nests_of_loops)
{
    make_table();
    run_loops();
    for (unsigned cut = 0; cut < 8 * (OUTER - 1); cut++) {
        make_ring(cut);
        for (unsigned way = 0; way < WAYS; way++) {
            struct psnap_decoder decoder;
            struct psnap_error error = {0};
            struct taking taking = {.expected = expected, .expected_count = expected_count};
            assert_int_equal(open_decoder(&decoder, &error), PSNAP_OK);
            take_all(&decoder, &taking, capacities[way / 2], way % 2);
            assert_executed(&decoder, executions, BLOCKS);
            decoder_release(&decoder);
        }
    }
}

/* What there was before the iteration is there. */
TEST(left)
{
    make_table();
    run_loops();
    for (uint64_t left = 0; left < OUTER * 4 * 20; left++) {
        struct taking taking = {.expected = expected,
                                .expected_count = before[left / 80][left / 20 % 4][left / 2 % 10]};
        const uint64_t i = left / 80, j = left / 20 % 4, k = left / 2 % 10;
        struct psnap_decoder decoder;
        struct psnap_error error = {0};
        if (k || j) /* in a loop's iteration k, or at its end, with `to` as it was or is to be */
            make_left(i, k ? j : j - left % 2, k ? STEP_RUN : STEP_AGAIN_1, k ? k : j - 1);
        else /* `to` is that of the loops before */
            make_left(i, 3 * (left % 2), STEP_ENTER_1, 0);
        assert_int_equal(open_decoder(&decoder, &error), PSNAP_OK);
        decoder.context.passes_over = true;
        take_all(&decoder, &taking, 7, left % 2);
        assert_int_equal(decoder.context.accesses_lost, 4);
        decoder_release(&decoder);
    }
}

TEST(corrupt)
{
    struct outcomes outcomes = {0};
    struct psnap_rng rng;

    psnap_rng_init(&rng, 1);
    for (unsigned turn = 0; turn < 4000; turn++) {
        struct psnap_decoder decoder;
        struct psnap_error error = {0};
        make_table();
        if (turn % 3)
            make_ring(turn % 32);
        else
            make_left(turn % OUTER, turn % 4, STEP_RUN, turn % 10);
        for (uint64_t i = psnap_rng_below(&rng, 3); i > 0; i--)
            table.words[psnap_rng_below(&rng, table.count)] ^= UINT32_C(1)
                                                               << psnap_rng_below(&rng, 32);
        for (uint64_t i = psnap_rng_below(&rng, 3); i > 0; i--)
            ring[psnap_rng_below(&rng, ring_words)] ^= UINT64_C(1) << psnap_rng_below(&rng, 64);
        take_odd(&decoder, open_decoder(&decoder, &error), &error, ACCESSES_MAX, turn % 2, &rng,
                 &outcomes);
        decoder_release(&decoder);
    }
    /* all have been tried */
    assert_true(outcomes.refused > 200 && outcomes.accepted > 200 && outcomes.failed > 50);
}
