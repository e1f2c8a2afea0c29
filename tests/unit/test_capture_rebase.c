/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rebasing against a map of a few MiB of address space that has an entry for
 * every 16 bytes: ranges are painted over it in the order in which they become
 * known, so the last one wins. Random images, heaps, stacks, thread-local
 * mappings, allocations and unknown addresses. After each of them every range
 * that was painted answers with the canonical address that it was given, and
 * no two ranges share one. Allocations are announced some steps before they
 * count: a second map, painted at announcements, says where they go.
 */
#include "tests/unit/test.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/collect/rebase.h"
#include "formats/base/capture_abi.h"
#include "formats/base/layout.h"
#include "formats/base/rng.h"

#define BASE UINT64_C(0x7f1234000000) /* a multiple of 2 MiB */
#define SPAN (UINT64_C(6) << 20)
#define GRAIN 16
#define GRAINS (SPAN / GRAIN)

enum { PAGE = 4096, LARGE = PSNAP_LARGE_BYTES, OWNERS = 600, STEPS = 60, NOBODY = 0 };

struct map {
    uint16_t owner[GRAINS]; /* index of `delta`; NOBODY: unknown */
    uint16_t plan[GRAINS];  /* the same at the latest announcement */
    uint64_t delta[OWNERS]; /* canonical - real */
    unsigned owners;
    uint64_t next_allocation; /* offset in the mmap window */
    uint32_t images, threads;
    struct psnap_range announced[STEPS]; /* low 0: has its place already */
    unsigned announcements, allocations;
    bool is_repainted; /* something known has changed its place */
};

static uint64_t place(enum psnap_group group, uint32_t index, uint64_t offset)
{
    return psnap_layout_join((struct psnap_place){group, index, (int64_t)offset});
}

static unsigned owner_at(const struct map *map, uint64_t address)
{
    return map->owner[(address - BASE) / GRAIN];
}

static void paint_on(uint16_t *owners, uint64_t low, uint64_t high, unsigned owner)
{
    low = low < BASE ? BASE : low;
    high = high > BASE + SPAN ? BASE + SPAN : high;
    for (uint64_t at = low; at < high; at += GRAIN)
        owners[(at - BASE) / GRAIN] = (uint16_t)owner;
}

static bool is_free(const struct map *map, uint64_t low, uint64_t high)
{
    for (uint64_t at = low; at < high && at < BASE + SPAN; at += GRAIN)
        if (owner_at(map, at) != NOBODY)
            return false;
    return true;
}

static void paint(struct map *map, uint64_t low, uint64_t high, uint64_t delta)
{
    assert_true(++map->owners < OWNERS);
    map->delta[map->owners] = delta;
    for (uint64_t at = low < BASE ? BASE : low; at < high && at < BASE + SPAN; at += GRAIN)
        if (owner_at(map, at) != NOBODY && map->delta[owner_at(map, at)] != delta)
            map->is_repainted = true;
    paint_on(map->owner, low, high, map->owners);
}

/* Where the unpainted surroundings of `address` end, within [low, high). */
static void shrink(const struct map *map, uint64_t address, uint64_t *low, uint64_t *high)
{
    for (uint64_t at = address; at >= *low && at >= BASE; at -= GRAIN)
        if (owner_at(map, at) != NOBODY) {
            *low = at / GRAIN * GRAIN + GRAIN;
            break;
        }
    for (uint64_t at = address; at < *high && at < BASE + SPAN; at += GRAIN)
        if (owner_at(map, at) != NOBODY) {
            *high = at / GRAIN * GRAIN;
            break;
        }
}

static uint64_t some_address(struct psnap_rng *rng, uint64_t unit)
{
    return BASE + psnap_rng_below(rng, SPAN / unit) * unit;
}

static void add_image(struct map *map, struct psnap_rebase *rebase, struct psnap_rng *rng)
{
    uint64_t low = some_address(rng, GRAIN), first = low / PAGE * PAGE;
    uint64_t high = low + GRAIN * (1 + psnap_rng_below(rng, 40000));

    assert_true(psnap_rebase_add_image(rebase, low, high));
    if (owner_at(map, low) != NOBODY)
        return;
    paint(map, first, high, place(PSNAP_GROUP_IMAGE, map->images++, 0) - first);
    paint_on(map->plan, first, high, map->owners);
}

static void add_heap(struct map *map, struct psnap_rebase *rebase, struct psnap_rng *rng)
{
    uint64_t start = some_address(rng, PAGE), low = start, high = BASE + SPAN;

    if (owner_at(map, start) != NOBODY)
        return; /* nobody starts a heap in a mapping */
    shrink(map, start, &low, &high);
    assert_true(psnap_rebase_add_heap(rebase, start));
    paint(map, start, high, place(PSNAP_GROUP_HEAP, 0, 0) - start);
    paint_on(map->plan, start, high, map->owners);
}

static void add_stack(struct map *map, struct psnap_rebase *rebase, struct psnap_rng *rng)
{
    uint64_t low = some_address(rng, PAGE), frame = low + GRAIN * psnap_rng_below(rng, 5000);
    uint64_t high = (frame + PAGE) / PAGE * PAGE;
    uint32_t thread = map->threads++;

    assert_true(psnap_rebase_add_stack(rebase, thread, frame, low, high));
    paint(map, low, high, place(PSNAP_GROUP_STACK, thread, 0) - frame);
}

/* A new place unless all of it lies in what one earlier range has given it. What is free means it
 * at once, else it waits. */
static void announce(struct map *map, struct psnap_rebase *rebase, struct psnap_rng *rng)
{
    uint64_t address = some_address(rng, psnap_rng_below(rng, 2) ? GRAIN : PAGE);
    uint64_t size = 1 + psnap_rng_below(rng, 2 * LARGE);
    uint64_t low = address / PAGE * PAGE, high = (address + size + PAGE - 1) / PAGE * PAGE;
    unsigned owner = map->plan[(low - BASE) / GRAIN];
    struct psnap_range *waits = &map->announced[map->announcements];

    if (high > BASE + SPAN)
        return;
    for (uint64_t at = low; at < high; at += GRAIN)
        owner = map->plan[(at - BASE) / GRAIN] == owner ? owner : NOBODY;
    assert_true(psnap_rebase_announce(rebase, address, size, 0));
    map->announcements++;
    *waits = (struct psnap_range){low, high, map->delta[owner]};
    if (owner == NOBODY) {
        waits->delta = place(PSNAP_GROUP_MMAP, 0, map->next_allocation) - low;
        map->next_allocation += high - low;
    }
    if (is_free(map, low, high)) {
        paint(map, low, high, waits->delta);
        owner = owner == NOBODY ? map->owners : owner;
        waits->low = 0;
    } else if (owner == NOBODY) {
        assert_true(++map->owners < OWNERS);
        map->delta[map->owners] = waits->delta;
        owner = map->owners;
    }
    paint_on(map->plan, low, high, owner);
}

static void allocate(struct map *map, struct psnap_rebase *rebase, struct psnap_rng *rng)
{
    (void)rng;
    if (map->allocations == map->announcements)
        return;
    struct psnap_range *waits = &map->announced[map->allocations++];
    assert_true(psnap_rebase_allocate(rebase, map->allocations));
    if (waits->low)
        paint(map, waits->low, waits->high, waits->delta);
    assert_true(psnap_rebase_allocate(rebase, 0)); /* a small one */
}

/* What nobody announced, and no process has mapped: its block of 2 MiB, as far as it is free.
 * Where it goes is not told; that it keeps its place in the page is. */
static void find_unknown(struct map *map, struct psnap_rebase *rebase, struct psnap_rng *rng)
{
    const uint64_t block = UINT64_C(2) << 20;
    uint64_t address = some_address(rng, 1), low = address / block * block, high = low + block;
    const struct psnap_range *range;

    if (owner_at(map, address) != NOBODY)
        return;
    shrink(map, address, &low, &high);
    range = psnap_rebase_find(rebase, address);
    assert_non_null(range);
    assert_int_equal(range->low, low);
    assert_int_equal(range->high, high);
    assert_int_equal(psnap_layout_split(low + range->delta).group, PSNAP_GROUP_MMAP);
    paint(map, low, high, range->delta);
}

static void add_local(struct map *map, struct psnap_rebase *rebase, struct psnap_rng *rng)
{
    uint64_t low = some_address(rng, PAGE), anchor = low + GRAIN * psnap_rng_below(rng, 512);
    uint64_t high = (anchor + PAGE) / PAGE * PAGE;
    const struct psnap_range *range;

    if (anchor >= BASE + SPAN)
        return;
    assert_true(psnap_rebase_add_local(rebase, anchor, low, high));
    if (owner_at(map, anchor) != NOBODY)
        return;
    shrink(map, anchor, &low, &high);
    range = psnap_rebase_find(rebase, anchor);
    assert_non_null(range);
    assert_int_equal(range->low, low);
    assert_int_equal(range->high, high);
    paint(map, low, high, range->delta);
}

static int compare_canonical(const void *a, const void *b)
{
    const struct psnap_range *x = a, *y = b;
    uint64_t first = x->low + x->delta, second = y->low + y->delta;
    return first < second ? -1 : first > second;
}

/* Every painted place answers as it should, and canonical addresses are nobody's twice. */
static void check(const struct map *map, struct psnap_rebase *rebase)
{
    struct psnap_range *ranges = calloc(rebase->known.count + 1, sizeof *ranges);

    for (uint64_t i = 0; i < GRAINS; i += i % 64 == 63 ? 1 : 21) {
        uint64_t address = BASE + i * GRAIN;
        const struct psnap_range *range;
        if (map->owner[i] == NOBODY)
            continue;
        range = psnap_rebase_find(rebase, address);
        assert_true(range && address >= range->low && address < range->high);
        assert_int_equal(range->delta, map->delta[map->owner[i]]);
    }
    for (size_t i = 0; i < rebase->known.count; i++) {
        ranges[i] = rebase->known.items[i];
        assert_true(ranges[i].low < ranges[i].high);
        assert_true(i == 0 || ranges[i - 1].high <= ranges[i].low);
    }
    qsort(ranges, rebase->known.count, sizeof *ranges, compare_canonical);
    for (size_t i = 1; i < rebase->known.count; i++)
        assert_true(ranges[i - 1].high + ranges[i - 1].delta <= ranges[i].low + ranges[i].delta);
    free(ranges);
}

TEST(against_map)
{
    static void (*const steps[])(struct map *, struct psnap_rebase *, struct psnap_rng *) = {
        add_image, add_stack, announce,     announce, announce,
        allocate,  allocate,  find_unknown, add_local};
    struct map *map = malloc(sizeof *map);
    struct psnap_rng rng;

    assert_non_null(map);
    for (uint64_t seed = 0; seed < 40; seed++) {
        struct psnap_rebase rebase;
        unsigned heap_at = (unsigned)seed % STEPS;
        psnap_rng_init(&rng, seed);
        psnap_rebase_init(&rebase);
        memset(map, 0, sizeof *map);
        for (unsigned i = 0; i < STEPS; i++) {
            uint32_t generation = rebase.generation;
            map->is_repainted = false;
            if (i == heap_at)
                add_heap(map, &rebase, &rng);
            steps[psnap_rng_below(&rng, sizeof steps / sizeof *steps)](map, &rebase, &rng);
            assert_true(!map->is_repainted || rebase.generation != generation);
            check(map, &rebase);
        }
        psnap_rebase_release(&rebase);
    }
    free(map);
}

/* More of everything than the windows have room for: each place is found, none leaves its
 * window, and the first address of a page stays that. */
TEST(windows_end)
{
    const uint64_t gib = UINT64_C(1) << 30, start = UINT64_C(1) << 20;
    struct psnap_rebase rebase;

    psnap_rebase_init(&rebase);
    for (uint64_t i = 0; i < 2000; i++) {
        uint64_t low = start + i * 64 * gib, at = low + i % 5 * PAGE;
        enum psnap_group group = PSNAP_GROUP_MMAP;
        const struct psnap_range *range;
        if (i % 5 == 0) {
            assert_true(psnap_rebase_add_image(&rebase, low, low + 5 * gib));
            group = i < 5 * 128 ? PSNAP_GROUP_IMAGE : PSNAP_GROUP_MMAP; /* two places each */
        } else if (i % 5 == 1)
            assert_true(psnap_rebase_announce(&rebase, at, 20 * gib, 0));
        else if (i % 5 == 2)
            assert_true(psnap_rebase_add_local(&rebase, at, low, low + gib));
        else if (i % 5 == 3) {
            assert_true(psnap_rebase_add_stack(&rebase, (uint32_t)i, at, low, low + gib));
            group = PSNAP_GROUP_STACK;
        }
        range = psnap_rebase_find(&rebase, at);
        assert_true(range && at >= range->low && at < range->high);
        assert_int_equal(psnap_layout_split(at + range->delta).group, group);
        assert_int_equal((at + range->delta) % PAGE, 0);
    }
    psnap_rebase_release(&rebase);
}

TEST(impossible)
{
    static const uint64_t odd[] = {
        0, 1, UINT64_MAX, UINT64_MAX - 1, UINT64_MAX - (2 << 20), UINT64_C(1) << 63};
    struct psnap_rebase rebase;

    psnap_rebase_init(&rebase);
    for (unsigned i = 0; i < sizeof odd / sizeof *odd; i++)
        for (unsigned k = 0; k < sizeof odd / sizeof *odd; k++) {
            assert_true(psnap_rebase_add_image(&rebase, odd[i], odd[k]));
            assert_true(psnap_rebase_add_heap(&rebase, odd[i]));
            assert_true(psnap_rebase_announce(&rebase, odd[i], odd[k], 0));
            assert_true(psnap_rebase_allocate(&rebase, odd[k]));
            assert_true(psnap_rebase_add_stack(&rebase, 1, odd[i], odd[k], odd[i]));
            assert_true(psnap_rebase_add_local(&rebase, odd[i], odd[k], odd[i]));
            assert_non_null(psnap_rebase_find(&rebase, odd[k]));
        }
    psnap_rebase_release(&rebase);
}

/* The mappings of a program that runs: this one. What is reserved behind anonymous memory,
 * into which it may grow, belongs to it; distances within a file are kept. */
TEST(look_up)
{
    static char variable = 1;
    const size_t bytes = 64 * PAGE;
    struct psnap_rebase rebase;
    const struct psnap_range *range;
    uint64_t code = (uint64_t)(uintptr_t)windows_end, data = (uint64_t)(uintptr_t)&variable;
    uint64_t code_canonical, data_canonical, low, delta;
    char *memory = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_true(memory != MAP_FAILED && mprotect(memory + 8 * PAGE, 8 * PAGE, PROT_READ) == 0);
    psnap_rebase_init(&rebase);
    rebase.program = getpid();
    low = (uint64_t)(uintptr_t)memory + 8 * PAGE;
    range = psnap_rebase_find(&rebase, low + 100);
    assert_non_null(range);
    assert_int_equal(range->low, low);
    assert_true(range->high >= low + bytes - 8 * PAGE);
    delta = range->delta;
    assert_int_equal(mprotect(memory + 8 * PAGE, 16 * PAGE, PROT_READ | PROT_WRITE), 0);
    range = psnap_rebase_find(&rebase, low + 15 * PAGE);
    assert_true(range && range->delta == delta);

    range = psnap_rebase_find(&rebase, code);
    assert_non_null(range);
    code_canonical = code + range->delta;
    range = psnap_rebase_find(&rebase, data);
    assert_non_null(range);
    data_canonical = data + range->delta;
    assert_int_equal(psnap_layout_split(code_canonical).group, PSNAP_GROUP_IMAGE);
    assert_int_equal(data_canonical - code_canonical, data - code);
    psnap_rebase_release(&rebase);
    munmap(memory, bytes);
}

/* Two arenas of malloc, one behind the other, of which the second is still wholly reserved: the
 * first, which is in use in part, ends where its 64 MiB do, whether the second is in use when it is
 * looked up or not. */
TEST(look_up_arenas)
{
    const uint64_t arena = UINT64_C(64) << 20;
    char *room =
        mmap(NULL, 3 * arena, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    const uint64_t first = ((uint64_t)(uintptr_t)room + arena - 1) / arena * arena;
    char *memory = room + (first - (uint64_t)(uintptr_t)room);
    uint64_t deltas[2][2];

    assert_true(room != MAP_FAILED);
    assert_int_equal(mprotect(memory, 33 * PAGE, PROT_READ | PROT_WRITE), 0);
    for (unsigned both = 0; both < 2; both++) { /* is the second one in use? */
        struct psnap_rebase rebase;
        const struct psnap_range *range;

        psnap_rebase_init(&rebase);
        rebase.program = getpid();
        range = psnap_rebase_find(&rebase, first + 100);
        assert_true(range && range->low == first && range->high == first + arena);
        deltas[both][0] = range->delta;
        assert_int_equal(mprotect(memory + arena, 33 * PAGE, PROT_READ | PROT_WRITE), 0);
        range = psnap_rebase_find(&rebase, first + arena + 100);
        assert_true(range && range->low == first + arena && range->high == first + 2 * arena);
        deltas[both][1] = range->delta;
        range = psnap_rebase_find(&rebase, first + arena - 1);
        assert_true(range && range->delta == deltas[both][0]);
        psnap_rebase_release(&rebase);
    }
    assert_memory_equal(deltas[0], deltas[1], sizeof deltas[0]);
    munmap(room, 3 * arena);
}

/* Anonymous memory right behind a file's mapping is the file's: a program's zeroed data keep their
 * distance from the others. Behind a gap it is not. */
TEST(look_up_bss)
{
    const size_t pages = 16;
    char name[] = "/tmp/psnap-bss-XXXXXX", *memory;
    int fd = mkstemp(name);
    struct psnap_rebase rebase;
    const struct psnap_range *range;
    uint64_t file, bss, apart, delta;

    assert_true(fd >= 0 && ftruncate(fd, 4 * PAGE) == 0);
    memory = mmap(NULL, pages * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    file = (uint64_t)(uintptr_t)memory + PAGE;
    bss = file + 4 * PAGE;
    apart = bss + 5 * PAGE;
    assert_true(mmap(memory + PAGE, 2 * PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) !=
                MAP_FAILED);
    assert_true(mmap(memory + 3 * PAGE, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED,
                     fd, 2 * PAGE) != MAP_FAILED);
    assert_int_equal(mprotect(memory + 5 * PAGE, 3 * PAGE, PROT_READ | PROT_WRITE), 0);
    assert_int_equal(munmap(memory + 8 * PAGE, 2 * PAGE), 0);
    assert_int_equal(mprotect(memory + 10 * PAGE, 2 * PAGE, PROT_READ), 0);

    for (unsigned first = 0; first < 2; first++) { /* looked up first: the file, its bss */
        psnap_rebase_init(&rebase);
        rebase.program = getpid();
        range = psnap_rebase_find(&rebase, (first ? bss : file) + 100);
        assert_non_null(range);
        delta = range->delta;
        assert_int_equal(psnap_layout_split(bss + delta).group, PSNAP_GROUP_IMAGE);
        range = psnap_rebase_find(&rebase, (first ? file : bss) + 100);
        assert_true(range && range->delta == delta);
        range = psnap_rebase_find(&rebase, bss + 3 * PAGE - 1);
        assert_true(range && range->delta == delta && range->high == bss + 3 * PAGE);
        range = psnap_rebase_find(&rebase, file + 2 * PAGE); /* the file's second mapping */
        assert_true(range && range->delta == delta);
        range = psnap_rebase_find(&rebase, apart);
        assert_true(range && range->delta != delta);
        assert_int_equal(psnap_layout_split(apart + range->delta).group, PSNAP_GROUP_MMAP);
        psnap_rebase_release(&rebase);
    }
    munmap(memory, pages * PAGE);
    close(fd);
    unlink(name);
}
