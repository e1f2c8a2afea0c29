#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Processes that come to be recorded when `psnap record` has ended: daemons whose parents end
# at once, and what is started later. They wait for the file `go`, which appears then, in code
# that is not instrumented. What serves them goes when nobody is left who may come.
set -eu
. "$PSNAP_SOURCE/tests/cli/capture_common.sh"

cat > plain.c << 'END'
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
void overwrite_environment(void)
{
    static char *none[] = {NULL};
    char *last = environ[0];
    for (char **at = environ; *at; at++)
        last = *at;
    memset(environ[0], 0, (size_t)(last - environ[0]) + strlen(last));
    environ = none;
}
/* comes back when so many generations of parents have ended, and psnap record too */
void become_daemon(int generations)
{
    while (generations-- > 0)
        if (fork() != 0)
            _exit(5);
    setsid();
    freopen("/dev/null", "w", stdout);
    freopen("/dev/null", "w", stderr);
    for (int i = 0; access("go", F_OK) != 0; i++) {
        if (i == 60000)
            abort();
        usleep(1000);
    }
}
END
cat > late.c << 'END'
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
void become_daemon(int generations);
void overwrite_environment(void);
static volatile long cells[1024];
__attribute__((noinline)) static void work(long n)
{
    for (long i = 0; i < n; i++)
        cells[i * (i + 1L) / 2 % 1024] = i;
}
static void family(void)
{
    for (int i = 0; i < 3; i++)
        if (fork() == 0) {
            work(200 + i);
            if (i == 0)
                exit(0);
            if (i == 1)
                _exit(0);
            abort();
        }
    while (wait(NULL) > 0)
        ;
}
int main(int argc, char **argv)
{
    const int generations = argc > 2 ? atoi(argv[2]) : 0;

    work(100);
    if (!strcmp(argv[1], "overwrites"))
        overwrite_environment();
    if (generations)
        become_daemon(generations);
    if (!strcmp(argv[1], "family"))
        family();
    else if (generations)
        work(200);
    return 0;
}
END
"${PSNAP_CC:-cc}" -Wno-unused-result -c plain.c
"$PSNAP" cc -O1 late.c plain.o -o late
line=$(grep -n 'i < n; i++' late.c | cut -d : -f 1)
cat > first.sh << 'END'
echo "$PSNAP_SESSION" > session
exec "$@"
END

# counts: the accesses of work() in each profile of r/, sorted
counts() {
    local file
    for file in r/*; do
        accesses_of "work:$line" "$file"
    done | sort -n | paste -s -d ' '
}
# until_gone HUB: for 30 seconds
until_gone() {
    for _ in $(seq 600); do
        [ -d "/proc/$1" ] || return 0
        sleep 0.05
    done
    fail "$what: it stays for nobody"
}
# late "EXPECTED..." "EXPECTED..." COMMAND...: what is recorded before and after `go`
late() {
    local first=$1 expected=$2 result hub
    shift 2
    what="$*"
    rm -rf r go session
    mkdir r
    result=$(status "$PSNAP" record -o r/%p.yaml -- sh first.sh "$@" < /dev/null)
    [ "$result" = 5 ] || fail "$what: exit status $result: $(cat err)"
    [ "$(counts)" = "$first" ] || fail "$what: at first $(counts), not $first: $(cat err)"
    hub=$(cut -d / -f 3 session)
    [ -d "/proc/$hub" ] || fail "$what: there is nobody to come to: $(cat err)"
    touch go
    until_gone "$hub"
    [ "$(counts)" = "$expected" ] || fail "$what: $(counts), not $expected: $(cat err)"
}
# says TEXT: and nothing else
says() {
    [ "$(cat err)" = "$1" ] || fail "$what: says $(cat err)"
}

running="psnap record: 1 process is still running: what is recorded appears when it ends"
late 100 "100 200" ./late daemon 1
says "$running"
late 100 "100 200" ./late daemon 3
says "$running"
late 100 "100 200" ./late overwrites 1
says "$running"
late 100 "0 100 200 201 202" ./late family 2
cat > later.sh << 'END'
for _ in $(seq 6000); do [ -e go ] && break; sleep 0.01; done
./late now
./late now
END
# started later, by what is not instrumented: nobody knows whether that will start anything
cat > starts.sh << 'END'
./late now
(. ./later.sh) > /dev/null 2>&1 &
exit 5
END
late 100 "100 100 100" sh starts.sh
says ""
cat > starts.c << 'END'
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
void become_daemon(int generations);
static void *other(void *unused)
{
    become_daemon(0);
    if (system("./late now") == -1)
        abort();
    _exit(0);
    return unused;
}
int main(void)
{
    pthread_t thread;
    if (system("./late now") == -1 || fork() != 0)
        return 5;
    pthread_create(&thread, NULL, other, NULL);
    pthread_exit(NULL); /* the process has no first thread any more */
}
END
"${PSNAP_CC:-cc}" -pthread -o starts starts.c plain.o
late 100 "100 100" ./starts
says ""

# psnap record's own session is for nobody any more when nobody had it until its program ended
cat > starts.sh << 'END'
(. ./later.sh) > /dev/null 2>&1 &
exit 5
END
what="not yet"
rm -rf r go
mkdir r
[ "$(status "$PSNAP" record -o r/p.yaml -- sh first.sh sh starts.sh < /dev/null)" = 125 ] ||
    fail "not yet: $(cat err)"
has err "the program is not instrumented"
touch go
until_gone "$(cut -d / -f 3 session)"
[ "$(counts)" = "100 100" ] && [ ! -e r/p.yaml ] || fail "not yet: $(counts) in $(ls r)"
# who has said that it takes it is waited for
cat > takes.c << 'END'
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "formats/base/capture_abi.h"
void become_daemon(int generations);
int main(void)
{
    int fd = open(getenv(PSNAP_ENV_SESSION), O_RDWR);
    struct psnap_hub *hub = mmap(NULL, sizeof *hub, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    hub->first = (uint32_t)getpid();
    puts("taken");
    fflush(stdout);
    become_daemon(0);
    return 0;
}
END
"${PSNAP_CC:-cc}" -D_GNU_SOURCE -I"$PSNAP_SOURCE" -o takes takes.c plain.o
rm -f go
"$PSNAP" record -o r/none.yaml -- sh -c './takes > taken & until [ -s taken ]; do sleep 0.01; done; echo ends' > out 2> err &
recorder=$!
until grep -q ends out; do sleep 0.01; done
sleep 0.3
kill -0 $recorder || fail "taken: it has not waited: $(cat err)"
touch go
result=0
wait $recorder || result=$?
[ "$result" = 125 ] || fail "taken: exit status $result"

# what was open when psnap record was started is not kept open
cat > starts.sh << 'END'
./late now
echo "$PSNAP_SESSION" > session
(
    exec 6>&- 7>&- > /dev/null 2>&1
    for _ in $(seq 6000); do [ -e go ] && break; sleep 0.01; done
    ./late now
) &
END
what="inherited"
rm -rf r go
mkdir r
exec 6> one 7> two
flock 6
flock 7
"$PSNAP" record -o r/%p.yaml -- sh starts.sh
exec 6>&- 7>&-
hub=$(cut -d / -f 3 session)
flock -n one true && flock -n two true && [ -d "/proc/$hub" ] || fail "inherited: $(ls -l "/proc/$hub/fd")"
touch go
until_gone "$hub"
[ "$(counts)" = "100 100" ] || fail "inherited: $(counts)"

# what serves them has been killed: the first process is recorded, and the rest is said to be missing
cat > kills.sh << 'END'
./late now
kill -KILL $(echo $PSNAP_SESSION | cut -d / -f 3)
./late now
exit 5
END
rm -rf r
mkdir r
[ "$(status "$PSNAP" record -o r/p.yaml -- sh kills.sh)" = 125 ] || fail "killed: $(cat err)"
has err "psnap record: the process that serves further ones has died: they may be missing"
[ "$(counts)" = 100 ] || fail "killed: recorded $(counts)"
