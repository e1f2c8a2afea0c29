#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# MPI: four ranks on one machine, under one psnap record and each under its own; a profile for
# each rank that says which it is. Needs Open MPI (mpicc, mpirun), skipped without.
set -eu
. "$PSNAP_SOURCE/tests/cli/capture_common.sh"
command -v mpicc > /dev/null && command -v mpirun > /dev/null || {
    echo "skipped: no mpicc, mpirun"
    exit 77
}
mpicc --showme:version 2>&1 | grep -qi 'open mpi' || {
    echo "skipped: not Open MPI"
    exit 77
}
if [ "$(id -u)" = 0 ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi

cat > ranks.c << 'END'
#include <mpi.h>
#include <stdio.h>
static volatile long cells[1024];
__attribute__((noinline)) static void work(long n)
{
    for (long i = 0; i < n; i++)
        cells[i * (i + 1L) / 2 % 1024] = i;
}
int main(int argc, char **argv)
{
    int rank, size;
    long mine, sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    work(1000L * (rank + 1));
    mine = rank;
    MPI_Reduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("sum %ld of %d\n", sum, size);
    MPI_Finalize();
    return 0;
}
END
echo '#include <mpi.h>' | mpicc -E - > /dev/null 2>&1 || {
    echo "skipped: no mpi.h"
    exit 77
}
OMPI_CC="$PSNAP cc" mpicc -O1 ranks.c -o ranks
mpirun="mpirun --oversubscribe -n 4"
timeout 300 $mpirun ./ranks > out 2> err || {
    echo "skipped: Open MPI does not run here: $(head -n 3 err)"
    exit 77
}

# each_rank PREFIX SUFFIX: a profile for each rank
each_rank() {
    local rank accesses
    for rank in 0 1 2 3; do
        "$PSNAP" show "$1$rank$2" > show
        has show "rank       $rank of 4"
        accesses=$(accesses_of work:6 "$1$rank$2")
        [ "$accesses" = $((1000 * (rank + 1))) ] || fail "rank $rank: $accesses accesses"
    done
}
[ "$(timeout 300 "$PSNAP" record -o one.%r.yaml -- $mpirun ./ranks)" = "sum 6 of 4" ] || fail "output"
each_rank one. .yaml
[ "$(timeout 300 $mpirun "$PSNAP" record -o each.%q{OMPI_COMM_WORLD_RANK} --trace '%r.pst' -- ./ranks)" = \
    "sum 6 of 4" ] || fail "output"
each_rank each. ""
"$PSNAP" info 3.pst > /dev/null
[ "$(PSNAP_OUT=own.%r timeout 300 $mpirun -x PSNAP_OUT ./ranks)" = "sum 6 of 4" ] || fail "output"
each_rank own. ""
