/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Iterations of nests in closed form (capture/decode/fold.c): the stream and the executions are
 * those of going through the steps of each. Random nests of
 * one loop, or one in another, with values of all operations in 8 to 64 bits that wrap around,
 * conditions that change within the loop, a value that depends on the way taken, counts that
 * vary, and a record that stops in the middle or behind.
 *
 * Records that come again and again (period.c): the same of rings in which a nest and a piece
 * alternate, in planes and without, with addresses and other words that advance, and iterations
 * that are different.
 */
#include "tests/unit/test.h"

#include "tests/unit/test_capture_support.h"

#define DATA (IMAGE + (UINT64_C(1) << 24))

enum {
    WORDS = PSNAP_NEST_HEADER_WORDS + 4 + 9,
    FIRST_WORD = PSNAP_NEST_HEADER_WORDS + 4, /* DATA, then two of each number of bits */
    ZERO = WORDS,                             /* constants */
    ONE,
    SLOT, /* which is set */
    FEW,
    LIMIT,
    ROWS, /* of the outer loop, the inner one, and of the inner one where SLOT is set */
    ROWS_MAX = 64,
    VALUES_MAX = ROWS + ROWS_MAX,
    REFS = 5,
    BLOCKS = 4,
    ACCESSES_MAX = 1 << 18,
    ROUNDS_MAX = 14,
    PLANES_MAX = 10,
    PIECE_WORDS = 3,
    RING_WORDS = PLANES_MAX * (ROUNDS_MAX + 1) * (WORDS + PIECE_WORDS)
};
enum { PIECE_OWN, PIECE_INNER, PIECE_LAST, PIECE_ALONE, PIECE_END, PIECES_END };
enum { HOIST_OWN, HOIST_INNER, HOIST_ALONE };

struct nest {
    struct psnap_table_value values[VALUES_MAX];
    unsigned bits[VALUES_MAX];
    uint32_t count; /* values */
    struct psnap_table_step steps[32];
    uint32_t step_count, stop;
    struct psnap_table_move moves[REFS];
    uint64_t record[WORDS];
};

static struct nest made;
static struct table table;
static struct psnap_access expected[ACCESSES_MAX];
static uint64_t ring[RING_WORDS];

static uint64_t mask(unsigned bits)
{
    return ~UINT64_C(0) >> (64 - bits);
}

/* ------------------------------------------------------------- a random nest */

static uint32_t add_value(uint32_t op, unsigned bits, uint32_t a, uint32_t b)
{
    assert_true(made.count < VALUES_MAX);
    made.values[made.count] = (struct psnap_table_value){op, bits, a, b};
    made.bits[made.count] = bits;
    return made.count++;
}

/* One that has at most so many bits, late ones preferred; of `least` bits or more if there is. */
static uint32_t any_value(struct psnap_rng *rng, unsigned least, unsigned most)
{
    uint32_t value = ONE;

    for (unsigned turn = 0; turn < 60; turn++) {
        const uint64_t range = turn & 1 ? made.count : made.count - FIRST_WORD - 1;
        value =
            made.count - 1 - (uint32_t)psnap_rng_below(rng, range - (turn & 1 ? FIRST_WORD : 0));
        if (value > FIRST_WORD && value != SLOT && made.bits[value] >= least &&
            made.bits[value] <= most)
            return value;
    }
    return least > 1 ? FIRST_WORD + 8 : ONE; /* of 64 bits */
}

static uint32_t add_random(struct psnap_rng *rng)
{
    static const uint8_t arithmetic[] = {PSNAP_VALUE_ADD,  PSNAP_VALUE_ADD,  PSNAP_VALUE_MUL,
                                         PSNAP_VALUE_UDIV, PSNAP_VALUE_UMAX, PSNAP_VALUE_UMIN,
                                         PSNAP_VALUE_SMAX, PSNAP_VALUE_SMIN};
    static const uint8_t conditions[] = {PSNAP_VALUE_EQ, PSNAP_VALUE_ULT, PSNAP_VALUE_ULE,
                                         PSNAP_VALUE_SLT, PSNAP_VALUE_SLE};
    const unsigned bits = 8u << psnap_rng_below(rng, 4);
    uint32_t a;

    switch (psnap_rng_below(rng, 8)) {
    case 0:
    case 1:
    case 2:
        return add_value(PSNAP_VALUE_RECURRENCE, bits, any_value(rng, 1, bits),
                         psnap_rng_below(rng, 2) ? ONE : any_value(rng, 1, bits));
    case 3:
        a = any_value(rng, 8, 64);
        return made.bits[a] > 8 ? add_value(PSNAP_VALUE_TRUNC, made.bits[a] / 2, a, 0)
                                : add_value(PSNAP_VALUE_SEXT, bits, a, made.bits[a]);
    case 4:
        a = any_value(rng, 8, bits);
        return add_value(PSNAP_VALUE_SEXT, bits, a, made.bits[a]);
    case 5:
        a = add_value(conditions[psnap_rng_below(rng, sizeof conditions)], bits,
                      any_value(rng, 1, bits), any_value(rng, 1, bits));
        made.bits[a] = 1; /* of the result */
        return a;
    case 6:
        return add_value(PSNAP_VALUE_AND + (uint32_t)psnap_rng_below(rng, 3), 1,
                         any_value(rng, 1, 1), any_value(rng, 1, 1));
    default:
        return add_value(arithmetic[psnap_rng_below(rng, sizeof arithmetic)], bits,
                         any_value(rng, 1, bits), any_value(rng, 1, bits));
    }
}

static void add_randoms(struct psnap_rng *rng, uint64_t most)
{
    for (uint64_t i = 1 + psnap_rng_below(rng, most); i > 0; i--)
        add_random(rng);
}

/* Somewhere in the image. */
static uint32_t add_address(struct psnap_rng *rng)
{
    uint32_t way = any_value(rng, 1, 64);

    if (made.bits[way] > 16)
        way = add_value(PSNAP_VALUE_TRUNC, 16, way, 0);
    return add_value(PSNAP_VALUE_ADD, 64, FIRST_WORD, way);
}

static uint32_t add_count(struct psnap_rng *rng)
{
    return psnap_rng_below(rng, 2) ? FEW
                                   : add_value(PSNAP_VALUE_UMIN, 64, any_value(rng, 1, 64), FEW);
}

static uint32_t add_step(uint32_t op, uint32_t level, uint32_t a, uint32_t b, uint32_t c)
{
    made.steps[made.step_count] = (struct psnap_table_step){op, level, a, b, c};
    return made.step_count++;
}

/* A condition that need not be one: small numbers that are not 0 are true, too. */
static uint32_t add_branch(struct psnap_rng *rng, uint32_t level)
{
    return add_step(PSNAP_STEP_BRANCH, level, any_value(rng, 1, psnap_rng_below(rng, 4) ? 1 : 8), 0,
                    0);
}

static void make_words(struct psnap_rng *rng)
{
    static const uint64_t odd[] = {0, 1, 2, 3, 5, 7, 100, 1000};

    memset(&made, 0, sizeof made);
    made.record[0] = PIECES + PIECE_END;
    made.record[FIRST_WORD] = DATA;
    made.bits[FIRST_WORD] = 64;
    for (uint32_t i = 1; i < 9; i++) {
        const uint64_t value = odd[psnap_rng_below(rng, sizeof odd / sizeof *odd)];
        const unsigned bits = 8u << (i - 1) / 2;
        made.bits[FIRST_WORD + i] = bits;
        made.record[FIRST_WORD + i] = psnap_rng_below(rng, 3) ? value & mask(bits)
                                      : psnap_rng_below(rng, 3)
                                          ? -value & mask(bits)
                                          : ((mask(bits) >> 1) + 1 - value) & mask(bits);
    }
    made.count = WORDS;
    add_value(PSNAP_VALUE_CONSTANT, 8, 0, 0);
    add_value(PSNAP_VALUE_CONSTANT, 1, 1, 0);
    add_value(PSNAP_VALUE_CONSTANT, 64, 0, 0);
    add_value(PSNAP_VALUE_CONSTANT, 8, (uint32_t)psnap_rng_below(rng, 9), 0);
    add_value(PSNAP_VALUE_CONSTANT, 8, (uint32_t)psnap_rng_below(rng, 40), 0);
    assert_int_equal(made.count, ROWS);
}

/*
 *     do {                                     if `levels` is 2
 *         do {
 *             own accesses or a block without; may stop here, if `levels` is 1, or at the end
 *             SLOT = a condition ? one value : another;
 *             if (a condition) an innermost loop;
 *             a block without accesses
 *         } while (j++ < LIMIT);               if `levels` is 2
 *     } while (...);
 */
static void make_nest(struct psnap_rng *rng, uint32_t levels)
{
    const uint32_t inner = levels - 1;
    const bool few = psnap_rng_below(rng, 3) == 0; /* values, all of which may be linear */
    uint32_t enter, first, branch, count, latch = 0, stop;

    make_words(rng);
    if (levels == 2) {
        add_randoms(rng, 4);
        add_step(PSNAP_STEP_ENTER, 0, ROWS - WORDS, made.count - ROWS, 0);
    }
    first = made.count;
    if (levels == 2)
        latch =
            add_value(PSNAP_VALUE_ULT, 64, add_value(PSNAP_VALUE_RECURRENCE, 64, ZERO, ONE), LIMIT);
    add_randoms(rng, few ? 1 : 16);
    made.moves[0].base = add_address(rng);
    made.moves[1].base = add_address(rng);
    enter = add_step(PSNAP_STEP_ENTER, inner, first - WORDS, made.count - first, 0);
    add_step(PSNAP_STEP_RUN, inner, psnap_rng_below(rng, 4) ? HOIST_OWN : HOIST_ALONE, 0, 0);
    made.stop = add_step(PSNAP_STEP_GOTO, inner, made.step_count + 1, 0, 0);
    branch = add_branch(rng, inner);
    made.steps[branch].b = add_step(PSNAP_STEP_SET, inner, SLOT, any_value(rng, 1, 64), 0);
    add_step(PSNAP_STEP_GOTO, inner, made.step_count + 2, 0, 0);
    made.steps[branch].c = add_step(PSNAP_STEP_SET, inner, SLOT, any_value(rng, 1, 64), 0);
    first = made.count;
    add_value(PSNAP_VALUE_ADD, 64, SLOT, any_value(rng, 1, 64));
    add_randoms(rng, few ? 1 : 8);
    for (uint32_t i = 2; i < REFS; i++)
        made.moves[i].base = add_address(rng);
    made.moves[2].stride = 8;
    made.moves[3].step = psnap_rng_below(rng, 2) ? any_value(rng, 1, 8) : 0;
    count = add_count(rng);
    add_step(PSNAP_STEP_COMPUTE, inner, first - WORDS, made.count - first, 0);
    branch = add_branch(rng, inner);
    made.steps[branch].b =
        add_step(PSNAP_STEP_RUN, inner, HOIST_INNER, count, (uint32_t)psnap_rng_below(rng, 4) / 3);
    made.steps[branch].c = add_step(PSNAP_STEP_RUN, inner, HOIST_ALONE, count, 0);
    branch = levels == 2 ? add_step(PSNAP_STEP_BRANCH, inner, latch, 0, 0) : 0;
    stop = levels == 1 ? add_step(PSNAP_STEP_GOTO, inner, made.step_count + 1, 0, 0) : 0;
    first = add_step(PSNAP_STEP_AGAIN, inner, enter, 0, 0);
    if (levels == 2) {
        made.steps[branch].b = first;
        made.steps[branch].c = stop = add_step(PSNAP_STEP_GOTO, 0, made.step_count + 1, 0, 0);
        add_step(PSNAP_STEP_AGAIN, 0, 0, 0, 0);
    }
    if (levels == 2 || psnap_rng_below(rng, 2))
        made.stop = stop;
    made.record[PSNAP_NEST_HEADER_WORDS + levels] = psnap_rng_below(rng, levels == 2 ? 16 : 60);
}

/* ------------------------------------------------------------- its table */

/* Of an iteration of the innermost loop two accesses are in one piece, and the third in another. */
static void make_table(uint32_t levels)
{
    static const char strings[8] = "\0main";
    static const struct psnap_table_block blocks[BLOCKS];
    const struct psnap_table_loop loop = {.id = 1, .src_id = 1, .parent = PSNAP_NONE};
    const struct psnap_table_piece pieces[] = {
        [PIECE_OWN] = {.first_ref = 0, .refs = 2, .words = 3, .block = 0},
        [PIECE_INNER] = {.first_ref = 2, .refs = 2, .words = 3, .block = 1},
        [PIECE_LAST] = {.first_ref = 4, .refs = 1, .words = 2, .block = 2},
        [PIECE_ALONE] = {.first_ref = 5, .words = 1, .block = 3},
        [PIECE_END] = {.words = WORDS, .block = PSNAP_NONE, .last = made.stop, .nest = 1},
    };
    const struct psnap_table_hoist hoists[] = {
        {.first_piece = PIECE_OWN, .pieces = 1, .words = made.count, .nest = 1},
        {.first_piece = PIECE_INNER, .pieces = 2, .first_move = 2, .words = made.count, .nest = 1},
        {.first_piece = PIECE_ALONE, .pieces = 1, .first_move = 5, .words = made.count, .nest = 1},
    };
    const struct psnap_table_nest nest = {.levels = levels,
                                          .words = WORDS,
                                          .values = made.count - WORDS,
                                          .constants = ROWS - WORDS,
                                          .steps = made.step_count};
    const struct psnap_table_header header = {
        .magic = PSNAP_CAPTURE_MAGIC,
        .abi = PSNAP_CAPTURE_ABI,
        .loops = 1,
        .blocks = BLOCKS,
        .refs = REFS,
        .pieces = PIECES_END,
        .hoists = sizeof hoists / sizeof *hoists,
        .moves = REFS,
        .nests = 1,
        .values = made.count - WORDS,
        .steps = made.step_count,
        .string_bytes = sizeof strings,
    };
    struct psnap_table_ref refs[REFS];

    for (uint32_t i = 0; i < REFS; i++)
        refs[i] = (struct psnap_table_ref){
            .op = PSNAP_REF_PLAIN, .size = 1 + i, .lanes = 1, .block = i / 2, .kind = i & 1};
    table.count = 0;
    put_rows(&table, &header, sizeof header);
    put_rows(&table, &loop, sizeof loop);
    put_rows(&table, blocks, sizeof blocks);
    put_rows(&table, refs, sizeof refs);
    put_rows(&table, pieces, sizeof pieces);
    put_rows(&table, hoists, sizeof hoists);
    put_rows(&table, made.moves, sizeof made.moves);
    put_rows(&table, &nest, sizeof nest);
    put_rows(&table, made.values + WORDS, (made.count - WORDS) * sizeof *made.values);
    put_rows(&table, made.steps, made.step_count * sizeof *made.steps);
    put_rows(&table, strings, sizeof strings);
}

/* ------------------------------------------------------------- both ways */

static void open_decoder(struct psnap_decoder *decoder, const uint64_t *words, size_t count)
{
    struct psnap_error error = {0};

    if (open_ring(decoder, &table, PIECES_END, words, count, &error))
        fail_msg("%s", error.message);
}

/* Step by step; false when there are too many accesses. */
static bool take_steps(struct psnap_decoder *decoder, size_t *count)
{
    struct psnap_error error = {0};

    for (*count = 0; !psnap_decoder_is_done(decoder);) {
        const ssize_t n =
            psnap_decode(decoder, expected + *count, ACCESSES_MAX - *count, NULL, &error);
        if (n < 0)
            fail_msg("%s", error.message);
        *count += (size_t)n;
        if (*count == ACCESSES_MAX)
            return false;
    }
    return true;
}

/* The same words decoded by steps, which is what is expected, and as usual. */
struct both {
    struct psnap_decoder by_steps, decoder;
    struct taking taking;
};

/* False when there are too many accesses. */
static bool open_both(struct both *both, const uint64_t *words, size_t count)
{
    both->taking = (struct taking){.expected = expected};
    open_decoder(&both->by_steps, words, count);
    open_decoder(&both->decoder, words, count);
    return take_steps(&both->by_steps, &both->taking.expected_count);
}

static void take_both(struct both *both, size_t capacity)
{
    take_all(&both->decoder, &both->taking, capacity, true);
    for (uint32_t i = 0; i < BLOCKS; i++)
        assert_int_equal(both->decoder.context.program->blocks[i].executions,
                         both->by_steps.context.program->blocks[i].executions);
}

static void close_both(struct both *both)
{
    decoder_release(&both->by_steps);
    decoder_release(&both->decoder);
}

TEST(fold)
{
    unsigned folded = 0, deep = 0, compared = 0;
    struct both both;
    struct psnap_rng rng;

    psnap_rng_init(&rng, 1);
    for (unsigned turn = 0; turn < 8000; turn++) {
        const size_t capacity = 1 + psnap_rng_below(&rng, turn & 2 ? 300 : 20);
        make_nest(&rng, 1 + turn % 2);
        make_table(1 + turn % 2);
        if (open_both(&both, made.record, WORDS)) {
            take_both(&both, capacity);
            compared++;
            folded += both.decoder.records.nested.fold.found > 0;
            deep += both.taking.deep > 0;
        }
        close_both(&both);
    }
    print_message("%u nests, %u of them folded, %u of three levels\n", compared, folded, deep);
    assert_true(compared > 6000 && folded > 1000 && deep > 50);
}

static size_t put_piece(size_t n, uint64_t i)
{
    const uint64_t piece[PIECE_WORDS] = {PIECES + PIECE_OWN, DATA + 16 * i, DATA + 4096 - i};

    memcpy(ring + n, piece, sizeof piece);
    return n + PIECE_WORDS;
}

/* How a word of the nest's record advances from round to round and from plane to plane, and in
 * rounds of later planes the more. */
struct advance {
    uint32_t word; /* behind FIRST_WORD */
    uint64_t by_round, by_plane, twist;
};

static void advance_word(uint64_t *record, const struct advance *advance, uint64_t i,
                         uint64_t plane)
{
    const uint32_t word = FIRST_WORD + advance->word;

    record[word] += i * advance->by_round + plane * advance->by_plane + i * plane * advance->twist;
    record[word] &= mask(made.bits[word]);
}

/* The nest's record again and again, behind it that of a piece, and another one behind each plane
 * of so many rounds: addresses advance, another word may, and a round may be different. Returns
 * its words. */
static size_t make_ring(struct psnap_rng *rng, uint64_t planes, uint64_t rounds)
{
    const uint64_t odd = psnap_rng_below(rng, 3 * planes * rounds);
    const bool has_other = psnap_rng_below(rng, 2), has_piece = psnap_rng_below(rng, 2);
    const struct advance first = {0, 8 * psnap_rng_below(rng, 500), 8 * psnap_rng_below(rng, 5), 0};
    const struct advance other = {1 + (uint32_t)psnap_rng_below(rng, 8), psnap_rng_below(rng, 4),
                                  psnap_rng_below(rng, 4) - 1, psnap_rng_below(rng, 4) == 0};
    size_t n = 0;

    for (uint64_t i = 0; i < planes * rounds; i++) {
        memcpy(ring + n, made.record, sizeof made.record);
        advance_word(ring + n, &first, i % rounds, i / rounds);
        if (has_other)
            advance_word(ring + n, &other, i % rounds, i / rounds);
        if (i == odd)
            ring[n + FIRST_WORD + psnap_rng_below(rng, 9)]++;
        n += WORDS;
        if (has_piece)
            n = put_piece(n, i);
        if (planes > 1 && i % rounds == rounds - 1)
            n = put_piece(n, i);
    }
    return n;
}

/* How often there were periods, and in them further ones, in so many rings, and nests of these. */
struct found {
    unsigned compared, periods, within;
    uint64_t nests;
};

static struct found compare_rings(struct psnap_rng *rng, unsigned turns, bool has_planes)
{
    struct found found = {0};
    struct both both;

    for (unsigned turn = 0; turn < turns; turn++) {
        const uint64_t planes = has_planes ? 6 + psnap_rng_below(rng, PLANES_MAX - 5) : 1;
        make_nest(rng, 1 + turn % 2);
        make_table(1 + turn % 2);
        if (open_both(&both, ring,
                      make_ring(rng, planes, 4 + psnap_rng_below(rng, ROUNDS_MAX - 3)))) {
            take_both(&both, 1 + psnap_rng_below(rng, 300));
            found.compared++;
            found.nests += both.taking.nests;
            found.periods += both.decoder.periods[0] && both.decoder.periods[0]->found;
            found.within += both.decoder.periods[1] && both.decoder.periods[1]->found;
        }
        close_both(&both);
    }
    print_message("%u rings, %u of them with periods, %u with others in these\n", found.compared,
                  found.periods, found.within);
    return found;
}

TEST(periods)
{
    struct found found;
    struct psnap_rng rng;

    psnap_rng_init(&rng, 2);
    found = compare_rings(&rng, 8000, false);
    assert_true(found.compared > 6000 && found.periods > 1200 && found.nests >= found.periods);
}

TEST(planes)
{
    struct found found;
    struct psnap_rng rng;

    psnap_rng_init(&rng, 3);
    found = compare_rings(&rng, 4000, true);
    assert_true(found.compared > 3000 && found.within > 300 && found.nests >= found.periods);
}
