#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The profile depends on the program and its input alone: not on where the system puts
# things, how large the environment is, where it runs and under what name, whether the
# collector was slow; and a trace makes the same profile later.
set -eu
. "$PSNAP_SOURCE/tests/cli/capture_common.sh"

# Memory of all kinds: globals, the heap, large and small mappings, the stack (also with
# more alignment than it has by itself), thread-local variables, strings of the C library.
cat > kinds.c << 'END'
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static double global[5000];
static _Thread_local int local[100];

struct node {
    struct node *next;
    long value;
};

__attribute__((noinline)) static long list(int n)
{
    struct node *first = NULL;
    long sum = 0;
    for (int i = 0; i < n; i++) {
        struct node *node = malloc(sizeof *node + (size_t)i % 50);
        node->next = first;
        node->value = i;
        first = node;
    }
    for (struct node *node = first; node; node = node->next)
        sum += node->value;
    while (first) {
        struct node *next = first->next;
        free(first);
        first = next;
    }
    return sum;
}

__attribute__((noinline)) static long large(size_t n)
{
    double *a = calloc(n, sizeof *a), *b = malloc(n * sizeof *b);
    long sum = 0;
    for (size_t i = 0; i < n; i++)
        b[i] = a[i] + (double)i;
    a = realloc(a, 3 * n * sizeof *a);
    for (size_t i = 0; i < 3 * n; i += 7)
        a[i] = b[i / 3];
    for (size_t i = 0; i < n; i++)
        sum += (long)a[i / 7 * 7];
    free(a), free(b);
    return sum;
}

__attribute__((noinline)) static long mapped(size_t bytes)
{
    unsigned char *a = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    long sum = 0;
    for (size_t i = 0; i < bytes; i += 5)
        a[i] = (unsigned char)i;
    for (size_t i = 0; i < bytes; i++)
        sum += a[i];
    munmap(a, bytes);
    return sum;
}

__attribute__((noinline)) static long stack(int n)
{
    volatile long here[300];
    long sum = 0;
    for (int i = 0; i < 300; i++)
        here[i] = i + n;
    for (int i = 0; i < 300; i++)
        sum += here[i];
    return n ? sum + stack(n - 1) : sum;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(void)
{
    long sum = 0;
    for (int i = 0; i < 5000; i++)
        global[i] = i * 7 % 1000;
    qsort(global, 5000, sizeof *global, by_value);
    for (int i = 0; i < 100; i++)
        local[i] = i;
    for (int k = 0; k < 5; k++) {
        sum += list(1000 * (k + 1)) + large(20000 + 5000 * (size_t)k) + stack(20);
        sum += mapped(70000) + mapped(300000 + 4096 * (size_t)k);
        for (int i = 0; i < 100; i++)
            sum += local[i] * (int)global[i * 50];
    }
    printf("%ld\n", sum);
    return 0;
}
END
cat > objects.cpp << 'END'
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>
int main()
{
    std::map<int, std::string> names;
    std::vector<std::unique_ptr<std::vector<double>>> rows;
    for (int i = 0; i < 500; i++)
        names[i * 7919 % 1009] = std::string(static_cast<size_t>(i % 90), 'x');
    for (int i = 0; i < 100; i++)
        rows.push_back(std::make_unique<std::vector<double>>(i * 10));
    double sum = 0;
    for (auto &row : rows)
        for (double &x : *row)
            sum += x += 1;
    for (auto &name : names)
        sum += static_cast<double>(name.second.size());
    std::printf("%g\n", sum);
}
END
"$PSNAP" cc -O1 -o kinds kinds.c
"$PSNAP" c++ -O2 -o objects objects.cpp
"$PSNAP" cc -O2 -o bfs "$PSNAP_SOURCE/samples/bfs.c" -lm

# same PROFILE PROFILE WORDS: but for the provenance, from "program:" to the next key
core() { sed '/^program:/,/^capture:/{/^capture:/!d}' "$1"; }
same() {
    diff <(core "$1") <(core "$2") > difference ||
        fail "$3: $(wc -l < difference) lines differ: $(head -n 20 difference)"
}


mkdir -p else/where
cp kinds else/where/another-name
padding=$(printf '%5000s' '' | tr ' ' x)
for program in "kinds" "objects" "bfs 2000 1"; do
    short=${program%% *}
    "$PSNAP" record -o $short.yaml --trace $short.pst -- ./$program > $short.output
    "$PSNAP" check $short.yaml > /dev/null
    for n in 1 2 3; do
        "$PSNAP" record --force -o again.yaml -- ./$program > output
        same $short.yaml again.yaml "$short again"
        env -i PATH="$PATH" "$PSNAP" record --force -o again.yaml -- ./$program > output
        same $short.yaml again.yaml "$short without an environment"
        X=$padding "$PSNAP" record --force -o again.yaml -- "$dir/$short" ${program#"$short"} > output
        same $short.yaml again.yaml "$short in a large environment, by its path"
    done
    if setarch -R true 2> /dev/null; then
        setarch -R "$PSNAP" record --force -o again.yaml -- ./$program > output
        same $short.yaml again.yaml "$short without randomisation"
    fi
    (cd / && "$PSNAP" record --force -o "$dir/again.yaml" -- "$dir/$short" ${program#"$short"} > "$dir/output")
    same $short.yaml again.yaml "$short in another folder"
    PSNAP_OUT=self.yaml ./$program > output
    same $short.yaml self.yaml "$short recording itself"
    rm self.yaml
    cmp output $short.output
    "$PSNAP" profile $short.pst --force -o again.yaml
    same $short.yaml again.yaml "$short from its trace"
done
"$PSNAP" record --force -o again.yaml -- else/where/another-name > output
same kinds.yaml again.yaml "kinds by another name"

# a collector that comes late to everything
"$PSNAP" record --force -o again.yaml -- ./kinds > output &
kill -STOP $!
sleep 0.2
kill -CONT $!
wait $!
same kinds.yaml again.yaml "kinds, slowly collected"

# Threads: in whatever order they come to their first records, and the collector to theirs. Each
# has memory of its own, in an arena of its own (malloc's choice, if all are there at a time).
cat > team.c << 'END'
#include <stdio.h>
#include <stdlib.h>
#ifdef _OPENMP
#include <omp.h>
#endif
#include <pthread.h>
enum { N = 60000, TEAM = 4 };
static double a[N], b[N], sums[TEAM];
static pthread_barrier_t barrier;
__attribute__((noinline)) static double part(const double *x, double *mine, int from, int to)
{
    double sum = 0;
    for (int i = from; i < to; i++)
        mine[i - from] = x[i] * 2;
    for (int i = from; i < to; i++)
        sum += mine[i - from];
    return sum;
}
static void *work(void *number)
{
    int t = (int)(long)number;
    for (int k = 0; k < 5; k++) {
        double *mine = malloc(N / TEAM * sizeof *mine);
        char *little = malloc(100);
        for (int i = 0; i < 100; i++)
            little[i] = (char)i;
        for (int i = t; i < N; i += TEAM)
            a[i] = b[i] + i;
        sums[t] += part(a, mine, t * (N / TEAM), (t + 1) * (N / TEAM)) + little[k];
        pthread_barrier_wait(&barrier);
        free(mine);
        free(little);
    }
    return NULL;
}
int main(void)
{
    pthread_barrier_init(&barrier, NULL, TEAM);
#ifdef _OPENMP
#pragma omp parallel for schedule(static) num_threads(TEAM)
    for (int t = 0; t < TEAM; t++)
        work((void *)(long)t);
#else
    pthread_t all[TEAM];
    for (long t = 0; t < TEAM; t++)
        pthread_create(&all[t], NULL, work, (void *)t);
    for (int t = 0; t < TEAM; t++)
        pthread_join(all[t], NULL);
#endif
    printf("%d\n", sums[0] > 0);
    return 0;
}
END
"$PSNAP" cc -O1 -pthread -o team team.c
"$PSNAP" cc -O2 -pthread -o threads "$PSNAP_SOURCE/samples/threads.c" -lm
"$PSNAP" cc -O1 -fopenmp -o team_omp team.c 2> omp.err || echo "skipped OpenMP: $(cat omp.err)"
for program in "./team" "./threads 100 5 4" ./team_omp; do
    [ -e "${program%% *}" ] || continue
    if [ "$program" = ./team_omp ]; then
        # libomp aligns its frames by their addresses, and allocates texts with its process id
        core() { sed '/^program:/,/^capture:/{/^capture:/!d}; s/group: heap, offset: .*/group: heap/
            s/\(region: omp_outlined, start: \).*/\1/' "$1" |
            awk 'BEGIN { RS = "\n  - id: " } !/group: stack/'; }
    fi
    "$PSNAP" record --force -o threads.yaml --trace threads.pst -- $program > output
    "$PSNAP" check threads.yaml > /dev/null
    "$PSNAP" profile threads.pst --force -o again.yaml
    same threads.yaml again.yaml "$program from its trace"
    for n in 1 2 3 4; do # two at a time, so that each is in the other's way
        "$PSNAP" record --force -o again.yaml -- $program > output &
        "$PSNAP" record --force -o other.yaml -- $program > other &
        wait
        same threads.yaml again.yaml "$program again"
        same threads.yaml other.yaml "$program again"
    done
done

# Threads of which each ends before the next one is made: in the trace and in the profile each is
# where it was, between what main does, also those beyond the 64 that are kept apart.
cat > lives.c << 'END'
#include <pthread.h>
static volatile long a[70][3000], sum;
static void *work(void *row)
{
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < 3000; i++)
            sum += ((volatile long *)row)[i];
    return NULL;
}
int main(void)
{
    for (int k = 0; k < 70; k++) {
        pthread_t thread;
        for (int i = 0; i < 3000; i++)
            a[k][i] = i;
        pthread_create(&thread, NULL, work, (void *)a[k]);
        pthread_join(thread, NULL);
        for (int i = 0; i < 3000; i++)
            sum -= a[k][i];
    }
    return 0;
}
END
"$PSNAP" cc -O2 -pthread -o lives lives.c
"$PSNAP" record --force -o lives.yaml --trace lives.pst -- ./lives > output
"$PSNAP" record --force -o again.yaml -- ./lives > output
same lives.yaml again.yaml "./lives again"
"$PSNAP" compare lives.pst lives.yaml -m 32K:64:8 --max-error 0.5
"$PSNAP" sim lives.pst -m 32K:64:8 --by total,thread > rows
"$PSNAP" sim lives.pst -m 32K:64:8 --by total > total
[ "$(grep -w ^total rows | xargs)" = "$(grep -w ^total total | xargs)" ] || fail "another total: $(cat rows total)"

# what the profile says of their lives is shown, compared, edited and checked
"$PSNAP" show lives.yaml --schedule > shown
grep -q "^thread 1  *after 300[0-9] accesses of thread 0" shown || fail "$(head -20 shown)"
fill=$(sed -n 's/^- id: \(main:[0-9]*\)$/\1/p' lives.yaml | sed -n 2p)
"$PSNAP" edit lives.yaml -e "loops[$fill].iterations *= 3" -o edited.yaml
"$PSNAP" check edited.yaml
begins() { sed -n 's/^  after: //p' "$1" | sed -n 2p; } # the second one
[ "$(begins edited.yaml)" -gt "$(begins lives.yaml)" ] || fail "begins too early: $(begins edited.yaml)"
sed '0,/^  after: .*/s//  after: 17/' lives.yaml > other.yaml
"$PSNAP" diff lives.yaml other.yaml > out || true
grep -q "^schedule of thread 1: after 300[0-9] accesses of thread 0 -> after 17 " out || fail "$(cat out)"
refused() { # LINE MESSAGE: in place of the first 'after'
    sed "0,/^  after: .*/s//  $1/" lives.yaml > broken.yaml
    ! "$PSNAP" check broken.yaml > out 2>&1 || fail "taken: $1"
    grep -q "broken.yaml:[0-9]*:[0-9]*: $2" out || fail "$(cat out)"
}
refused 'with: 0\n  turn: 16' "thread 1 is 'with' thread 0: that one needs the same 'with: 0' and 'turn'"
refused 'with: 0' "the key 'turn' is missing"
refused 'turn: 16' "the key 'with' is missing"
refused 'after: -1' "'after' must be a whole number"

# on one processor, with figures of the recording
cpu=$(awk '/^Cpus_allowed_list/ { split($2, n, /[,-]/); print n[1] }' /proc/self/status)
taskset -c "$cpu" "$PSNAP" record --verbose --force -o again.yaml -- ./lives > output 2> err
grep -q "behind the stream" err || fail "$(cat err)"
same lives.yaml again.yaml "./lives on one processor"

# loop ids depend on source, compiler and flags: compiled again, elsewhere, the same profile
(cd else && cp ../kinds.c . && "$PSNAP" cc -O1 -o kinds kinds.c)
"$PSNAP" record --force -o again.yaml -- else/kinds > output
same kinds.yaml again.yaml "kinds compiled elsewhere"
