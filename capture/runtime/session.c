/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finding the session and telling it about modules. The path of the shared
 * memory comes in the environment from `psnap record`; without it, and with
 * PSNAP_OUT set, a collector is started. One process records into a session:
 * a forked child, a program that is exec'd or a second one run unrecorded, and
 * are counted. What concerns the process as a whole travels through ring 0,
 * under a lock; it is complete before a module's first function runs.
 */
#include "runtime.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t control_lock = PTHREAD_MUTEX_INITIALIZER;
static bool has_begun, is_launched;

unsigned char __psnap_unhoisted;
uint64_t __psnap_nowhere[PSNAP_RECORD_WORDS_MAX];

/* Room in the control ring; the session is dropped when the collector has died. */
static uint64_t *control_room(uint64_t words)
{
    uint64_t *room = NULL;
    if (psnap_rt_is_recording()) {
        room = psnap_rt_room(&psnap_rt_session->rings[0], words);
        if (!room)
            psnap_rt_stop();
    }
    return room;
}

static void control_done(uint64_t *end)
{
    psnap_rt_publish(&psnap_rt_session->rings[0], end);
}

static void send_words(enum psnap_event event, const uint64_t *payload, uint64_t words)
{
    uint64_t *room = control_room(words + 1);
    if (!room)
        return;
    room[0] = event;
    memcpy(room + 1, payload, words * sizeof *payload);
    control_done(room + 1 + words);
}

static void send_bytes(const void *bytes, uint64_t size)
{
    const uint64_t most = (PSNAP_CHUNK_WORDS - 2) * sizeof(uint64_t);
    const char *from = bytes;

    while (size) {
        uint64_t part = size < most ? size : most;
        uint64_t words = 2 + (part + 7) / 8;
        uint64_t *room = control_room(words);
        if (!room)
            return;
        room[0] = PSNAP_EVENT_DATA;
        room[1] = part;
        memcpy(room + 2, from, part);
        control_done(room + words);
        from += part;
        size -= part;
    }
}

static void send_globals(void *const *globals, uint64_t count)
{
    const uint64_t most = PSNAP_CHUNK_WORDS - 2;

    while (count) {
        uint64_t part = count < most ? count : most;
        uint64_t *room = control_room(2 + part);
        if (!room)
            return;
        room[0] = PSNAP_EVENT_GLOBALS;
        room[1] = part;
        memcpy(room + 2, globals, part * sizeof *globals);
        control_done(room + 2 + part);
        globals += part;
        count -= part;
    }
}

/* Sends the extent of an image that is loaded: what it holds keeps its place in it. */
static int send_image(struct dl_phdr_info *info, size_t size, void *unused)
{
    uint64_t low = UINT64_MAX, high = 0;

    (void)size;
    (void)unused;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uint64_t start = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type != PT_LOAD)
            continue;
        low = start < low ? start : low;
        high = start + segment->p_memsz > high ? start + segment->p_memsz : high;
    }
    if (low < high)
        send_words(PSNAP_EVENT_IMAGE, (const uint64_t[]){low, high}, 2);
    return 0;
}

/* The control ring is this thread's alone, and no signal handler comes in between. */
static struct psnap_ring *enter_control(sigset_t *signals)
{
    sigset_t all;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, signals);
    pthread_mutex_lock(&control_lock);
    return psnap_rt_set_aside();
}

static void leave_control(struct psnap_ring *ring, const sigset_t *signals)
{
    psnap_rt_go_on(ring);
    pthread_mutex_unlock(&control_lock);
    pthread_sigmask(SIG_SETMASK, signals, NULL);
}

uint64_t psnap_rt_announce(uint64_t address, uint64_t size_bytes)
{
    static uint64_t announced; /* under the control lock */
    const uint64_t allocation[] = {address, size_bytes, 0, 0};
    int saved_errno = errno;
    uint64_t number = 0;
    sigset_t signals;

    if (size_bytes < PSNAP_LARGE_BYTES && address % 4096 != 0)
        return 0;
    if ((uint32_t)getpid() != psnap_rt_session->program_pid)
        psnap_rt_forked();
    else {
        struct psnap_ring *mine = enter_control(&signals);
        send_words(PSNAP_EVENT_ALLOC, allocation, 4);
        number = ++announced;
        leave_control(mine, &signals);
    }
    errno = saved_errno;
    return number;
}

static void forked(void)
{
    if (psnap_rt_is_recording())
        psnap_rt_forked();
}

static struct psnap_session *open_session(const char *path)
{
    struct psnap_session *session = MAP_FAILED;
    struct stat about;
    uint32_t nobody = 0;
    int fd = open(path, O_RDWR | O_CLOEXEC);

    if (fd < 0)
        return NULL;
    if (fstat(fd, &about) == 0 && (uint64_t)about.st_size == PSNAP_SESSION_BYTES)
        session = mmap(NULL, PSNAP_SESSION_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (session == MAP_FAILED)
        return NULL;
    if (session->magic != PSNAP_CAPTURE_MAGIC || session->abi != PSNAP_CAPTURE_ABI) {
        munmap(session, PSNAP_SESSION_BYTES);
        return NULL;
    }
    if (!__atomic_compare_exchange_n(&session->program_pid, &nobody, (uint32_t)getpid(), false,
                                     __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
        uint32_t *missed = nobody == (uint32_t)getpid() ? &session->copies : &session->unrecorded;
        __atomic_fetch_add(missed, 1, __ATOMIC_RELAXED);
        munmap(session, PSNAP_SESSION_BYTES);
        return NULL;
    }
    return session;
}

/* Under PSNAP_OUT the profile is there when the program is gone. The last destructor: what the
 * others do is still recorded. */
__attribute__((destructor(101))) static void wait_for_collector(void)
{
    struct psnap_session *session = psnap_rt_session;
    const struct timespec patience = {.tv_nsec = 100 * 1000 * 1000};

    if (!is_launched || !psnap_rt_is_recording())
        return;
    __atomic_store_n(&session->closing, 1, __ATOMIC_SEQ_CST);
    psnap_rt_ring_doorbell();
    while (!__atomic_load_n(&session->closed, __ATOMIC_ACQUIRE) && psnap_rt_collector_alive())
        syscall(SYS_futex, &session->closed, FUTEX_WAIT, 0, &patience, NULL, 0);
    psnap_rt_stop();
}

static void begin(const char *command)
{
    const char *path = getenv(PSNAP_ENV_SESSION), *output = getenv(PSNAP_ENV_OUT);
    const char *unhoisted = getenv(PSNAP_ENV_UNHOISTED);
    struct psnap_ring *control;
    uint64_t heap;

    has_begun = true;
    __psnap_unhoisted = unhoisted && *unhoisted == '1';
    if (path && *path)
        psnap_rt_session = open_session(path);
    else if (output && *output) {
        psnap_rt_session = psnap_rt_launch(command, output);
        is_launched = psnap_rt_session != NULL;
    }
    if (!psnap_rt_session)
        return;
    psnap_rt_set_recording(true);
    pthread_atfork(NULL, NULL, forked);
    control = &psnap_rt_session->rings[0];
    control->data = (uint64_t *)((char *)psnap_rt_session + PSNAP_SESSION_HEADER_BYTES);
    control->limit = control->data + PSNAP_CHUNK_WORDS;
    __atomic_store_n(&control->cursor, control->data, __ATOMIC_RELEASE);
    __atomic_store_n(&control->state, PSNAP_RING_ACTIVE, __ATOMIC_RELEASE);
    heap = psnap_rt_heap_start();
    send_words(PSNAP_EVENT_HEAP, &heap, 1);
}

void __psnap_register(const struct psnap_module *module)
{
    const uint64_t description[] = {(uint64_t)module->pieces, (uint64_t)module->sites,
                                    module->piece_count, module->site_count};
    int saved_errno = errno;

    sigset_t signals;
    struct psnap_ring *mine = enter_control(&signals);
    if (!has_begun)
        begin(module->command);
    if (psnap_rt_is_recording()) {
        dl_iterate_phdr(send_image, NULL);
        send_bytes(module->table, module->table_bytes);
        send_globals(module->globals, module->global_count);
        send_words(PSNAP_EVENT_MODULE, description, 4);
        psnap_rt_ring_doorbell();
    }
    leave_control(mine, &signals);
    errno = saved_errno;
}
