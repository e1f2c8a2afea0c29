#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Programs in a seccomp sandbox, which the system kills for calls that are not their own: they run
# as without psnap, recorded or not, and are recorded whole.
set -eu
. "$PSNAP_SOURCE/tests/cli/capture_common.sh"

cat > prog.c << 'END'
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
static volatile long cells[1 << 16];
__attribute__((noinline)) static void work(long n, unsigned long seed)
{
    for (long i = 0; i < n; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        cells[cells[seed >> 48] & 0xffff] = (long)(seed >> 33);
    }
}
static void enter(const char *how)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
    int failed = 0;
    if (!strcmp(how, "strict"))
        failed = prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    else if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        failed = 1;
    else if (!strcmp(how, "prctl"))
        failed = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
    else
        failed = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
    if (failed)
        _exit(9);
}
int main(int argc, char **argv)
{
    static const char done[] = "done\n";
    long n = atol(argv[2]);
    if (argc > 3)
        work(n, 1);
    enter(argv[1]);
    work(n, 2);
    if (write(1, done, sizeof done - 1) < 0)
        return 1;
    if (!strcmp(argv[1], "strict"))
        syscall(SYS_exit, 0);
    _exit(0);
}
END
"$PSNAP_CC" -O1 -o native prog.c
[ "$(./native filter 10 2> err)" = "done" ] || {
    echo "skipped: no sandboxes here"
    exit 77
}
"$PSNAP" cc -O1 -o prog prog.c
for how in strict prctl filter; do
    [ "$(./native $how 1000)" = "done" ] || fail "$how, native"
    for before in "" before; do
        # shellcheck disable=SC2086
        [ "$(./prog $how 1000000 $before)" = "done" ] || fail "$how $before, alone"
        rm -f p.yaml
        # shellcheck disable=SC2086
        result=$(status "$PSNAP" record -o p.yaml -- ./prog $how 1000000 $before)
        [ "$result" = 0 ] || fail "$how $before, recorded: $result: $(cat err)"
        has out "done"
        has err "seccomp sandbox"
        expected=2000000
        [ -z "$before" ] || expected=4000000
        [ "$(accesses_of work:12 p.yaml)" = $expected ] ||
            fail "$how $before: $(accesses_of work:12 p.yaml)"
    done
    # shellcheck disable=SC2086
    [ "$(PSNAP_OUT=$how.yaml PSNAP_COMMAND=$PSNAP ./prog $how 100000)" = "done" ] ||
        fail "$how, with a collector of its own"
done

# A thread that ends in its own sandbox, where memory may not be given back
cat > ends.c << 'END'
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
static volatile long cells[1 << 16];
__attribute__((noinline)) static void work(long n)
{
    for (long i = 0; i < n; i++)
        cells[cells[i & 0xffff] & 0xffff] = i;
}
static void *sandboxed(void *nothing)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_munmap, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
    work(1000);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program))
        abort();
    work(100000);
    return nothing;
}
int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, sandboxed, NULL);
    pthread_join(thread, NULL);
    puts("ends");
    return 0;
}
END
"$PSNAP_CC" -O1 -pthread -o ends.native ends.c
if [ "$(./ends.native 2> err)" = "ends" ]; then
    "$PSNAP" cc -O1 -pthread -o ends ends.c
    [ "$(./ends)" = "ends" ] || fail "a thread that ends, alone"
    [ "$("$PSNAP" record -o ends.yaml -- ./ends 2> err)" = "ends" ] ||
        fail "a thread that ends: $(cat err)"
    [ "$(accesses_of work:12 ends.yaml)" = 202000 ] || fail "$(accesses_of work:12 ends.yaml)"
fi

# A sandbox for all threads, entered while another one is in system calls of ours; and the program is
# told to go on unrecorded when it is in there
cat > threads.c << 'END'
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
static volatile long cells[1 << 16];
static volatile int is_over;
__attribute__((noinline)) static void work(long n, unsigned long seed)
{
    for (long i = 0; i < n; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        cells[cells[seed >> 48] & 0xffff] = (long)(seed >> 33);
    }
}
static void *go_on(void *nothing)
{
    while (!is_over)
        work(1000, 2);
    return nothing;
}
__attribute__((noinline)) int enter(int option, unsigned long mode, void *program)
{
    struct sock_fprog *filter = program;
    if (option != PR_SET_SECCOMP)
        return prctl(option, mode, 0, 0, 0);
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, filter);
}
int main(int argc, char **argv)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_nanosleep, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
    pthread_t thread;
    (void)argv;
    work(1000, 3);
    pthread_create(&thread, NULL, go_on, NULL);
    usleep(100000);
    if (enter(PR_SET_NO_NEW_PRIVS, 1, NULL) || enter(PR_SET_SECCOMP, 0, &program))
        abort();
    work(10000, 4);
    if (argc > 1)
        sleep(1);
    if (write(1, "threads\n", 8) < 0)
        _exit(1);
    _exit(0);
}
END
"$PSNAP_CC" -O1 -pthread -o threads.native threads.c
if [ "$(./threads.native 2> err)" = "threads" ]; then
    "$PSNAP" cc -O1 -pthread -o threads threads.c
    for _ in 1 2 3; do
        [ "$("$PSNAP" record --force -o threads.yaml -- ./threads 2> err)" = "threads" ] ||
            fail "threads: $(cat err)"
    done
    [ "$("$PSNAP" record --force --count 3000 -o threads.yaml -- ./threads sleep 2> err)" = \
        "threads" ] || fail "threads, unrecorded: $(cat err)"
fi

# Two threads enter a sandbox for all at the same time
cat > two.c << 'END'
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
static volatile long cells[1 << 16];
static volatile int ready, entered;
__attribute__((noinline)) static void work(long n, unsigned long seed)
{
    for (long i = 0; i < n; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        cells[cells[seed >> 48] & 0xffff] = (long)(seed >> 33);
    }
}
static void *enter(void *of_all)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_seccomp, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
    work(10000, 1);
    __atomic_fetch_add(&ready, 1, __ATOMIC_SEQ_CST);
    while (ready < 3)
        work(100, 2);
    if (of_all && syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program))
        write(1, "failed\n", 7);
    __atomic_fetch_add(&entered, 1, __ATOMIC_SEQ_CST);
    for (;;)
        work(1000, 3);
}
int main(void)
{
    pthread_t threads[3];
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, enter, i < 2 ? threads : NULL);
    while (entered < 3)
        work(100, 4);
    work(10000, 5);
    if (write(1, "two\n", 4) < 0)
        _exit(1);
    _exit(0);
}
END
"$PSNAP_CC" -O1 -pthread -o two.native two.c
if [ "$(./two.native 2> err)" = "two" ]; then
    "$PSNAP" cc -O1 -pthread -o two two.c
    for _ in 1 2 3; do
        [ "$("$PSNAP" record --force -o two.yaml -- ./two 2> err)" = "two" ] || fail "two: $(cat err)"
    done
fi

# A call that may throw, for all that C++ knows; functions that only have the name
cat > load.c << 'END'
#include <linux/seccomp.h>
#include <sys/prctl.h>
int seccomp_load(void *nothing)
{
    (void)nothing;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
}
END
cat > throws.cc << 'END'
#include <string>
#include <sys/syscall.h>
#include <unistd.h>
extern "C" int seccomp_load(void *);
static volatile long cells[1024];
struct guard {
    std::string text;
    ~guard() { cells[0] = cells[0] + 1; }
};
__attribute__((noinline)) static void work(long n)
{
    for (long i = 0; i < n; i++)
        cells[i * (i + 1) / 2 % 1024] = i;
}
int main(int, char **argv)
{
    work(1000);
    try {
        guard one{std::string(argv[0]) + "!"};
        seccomp_load(argv);
    } catch (int) {
        return 2;
    }
    work(1000000);
    if (write(1, "throws\n", 7) < 0)
        return 1;
    syscall(SYS_exit, 0);
}
END
"$PSNAP_CC" -O1 -c load.c
"$PSNAP" c++ -O1 -o throws throws.cc load.o
[ "$("$PSNAP" record -o throws.yaml -- ./throws 2> err)" = "throws" ] || fail "throws: $(cat err)"
cat > names.c << 'END'
#include <unistd.h>
float seccomp(float a, float b)
{
    return a + b;
}
void seccomp_load(void *nothing)
{
    (void)nothing;
}
int main(void)
{
    seccomp_load(NULL);
    return (int)seccomp(1, (float)syscall(-1, 2.0)) != 0;
}
END
"$PSNAP" cc -O0 -o names names.c
[ "$(status "$PSNAP" record -o names.yaml -- ./names)" = 0 ] || fail "names: $(cat err)"
! grep -q sandbox err || fail "names: $(cat err)"

# Entered by code that psnap cc has not compiled: killed, and it is said by what
cat > unseen.c << 'END'
#include <unistd.h>
int seccomp_load(void *);
static int (*volatile load)(void *) = seccomp_load;
static volatile long cells[1024];
int main(void)
{
    load(NULL);
    for (long i = 0; i < 30000000; i++)
        cells[i * (i + 1) / 2 % 1024] = i;
    return 0;
}
END
"$PSNAP" cc -O1 -o unseen unseen.c load.o
[ "$(status "$PSNAP" record -o unseen.yaml -- ./unseen)" = 137 ] || fail "unseen: $(cat err)"
has err "killed for a system call in a seccomp sandbox"

# Calls that fail, or ask: nothing changes. Options that only the run knows: the hook sees them.
cat > asks.c << 'END'
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile long cells[1024];
__attribute__((noinline)) static void work(long n)
{
    for (long i = 0; i < n; i++)
        cells[i * (i + 1) / 2 % 1024] = i;
}
static void *in_thread(void *nothing)
{
    work(1000);
    return nothing;
}
__attribute__((noinline)) int set(int option, unsigned long value)
{
    return prctl(option, value, 0, 0, 0);
}
int main(int argc, char **argv)
{
    unsigned action = SECCOMP_RET_KILL_THREAD;
    pthread_t thread;
    (void)argv;
    work(1000);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, 0);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, 1); /* no filter is there */
    syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action);
    syscall(SYS_prctl, PR_SET_NAME, "asks", 0, 0, 0);
    pthread_create(&thread, NULL, in_thread, NULL);
    pthread_join(thread, NULL);
    if (fork() == 0) {
        work(2000);
        _exit(0);
    }
    wait(NULL);
    set(argc > 1 ? PR_SET_SECCOMP : PR_GET_DUMPABLE, SECCOMP_MODE_STRICT);
    work(1000000);
    if (write(1, "asks\n", 5) < 0)
        return 1;
    syscall(SYS_exit, 0);
}
END
"$PSNAP" cc -O1 -pthread -o asks asks.c
[ "$("$PSNAP" record -o asks.yaml -- ./asks 2> err)" = "asks" ] || fail "asks: $(cat err)"
! grep -q sandbox err || fail "asks: $(cat err)"
[ "$(accesses_of work:10 asks.yaml)" = 1002000 ] || fail "asks: $(accesses_of work:10 asks.yaml)"
[ "$(accesses_of work:10 asks.yaml.*)" = 2000 ] || fail "asks: its child is missing"
[ "$("$PSNAP" record --force -o asks.yaml -- ./asks strict 2> err)" = "asks" ] ||
    fail "asks strict: $(cat err)"
has err "sandbox"
