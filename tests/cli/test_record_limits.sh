#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# When there is no room: limits on address space, on files and on processes, outputs that cannot
# be written, and modules of another version of the capture ABI. The program runs on undisturbed,
# what is missing is said, and the exit status is 125; with less room it takes less.
set -eu
. "$PSNAP_SOURCE/tests/cli/capture_common.sh"

cat > prog.c << 'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile long cells[1024];
__attribute__((noinline)) static void work(long n)
{
    for (long i = 0; i < n; i++)
        cells[i * (i + 1L) / 2 % 1024] = i;
}
static void *thread(void *n)
{
    work((long)n);
    return NULL;
}
int main(int argc, char **argv)
{
    long n = argc > 1 ? atol(argv[1]) : 1000;
    int threads = argc > 2 ? atoi(argv[2]) : 0, children = argc > 3 ? atoi(argv[3]) : 0;
    pthread_t all[64];
    work(n);
    for (int i = 0; i < threads && i < 64; i++)
        if (pthread_create(&all[i], NULL, thread, (void *)n))
            return 1;
    for (int i = 0; i < threads && i < 64; i++)
        pthread_join(all[i], NULL);
    for (int i = 0; i < children; i++)
        if (fork() == 0) {
            work(n);
            _exit(0);
        } else
            wait(NULL);
    puts("whole");
    return argc > 4 ? atoi(argv[4]) : 0;
}
END
"$PSNAP" cc -O1 -pthread -o prog prog.c
stores() {
    accesses_of work:10 "$1"
}

# ------------------------------------------------------------- address space

sanitized=$(grep -c '^PSNAP_SANITIZE:[^=]*=..*' "$PSNAP_BUILD/CMakeCache.txt" || true)
if [ "$sanitized" = 0 ]; then
    for kilobytes in 2000000 300000 80000 75000 70000; do # of everybody: fewer rings
        rm -f p.yaml
        [ "$( (ulimit -v $kilobytes; status "$PSNAP" record -o p.yaml -- ./prog 100000) )" = 0 ] ||
            fail "ulimit -v $kilobytes: $(cat err)"
        [ "$(stores p.yaml)" = 100000 ] || fail "ulimit -v $kilobytes: $(stores p.yaml)"
    done
fi
# of the program alone: what it needs itself leaves no room for a session, and then none for a ring
rm -f p.yaml
least=2000
while ! (ulimit -v $least; ./prog 1000 > out 2> err); do
    least=$((least + 100))
done
result=$(status "$PSNAP" record -o p.yaml -- sh -c "ulimit -v $least; exec ./prog 100000 0 0 3")
[ "$result" = 125 ] || fail "no address space: $result: $(cat err)"
has out whole
has err "1 process could not be recorded"
! grep -q "not instrumented" err || fail "no address space: $(cat err)"
[ ! -e p.yaml ] || fail "a profile of nothing"
result=$(status "$PSNAP" record -o p.yaml -- sh -c "ulimit -v $((least + 3000)); exec ./prog 100000 0 0 3")
[ "$result" = 125 ] || fail "no address space for a ring: $result: $(cat err)"
has out whole
has err "1 thread found no ring"
rm -f p.yaml
# and six megabytes are enough for one thread
result=$(status "$PSNAP" record -o p.yaml -- sh -c "ulimit -v $((least + 6000)); exec ./prog 100000")
[ "$result" = 0 ] && [ "$(stores p.yaml)" = 100000 ] || fail "six megabytes: $result: $(cat err)"

# A program that limits itself, or locks its memory, may have as much as without psnap.
cat > self.c << 'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
int main(void)
{
    struct rlimit limit = {512 << 20, 512 << 20};
    int locked = mlockall(MCL_CURRENT | MCL_FUTURE);
    volatile char *memory;
    munlockall();
    if (setrlimit(RLIMIT_AS, &limit))
        return 1;
    memory = malloc(400 << 20);
    for (long i = 0; memory && i < 1000; i++)
        memory[i * 4096] = 1;
    printf("%d %d\n", locked, memory != NULL);
    return 0;
}
END
"$PSNAP" cc -O1 -o self self.c
rm -f p.yaml
weak=$(setpriv --bounding-set -ipc_lock true 2> /dev/null && echo "setpriv --bounding-set -ipc_lock" || true)
for run in "" "ulimit -l 8000;"; do
    [ "$(sh -c "$run exec $weak ./self")" = "0 1" ] || continue # not even without
    result=$(status $weak sh -c "$run exec '$PSNAP' record --force -o p.yaml -- ./self")
    [ "$result" = 0 ] || fail "limits of its own, $run: $result: $(cat err)"
    has out "0 1"
    [ "$(accesses_of main:15 p.yaml)" = 1000 ] || fail "limits of its own, $run"
    rm -f p.yaml
done

# ------------------------------------------------------------- files

# shared memory is a file to the system
result=$( (ulimit -f 100; status "$PSNAP" record -o p.yaml -- ./prog 100000 0 0 3) )
[ "$result" = 125 ] || fail "ulimit -f: $result: $(cat err)"
has out whole
has err "cannot create shared memory: file too large"
result=$( (ulimit -f 100; PSNAP_OUT=p.yaml status ./prog 100000 0 0 3) )
[ "$result" = 3 ] || fail "ulimit -f, PSNAP_OUT: $result: $(cat err)"
has err "cannot start the collector"
[ ! -e p.yaml ] || fail "a profile of nothing"
result=$( (ulimit -f 40000; status "$PSNAP" record -o p.yaml -- ./prog 100000) )
[ "$result" = 0 ] && [ "$(stores p.yaml)" = 100000 ] || fail "ulimit -f 40000: $result: $(cat err)"

# few rings, and more threads at a time than have one: how many is said, and that is a loss
cat > crowd.c << 'END'
#include <pthread.h>
#include <stdio.h>
static volatile long cells[64];
static pthread_barrier_t all;
static void *work(void *mine)
{
    for (long i = 0; i < 1000; i++)
        cells[(long)mine] = i;
    pthread_barrier_wait(&all);
    return NULL;
}
int main(void)
{
    pthread_t threads[40];
    pthread_barrier_init(&all, NULL, 40);
    for (long i = 0; i < 40; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < 40; i++)
        pthread_join(threads[i], NULL);
    puts("whole");
    return 3;
}
END
"$PSNAP" cc -O1 -pthread -o crowd crowd.c
[ "$( (ulimit -f 12000; status "$PSNAP" record -o crowd.yaml -- ./crowd) )" = 125 ] || fail "crowd: $(cat err)"
has out whole
lost=$(sed -n 's/psnap record: \([0-9]*\) threads found no ring, .*/\1/p' err)
[ "$(accesses_of work:7 crowd.yaml)" = $(((40 - ${lost:-0}) * 1000)) ] && [ "${lost:-0}" -gt 20 ] ||
    fail "crowd: $(accesses_of work:7 crowd.yaml) accesses: $(cat err)"
[ "$(status "$PSNAP" record --force -o crowd.yaml -- ./crowd)" = 3 ] && [ ! -s err ] || fail "crowd: $(cat err)"

# further processes whose files cannot be written: the others' are there
rm -f p.yaml
mkdir r
cat > closes.sh << 'END'
./prog 10
until [ -n "$(ls r)" ]; do sleep 0.05; done # its files are written beside what comes next
mv r r.away
./prog 20
mv r.away r
./prog 30
END
[ "$(status "$PSNAP" record -o r/%p.yaml -- sh closes.sh)" = 125 ] || fail "away: $(cat err)"
has err "cannot create 'r/"
grep -qE "[1-9][0-9]* accesses were counted, and are in no file" err || fail "away: $(cat err)"
[ "$(grep -c whole out)" = 3 ] && [ "$(ls r | wc -l)" = 2 ] || fail "away: $(ls r; cat out)"
if [ -w /dev/full ]; then
    [ "$(status "$PSNAP" record -o /dev/full -- ./prog 1000 2 3)" = 125 ] || fail "full"
    has out whole
    has err "no space left on device"
fi

# ------------------------------------------------------------- names

# more allocations than have names: how many is said, all is counted; what is got again and again
# from one place takes one name
cat > names.c << 'END'
#include <stdlib.h>
struct node {
    struct node *next;
    long value[40];
};
int main(void)
{
    struct node *list = NULL;
    for (int i = 0; i < 70000; i++) { /* two sites in turn: no neighbours are of one */
        struct node *node = i % 2 ? malloc(sizeof *node) : calloc(1, sizeof *node);
        node->next = list;
        list = node;
    }
    return 0;
}
END
sed 's/list = node;/free(node);/; s/node->next = list;/node->value[3] = i;/' names.c > again.c
"$PSNAP" cc -O0 names.c -o names
"$PSNAP" cc -O0 again.c -o again
[ "$(status "$PSNAP" record --force -o p.yaml -- ./names)" = 0 ] || fail "names: $(cat err)"
grep -q "psnap record: [0-9]* allocations too many to keep their names" err || fail "names: $(cat err)"
[ "$(status "$PSNAP" record --force -o p.yaml -- ./again)" = 0 ] && [ ! -s err ] || fail "again: $(cat err)"

# ------------------------------------------------------------- no hub, no collector

# psnap record's helper is killed: the first process is recorded, the others run unrecorded
cat > kills.sh << 'END'
kill -KILL "${PSNAP_SESSION#/proc/}" 2> /dev/null || kill -KILL "$(echo "$PSNAP_SESSION" | cut -d / -f 3)"
exec ./prog 100000 0 0 3
END
rm -f p.yaml
result=$(status timeout 300 "$PSNAP" record -o p.yaml -- sh kills.sh)
[ "$result" = 125 ] || [ "$result" = 3 ] || fail "no hub: $result: $(cat err)"
has out whole
[ "$result" = 3 ] || has err "psnap record"

# ------------------------------------------------------------- another ABI

"$PSNAP" cc -O1 -pthread -c prog.c -o prog.o
symbol=$(nm prog.o | sed -n 's/.* U \(__psnap_abi_[0-9]*\)$/\1/p')
[ -n "$symbol" ] || fail "modules do not say their ABI"
objcopy --redefine-sym "$symbol=__psnap_abi_98" prog.o old.o
[ "$(status "$PSNAP" cc -pthread old.o -o old)" != 0 ] || fail "a module of another ABI was linked"
has err "__psnap_abi_98"
has err "old.o"
# a program that was linked as a whole with another version
mkdir -p other/formats/base other/capture
cp "$PSNAP_SOURCE"/formats/base/capture_abi.* other/formats/base
cp -r "$PSNAP_SOURCE/capture/runtime" other/capture
sed -i 's/^#define PSNAP_CAPTURE_ABI [0-9]*/#define PSNAP_CAPTURE_ABI 98/' other/formats/base/capture_abi.h
for file in other/capture/runtime/*.c; do
    clang-19 -std=c17 -D_GNU_SOURCE -O1 -Iother -c "$file" -o "other/$(basename "$file").o" || {
        echo "skipped: no clang-19 for the runtime"
        exit 0
    }
done
clang-19 -pthread prog.o other/*.o -o other_prog
rm -f p.yaml
[ "$(status "$PSNAP" record -o p.yaml -- ./other_prog 1000 0 0 3)" = 125 ] || fail "other ABI: $(cat err)"
has out whole
has err "'other_prog' was linked with version 98 of the capture ABI"
[ ! -e p.yaml ] || fail "a profile of another ABI"
# one that is refused is a loss, although others are recorded
[ "$(status "$PSNAP" record -o p.yaml -- sh -c './prog 1000 && ./other_prog 1000 0 0')" = 125 ] ||
    fail "other ABI among others: $(cat err)"
has err "'other_prog' was linked with version 98 of the capture ABI"
[ "$(stores p.yaml)" = 1000 ] || fail "other ABI among others: $(stores p.yaml)"
rm p.yaml
[ "$(PSNAP_OUT=p.yaml status timeout 300 ./other_prog 1000 0 0 3)" = 3 ] || fail "other ABI, PSNAP_OUT: $(cat err)"
has err "98"
[ ! -e p.yaml ] || fail "a profile of another ABI"
