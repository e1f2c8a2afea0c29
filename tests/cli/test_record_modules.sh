#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Several instrumented modules in one program: static and shared libraries, libraries that are
# loaded, closed and loaded again, also at the place of another, under a program that is
# instrumented or not; and programs that the linker makes of bitcode (-flto). All accesses are
# counted, each in its loop.
set -eu
. "$PSNAP_SOURCE/tests/cli/capture_common.sh"

# counts PROFILE: "loop accesses" of the loops of work_NAME functions, sorted
counts() {
    "$PSNAP" check "$1" > check.out 2>&1 || fail "$1: $(cat check.out)"
    "$PSNAP" show "$1" --json | python3 -c '
import collections, json, sys
sums = collections.Counter()
for loop in json.load(sys.stdin)["loops"]:
    if loop["id"].startswith("work_") and ":" in loop["id"]:
        sums[loop["id"].split(":")[0]] += loop["accesses"]
        sums["loops"] += loop["accesses"] > 0
print(*(f"{name} {sums[name]}" for name in sorted(sums)))
'
}
# recorded "EXPECTED" COMMAND...: one profile, with these counts
recorded() {
    local expected=$1 result
    shift
    rm -f p.yaml*
    result=$(status timeout 300 "$PSNAP" record -o p.yaml -- "$@")
    [ "$result" = 0 ] && [ ! -s err ] || fail "$*: exit status $result: $(cat err)"
    [ "$(counts p.yaml)" = "$expected" ] || fail "$*: $(counts p.yaml), not $expected"
    [ ! -e p.yaml.2 ] && [ "$(echo p.yaml*)" = p.yaml ] || fail "$*: $(echo p.yaml*)"
}

for name in a b c; do
    sed "s/NAME/$name/g" > $name.c << 'END'
static volatile long cells[1024];
void work_NAME(long n);
__attribute__((noinline)) void work_NAME(long n)
{
#ifdef SKEW
    cells[1000] = cells[1001] = n;
    if (n == 77)
        cells[1002] = 3;
#endif
    for (long i = 0; i < n; i++)
        cells[i * (i + 1L) / 2 % 1000] = i;
}
END
done
cat > linked.c << 'END'
void work_a(long n);
void work_b(long n);
void work_c(long n);
int main(void)
{
    for (int i = 0; i < 10; i++) {
        work_a(100);
        work_b(2000);
        work_c(30000);
    }
    return 0;
}
END

# ------------------------------------------------------------- linked

"$PSNAP" cc -O1 -c a.c -o a.o
ar rcs liba.a a.o
"$PSNAP" cc -O1 -fPIC -shared b.c -o libb.so
"$PSNAP" cc -O1 -DSKEW -fPIC -shared c.c -o libc_.so
"$PSNAP" cc -O1 linked.c liba.a -L. -lb -lc_ "-Wl,-rpath,$PWD" -o linked
recorded "loops 3 work_a 1000 work_b 20000 work_c 300000" ./linked
"${PSNAP_CC:-cc}" -c linked.c -o linked.o # the program itself is not
"${PSNAP_CC:-cc}" -c a.c -o a_native.o
"${PSNAP_CC:-cc}" linked.o a_native.o -L. -lb -lc_ "-Wl,-rpath,$PWD" -o linked
recorded "loops 2 work_b 20000 work_c 300000" ./linked

# ------------------------------------------------------------- names

# functions of one name in two files: both say which, in whatever order they are linked
for name in first second; do
    cat > $name.c << END
static volatile long cells_$name[100];
__attribute__((noinline)) static void helper(int n)
{
    for (int i = 0; i < n; i++)
        cells_$name[i]++;
}
void run_$name(void)
{
    helper(50);
}
END
done
echo 'void run_first(void); void run_second(void);
int main(void) { run_first(); run_second(); return 0; }' > two.c
for order in "first.c second.c two.c" "two.c second.c first.c"; do
    "$PSNAP" cc -O1 $order -o two
    "$PSNAP" record --force -o p.yaml -- ./two
    "$PSNAP" check p.yaml > /dev/null
    for name in first second; do
        grep -A 12 "^- id: helper:4@$name.c" p.yaml | grep -q "symbol: cells_$name" ||
            fail "$order: $(grep '^- id' p.yaml)"
    done
    ! grep -q '^- id: .*helper\(:4\)\?.\?$' p.yaml || fail "$order: $(grep '^- id' p.yaml)"
done

# a global has its name to its end, wherever that is
cat > huge.c << 'END'
static char huge[5ul << 30];
char *volatile at = huge + (4ul << 30) + (600ul << 20);
int main(void)
{
    for (int i = 0; i < 1000; i++)
        at[i] = 2;
    return huge[5];
}
END
# before LLVM 17 large data are in .bss, and what is behind them there is beyond the runtime's reach
[ "$("$PSNAP" cc -dumpversion | cut -d . -f 1)" -lt 17 ] ||
    "$PSNAP" cc -O1 -mcmodel=medium huge.c -o huge
if [ -e huge ] && ./huge 2> /dev/null; then # there is as much address space
    "$PSNAP" record --force -o p.yaml -- ./huge
    [ "$(grep -c 'symbol: huge' p.yaml)" = 2 ] || fail "huge: $(grep symbol p.yaml)"
fi

# ------------------------------------------------------------- loaded

cat > loads.c << 'END'
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile long own[1024];
static volatile int go_on = 1;
void work_own(long n);
__attribute__((noinline)) void work_own(long n)
{
    for (long i = 0; i < n; i++)
        own[i * (i + 1L) / 2 % 1000] = i;
}
static void *other(void *rounds)
{
    for (long i = 0; i < (long)rounds; i++)
        work_own(1000);
    return NULL;
}
static void *call(const char *library, const char *name, long n)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL), *at;
    void (*work)(long);
    if (!handle) {
        puts(dlerror());
        exit(1);
    }
    at = dlsym(handle, name);
    work = (void (*)(long))at;
    work(n);
    dlclose(handle);
    return at;
}
int main(int argc, char **argv)
{
    int rounds = atoi(argv[1]), same = 0;
    long n = atol(argv[2]);
    pthread_t thread;

    pthread_create(&thread, NULL, other, (void *)(long)rounds);
    for (int i = 0; i < rounds; i++) {
        void *b = call("./libb.so", "work_b", n), *c = call("./libc_.so", "work_c", n);
        same += (unsigned long)b >> 12 == (unsigned long)c >> 12;
        work_own(10);
    }
    if (argc > 3) {
        if (fork() == 0) {
            call("./libb.so", "work_b", n);
            call("./libc_.so", "work_c", n);
            _exit(0);
        }
        wait(NULL);
    }
    pthread_join(thread, NULL);
    printf("%d\n", same);
    return 0;
}
END
"$PSNAP" cc -O1 -pthread loads.c -o loads
"${PSNAP_CC:-cc}" -O1 -pthread loads.c -o loads_native -ldl
for arguments in "1 100000" "300 77" "30 20000"; do
    set -- $arguments
    recorded "loops 3 work_b $(($1 * $2)) work_c $(($1 * $2)) work_own $(($1 * 1010))" ./loads $1 $2
    recorded "loops 2 work_b $(($1 * $2)) work_c $(($1 * $2))" ./loads_native $1 $2
done
# the libraries did take turns at one place
[ "$(./loads 20 10)" -gt 10 ] || echo "note: libraries were loaded at different places"
for program in ./loads ./loads_native; do
    rm -f p.yaml*
    "$PSNAP" record -o p.yaml -- $program 3 500 fork > out 2> err || fail "fork: $(cat err)"
    [ "$(counts p.yaml | sed 's/ work_own.*//; s/loops .//')" = " work_b 1500 work_c 1500" ] &&
        [ "$(counts p.yaml.[0-9]*)" = "loops 2 work_b 500 work_c 500" ] ||
        fail "$program, fork: $(counts p.yaml), $(counts p.yaml.[0-9]*)"
done
rm -f q.yaml
PSNAP_OUT=q.yaml ./loads_native 3 500 > out
[ "$(counts q.yaml)" = "loops 2 work_b 1500 work_c 1500" ] || fail "PSNAP_OUT: $(counts q.yaml)"

# ------------------------------------------------------------- replaced

# A library comes where another was while a thread is held up in a loop of irregular accesses, whose
# batch of records ends behind what will then be in it; or where a handler's record has come behind
# such a batch. `page` is where the loop is caught, by a handler that is not instrumented.
cat > page.c << 'END'
void work_page(const volatile char *page);
void work_page(const volatile char *page)
{
    for (long i = 0; i < 10; i++)
        (void)page[i * (i + 1L) / 2 % 1000];
}
static volatile int handled;
void work_handler(void);
void work_handler(void)
{
    for (int i = 0; i < 5; i++)
        handled = i;
}
END
cat > replaced.c << 'END'
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void work_page(const volatile char *page);
void work_handler(void);
static void (*volatile work)(long);
static volatile int is_caught, may_go_on;
static char *page;

static void on_fault(int unused)
{
    (void)unused;
    if (may_go_on)
        work_handler();
    is_caught = 1;
    while (!may_go_on)
        usleep(1000);
    mprotect(page, 4096, PROT_READ);
}
static void load(const char *library, const char *name)
{
    static void *handle;
    if (handle)
        dlclose(handle);
    handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    *(void **)&work = dlsym(handle, name);
}
static void *other(void *unused)
{
    work_page(page);
    work(20);
    return unused;
}
static void while_held(void)
{
    const int collector = atoi(getenv("PSNAP_SESSION") + strlen("/proc/"));
    pthread_t thread;

    work(50);
    pthread_create(&thread, NULL, other, NULL);
    while (!is_caught)
        usleep(1000);
    kill(collector, SIGSTOP); /* it looks when all is over */
    load("./libc_.so", "work_c");
    may_go_on = 1;
    pthread_join(thread, NULL);
    kill(collector, SIGCONT);
}
static void when_handled(void)
{
    may_go_on = 1;
    work_page(page);
    work(50);
    load("./libc_.so", "work_c");
    usleep(200000); /* the collector looks before the thread goes on */
    work(20);
}
int main(int argc, char **argv)
{
    (void)argv;
    page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    signal(SIGSEGV, on_fault);
    load("./libb.so", "work_b");
    if (argc > 1)
        while_held();
    else
        when_handled();
    return 0;
}
END
"${PSNAP_CC:-cc}" -O1 -c replaced.c -o replaced.o
"$PSNAP" cc -O1 -pthread replaced.o page.c -o replaced
recorded "loops 3 work_b 50 work_c 20 work_page 10" ./replaced held
recorded "loops 4 work_b 50 work_c 20 work_handler 5 work_page 10" ./replaced

# ------------------------------------------------------------- link-time optimisation

echo 'int main(void) { return 0; }' > lto.c
if "$PSNAP" cc -flto lto.c -o lto 2> lto.err; then
    for lto in "-O2 -flto" "-O2 -flto=thin" "-O1 -flto=full -fuse-ld=lld" "-O0 -flto" \
        "-O2 -flto=thin -static" "-O2 -flto --psnap-stage=vectorizer-start"; do
        for name in a b c linked; do
            "$PSNAP" cc $lto -c $name.c -o $name.lto.o
        done
        "$PSNAP" cc $lto a.lto.o b.lto.o c.lto.o linked.lto.o -o lto
        rm -f p.yaml
        "$PSNAP" record -o p.yaml -- ./lto
        case $lto in
        -O0* | *--psnap-stage*) ;; # the counters are in memory, or called functions are not inlined
        *) [ "$(counts p.yaml)" = "loops 3 work_a 1000 work_b 20000 work_c 300000" ] ||
            fail "$lto: $(counts p.yaml)" ;;
        esac
        grep -q 'symbol: .*cells' p.yaml || fail "$lto: no names"
        "$PSNAP" show p.yaml | grep -q 'b.c:10' || fail "$lto: no lines"
    done
    "$PSNAP" cc -O2 -flto -c b.c -o b.lto.o # bitcode that is not instrumented twice
    "$PSNAP" cc -O2 -fuse-ld=lld a.o b.lto.o c.lto.o linked.lto.o -o lto
    recorded "loops 3 work_a 1000 work_b 20000 work_c 300000" ./lto
    # what is inlined across files is where it was written
    cat > across.c << 'END'
static volatile int cells[10];
int step(int x);
int step(int x)
{
    cells[x % 10] = x;
    return x + 1;
}
END
    cat > across_main.c << 'END'
int step(int x);
int main(void)
{
    int x = 0;
    for (int i = 0; i < 1000; i++)
        x = step(x);
    return x != 1000;
}
END
    "$PSNAP" cc -O2 -flto across.c across_main.c -o lto
    rm -f p.yaml
    "$PSNAP" record -o p.yaml -- ./lto
    "$PSNAP" show p.yaml --loop main:5 > out && has out "1,000, " || fail "across: $(cat p.yaml)"
    [ "$(status "$PSNAP" cc -flto -fuse-ld=bfd lto.c -o lto)" = 2 ] || fail "-flto with another linker"
    has err "has to be lld"
else
    echo "skipped -flto: $(head -n 1 lto.err)"
fi

# ------------------------------------------------------------- too many

# Libraries that an uninstrumented program opens for itself alone have a copy of the runtime each:
# eight do together, and those that are more are counted
for i in 1 2 3 4 5 6 7 8 9 10; do
    echo "static volatile long cells[100];
        void f(void) { for (int i = 0; i < 100; i++) cells[i] = i; }" > many$i.c
    "$PSNAP" cc -O1 -fPIC -shared many$i.c -o libmany$i.so
done
cat > opens.c << 'END'
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    for (int i = 1; i <= atoi(argv[argc - 1]); i++) {
        char name[64];
        void *library, (*f)(void);
        snprintf(name, sizeof name, "./libmany%d.so", i);
        library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        *(void **)&f = dlsym(library, "f");
        f();
    }
    puts("whole");
    return 3;
}
END
"${PSNAP_CC:-cc}" opens.c -o opens -ldl
[ "$(status "$PSNAP" record --force -o p.yaml -- ./opens 8)" = 3 ] && [ ! -s err ] || fail "eight: $(cat err)"
grep -q "^totals: {accesses: 800," p.yaml || fail "eight: $(grep totals: p.yaml)"
[ "$(status "$PSNAP" record --force -o p.yaml -- ./opens 10)" = 125 ] || fail "ten: $(cat err p.yaml)"
has out whole
has err "2 instrumented shared libraries were not recorded: there are too many"
grep -q "^totals: {accesses: 800," p.yaml || fail "ten: $(grep totals: p.yaml)"

# also in a thread of a child that gets no session
cat > orphan.c << 'END'
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static void (*f[10])(void);
static void *run(void *unused)
{
    for (int i = 0; i < 10; i++)
        f[i]();
    return unused;
}
int main(void)
{
    int status;
    for (int i = 0; i < 10; i++) {
        char name[64];
        snprintf(name, sizeof name, "./libmany%d.so", i + 1);
        *(void **)&f[i] = dlsym(dlopen(name, RTLD_NOW | RTLD_LOCAL), "f");
    }
    f[0]();
    kill(atoi(getenv("PSNAP_SESSION") + strlen("/proc/")), SIGKILL); /* who would give it one */
    if (fork() == 0) {
        pthread_t thread;
        f[0]();
        pthread_create(&thread, NULL, run, NULL);
        pthread_join(thread, NULL);
        _exit(4);
    }
    wait(&status);
    puts(WIFEXITED(status) && WEXITSTATUS(status) == 4 ? "whole" : "broken");
    return 3;
}
END
"${PSNAP_CC:-cc}" orphan.c -o orphan -ldl -pthread
status timeout 300 "$PSNAP" record --force -o p.yaml -- ./orphan > result
has out whole

# ------------------------------------------------------------- before our constructors have run

# Resolvers of ifuncs, with what they call in another file, .preinit_array, constructor(0) and a
# thread of its own, and behind ours have, destructor(0): all in executables of any kind, the constructor in a library that is loaded
cat > early.c << 'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static volatile int cells[1000];
static void *volatile block;
int work_helper(int n);
#define WORK(name, n)                                                                              \
    __attribute__((noinline)) void work_##name(void)                                               \
    {                                                                                              \
        for (int i = 0; i < n; i++)                                                                \
            cells[i]++;                                                                            \
    }
WORK(preinit, 100)
WORK(constructor, 200)
WORK(thread, 300)
static void *run(void *unused)
{
    work_thread();
    return unused;
}
__attribute__((constructor(0))) static void first(void)
{
    pthread_t thread;
    block = malloc(1000);
    work_constructor();
    pthread_create(&thread, NULL, run, NULL);
    pthread_join(thread, NULL);
}
#ifdef LIBRARY
void f(void)
{
    work_preinit();
}
#else
WORK(destructor, 50)
__attribute__((destructor(0))) static void last(void)
{
    work_destructor();
}
static int one(void)
{
    return cells[0];
}
static int (*resolve(void))(void)
{
    return work_helper(10) > 0 ? one : NULL;
}
int chosen(void) __attribute__((ifunc("resolve")));
__attribute__((section(".preinit_array"), used)) static void (*const before)(void) = work_preinit;
int main(void)
{
    printf("%d\n", chosen() + work_helper(20));
    return 0;
}
#endif
END
cat > helper.c << 'END'
static volatile int sums[100];
int work_helper(int n)
{
    for (int i = 0; i < n; i++)
        sums[i] += i;
    return sums[n - 1];
}
END
for flags in "" -static -static-pie -no-pie -flto "-Wl,--gc-sections -ffunction-sections -fuse-ld=lld"; do
    "$PSNAP" cc -O1 $flags -pthread early.c helper.c -o early
    recorded "loops 5 work_constructor 400 work_destructor 100 work_helper 60 work_preinit 200 work_thread 600" ./early
    has out 22
    rm -f o.yaml
    PSNAP_OUT=o.yaml ./early > out
    [ "$(counts o.yaml)" = "$(counts p.yaml)" ] || fail "early $flags: $(counts o.yaml)"
done
# A resolver that does more than there is room for: 700 iterations of some ten words are 7,000,
# and 2,048 are kept
sed -i 's/work_helper(10)/work_helper(700)/; s/sums\[100\]/sums[1000]/' early.c helper.c
"$PSNAP" cc -O0 -pthread early.c helper.c -o early
[ "$(status "$PSNAP" record --force -o p.yaml -- ./early)" = 125 ] || fail "many: $(cat err)"
has err "code ran before its module was known: "
grep -q "known: [1-9][0-9]* words of its records are missing" err || fail "many: $(cat err)"
"$PSNAP" cc -O1 -DLIBRARY -shared -fPIC -pthread early.c -o libearly.so
cat > load.c << 'END'
#include <dlfcn.h>
static volatile int cells[1000];
int main(void)
{
    void (*f)(void);
    for (int i = 0; i < 1000; i++)
        cells[i] = i;
    *(void **)&f = dlsym(dlopen("./libearly.so", RTLD_NOW), "f");
    f();
    return 0;
}
END
"$PSNAP" cc -O1 load.c -o load -ldl
"${PSNAP_CC:-cc}" load.c -o plain -ldl
for program in ./load ./plain; do
    recorded "loops 3 work_constructor 400 work_preinit 200 work_thread 600" $program
done

# Compilers put code of theirs before our constructors, too: of one file, or of both
cat > covered.c << 'END'
#include <stdio.h>
int work_other(int);
static volatile int cells[1000];
int main(void)
{
    for (int i = 0; i < 1000; i++)
        cells[i] += work_other(i);
    return cells[7] != 7;
}
END
cat > other.c << 'END'
static volatile int cells[1000];
int work_other(int i)
{
    cells[i] = i;
    return cells[i];
}
END
"$PSNAP" cc -O2 -c covered.c
for flags in "" --coverage; do
    "$PSNAP" cc -O2 --coverage $flags -c other.c -o other.o
    "$PSNAP" cc -O2 $flags -c covered.c -o covered.o
    for order in "covered.o other.o" "other.o covered.o"; do
        "$PSNAP" cc --coverage $order -o covered
        [ "$(status "$PSNAP" record --force -o p.yaml -- ./covered)" = 0 ] || fail "$order: $(cat err)"
        "$PSNAP" info --json p.yaml | grep -q "\"accesses\": $([ "$flags" ] && echo 800 || echo 600)[0-9]," ||
            fail "coverage '$flags' of $order: $("$PSNAP" info --json p.yaml | grep accesses)"
    done
done
