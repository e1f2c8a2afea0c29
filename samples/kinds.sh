#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Which samples are irregular, for scripts of tests to source. The others are affine: their
# addresses follow from loop counters alone; those of lu nearly so (its pivots depend on data,
# and are more than half of its bytes in a trace), of mg with halves of counters.
irregular=" bfs cg chase ep hashjoin histogram is mergesort spmv "
