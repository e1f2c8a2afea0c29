/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Telling the session about modules. One process records into a session: a
 * program that is exec'd begins anew, a forked child rejoins with a session of
 * its own at its first record, and tells it what is in the journal. What
 * concerns the process as a whole travels through ring 0, under a lock; it is
 * complete before a module's first function runs.
 *
 * A child is known by a page that the kernel wipes in it, and by nothing else:
 * a child by vfork shares our memory, so it is us.
 */
#include "runtime.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* A static program has none, and no copies. */
extern __typeof__(dlopen) dlopen __attribute__((weak));
extern __typeof__(dladdr) dladdr __attribute__((weak));

const struct psnap_rt_hooks *psnap_rt_first;

static pthread_mutex_t control_lock = PTHREAD_MUTEX_INITIALIZER;
static sigset_t control_signals; /* mask of the thread that has the control lock */
static uint64_t announced;       /* under the control lock */
static bool has_begun, is_launched;
static bool has_inherited;              /* atomic */
static bool is_forked;                  /* atomic */
static volatile unsigned char *unwiped; /* a page that says 1, in a child 0 */
static char launch_command[4096], launch_output[4096];

uint64_t psnap_rt_unhoisted;
uint64_t psnap_rt_nowhere[PSNAP_RECORD_WORDS_MAX];

/* Room in the control ring; the session is dropped when the collector has died. */
static uint64_t *control_room(uint64_t words)
{
    uint64_t *room = NULL;
    if (psnap_rt_is_recording()) {
        room = psnap_rt_room(psnap_rt_ring(0), words, &control_signals);
        if (!room)
            psnap_rt_stop();
    }
    return room;
}

/* A record of `words` words is complete. */
static void control_done(uint64_t *record, uint64_t words)
{
    if (record[0] != PSNAP_EVENT_ALLOC && record[0] != PSNAP_EVENT_REUSE &&
        record[0] != PSNAP_EVENT_THREAD)
        psnap_rt_journal_add(record, words);
    psnap_rt_publish(psnap_rt_ring(0), record + words);
}

static void send_again(const uint64_t *record, uint64_t words)
{
    uint64_t *room = control_room(words);
    if (!room)
        return;
    memcpy(room, record, words * sizeof *record);
    psnap_rt_publish(psnap_rt_ring(0), room + words);
}

static void send_words(enum psnap_event event, const uint64_t *payload, uint64_t words)
{
    uint64_t *room = control_room(words + 1);
    if (!room)
        return;
    room[0] = event;
    memcpy(room + 1, payload, words * sizeof *payload);
    control_done(room, 1 + words);
}

/* `count` items of `size` bytes, in as many records as they need. */
static void send_items(enum psnap_event event, const void *items, uint64_t count, uint64_t size)
{
    const uint64_t most = (PSNAP_CHUNK_WORDS - 2) * sizeof(uint64_t) / size;
    const char *from = items;

    while (count) {
        const uint64_t part = count < most ? count : most;
        const uint64_t words = 2 + (part * size + 7) / sizeof(uint64_t);
        uint64_t *room = control_room(words);
        if (!room)
            return;
        room[0] = event;
        room[1] = part;
        memcpy(room + 2, from, part * size);
        control_done(room, words);
        from += part * size;
        count -= part;
    }
}

static void find_extent(const struct dl_phdr_info *info, uint64_t *low, uint64_t *high)
{
    *low = UINT64_MAX;
    *high = 0;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uint64_t start = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type != PT_LOAD)
            continue;
        *low = start < *low ? start : *low;
        *high = start + segment->p_memsz > *high ? start + segment->p_memsz : *high;
    }
}

/* Sends the extent of an image that is loaded: what it holds keeps its place in it. */
static int send_image(struct dl_phdr_info *info, size_t size, void *unused)
{
    uint64_t low, high;

    (void)size;
    (void)unused;
    find_extent(info, &low, &high);
    if (low < high)
        send_words(PSNAP_EVENT_IMAGE, (const uint64_t[]){low, high}, 2);
    return 0;
}

/* Sends how many words the first `most` rings have had: their records up to there come before the
 * events behind this one. */
static void send_words_so_far(enum psnap_event event, uint64_t most, uint64_t starting,
                              uint64_t (*words_of)(struct psnap_ring *ring))
{
    uint64_t rings = __atomic_load_n(&psnap_rt_session->rings_used, __ATOMIC_ACQUIRE);
    uint64_t count = rings > most ? most : rings ? rings - 1 : 0, *room = control_room(3 + count);

    if (!room)
        return;
    room[0] = event;
    room[1] = count;
    room[2] = starting;
    for (uint32_t i = 0; i < count; i++) {
        struct psnap_ring *ring = psnap_rt_ring(1 + i);
        room[3 + i] = ring ? words_of(ring) : 0;
    }
    control_done(room, 3 + count);
}

/* Sends that a module takes the place of another: records up to here are of modules that were
 * unloaded. No thread runs their code any more, nor yet the new module's. */
static void send_reuse(void)
{
    send_words_so_far(PSNAP_EVENT_REUSE, PSNAP_RINGS, 0, psnap_rt_ring_words);
    psnap_rt_reuse();
}

/* The control ring is this thread's alone, and no signal handler comes in between. In a child that
 * nobody has noticed the lock may be a thread's that is not here. */
static struct psnap_ring *enter_control(struct psnap_rt_outside *outside)
{
    psnap_rt_block_signals(outside);
    psnap_rt_is_forked();
    pthread_mutex_lock(&control_lock);
    control_signals = outside->signals;
    return psnap_rt_set_aside();
}

static void leave_control(struct psnap_ring *ring, const struct psnap_rt_outside *outside)
{
    psnap_rt_set_ring(ring);
    pthread_mutex_unlock(&control_lock);
    psnap_rt_unblock_signals(outside);
}

bool psnap_rt_is_large(uint64_t address, uint64_t size_bytes)
{
    return size_bytes >= PSNAP_LARGE_BYTES || address % 4096 == 0;
}

void psnap_rt_announce_thread(const struct psnap_ring *ring)
{
    struct psnap_rt_outside outside;
    struct psnap_ring *mine = enter_control(&outside);
    uint32_t index = 1, used = __atomic_load_n(&psnap_rt_session->rings_used, __ATOMIC_ACQUIRE);

    while (index < used && psnap_rt_ring(index) != ring)
        index++;
    if (index < used)
        send_words_so_far(PSNAP_EVENT_THREAD, PSNAP_THREAD_RINGS, index,
                          psnap_rt_ring_words_before);
    leave_control(mine, &outside);
}

uint64_t psnap_rt_announce(uint64_t address, uint64_t size_bytes, uint32_t thread)
{
    const uint64_t allocation[] = {address, size_bytes, thread, 0};
    struct psnap_rt_outside outside;
    uint64_t number = 0;

    if (!psnap_rt_is_large(address, size_bytes))
        return 0;
    struct psnap_ring *mine = enter_control(&outside);
    send_words(PSNAP_EVENT_ALLOC, allocation, 4);
    number = ++announced;
    leave_control(mine, &outside);
    return number;
}

/* In the child: its only thread leaves the parent's ring. The lock may be a thread's that is not
 * here; what it guards is of the parent's session, and the journal, which is always whole. */
static void leave_parent(void)
{
    const bool is_left = psnap_rt_leave_ring();

    if (!is_left) {
        psnap_rt_session = NULL;
        psnap_rt_refuse();
    } else if (psnap_rt_is_recording())
        __atomic_store_n(&is_forked, true, __ATOMIC_RELAXED);
    psnap_rt_set_recording(false);
    psnap_rt_fork_regions();
    psnap_rt_fork_noise();
    is_launched = false;
    psnap_rt_forget_numbers();
    control_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

/* In the child, which may have come here before: by a handler of a signal, or one of fork's that
 * was called before ours. None sees it in between. */
static void forked(void)
{
    struct psnap_rt_outside outside;

    if (!psnap_rt_begin_noise()) { /* it stays unrecorded, and off its parent's ring */
        if (unwiped && !*unwiped)
            psnap_rt_set_ring(&psnap_rt_empty_ring);
        return;
    }
    psnap_rt_block_signals(&outside);
    if (!unwiped || !*unwiped) {
        leave_parent();
        if (unwiped)
            *unwiped = 1;
    }
    psnap_rt_unblock_signals(&outside);
    psnap_rt_end_noise();
}

bool psnap_rt_is_child(void)
{
    return (unwiped && !*unwiped) || __atomic_load_n(&is_forked, __ATOMIC_ACQUIRE);
}

bool psnap_rt_is_forked(void)
{
    if (unwiped && !*unwiped)
        forked(); /* by a system call that no handler saw */
    /* with the session that it stands for */
    return __atomic_load_n(&is_forked, __ATOMIC_ACQUIRE);
}

__attribute__((preserve_most)) void __psnap_forked(void)
{
    int saved_errno = errno; /* of the call that has returned */

    if (psnap_rt_first)
        psnap_rt_first->forked();
    else
        psnap_rt_is_forked();
    errno = saved_errno;
}
PSNAP_PLAIN_HOOK(void, __psnap_forked, (void))

bool psnap_rt_has_inherited(void)
{
    return __atomic_exchange_n(&has_inherited, false, __ATOMIC_RELAXED);
}

static void notice_forks(void)
{
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (page != MAP_FAILED && madvise(page, 4096, MADV_WIPEONFORK) == 0) {
        unwiped = page;
        *unwiped = 1;
    }
    pthread_atfork(NULL, NULL, forked);
}

/* The control ring is this process's; nothing has been said yet. */
static void start_session(struct psnap_session *session)
{
    struct psnap_ring *control = psnap_rt_enter_session(session);

    psnap_rt_session = session;
    session->hooks = (uint64_t)&psnap_rt_hooks;
    session->rings_used = 1;
    announced = 0;
    control->data = psnap_ring_words(control);
    control->limit = control->data + PSNAP_CHUNK_WORDS;
    __atomic_store_n(&control->cursor, control->data, __ATOMIC_RELEASE);
    __atomic_store_n(&control->state, PSNAP_RING_ACTIVE, __ATOMIC_RELEASE);
    psnap_rt_set_recording(true);
}

static void rejoin(void)
{
    struct psnap_session *session, *parents = psnap_rt_session;

    if (launch_output[0])
        session = psnap_rt_launch(launch_command, launch_output, true);
    else
        session = psnap_rt_join();
    is_launched = session && launch_output[0];
    psnap_rt_session = NULL;
    psnap_rt_leave_session(parents);
    if (session) {
        start_session(session);
        session->forked_inside = psnap_rt_is_inside();
        psnap_rt_tell_regions();
        psnap_rt_journal_replay(send_again);
        __atomic_store_n(&has_inherited, true, __ATOMIC_RELAXED);
    }
    __atomic_store_n(&is_forked, false, __ATOMIC_RELEASE);
}

void psnap_rt_rejoin(void)
{
    struct psnap_rt_outside outside;
    struct psnap_ring *mine = enter_control(&outside);

    if (is_forked)
        rejoin();
    leave_control(mine, &outside);
}

/* Under PSNAP_OUT the profile is there when the program is gone. The last destructor: what the
 * others do is still recorded. A child that has recorded nothing, but has gone on in a loop, says
 * so. One that no fork handler knows of leaves its parent's collector alone. */
__attribute__((destructor(0))) static void wait_for_collector(void)
{
    struct psnap_session *session = psnap_rt_session;
    const struct timespec patience = {.tv_nsec = 100 * 1000 * 1000};
    struct psnap_rt_outside outside;

    if (!psnap_rt_is_quiet() && psnap_rt_is_inside()) {
        if (psnap_rt_is_forked())
            psnap_rt_rejoin();
        session = psnap_rt_session;
        if (session)
            session->forked_inside = 1;
    }
    if (!is_launched || psnap_rt_is_quiet() || psnap_rt_self() != session->program_pid)
        return;
    psnap_rt_hold_cancel(&outside);
    __atomic_store_n(&session->closing, 1, __ATOMIC_SEQ_CST);
    psnap_rt_ring_doorbell();
    while (!__atomic_load_n(&session->closed, __ATOMIC_ACQUIRE) && psnap_rt_collector_alive())
        syscall(SYS_futex, &session->closed, FUTEX_WAIT, 0, &patience, NULL, 0);
    if (!__atomic_load_n(&session->closed, __ATOMIC_ACQUIRE))
        psnap_rt_say("psnap: the collector has died, ", "accesses are missing");
    psnap_rt_stop();
    psnap_rt_allow_cancel(&outside);
}

/* Threads and other copies of the runtime hold on to us: our library is never unloaded. dlopen may
 * run constructors, which come to __psnap_register: so not under the lock. */
static void stay_loaded(void)
{
    static bool is_done;
    const char *path = secure_getenv(PSNAP_ENV_SESSION), *output = secure_getenv(PSNAP_ENV_OUT);
    Dl_info about;

    if (__atomic_exchange_n(&is_done, true, __ATOMIC_RELAXED) || (!path && !output))
        return;
    if (dlopen && dladdr(&psnap_rt_hooks, &about) && about.dli_fname &&
        (uint64_t)about.dli_fbase != (getauxval(AT_PHDR) & ~UINT64_C(4095)))
        dlopen(about.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

static bool find_first_copy(void)
{
    struct psnap_session *session = psnap_rt_find_session();
    const struct psnap_rt_hooks *hooks = NULL;

    if (session && session->magic == PSNAP_CAPTURE_MAGIC && session->abi == PSNAP_CAPTURE_ABI)
        hooks = (const struct psnap_rt_hooks *)session->hooks;
    if (hooks && hooks->abi == PSNAP_CAPTURE_ABI)
        psnap_rt_first = hooks;
    return psnap_rt_first != NULL;
}

extern void *__libc_stack_end __attribute__((weak));

/* The environment, which the C library does not know yet where a function of .preinit_array runs.
 */
static char **early_environment(void)
{
    const long *argc = &__libc_stack_end ? __libc_stack_end : NULL; /* argv behind it, then that */

    return argc ? (char **)(uintptr_t)(argc + 1) + *argc + 1 : NULL;
}

static void begin(const char *command)
{
    const char *path = secure_getenv(PSNAP_ENV_SESSION), *output = secure_getenv(PSNAP_ENV_OUT);
    const char *unhoisted = secure_getenv(PSNAP_ENV_UNHOISTED);
    struct psnap_session *session = NULL;
    uint64_t heap;

    has_begun = true;
    psnap_rt_unhoisted = unhoisted && *unhoisted == '1';
    if (((!path || !*path) && (!output || !*output)) || find_first_copy())
        return;
    if (path && *path)
        session = psnap_rt_open_hub(path) ? psnap_rt_join() : NULL;
    else if (output && *output) {
        strncpy(launch_output, output, sizeof launch_output - 1);
        strncpy(launch_command, command ? command : "", sizeof launch_command - 1);
        session = psnap_rt_launch(command, output, false);
        is_launched = session != NULL;
    }
    if (!session)
        return;
    start_session(session);
    psnap_rt_read_regions();
    notice_forks();
    heap = psnap_rt_heap_start();
    send_words(PSNAP_EVENT_HEAP, &heap, 1);
}

/* Linkers that come to the runtime before the modules take early.c along for this. */
__attribute__((used)) static void (*const resolving)(void) = __psnap_resolving;

/* Sends the records that the image's ifunc resolvers have made. */
static void take_early(struct psnap_ring *early)
{
    const uint64_t count = early ? (uint64_t)(early->cursor - early->data) : 0;

    if (!count || !psnap_rt_is_recording())
        return;
    early->cursor = early->data;
    psnap_rt_put_records(early->data, count);
    __atomic_fetch_add(&psnap_rt_session->words_early, early->produced, __ATOMIC_RELAXED);
}

/* Tells the collector of a module. */
static void announce(const struct psnap_module *module)
{
    const uint64_t description[] = {(uint64_t)module->pieces, (uint64_t)module->sites,
                                    module->piece_count, module->site_count};
    char **const environment = environ;
    struct psnap_rt_outside outside;
    struct psnap_ring *mine = enter_control(&outside);

    if (!environment)
        environ = early_environment();
    if (!has_begun)
        begin(module->command);
    if (!environment)
        environ = NULL;
    if (psnap_rt_first) {
        leave_control(mine, &outside);
        psnap_rt_first->enroll(module);
        return;
    }
    if (psnap_rt_is_forked())
        rejoin();
    bool is_reuse;
    if (psnap_rt_is_recording())
        psnap_rt_choose_functions(module);
    if (psnap_rt_is_recording() && !psnap_rt_module_is_known(module, &is_reuse)) {
        if (is_reuse)
            send_reuse();
        dl_iterate_phdr(send_image, NULL);
        send_items(PSNAP_EVENT_DATA, module->table, module->table_bytes, 1);
        send_items(PSNAP_EVENT_GLOBALS, module->globals, module->global_count,
                   sizeof *module->globals);
        send_words(PSNAP_EVENT_MODULE, description, 4);
        psnap_rt_ring_doorbell();
    }
    leave_control(mine, &outside);
    take_early(module->early);
}

/* The modules of an image's notes (PSNAP_NOTE_SECTION). */
static void announce_notes(const char *at, const char *end, uint64_t alignment)
{
    const uint64_t mask = alignment == 8 ? 7 : 3;

    while (at + sizeof(ElfW(Nhdr)) <= end) {
        const ElfW(Nhdr) *note = (const void *)at;
        const char *name = at + sizeof *note;
        const char *contents = at + ((sizeof *note + note->n_namesz + mask) & ~mask);
        int64_t way;
        if (note->n_type == PSNAP_CAPTURE_ABI && note->n_namesz == sizeof PSNAP_NOTE_NAME &&
            note->n_descsz == sizeof way && contents + sizeof way <= end &&
            !memcmp(name, PSNAP_NOTE_NAME, note->n_namesz)) {
            memcpy(&way, contents, sizeof way);
            announce((const struct psnap_module *)(uintptr_t)(at + way));
        }
        at = contents + ((note->n_descsz + mask) & ~mask);
    }
}

static void announce_image(const struct dl_phdr_info *image)
{
    for (unsigned i = 0; i < image->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &image->dlpi_phdr[i];
        const char *at = (const char *)(uintptr_t)(image->dlpi_addr + segment->p_vaddr);
        if (segment->p_type == PT_NOTE)
            announce_notes(at, at + segment->p_memsz, segment->p_align);
    }
}

/* Code of an image. */
struct code {
    uint64_t address, low, high;
    struct dl_phdr_info image;
};

/* Images whose modules have been announced: how many there is room for is a matter of speed. */
static struct {
    uint64_t low, high;
} known[64];
static unsigned known_count; /* atomic */

static void note_known(const struct code *code)
{
    struct psnap_rt_outside outside;
    struct psnap_ring *mine = enter_control(&outside);

    if (known_count < sizeof known / sizeof *known) {
        known[known_count].low = code->low;
        known[known_count].high = code->high;
        __atomic_store_n(&known_count, known_count + 1, __ATOMIC_RELEASE);
    }
    leave_control(mine, &outside);
}

static int find_image(struct dl_phdr_info *info, size_t size, void *context)
{
    struct code *code = context;

    (void)size;
    find_extent(info, &code->low, &code->high);
    if (code->address < code->low || code->address >= code->high)
        return 0;
    code->image = *info;
    return 1;
}

static bool is_known(uint64_t address)
{
    const unsigned count = __atomic_load_n(&known_count, __ATOMIC_ACQUIRE);

    for (unsigned i = 0; i < count; i++)
        if (address >= known[i].low && address < known[i].high)
            return true;
    return has_begun && !psnap_rt_first && !psnap_rt_is_recording(); /* nobody wants to know */
}

void psnap_rt_enroll(uint64_t address)
{
    struct code code = {.address = address};

    if (is_known(address) || !psnap_rt_begin_noise())
        return;
    if (dl_iterate_phdr(find_image, &code)) {
        announce_image(&code.image);
        note_known(&code);
    }
    psnap_rt_end_noise();
}

void __psnap_register(const struct psnap_module *module)
{
    const int saved_errno = errno;

    stay_loaded();
    errno = saved_errno;
    psnap_rt_enroll((uint64_t)module);
    announce(module);
}
