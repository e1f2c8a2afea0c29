#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Children that are not made, or do not end, as one expects: by _Fork and bare system calls, by vfork
# whose exec fails, in signal handlers, where no further process may be, from wrappers that are not
# instrumented, daemons and those that are killed. Each has its own accesses, to the last one.
set -eu
. "$PSNAP_SOURCE/tests/cli/capture_common.sh"

# ./play PART N: work(n) makes n stores in a loop of its own
cat > play.c << 'END'
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile long cells[1024];
static long following[1024];
static volatile sig_atomic_t has_forked, is_child;

__attribute__((noinline)) static void work(long n)
{
    for (long i = 0; i < n; i++)
        cells[i % 1024] = i;
}
__attribute__((noinline)) static void walk(long n) /* a record for each store */
{
    for (long i = 0, at = 0; i < n; i++, at = following[at])
        cells[at] = i;
}
static int wait_for(pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, __WALL) < 0)
        if (errno != EINTR)
            return 98;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
static int unseen(long n, const char *how) /* no fork handler is called; both work at a time */
{
    pid_t pid;
    walk(100);
    pid = !strcmp(how, "_Fork") ? _Fork()
                                : (pid_t)syscall(SYS_clone, (long)SIGCHLD, 0L, 0L, 0L, 0L);
    for (int i = 0; i < 20; i++)
        walk(pid ? n : n * 2);
    if (pid == 0)
        _exit(5);
    return wait_for(pid);
}
static int run(void *n)
{
    work((long)n);
    return 5;
}
static int clones(long n, int flags)
{
    char *stack = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    work(1000);
    int result = wait_for(clone(run, stack + (1 << 20), flags | SIGCHLD, (void *)n));
    work(10);
    return result;
}
static int exec_fails(long n) /* the child works in our memory */
{
    pid_t pid;
    work(1000);
    pid = vfork();
    if (pid == 0) {
        execl("/not/there", "x", NULL);
        work(n);
        _exit(9);
    }
    work(10);
    return wait_for(pid);
}
static void forks(int signal)
{
    pid_t pid;
    (void)signal;
    pid = fork();
    if (pid == 0) {
        work(700);
        _exit(0);
    }
    wait_for(pid);
    has_forked = 1;
}
static void splits(int signal) /* the child goes on where its parent was */
{
    pid_t pid;
    (void)signal;
    pid = fork();
    is_child = pid == 0;
    if (pid)
        wait_for(pid);
    has_forked = 1;
}
static int in_handler(long n, void (*handler)(int))
{
    signal(SIGALRM, handler);
    ualarm(2000, 0);
    while (!has_forked)
        walk(1000);
    work(is_child ? 2 * n : n);
    return 0;
}
static int inner_fails(long n)
{
    pid_t pid;
    work(1000);
    pid = fork();
    if (pid == 0) {
        const struct rlimit none = {0, 0};
        pid_t inner;
        (void)!setuid(54321); /* the limit is not for root */
        setrlimit(RLIMIT_NPROC, &none);
        inner = fork();
        if (inner == 0)
            _exit(0);
        work(n);
        _exit(inner < 0 ? 6 : 7);
    }
    return wait_for(pid);
}
static int one_is_killed(long n)
{
    int ready[2];
    pid_t one, other;
    char byte = 0;
    if (pipe(ready))
        return 97;
    one = fork();
    if (one == 0) {
        work(3 * n);
        (void)!write(ready[1], &byte, 1);
        pause();
    }
    other = fork();
    if (other == 0) {
        work(n);
        while (kill(one, 0) == 0)
            usleep(1000);
        work(n);
        _exit(0);
    }
    (void)!read(ready[0], &byte, 1);
    kill(one, SIGKILL);
    work(n);
    return wait_for(one) == 137 ? wait_for(other) : 1;
}
static int daemonizes(long n)
{
    work(n);
    if (fork() == 0) {
        setsid();
        work(n + 1);
        if (fork() == 0) {
            (void)!chdir("/");
            for (int fd = 0; fd < 3; fd++)
                close(fd);
            usleep(500000);
            work(n + 2);
            _exit(0);
        }
        _exit(0);
    }
    return 0;
}
int main(int argc, char **argv)
{
    const char *part = argv[1];
    long n = atol(argv[2]);
    for (int i = 0; i < 1024; i++)
        following[i] = (i * 7 + 1) % 1024;
    if (!strcmp(part, "_Fork") || !strcmp(part, "syscall"))
        return unseen(n, part);
    if (!strcmp(part, "clone"))
        return clones(n, 0);
    if (!strcmp(part, "CLONE_VM"))
        return clones(n, CLONE_VM | CLONE_VFORK);
    if (!strcmp(part, "exec-fails"))
        return exec_fails(n);
    if (!strcmp(part, "handler"))
        return in_handler(n, forks);
    if (!strcmp(part, "splits"))
        return in_handler(n, splits);
    if (!strcmp(part, "inner"))
        return inner_fails(n);
    if (!strcmp(part, "killed"))
        return one_is_killed(n);
    if (!strcmp(part, "daemon"))
        return daemonizes(n);
    work(n);
    return argc > 3 ? atoi(argv[3]) : 0;
}
END
"$PSNAP" cc -O1 -o play play.c
grep -n 'cells\[i % 1024\]\|cells\[at\]' play.c > lines
work=work:$(($(sed -n 's/:.*i % 1024.*//p' lines) - 1)) walk=walk:$(($(sed -n 's/:.*cells\[at\].*//p' lines) - 1))
# counts LOOP: accesses of it in the profiles in r/, those that have none left out
counts() {
    for file in r/*; do
        accesses_of "$1" "$file"
    done | grep -v '^0$' | sort -n | paste -s -d ' '
}
inside="psnap record: a signal handler forked this process in the middle of a loop or block: what that accessed here is missing"
# play STATUS LOOP "EXPECTED..." COMMAND: every process into a file of its own; where a child may go
# on in a loop that its parent is in (may_be_inside=1) that is said or not, as the exit status has it
may_be_inside=0
play() {
    local wanted=$1 loop=$2 expected=$3 result
    shift 3
    rm -rf r
    mkdir r
    result=$(status timeout 300 "$PSNAP" record -o r/%p.yaml -- "$@")
    if [ $may_be_inside = 1 ] && grep -qxF "$inside" err; then
        wanted=125
        sed -i "/^$inside\$/d" err
    fi
    [ "$result" = "$wanted" ] || fail "$*: exit status $result: $(cat err)"
    [ ! -s err ] || fail "$*: says $(cat err)"
    [ "$(counts "$loop")" = "$expected" ] || fail "$*: $(counts "$loop") accesses, not $expected: $(ls r)"
}

# walk: a load and a store each
for n in 10 500 20000; do
    play 5 "$walk" "$((40 * n + 200)) $((80 * n))" ./play _Fork $n
    play 5 "$walk" "$((40 * n + 200)) $((80 * n))" ./play syscall $n
done
for n in 5000 100000; do
    play 5 "$work" "1010 $n" ./play clone $n
    play 5 "$work" "$((n + 1010))" ./play CLONE_VM $n
    play 9 "$work" "$((n + 1010))" ./play exec-fails $n
done
play 0 "$work" "700 5000" ./play handler 5000
may_be_inside=1 play 0 "$work" "5000 10000" ./play splits 5000
if [ "$(id -u)" = 0 ]; then
    play 6 "$work" "1000 5000" ./play inner 5000
fi
play 0 "$work" "5000 10000 15000" ./play killed 5000

# A handler forks behind each instruction of a loop that records: the parent's records stay whole,
# over words that were read before, and children that go on in the loop say so. The handler itself is
# not recorded.
cat > stepper.c << 'END'
#define _GNU_SOURCE
#include <signal.h>
#include <stddef.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
static volatile long steps;
static volatile pid_t made;
static void on_step(int signal, siginfo_t *info, void *context)
{
    ucontext_t *at = context;
    (void)signal;
    (void)info;
    if (--steps)
        return;
    at->uc_mcontext.gregs[REG_EFL] &= ~0x100;
    made = fork();
    if (made)
        waitpid(made, NULL, 0);
}
/* The process made by a handler that came behind `count` instructions; -1: there are not so many */
pid_t fork_in(void (*function)(void), long count)
{
    const struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
    sigaction(SIGTRAP, &action, NULL);
    steps = count;
    made = -1;
    __asm__ volatile("lea -128(%%rsp), %%rsp\n pushfq\n orl $0x100, (%%rsp)\n popfq\n"
                     "lea 128(%%rsp), %%rsp" ::: "memory", "cc");
    function();
    __asm__ volatile("lea -128(%%rsp), %%rsp\n pushfq\n andl $~0x100, (%%rsp)\n popfq\n"
                     "lea 128(%%rsp), %%rsp" ::: "memory", "cc");
    return made;
}
END
cat > stepped.c << 'END'
#include <stdio.h>
#include <unistd.h>
pid_t fork_in(void (*function)(void), long count);
static volatile long cells[1024];
static long following[1024];
__attribute__((noinline)) static void walk(long n)
{
    for (long i = 0, at = 0; i < n; i++, at = following[at])
        cells[at] = i;
}
__attribute__((noinline)) static void work(long n)
{
    for (long i = 0; i < n; i++)
        cells[i % 1024] = i;
}
__attribute__((noinline)) static void twice(void)
{
    walk(2);
}
int main(void)
{
    long count = 0;
    pid_t made;
    for (int i = 0; i < 1024; i++)
        following[i] = (i * 7 + 1) % 1024;
    walk(300000);
    while ((made = fork_in(twice, ++count)) > 0)
        ;
    if (made == 0) {
        work(700);
        _exit(0);
    }
    printf("%ld\n", count);
    return 0;
}
END
if [ "$(uname -m)" = x86_64 ]; then
    "${PSNAP_CC:-cc}" -O1 -c stepper.c
    "$PSNAP" cc -O1 -o stepped stepped.c stepper.o
    line=$(grep -n 'cells\[at\]' stepped.c | cut -d : -f 1)
    rm -rf r && mkdir r
    [ "$(status timeout 300 "$PSNAP" record -o first.yaml -- ./stepped)" = 125 ] &&
        [ "$(grep -cvxF "$inside" err)" = 1 ] && has err "further processes recorded" &&
        has err "$inside" || fail "stepped: $(cat err)"
    [ "$(cat out)" -gt 10 ] || fail "stepped: $(cat out) instructions"
    [ "$(accesses_of "walk:$((line - 1))" first.yaml)" = $((600000 + 4 * $(cat out))) ] ||
        fail "stepped, the parent: $(accesses_of "walk:$((line - 1))" first.yaml), $(cat out) instructions"
    mv first.yaml.[0-9]* r
    [ "$(counts "work:$((line + 4))")" = "$(for ((i = 1; i < $(cat out); i++)); do echo 700; done | paste -s -d ' ')" ] ||
        fail "stepped, children of $(cat out) instructions: $(counts "work:$((line + 4))")"
else
    echo "skipped what is done by single steps: not x86_64"
fi

# Without memory to leave its parent's rings with the child runs unrecorded, which is said.
cat > refused.c << 'END'
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile long cells[1024];
__attribute__((noinline)) static void work(long n)
{
    for (long i = 0; i < n; i++)
        cells[i % 1024] = i;
}
static int refuse_memory(void) /* in place of other memory */
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[3])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOMEM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}
int main(void)
{
    int status;
    work(1000);
    if (refuse_memory())
        return 77;
    if (fork() == 0) {
        work(500);
        return 5;
    }
    wait(&status);
    work(100);
    return WEXITSTATUS(status);
}
END
"$PSNAP" cc -O1 -o refused refused.c
rm -rf r && mkdir r
result=$(status timeout 300 "$PSNAP" record -o r/%p.yaml -- ./refused)
if [ "$result" = 77 ]; then
    echo "skipped what a filter of system calls refuses: there is none"
else
    [ "$result" = 125 ] || fail "refused: exit status $result: $(cat err)"
    has err "1 process"
    [ "$(counts "work:$(grep -n 'i < n' refused.c | cut -d : -f 1)")" = 1100 ] || fail "refused: $(ls r)"
fi

# A handler of fork's that was registered before ours: its child has come to the runtime when ours is
# called, and stays the process that it is.
cat > before.c << 'END'
#include <pthread.h>
void (*in_child)(void);
static void child(void)
{
    in_child();
}
__attribute__((constructor)) static void registers(void)
{
    pthread_atfork(0, 0, child);
}
END
cat > early.c << 'END'
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
extern void (*in_child)(void);
static volatile long cells[1024];
static void *volatile memory;
__attribute__((noinline)) static void work(long n)
{
    for (long i = 0; i < n; i++)
        cells[i % 1024] = i;
}
static void first(void)
{
    memory = malloc(100);
    work(300);
}
int main(void)
{
    in_child = first;
    work(1000);
    if (fork() == 0) {
        work(700);
        return 0;
    }
    wait(NULL);
    return 0;
}
END
"${PSNAP_CC:-cc}" -shared -fPIC -pthread -o libbefore.so before.c
"$PSNAP" cc -O1 -o early early.c -L. -lbefore -Wl,-rpath,"$PWD"
play 0 "work:$(grep -n 'i < n' early.c | cut -d : -f 1)" "1000 1000" ./early

# one that closes all and outlives two parents is recorded to its end; nobody waits for it
rm -rf r && mkdir r
[ "$(status timeout 300 "$PSNAP" record -o "$dir/r/%p.yaml" -- ./play daemon 100)" = 0 ] || fail "daemon: $(cat err)"
! grep -v ' still running: what is recorded appears when ' err || fail "daemon: says $(cat err)"
for ((i = 0; i < 600; i++)); do
    [ "$(ls r | wc -l)" -lt 3 ] || break
    sleep 0.05
done
[ "$(counts "$work")" = "100 101 102" ] || fail "daemon: $(counts "$work")"

# a child of a program that has emptied its environment, with a collector of its own
cat > clears.c << 'END'
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile int cells[64];
__attribute__((noinline)) static void work(int n)
{
    for (int i = 0; i < n; i++)
        cells[i % 64] = i;
}
int main(void)
{
    int status;
    work(100);
    clearenv();
    if (fork() == 0) {
        work(200);
        return 0;
    }
    return wait(&status) < 0 || status;
}
END
"$PSNAP" cc -O1 -o clears clears.c
rm -rf r && mkdir r
[ "$(PSNAP_COMMAND=$PSNAP PSNAP_OUT="$dir/r/%p.yaml" status ./clears)" = 0 ] && [ ! -s err ] ||
    fail "clears: $(cat err)"
[ "$(counts "work:$(grep -n 'i < n' clears.c | cut -d : -f 1)")" = "100 200" ] || fail "clears: $(ls r)"

# wrappers that are not instrumented
cat > spawns.py << 'END'
import os, subprocess, sys
subprocess.run(["./play", "work", "30"])
os.waitpid(os.posix_spawn("./play", ["./play", "work", "40"], os.environ), 0)
sys.exit(subprocess.run(["./play", "work", "50", "6"]).returncode)
END
play 6 "$work" "30 40 50" /usr/bin/python3 spawns.py
play 6 "$work" "30 40" sh -c './play work 30; ./play work 40 6'
play 6 "$work" "30" env -u HOME nice timeout 300 ./play work 30 6
play 6 "$work" "30 40" sh -c '(./play work 30 &) ; sleep 0.3; exec ./play work 40 6'
printf "%s\n" 30 40 | play 0 "$work" "30 40" xargs -n 1 ./play work
