#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Installs what the tests need, builds, and runs them: the debug preset (warnings are errors) and
# the build without LLVM. May be run again; then only what changed is built.
#
#   tests/run.sh           debug, no-llvm, without the tests labelled long (tests/CMakeLists.txt)
#   tests/run.sh --long    and with these
#   tests/run.sh --asan    and with address and undefined behaviour sanitizers
#   tests/run.sh --tsan    and with the thread sanitizer
#   tests/run.sh --fuzz    and each fuzz target for PSNAP_FUZZ_SECONDS (default 10)
#   tests/run.sh --mpi     and with Open MPI installed, for the one test that wants it
#   tests/run.sh --llvm    and with LLVM 16 and 22 and flang installed, and the tests of
#                          capture again with each LLVM that is there
#   tests/run.sh --all     all of these
#
# PSNAP_JOBS sets how many jobs run at once (default: the processors);
# PSNAP_TIDY=1 runs clang-tidy too (some minutes). Without LLVM and with sanitizers a few scripts run
# (tests/CMakeLists.txt), unless --long is given.
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/packages.sh

presets="debug no-llvm"
more="" llvm=0 brief="-LE long"
for option in "$@"; do
    case $option in
    --asan | --tsan | --fuzz) presets="$presets ${option#--}" ;;
    --mpi) more="$more $PSNAP_MPI_PACKAGES" ;;
    --llvm) more="$more $PSNAP_LLVM_PACKAGES" llvm=1 ;;
    --long) brief="" more="$more $PSNAP_BROWSER_PACKAGES $PSNAP_CLEAN_PACKAGES" ;;
    --all)
        brief=""
        presets="debug no-llvm asan tsan fuzz"
        more="$PSNAP_MPI_PACKAGES $PSNAP_BROWSER_PACKAGES $PSNAP_CLEAN_PACKAGES $PSNAP_LLVM_PACKAGES" llvm=1
        ;;
    *)
        sed -n '4,20s/^# \{0,1\}//p' "$0"
        [ "$option" = --help ] && exit 0
        exit 2
        ;;
    esac
done

jobs=${PSNAP_JOBS:-$(nproc)}
summary=""
failed=0

note()
{
    summary="$summary$(printf '%-8s %4ds  %s' "$1" "$2" "$3")"$'\n'
}

fuzz()
{
    local target name status=0
    for target in build/fuzz/tests/fuzz_*; do
        name=${target##*/}
        mkdir -p "build/fuzz/found/$name"
        echo "$name: ${PSNAP_FUZZ_SECONDS:-10} seconds"
        "$target" -max_total_time="${PSNAP_FUZZ_SECONDS:-10}" -print_final_stats=0 -verbosity=0 \
            -artifact_prefix="build/fuzz/found/$name-" "build/fuzz/found/$name" \
            "tests/fuzz/corpus/$name" || status=1
    done
    return $status
}

run()
{
    local preset=$1 start=$SECONDS log="build/$1/tests.log" tidy=${PSNAP_TIDY:-0} only="" targets="" result
    local compilers=""
    echo "== $preset"
    [ "$preset" != asan ] || compilers="CC=clang-19 CXX=clang++-19" # the other ones are built by gcc
    # shellcheck disable=SC2086
    if ! env $compilers cmake --preset "$preset" > "build/$preset.configure.log" 2>&1; then
        cat "build/$preset.configure.log"
        note "$preset" $((SECONDS - start)) "cannot be configured"
        return 1
    fi
    [ "$preset" != no-llvm ] || targets="--target psnap psnap_shared manual" # the units are those of debug
    # shellcheck disable=SC2086
    if ! cmake --build --preset "$preset" -j "$jobs" $targets; then
        note "$preset" $((SECONDS - start)) "does not build"
        return 1
    fi
    [ "$preset" = debug ] || tidy=0 # once is enough
    case $preset in
    debug) only=$brief ;;
    no-llvm) only="${brief:+-L plain} -R ^cli" ;;
    fuzz) only="-R ^fuzz" ;; # asan has done the others
    asan | tsan) only=${brief:+-L sanitized} ;;
    esac
    PSNAP_TIDY=$tidy ctest --preset "$preset" -j "$jobs" --timeout 1200 $only 2>&1 | tee "$log"
    result=${PIPESTATUS[0]}
    if [ "$preset" = fuzz ] && [ "$result" = 0 ]; then
        fuzz || result=$?
    fi
    note "$preset" $((SECONDS - start)) "$(grep 'tests passed' "$log" || echo "no tests ran")"
    return "$result"
}

# The tests of capture with the LLVMs that the others do not use
other_llvms()
{
    local usual version start status=0 log
    usual=$(build/debug/psnap cc -dumpversion | cut -d . -f 1)
    for version in $(ls build/debug/lib/psnap | sed -n 's/^psnap_pass-\([0-9]*\)\.so$/\1/p'); do
        [ "$version" != "$usual" ] || continue
        start=$SECONDS log=build/debug/tests-llvm-$version.log
        echo "== LLVM $version"
        PSNAP_LLVM=$version ctest --preset debug -j "$jobs" --timeout 1200 \
            -R 'cli.test_(cc_|hoist|record_)' 2>&1 | tee "$log"
        [ "${PIPESTATUS[0]}" = 0 ] || status=1
        note "LLVM $version" $((SECONDS - start)) "$(grep 'tests passed' "$log" || echo "no tests ran")"
    done
    return $status
}

psnap_need $PSNAP_TEST_PACKAGES $more || exit 1
mkdir -p build
for preset in $presets; do
    run "$preset" || failed=1
done
[ $llvm = 0 ] || other_llvms || failed=1
printf '\n%s' "$summary"
[ "$failed" = 0 ] && echo "all passed" || echo "FAILED"
exit "$failed"
