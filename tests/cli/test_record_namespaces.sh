#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Programs in PID namespaces of their own, where getpid() is not a number that psnap record knows
# them by: they are recorded as anywhere else, and psnap record ends with them.
set -eu
. "$PSNAP_SOURCE/tests/cli/capture_common.sh"

own="unshare --pid --fork"
$own true 2> /dev/null || {
    echo "skipped: no new namespaces for this user"
    exit 77
}

cat > prog.c << 'END'
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile long cells[1024];
__attribute__((noinline)) static void work(long n)
{
    for (long i = 0; i < n; i++)
        cells[i * (i + 1L) / 2 % 1024] = i;
}
int main(int argc, char **argv)
{
    long n = atol(argv[1]);
    int status = 0, first = getpid() == 1;
    work(n);
    if (argc > 2) {
        if (unshare(CLONE_NEWPID) != 0)
            return 3;
        pid_t child = fork();
        if (child == 0) {
            work(2 * n);
            _exit(getpid() == 1 ? 7 : 8);
        }
        waitpid(child, &status, 0);
        status = WEXITSTATUS(status);
    }
    printf("%s\n", first ? "first" : "further");
    return status;
}
END
"$PSNAP" cc -O1 -o prog prog.c

record() {
    timeout -k 5 60 "$PSNAP" record --force "$@"
}

# ------------------------------------------------------------- the program is in one

[ "$(record -o p.yaml -- $own ./prog 300000)" = first ]
[ "$(accesses_of work:10 p.yaml)" = 300000 ]

# ------------------------------------------------------------- it makes one for a child

[ "$(status record -o q.yaml -- ./prog 300000 child)" = 7 ] || fail "$(cat err)"
has out further
[ "$(accesses_of work:10 q.yaml)" = 300000 ]
[ "$(ls q.yaml.* | wc -l)" = 1 ]
[ "$(accesses_of work:10 q.yaml.*)" = 600000 ]

# ------------------------------------------------------------- and has a /proc of its own, or none

# Such a child is known by a number that is another process's outside: it is not recorded, which is
# said, and nobody waits for the other.
cat > begin.c << 'END'
#define _GNU_SOURCE
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>
pid_t begin(const char *how)
{
    pid_t child;
    if (unshare(CLONE_NEWPID | CLONE_NEWNS) != 0)
        return -1;
    child = fork();
    if (child == 0 && !strcmp(how, "proc") &&
        (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
         mount("proc", "/proc", "proc", 0, NULL) != 0))
        _exit(9);
    if (child == 0 && !strcmp(how, "chroot") && chroot("/etc") != 0)
        _exit(9);
    return child;
}
END
cat > outer.c << 'END'
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile long cells[1024];
__attribute__((noinline)) static void work(long n)
{
    for (long i = 0; i < n; i++)
        cells[i * (i + 1) / 2 % 1024] = i;
}
pid_t begin(const char *how);
int main(int argc, char **argv)
{
    int status;
    if (argc > 2)
        work(1000);
    pid_t child = begin(argv[1]);
    if (child == 0) {
        work(300000);
        _exit(7);
    }
    waitpid(child, &status, 0);
    printf("%d\n", WEXITSTATUS(status));
    return 0;
}
END
"$PSNAP_CC" -c begin.c
"$PSNAP" cc -O1 -o outer outer.c begin.o
for how in proc chroot; do
    if [ "$(./outer $how)" = 7 ]; then
        for before in "" before; do
            # shellcheck disable=SC2086
            [ "$(status record -o u.yaml -- ./outer $how $before)" = 125 ] || fail "$(cat err)"
            has out 7
            has err "1 process could not be recorded"
            [ -z "$before" ] || [ "$(accesses_of work:7 u.yaml)" = 1000 ]
        done
    fi
done

# ------------------------------------------------------------- psnap record is in one

# /proc is of the other namespace: the program runs, and it is said why it is not recorded.
[ "$(status $own "$PSNAP" record --force -o r.yaml -- ./prog 1000)" = 125 ] || fail "$(cat err)"
has out further
has err "PID namespace"
# With a /proc of its own it is.
proc=yes # not below a chroot
$own --mount-proc true 2> /dev/null || proc=
if [ -n "$proc" ]; then
    [ "$($own --mount-proc "$PSNAP" record --force -o r.yaml -- ./prog 1000)" = further ]
    [ "$(accesses_of work:10 r.yaml)" = 1000 ]
fi

# ------------------------------------------------------------- a collector of its own

[ "$(PSNAP_OUT=s.yaml PSNAP_COMMAND=$PSNAP $own ./prog 1000 2> err)" = first ]
has err "PID namespace"
[ ! -e s.yaml ]
[ -n "$proc" ] || exit 0
[ "$(PSNAP_OUT=s.yaml PSNAP_COMMAND=$PSNAP $own --mount-proc ./prog 1000 2> err)" = first ]
[ "$(accesses_of work:10 s.yaml)" = 1000 ]
