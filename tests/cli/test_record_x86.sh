#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Masked accesses, gathers and scatters that a program calls by hand as x86
# intrinsics: one access from the first to the last active lane, or one per
# active lane, at the addresses that the intrinsic's definition says.
set -eu
grep -qw avx2 /proc/cpuinfo 2> /dev/null || exit 77
"$PSNAP" cc --version > /dev/null 2>&1 || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

cat > x86.c <<'END'
#include <immintrin.h>
double a[64] __attribute__((aligned(64)));
__attribute__((noinline)) double f(__m256i mask, __m128i index)
{
    __m256d x = _mm256_maskload_pd(a, mask);
    _mm256_maskstore_pd(a + 8, mask, x);
    __m256d g = _mm256_i32gather_pd(a, index, 8);
    __m256d h = _mm256_mask_i32gather_pd(g, a, index, _mm256_castsi256_pd(mask), 8);
    return x[0] + g[1] + h[2];
}
#ifdef __AVX512F__
__attribute__((noinline)) void g(__mmask8 mask, __m256i index, __m512d x)
{
    x = _mm512_mask_i32gather_pd(x, mask, index, a, 8);
    _mm512_mask_i32scatter_pd(a, mask, index, x, 8);
}
#endif
int main(int argc, char **argv)
{
    double r = f(_mm256_set_epi64x(0, -1, -1, argc > 5 ? -1 : 0), _mm_set_epi32(7, 5, 3, 1));
    (void)argv;
#ifdef __AVX512F__
    g(0x81, _mm256_set_epi32(6, 6, 5, 4, 3, 2, 1, 9), _mm512_set1_pd(1));
#endif
    return r != 0;
}
END

# offset in a, size, kind of every access (the first is a + 8)
accesses()
{
    "$PSNAP" cc -O1 "$@" x86.c -o x86
    "$PSNAP" record --no-profile --trace x86.pst --force -- ./x86
    "$PSNAP" convert x86.pst -f csv -o - 2> /dev/null | tail -n +2 |
        while IFS=, read -r address size kind rest; do
            first=${first:-$((address - 8))}
            echo "$((address - first)) $size $kind"
        done
}

cat > expected <<'END'
8 16 load
72 16 store
8 8 load
24 8 load
40 8 load
56 8 load
24 8 load
40 8 load
END
accesses -mavx2 > seen
diff expected seen
grep -qw avx512vl /proc/cpuinfo || exit 0
printf '72 8 load\n48 8 load\n72 8 store\n48 8 store\n' >> expected
accesses -mavx512f -mavx512vl > seen
diff expected seen
