#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# psnap cc takes the pass that fits the compiler and, with LTO, the linker, and says so when
# there is none. With each LLVM that psnap was built with, a program is recorded as at first:
# plain, at both stages, and with full and thin LTO where there is lld.
set -eu
. "$PSNAP_SOURCE/tests/cli/capture_common.sh"
unset PSNAP_LLVM # each is taken here

llvms=$(ls "$PSNAP_BUILD/lib/psnap" | sed -n 's/^psnap_pass-\([0-9]*\)\.so$/\1/p')
[ -n "$llvms" ] || fail "no pass in $PSNAP_BUILD/lib/psnap"

cat > table.h << 'END'
enum { CELLS = 1000 };
extern volatile int table[CELLS];
int sum(const int *index, int n);
END
cat > table.c << 'END'
#include "table.h"
volatile int table[CELLS];
int sum(const int *index, int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += table[index[i]];
    return sum;
}
END
cat > main.c << 'END'
#include <stdio.h>
#include <stdlib.h>
#include "table.h"
int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : CELLS;
    int *index = malloc(CELLS * sizeof *index);
    if (!index)
        return 1;
    for (int i = 0; i < n; i++)
        index[i] = i * 7 % CELLS;
    for (int i = 0; i < CELLS; i++)
        table[i] = i;
    printf("%d\n", sum(index, n));
    free(index);
    return 0;
}
END

# check WHAT: ./program, recorded, prints its sum; its two variables and the loop have 1000s
check() {
    [ "$(status "$PSNAP" record --force -o p.yaml -- ./program)" = 0 ] || fail "$1: $(cat err)"
    [ "$(cat out)" = 499500 ] || fail "$1: prints $(cat out)"
    "$PSNAP" check p.yaml > /dev/null || fail "$1: no profile"
    has p.yaml "compiler: clang $llvm."
    python3 - << 'END' || fail "$1: $(cat p.yaml)"
import yaml
profile = yaml.safe_load(open("p.yaml", encoding="utf-8"))
regions = [(loop["id"], region) for loop in profile["loops"] for region in loop.get("regions", [])]
def count(symbol, key):
    return sum(region.get(key, 0) for _, region in regions if str(region.get("symbol", "")) == symbol)
assert count("table", "loads") == 1000 and count("table", "stores") == 1000
allocated = [r for _, r in regions if str(r.get("allocation", "")) == "main main.c:7"]
# vectors: fewer and wider
assert 0 < sum(r.get("accesses", 0) for r in allocated) <= 2000
assert any(id.startswith("sum:6") for id, _ in regions), [id for id, _ in regions]
END
}

# Wide vectors without -march=native, whose features on a processor newer than its LLVM make
# clang warn (AVX10 together with AVX-512)
wide=
grep -q -w avx2 /proc/cpuinfo && wide=-mavx2

for llvm in $llvms; do
    cc="$PSNAP cc --psnap-llvm=$llvm"
    $cc --version | grep -q "clang version $llvm\." || fail "LLVM $llvm: $($cc --version)"
    [ "$(PSNAP_LLVM=$llvm "$PSNAP" c++ -dumpversion | cut -d . -f 1)" = "$llvm" ] || fail "c++ $llvm"
    verify="-Xclang -llvm-verify-each" # 16 has no such option
    $cc $verify -c table.c 2> /dev/null || verify=""
    for flags in -O0 -O1 -O2 "-O3 $wide" "-O2 --psnap-stage=vectorizer-start"; do
        $cc $flags $verify -Wall -Wextra -Werror main.c table.c -o program
        check "LLVM $llvm $flags"
    done
    lld=$($cc -print-prog-name=ld.lld)
    [ "$("$lld" --version 2> /dev/null | sed -n 's/.*LLD \([0-9]*\).*/\1/p')" = "$llvm" ] || continue
    for flags in -flto=full -flto=thin; do
        for stage in optimized vectorizer-start; do
            $cc -O2 $flags --psnap-stage=$stage main.c table.c -o program
            check "LLVM $llvm $flags $stage"
            has p.yaml "stage: $stage"
        done
    done
done

# ------------------------------------------------------------- choosing

first=$("$PSNAP" cc -dumpversion | cut -d . -f 1)
[ -e "$PSNAP_BUILD/lib/psnap/psnap_pass-$first.so" ] || fail "no pass for LLVM $first, the usual"
# a compiler of any name is asked what it is, and so is the linker
other=$(echo "$llvms" | tail -n 1)
cat > compiler << END
#!/bin/sh
case \$1 in
--version) echo "Some clang version $other.1.2 (of somebody)" ;;
-print-prog-name=*) echo "$dir/linker" ;;
*) echo "\$*" ;;
esac
END
printf '#!/bin/sh\necho "Some LLD %s.1.0 (compatible with GNU linkers)"\n' "$first" > linker
chmod +x compiler linker
PSNAP_CLANG=./compiler "$PSNAP" cc -c main.c > out
has out "psnap_pass-$other.so"
PSNAP_CLANG=./compiler "$PSNAP" cc -flto main.c > out
has out "-Wl,--load-pass-plugin=$PSNAP_BUILD/lib/psnap/psnap_pass-$first.so"
PSNAP_CLANG=./compiler "$PSNAP" cc --psnap-llvm="$first" -dumpversion > out
[ "$(cut -d . -f 1 out)" = "$first" ] || fail "--psnap-llvm behind PSNAP_CLANG: $(cat out)"

# what does not fit is said, and what there is
sed -i "s/version $other/version 12/" compiler
[ "$(PSNAP_CLANG=./compiler status "$PSNAP" cc -c main.c)" = 1 ] || fail "LLVM 12"
has err "'./compiler' is of LLVM 12, for which there is no capture pass; there are passes for LLVM $first"
sed -i "s/version 12/version $first/" compiler
printf '#!/bin/sh\necho "LLD 12.0.1 (compatible with GNU linkers)"\n' > linker
PSNAP_CLANG=./compiler "$PSNAP" cc main.c > out || fail "lld 12 without LTO: $(cat out)"
[ "$(PSNAP_CLANG=./compiler status "$PSNAP" cc -flto main.c)" = 1 ] && has err "/linker' is of LLVM 12"
printf '#!/bin/sh\necho "gcc (Some 12.2.0) 12.2.0"\n' > compiler
[ "$(PSNAP_CLANG=./compiler status "$PSNAP" cc -c main.c)" = 1 ] || fail "gcc"
has err "'./compiler' is no clang or flang: its version is 'gcc (Some 12.2.0) 12.2.0'"
[ "$(status "$PSNAP" cc --psnap-llvm=12 -c main.c)" = 2 ] && has err "no capture pass for LLVM '12'"
[ "$(PSNAP_LLVM=19x status "$PSNAP" cc -c main.c)" = 2 ] && has err "no capture pass for LLVM '19x'"
