#!/usr/bin/env bash
# Builds a small MPI for machines without one, so that nccl-tests can have a process for each rank, as `verify` has:
#
#   tests/gpu/local_mpi/build.sh FOLDER
#   make -C NCCL_TESTS MPI=1 MPI_HOME=FOLDER ...        then start them with FOLDER/bin/mpirun
#
# It connects processes of one machine only, and has only what nccl-tests 2.19 call. sparkplan does not use it.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
folder=${1:?FOLDER is missing}
mkdir -p "$folder/include" "$folder/lib" "$folder/bin"
cp "$here/mpi.h" "$folder/include/"
cp "$here/mpirun" "$folder/bin/"
"${CC:-cc}" -O2 -Wall -Wextra -std=c11 -shared -fPIC "$here/local_mpi.c" -o "$folder/lib/libmpi.so"
