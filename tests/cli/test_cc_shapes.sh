#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Code of odd shapes, instrumented: it compiles (LLVM's verifier agrees after every pass), runs
# as before and its accesses are there. Resolvers of ifuncs, which run before thread-local
# storage does, coroutines, constructors, naked functions, large functions, variable-length
# arrays, memory functions of the program's own.
set -eu
. "$PSNAP_SOURCE/tests/cli/capture_common.sh"

verify="-Xclang -llvm-verify-each" # LLVM 16 has no such option
"$PSNAP" cc $verify -c probe.c 2> probe.err || verify=""
cc="$PSNAP cc $verify" cxx="$PSNAP c++ $verify"

# shape EXPECTED PROGRAM OUTPUT: records it; EXPECTED accesses lie in the variable "cells"
shape() {
    [ "$("./$2")" = "$3" ] || fail "$2: prints $("./$2")"
    [ "$(status "$PSNAP" record --force -o p.yaml -- "./$2")" = 0 ] || fail "$2: $(cat err)"
    [ "$(cat out)" = "$3" ] || fail "$2: recorded, it prints $(cat out)"
    "$PSNAP" check p.yaml > /dev/null || fail "$2: no profile"
    cells=$(awk '/^ *symbol: /{ in_cells = $2 == "cells" } /^ *- id: /{ in_cells = 0 }
        in_cells && /^ *accesses: /{ sum += $2 } END { print sum + 0 }' p.yaml)
    [ "$cells" = "$1" ] || fail "$2: $cells accesses to cells"
}

cat > early.c << 'END'
#include <stdio.h>
static volatile int cells[10];
static int level(void)
{
    volatile int x = 3;
    return x;
}
static int one(int x)
{
    cells[x] = 1;
    return x + 1;
}
static int two(int x)
{
    cells[x] = 2;
    return x + 2;
}
static int (*resolve(void))(int)
{
    return level() > 5 ? one : two;
}
int chosen(int x) __attribute__((ifunc("resolve")));
__attribute__((target_clones("avx2", "default"))) int sum(volatile int *p, int n)
{
    int s = 0;
    for (int i = 0; i < n; i++)
        s += p[i];
    return s;
}
__attribute__((naked)) int bare(void)
{
    __asm__("movl $7, %eax\n\tret");
}
__attribute__((constructor)) static void early(void)
{
    cells[5] = 5;
}
__attribute__((destructor)) static void late(void)
{
    cells[6] = 5;
}
int main(void)
{
    printf("%d %d %d\n", chosen(3), sum(cells, 10), bare());
    return 0;
}
END
for flags in -O0 -O2 "-O2 -static" "-O1 -static-pie" "-O0 -fno-pie -no-pie"; do
    $cc $flags early.c -o early
    shape 13 early "5 7 7"
done

cat > coroutines.cpp << 'END'
#include <coroutine>
#include <cstdio>
static volatile int cells[100];
struct task {
    struct promise_type {
        int value;
        task get_return_object()
        {
            return {std::coroutine_handle<promise_type>::from_promise(*this)};
        }
        std::suspend_always initial_suspend() { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        std::suspend_always yield_value(int x)
        {
            value = x;
            return {};
        }
        void return_void() {}
        void unhandled_exception() {}
    };
    std::coroutine_handle<promise_type> handle;
};
static task generate(int n)
{
    for (int i = 0; i < n; i++) {
        cells[i] = i;
        co_yield i;
        cells[i] = -i;
    }
}
int main()
{
    task t = generate(50);
    int sum = 0;
    while (!t.handle.done()) {
        t.handle.resume();
        sum += t.handle.promise().value;
    }
    t.handle.destroy();
    std::printf("%d\n", sum);
}
END
for flags in -O0 -O1 -O2 "-O0 --psnap-stage=vectorizer-start" "-O2 --psnap-stage=vectorizer-start"; do
    $cxx -std=c++20 $flags coroutines.cpp -o coroutines
    shape 100 coroutines 1274
done

# A memcpy of the program's own: the compiler calls it in the middle of a piece; and memory of
# its own, from a malloc of its own. All of it is on record.
cat > own.c << 'END'
#include <stddef.h>
#include <stdio.h>
static volatile char cells[8192];
static char pool[1 << 20];
static size_t used;
void *malloc(size_t n)
{
    void *p = pool + used;
    used += (n + 63) & ~(size_t)63;
    cells[4000]++;
    return p;
}
void free(void *p)
{
    (void)p;
    cells[4001]++;
}
__attribute__((noinline)) void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
    volatile char *a = to;
    const volatile char *b = from;
    for (size_t i = 0; i < n; i++)
        a[i] = b[i];
    return to;
}
struct wide {
    char bytes[300];
};
__attribute__((noinline)) static void copy(struct wide *to, const struct wide *from)
{
    cells[4002] = 1;
    *to = *from;
    cells[4003] = 1;
}
int main(void)
{
    static struct wide a, b;
    setvbuf(stdout, NULL, _IONBF, 0);
    for (int i = 0; i < 20000; i++)
        copy(&a, &b);
    void *volatile memory = malloc(100);
    free(memory);
    puts(a.bytes[7] ? "odd" : "own");
    return 0;
}
END
$cc -O1 -fno-builtin-malloc own.c -o own
shape 40004 own own
line=$(grep -n 'i < n; i++' own.c | cut -d : -f 1)
"$PSNAP" show p.yaml --loop "memcpy:$line" > loop && has loop "12,000,000, "

# A sine of the program's own, in another file: the compiler takes it for the library's, which
# does not end a piece.
cat > sine.c << 'END'
static volatile double table[300];
double sin(double x);
double sin(double x)
{
    for (int i = 0; i < 300; i++)
        table[i] = x;
    return x;
}
END
cat > uses_sine.c << 'END'
#include <math.h>
#include <stdio.h>
static volatile double cells[8192];
int main(void)
{
    double sum = 0;
    for (int i = 0; i < 20000; i++) {
        cells[4000] = i;
        sum += sin((double)i);
        cells[4001] = i;
    }
    printf("%g\n", sum);
    return 0;
}
END
$cc -O1 sine.c uses_sine.c -o sine
shape 40000 sine 1.9999e+08
"$PSNAP" show p.yaml --loop "sin:5" > loop && has loop "6,000,000, "

# allocas stay in the entry block: stacks do not grow by what loops and calls use
cat > frames.c << 'END'
#include <stdio.h>
#include <string.h>
static volatile int cells[4];
void use(char *);
__attribute__((noinline)) void use(char *p)
{
    cells[0] = p[0];
}
__attribute__((noinline)) static void arrays(int n)
{
    char first[200], second[100], variable[n];
    memset(first, 1, sizeof first), memset(second, 1, sizeof second);
    memset(variable, 1, (size_t)n);
    use(n > 3 ? first : second), use(variable);
}
int main(void)
{
    for (int i = 1; i < 1000; i++)
        arrays(i);
    puts("frames");
    return 0;
}
END
for flags in -O0 -O2; do
    $cc $flags -Wno-gnu-folding-constant frames.c -o frames
    shape 1998 frames frames
done
echo 'void use(char *); void f(int n) { char a[9], b[9]; use(a); if (n) use(b); }' > entry.c
$cc -O2 -S -emit-llvm entry.c -o entry.ll
sed -n '/^define.*@f(/,/br /p' entry.ll | grep -c alloca | grep -qx 2 || fail "allocas have moved"

# large functions, in reasonable time
python3 > large.c << 'END'
print("#include <stdio.h>\nstatic volatile int cells[1000];\nint main(void)\n{\n    int x = 0;")
for i in range(4000):
    print(f"    cells[{i % 1000}] = x;\n    x += cells[{i * 7 % 1000}];")
    if i % 500 == 0:
        print("    puts(\"x\");")
print("    return x;\n}")
END
timeout 300 $PSNAP cc -O2 large.c -o large || fail "large: no end"
shape 8000 large "$(printf 'x\nx\nx\nx\nx\nx\nx\nx')"

# every sample, verified after every pass
for sample in "$PSNAP_SOURCE"/samples/*.c; do
    $cc -O3 -march=native -c "$sample" -o sample.o
done
$cxx -O2 -c "$PSNAP_SOURCE/samples/histogram.cpp" -o sample.o
