/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Room of the runtime's own; and where the stacks and the heap of this process are,
 * from /proc/self/maps, read without allocating. A line starts
 * "low-high perms offset dev inode  name".
 */
#include "runtime.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

struct mapping {
    uint64_t low, high, offset;
    char name[16]; /* its end cut off: enough for "[heap]" and "[stack]" */
};

struct reader {
    int fd;
    int at, filled;
    bool has_ended;
    char buffer[1024];
};

/* Linux joins neighbours that are alike. Thus an arena of malloc would begin where our room below
 * it does, by chance; the program's memory has no mark not to be in core files. */
void *psnap_rt_map(uint64_t bytes)
{
    void *room = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (room == MAP_FAILED)
        return NULL;
    madvise(room, bytes, MADV_DONTDUMP);
    return room;
}

static int next_byte(struct reader *reader)
{
    if (reader->at == reader->filled && !reader->has_ended) {
        ssize_t bytes = read(reader->fd, reader->buffer, sizeof reader->buffer);
        reader->has_ended = bytes <= 0;
        reader->filled = bytes > 0 ? (int)bytes : 0;
        reader->at = 0;
    }
    if (reader->has_ended)
        return -1;
    return (unsigned char)reader->buffer[reader->at++];
}

static uint64_t next_hex(struct reader *reader)
{
    uint64_t value = 0;
    for (;;) {
        int c = next_byte(reader);
        if (c >= '0' && c <= '9')
            value = value << 4 | (uint64_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            value = value << 4 | (uint64_t)(c - 'a' + 10);
        else
            return value;
    }
}

static bool next_mapping(struct reader *reader, struct mapping *mapping)
{
    unsigned field = 4, length = 0;
    int c = 0;

    mapping->low = next_hex(reader);
    mapping->high = next_hex(reader);
    while (c >= 0 && c != ' ')
        c = next_byte(reader);
    mapping->offset = next_hex(reader);
    memset(mapping->name, 0, sizeof mapping->name);
    for (int before = ' '; (c = next_byte(reader)) >= 0 && c != '\n'; before = c) {
        field += c != ' ' && before == ' ';
        if (c != ' ' && field == 7 && length < sizeof mapping->name - 1)
            mapping->name[length++] = (char)c;
    }
    return c == '\n' && mapping->high;
}

static bool search(bool (*matches)(const struct mapping *, uint64_t), uint64_t argument,
                   struct mapping *found)
{
    struct reader reader = {.fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC)};
    bool is_found = false;

    if (reader.fd < 0)
        return false;
    while (!is_found && next_mapping(&reader, found))
        is_found = matches(found, argument);
    close(reader.fd);
    return is_found;
}

static bool holds(const struct mapping *mapping, uint64_t address)
{
    return address >= mapping->low && address < mapping->high;
}

static bool is_heap(const struct mapping *mapping, uint64_t unused)
{
    (void)unused;
    return !strcmp(mapping->name, "[heap]");
}

void psnap_rt_find_mapping(uint64_t address, uint64_t *low, uint64_t *high)
{
    struct mapping found;
    bool is_found = search(holds, address, &found);
    *low = is_found ? found.low : address;
    *high = is_found ? found.high : address;
}

uint64_t psnap_rt_heap_start(void)
{
    struct mapping heap;
    return search(is_heap, 0, &heap) ? heap.low : (uint64_t)syscall(SYS_brk, 0);
}

static bool is_session(const struct mapping *mapping, uint64_t unused)
{
    (void)unused;
    return !mapping->offset &&
           !strncmp(mapping->name, "/memfd:" PSNAP_SESSION_NAME, sizeof mapping->name - 1);
}

struct psnap_session *psnap_rt_find_session(void)
{
    struct mapping session;
    return search(is_session, 0, &session) ? (struct psnap_session *)session.low : NULL;
}

/* The main stack grows: the kernel keeps the mmap area at least 128 MiB below its top. */
void psnap_rt_find_stack(uint64_t frame, uint64_t *low, uint64_t *high)
{
    const uint64_t least = UINT64_C(128) << 20, most = UINT64_C(2) << 30;
    struct rlimit limit = {0, 0};
    struct mapping stack;
    uint64_t room;

    if (!search(holds, frame, &stack)) {
        *low = frame - least / 2;
        *high = frame + 4096;
        return;
    }
    *low = stack.low;
    *high = stack.high;
    if (!strcmp(stack.name, "[stack]")) {
        getrlimit(RLIMIT_STACK, &limit);
        room = limit.rlim_cur < least ? least : limit.rlim_cur > most ? most : limit.rlim_cur;
        *low = stack.high > room ? stack.high - room : 0;
    }
}
