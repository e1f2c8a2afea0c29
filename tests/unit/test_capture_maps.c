/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The runtime's reader of /proc/self/maps, fed by a read of ours that gives the
 * text in parts of every length and then ends or fails, at every place: what
 * has come whole is found, nothing else, and nobody reads behind the end. Then
 * the true one, for the runtime's own mappings.
 */
#include "tests/unit/test.h"

#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

static ssize_t scripted_read(int fd, void *buffer, size_t size);
#pragma GCC diagnostic ignored "-Wattributes" /* gcc 12 knows no preserve_most */
#define read scripted_read
#include "capture/runtime/maps.c"
#undef read

static const char text[] =
    "555555554000-555555556000 r--p 00000000 fe:01 123456  /usr/bin/a program\n"
    "555555560000-555555581000 rw-p 00000000 00:00 0       [heap]\n"
    "7ffff7d00000-7ffff7e00000 rw-s 00000000 00:01 1034    /memfd:psnap-session (deleted)\n"
    "7ffffffde000-7ffffffff000 rw-p 00000000 00:00 0       [stack]\n";
static size_t given, available, part;
static ssize_t end; /* what read says then: 0 or -1 */
static bool is_true;

static ssize_t scripted_read(int fd, void *buffer, size_t size)
{
    size_t bytes = available - given;

    if (is_true)
        return read(fd, buffer, size);
    bytes = bytes < part ? bytes : part;
    bytes = bytes < size ? bytes : size;
    if (!bytes)
        return end;
    memcpy(buffer, text + given, bytes);
    given += bytes;
    return (ssize_t)bytes;
}

/* Whether the line that has `what` is whole. */
static bool is_there(const char *what)
{
    const char *newline = strchr(strstr(text, what), '\n');
    return (size_t)(newline - text) < available;
}

TEST(cut_off)
{
    const uint64_t inside = 0x7ffff7d00123, nowhere = 0x1234;
    uint64_t low, high;

    for (end = -1; end <= 0; end++)
        for (part = 1; part < sizeof text; part = part < 3 ? part + 1 : part * 3)
            for (available = 0; available < sizeof text; available++) {
                given = 0;
                psnap_rt_find_mapping(inside, &low, &high);
                assert_int_equal(low, is_there("psnap-session") ? 0x7ffff7d00000 : inside);
                assert_int_equal(high, is_there("psnap-session") ? 0x7ffff7e00000 : inside);
                given = 0;
                psnap_rt_find_mapping(nowhere, &low, &high);
                assert_true(low == nowhere && high == nowhere);
                given = 0;
                assert_int_equal(psnap_rt_heap_start() == 0x555555560000, is_there("[heap]"));
                given = 0;
                assert_int_equal(psnap_rt_find_session() != NULL, is_there("psnap-session"));
            }
}

/* The runtime's room and the program's memory on either side of it, which is mapped as an arena of
 * malloc is: each is a mapping that ends where it does. */
TEST(room_is_apart)
{
    const size_t bytes = 65536;
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    char *all = mmap(NULL, 3 * bytes, PROT_READ | PROT_WRITE, flags, -1, 0), *room;
    uint64_t low, high;

    assert_true(all != MAP_FAILED);
    memset(all, 1, 3 * bytes);
    assert_int_equal(munmap(all + bytes, bytes), 0);
    room = psnap_rt_map(bytes);
    if (room != all + bytes) { /* the system took another place: move it there */
        assert_non_null(room);
        assert_ptr_equal(mremap(room, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, all + bytes),
                         all + bytes);
        room = all + bytes;
    }
    room[0] = room[bytes - 1] = 1;
    is_true = true;
    psnap_rt_find_mapping((uintptr_t)room, &low, &high);
    assert_true(low == (uintptr_t)room && high == low + bytes);
    psnap_rt_find_mapping((uintptr_t)all, &low, &high);
    assert_int_equal(high, (uintptr_t)room);
    psnap_rt_find_mapping((uintptr_t)room + bytes, &low, &high);
    assert_int_equal(low, (uintptr_t)room + bytes);
    is_true = false;
    munmap(all, 3 * bytes);
}
