#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The Debian packages that psnap needs, for scripts to source:
#
#   . tests/packages.sh
#   psnap_need $PSNAP_BUILD_PACKAGES
#
# psnap_need installs what is missing, and only that, with apt-get (through
# sudo when not root), and says so. With everything there it takes no time.

PSNAP_BUILD_PACKAGES="cmake ninja-build gcc g++ libc6-dev pkg-config clang-19 llvm-19-dev
    libzstd-dev libyaml-dev libxxhash-dev libdw-dev zlib1g-dev
    libsqlite3-dev libarchive-dev libnlopt-dev libgsl-dev"
PSNAP_TEST_PACKAGES="$PSNAP_BUILD_PACKAGES libcmocka-dev clang-format-19 clang-tidy-19
    libclang-rt-19-dev libomp-19-dev lld-19 binutils make xz-utils zstd python3
    python3-yaml python3-jsonschema valgrind gnuplot-nox groff-base mandoc dpkg-dev
    file python3-markdown autoconf meson"
# Some 100 MB, for one test alone (cli.test_record_mpi), which is skipped without them.
PSNAP_MPI_PACKAGES="libopenmpi-dev openmpi-bin"
# Some 400 MB, for one test alone (cli.test_report_browser), likewise.
# Small, for a part of cli.test_repo_processes, likewise.
PSNAP_FUSE_PACKAGES="bindfs"
PSNAP_BROWSER_PACKAGES="chromium"
# For the two tests of a computer that has nothing (cli.test_clean_*), which fetch more.
PSNAP_CLEAN_PACKAGES="debootstrap"
# About 3 GB: for the tests of capture with other LLVMs, and of Fortran.
PSNAP_LLVM_PACKAGES="clang-16 llvm-16-dev lld-16 libclang-rt-16-dev clang-22 llvm-22-dev lld-22
    libclang-rt-22-dev flang-19 flang-22"

# Waits for another package manager's lock, up to ten minutes; apt-get itself does so in install alone.
psnap_update()
{
    local said tries=0
    until said=$("$@" env LC_ALL=C apt-get update -qq 2>&1); do
        if [ $((tries++)) = 60 ] || [ "${said#*get lock}" = "$said" ]; then
            echo "$said" >&2
            return 1
        fi
        sleep 10
    done
}

psnap_need()
{
    local missing="" package sudo="" installed
    if ! command -v dpkg-query > /dev/null || ! command -v apt-get > /dev/null; then
        echo "no apt-get here; these Debian packages are needed, by whatever name: $*" >&2
        return 0
    fi
    installed=$(dpkg-query -W -f='/${Package} ${db:Status-Status}/' "$@" 2> /dev/null || true)
    for package in "$@"; do
        case $installed in
        *"/$package installed/"*) ;;
        *) missing="$missing $package" ;;
        esac
    done
    [ -n "$missing" ] || return 0
    if [ "$(id -u)" != 0 ]; then
        if ! command -v sudo > /dev/null; then
            echo "packages are missing, and there is no sudo; as root:" >&2
            echo "  apt-get update && apt-get install -y --no-install-recommends$missing" >&2
            return 1
        fi
        sudo=sudo
    fi
    echo "installing with apt-get:$missing" >&2
    psnap_update $sudo &&
        $sudo env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 install -qq -y \
            --no-install-recommends $missing > /dev/null
}
