#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What is installed can be used: C and C++ programs find the headers and the
# library through pkg-config, link and run.
set -eu
[ -e "$PSNAP_BUILD/lib/libpsnap.so" ] || exit 77 # sanitizer builds have none
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$PSNAP_BUILD" --prefix "$work/prefix" > "$work/log" || { cat "$work/log"; exit 1; }
"$work/prefix/bin/psnap" --version | grep -qx 'psnap [0-9.]*'

cat > "$work/use.c" << 'EOF'
#include <psnap/formats.h>
#include <psnap/formats/base/rng.h>
#include <psnap/simcore.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    struct psnap_rng rng;
    struct psnap_source *source = psnap_trace_open(argv[argc - 1], NULL, NULL);
    struct psnap_sink *sink = psnap_trace_writer_new("csv", stderr, source->program, NULL);
    uint64_t count = 0;
    enum psnap_status status = psnap_pump(source, sink, &count, NULL);

    psnap_rng_init(&rng, 0);
    printf("%d %d %llx\n", (int)status, (int)count, (unsigned long long)psnap_rng_next(&rng));
    return 0;
}
EOF
cp "$work/use.c" "$work/use.cpp"
printf '0 1a\n1 20\n' > "$work/two.din"
pc=$(find "$work/prefix" -name psnap.pc)
for language in c cpp; do
    case $language in
    c) compiler=${PSNAP_CC:-cc} ;;
    cpp) compiler=${PSNAP_CXX:-c++} ;;
    esac
    flags=$(PKG_CONFIG_PATH=$(dirname "$pc") pkg-config --cflags --libs psnap)
    $compiler -Wall -Wextra -Werror "$work/use.$language" -o "$work/use" $flags
    result=$(LD_LIBRARY_PATH=$(dirname "$(find "$work/prefix" -name libpsnap.so)") "$work/use" "$work/two.din" 2> "$work/csv")
    [ "$result" = "0 2 99ec5f36cb75f2b4" ] && [ "$(wc -l < "$work/csv")" = 3 ] || { echo "$language: '$result'"; exit 1; }
done

# psnap cc finds the marks of regions beside itself
[ -e "$PSNAP_BUILD/lib/psnap/libpsnap_rt.a" ] || exit 0
cat > "$work/marked.c" << 'EOF'
#include <psnap/roi.h>
int main(void)
{
    PSNAP_ROI_BEGIN();
    PSNAP_ROI_END();
    return 0;
}
EOF
"$work/prefix/bin/psnap-cc" "$work/marked.c" -o "$work/marked"
nm "$work/marked" | grep -q __psnap_roi_begin || { echo "psnap/roi.h marks nothing"; exit 1; }
