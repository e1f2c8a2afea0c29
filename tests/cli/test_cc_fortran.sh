#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Fortran by psnap fc, with each flang there is: accesses as the source has them, loops and
# variables by the names that the source has for them, whatever flang makes of these; and the
# sample, which prints what it does without psnap.
set -eu
. "$PSNAP_SOURCE/tests/cli/capture_common.sh"

flangs=""
for llvm in $(ls "$PSNAP_BUILD/lib/psnap" | sed -n 's/^psnap_pass-\([0-9]*\)\.so$/\1/p'); do
    # LLVM 16's says nothing of lines
    [ "$llvm" -ge 19 ] && "$PSNAP" fc --psnap-llvm="$llvm" --version > /dev/null 2>&1 &&
        flangs="$flangs $llvm"
done
[ -n "$flangs" ] || { echo "skipped: no flang"; exit 77; }

cat > names.f90 << 'END'
module heat
  implicit none
  integer, parameter :: n = 50
  real(8), save :: grid(n, n)
contains
  subroutine relax(times)
    integer, intent(in) :: times
    integer :: k
    do k = 1, times
      call sweep
    end do
  contains
    subroutine sweep
      integer :: i, j
      do j = 2, n - 1
        do i = 2, n - 1
          grid(i, j) = 0.5d0*(grid(i, j) + grid(i, j-1))
        end do
      end do
    end subroutine sweep
  end subroutine relax
end module heat

subroutine scale(factor)
  real(8) :: factor, shared(100)
  integer :: i
  common /block/ shared
  do i = 1, 100
    shared(i) = factor*shared(i)
  end do
end subroutine scale

program main
  use heat
  implicit none
  real(8), allocatable :: rows(:, :)
  integer :: i, j
  allocate (rows(200, 30))
  grid = 1
  do i = 1, 200
    do j = 1, 30
      rows(i, j) = i
    end do
  end do
  call relax(4)
  call scale(2d0)
  call scale(3d0)
  print '(f8.1)', grid(20, 20) + rows(100, 7)
end program main
END

# check REGIONS LOOP ID...: of p.yaml, see below
check() {
    python3 - "$@" << 'END'
import sys, yaml
profile = yaml.safe_load(open("p.yaml", encoding="utf-8"))
got = {}
for loop in profile["loops"]:
    for region in loop.get("regions", []):
        if region.get("symbol"):
            key = f"{loop['id'].split('.')[0]} {region['symbol']}"
            counts = got.setdefault(key, [0, 0])
            counts[0] += region.get("loads", 0)
            counts[1] += region.get("stores", 0)
for want in sys.argv[1:]:
    key, loads, stores = want.rsplit(" ", 2)
    assert got.get(key) == [int(loads), int(stores)], (want, got)
END
}

for llvm in $flangs; do
    fc="$PSNAP fc --psnap-llvm=$llvm"
    # at -O0 every element that the source names is an access: 48 * 48 cells, 4 times
    $fc -O0 names.f90 -o names 2> err && [ ! -s err ] || fail "flang $llvm: $(cat err)"
    [ "$(status "$PSNAP" record --force -o p.yaml -- ./names)" = 0 ] || fail "names: $(cat err)"
    [ "$(cat out)" = "   101.0" ] || fail "names: prints $(cat out)"
    "$PSNAP" check p.yaml > check.out || fail "names: $(cat check.out)"
    has p.yaml "language: Fortran"
    check "heat::relax::sweep:16 heat::grid 18432 9216" "scale:28 block 200 200" || fail "flang $llvm: $("$PSNAP" show p.yaml)"

    # optimised: no loop without its line, in parts or whole
    $fc -O2 -c names.f90 -o names.o
    $fc names.o -o names 2> err && [ ! -s err ] || fail "flang $llvm, link: $(cat err)"
    [ "$(status "$PSNAP" record --force -o p.yaml -- ./names)" = 0 ] || fail "names: $(cat err)"
    [ "$(cat out)" = "   101.0" ] || fail "names: prints $(cat out)"
    ! grep '^- id: .*#' p.yaml || fail "flang $llvm: loops without a line"
    grep -q '^- id: heat::relax::sweep:1[67]' p.yaml || fail "flang $llvm: $(grep '^- id' p.yaml)"
    # what is allocated is known where flang calls malloc, which it does when it optimises
    has p.yaml "allocation: MAIN names.f90:38"
    grep -q '^- id: MAIN:4[0-2]' p.yaml || fail "flang $llvm: $(grep '^- id' p.yaml)"

    # the sample, as without psnap
    flang-new-$llvm -O2 "$PSNAP_SOURCE/samples/shallow.f90" -o native
    $fc -O2 "$PSNAP_SOURCE/samples/shallow.f90" -o shallow
    ./native 100 20 > native.out
    [ "$(status "$PSNAP" record --force -o p.yaml -- ./shallow 100 20)" = 0 ] || fail "shallow: $(cat err)"
    cmp native.out out || fail "shallow: prints $(cat out)"
    grep -Eqx 'shallow 100 20 checksum [0-9.e+-]+' out || fail "shallow: prints $(cat out)"
    for wrong in 3 0 -1 1x "100 0" "100 1 1" 99999; do
        # shellcheck disable=SC2086
        [ "$(status ./native $wrong)" = 2 ] && has err "usage: shallow [SIZE [ITERATIONS]]"
    done
    ! grep '^- id: .*#' p.yaml || fail "flang $llvm, shallow: loops without a line"
    "$PSNAP" check p.yaml > check.out || fail "shallow: $(cat check.out)"
    # arrays are known by where they were allocated
    "$PSNAP" show p.yaml --loop "$(sed -n 's/^- id: \(ocean::flow:[^ ]*vector[^ ]*\)$/\1/p' p.yaml | head -n 1)" > loop
    has loop "MAIN shallow.f90:$(sed -n '/allocate (eta/=' "$PSNAP_SOURCE/samples/shallow.f90")"
done
