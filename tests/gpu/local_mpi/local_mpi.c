/* MPI for nccl-tests, between processes of one machine: a file that `mpirun` makes is the memory of all. Each call
 * copies the caller's data to its slot, waits for the others, and reads their slots. See build.sh. */
#define _GNU_SOURCE
#include "mpi.h"

#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { kMostRanks = 64, kSlotBytes = 1 << 16, kLongestWait = 300, kSpins = 1 << 20 };

typedef struct {
  atomic_int arrived;
  atomic_int turn;
  char padding[4096 - 2 * sizeof(atomic_int)];
  char slots[kMostRanks][kSlotBytes];
} Shared;

static Shared* shared;
static int own_rank, ranks;

static void fail(const char* why) {
  fprintf(stderr, "local_mpi: rank %d: %s\n", own_rank, why);
  _exit(1);
}

static size_t size_of(MPI_Datatype type) {
  switch (type) {
    case MPI_BYTE:
      return 1;
    case MPI_INT:
      return sizeof(int);
    case MPI_LONG:
      return sizeof(long);
    case MPI_LONG_LONG:
      return sizeof(long long);
    case MPI_INT64_T:
      return sizeof(int64_t);
    case MPI_DOUBLE:
      return sizeof(double);
    default:
      fail("a type that it does not know");
      return 0;
  }
}

static size_t bytes_of(int count, MPI_Datatype type) {
  const size_t bytes = (size_t)count * size_of(type);
  if (count < 0 || bytes > kSlotBytes) fail("a message that is too large");
  return bytes;
}

/* Spins, because the end of a wait is the begin of a measured time. */
static void meet(void) {
  const int turn = atomic_load(&shared->turn);
  if (atomic_fetch_add(&shared->arrived, 1) + 1 == ranks) {
    atomic_store(&shared->arrived, 0);
    atomic_store(&shared->turn, turn + 1);
    return;
  }
  const time_t end = time(NULL) + kLongestWait;
  for (long spins = 0; atomic_load(&shared->turn) == turn; ++spins) {
    if (spins < kSpins) continue;
    sched_yield();
    if (time(NULL) > end) fail("the other ranks did not come");
  }
}

static void show(const void* data, size_t bytes) {
  memcpy(shared->slots[own_rank], data, bytes);
  meet();
}

int MPI_Init(int* argc, char*** argv) {
  (void)argc, (void)argv;
  const char* path = getenv("LOCAL_MPI_FILE");
  const char* rank = getenv("LOCAL_MPI_RANK");
  const char* size = getenv("LOCAL_MPI_SIZE");
  if (path == NULL || rank == NULL || size == NULL) fail("start it with the mpirun beside it");
  own_rank = atoi(rank);
  ranks = atoi(size);
  if (ranks < 1 || ranks > kMostRanks || own_rank < 0 || own_rank >= ranks) fail("a wrong number of ranks");
  const int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0 || ftruncate(file, sizeof(Shared)) != 0) fail("its file cannot be opened");
  shared = mmap(NULL, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (shared == MAP_FAILED) fail("its file cannot be mapped");
  close(file);
  meet();
  return MPI_SUCCESS;
}

int MPI_Finalize(void) {
  meet();
  return MPI_SUCCESS;
}

int MPI_Comm_size(MPI_Comm comm, int* size) {
  (void)comm;
  *size = ranks;
  return MPI_SUCCESS;
}

int MPI_Comm_rank(MPI_Comm comm, int* rank) {
  (void)comm;
  *rank = own_rank;
  return MPI_SUCCESS;
}

int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* part) {
  if (key != own_rank) fail("ranks cannot change their order");
  show(&color, sizeof color);
  for (int rank = 0; rank < ranks; ++rank) {
    if (memcmp(shared->slots[rank], &color, sizeof color) != 0) fail("groups of ranks are not supported");
  }
  meet();
  *part = comm;
  return MPI_SUCCESS;
}

int MPI_Comm_free(MPI_Comm* comm) {
  *comm = 0;
  return MPI_SUCCESS;
}

int MPI_Barrier(MPI_Comm comm) {
  (void)comm;
  meet();
  return MPI_SUCCESS;
}

int MPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  (void)comm;
  const size_t bytes = bytes_of(count, type);
  show(data, bytes);
  memcpy(data, shared->slots[root], bytes);
  meet();
  return MPI_SUCCESS;
}

/* `root` is the only rank that gets all data; -1: each one does. */
static void gather(const void* send, void* receive, size_t bytes, int root) {
  char* all = receive;
  show(send == MPI_IN_PLACE ? all + (size_t)own_rank * bytes : send, bytes);
  for (int rank = 0; rank < ranks && (root < 0 || root == own_rank); ++rank) {
    memcpy(all + (size_t)rank * bytes, shared->slots[rank], bytes);
  }
  meet();
}

int MPI_Allgather(const void* send, int send_count, MPI_Datatype send_type, void* receive, int count, MPI_Datatype type,
                  MPI_Comm comm) {
  (void)send_count, (void)send_type, (void)comm;
  gather(send, receive, bytes_of(count, type), -1);
  return MPI_SUCCESS;
}

int MPI_Gather(const void* send, int send_count, MPI_Datatype send_type, void* receive, int count, MPI_Datatype type,
               int root, MPI_Comm comm) {
  (void)count, (void)type, (void)comm;
  gather(send, receive, bytes_of(send_count, send_type), root);
  return MPI_SUCCESS;
}

#define REDUCE(Type)                                                                                 \
  do {                                                                                               \
    Type* into = receive;                                                                            \
    for (int i = 0; i < count; ++i) {                                                                \
      Type result = ((const Type*)shared->slots[0])[i];                                              \
      for (int rank = 1; rank < ranks; ++rank) {                                                     \
        const Type next = ((const Type*)shared->slots[rank])[i];                                     \
        result = op == MPI_SUM ? result + next : (next < result) == (op == MPI_MIN) ? next : result; \
      }                                                                                              \
      into[i] = result;                                                                              \
    }                                                                                                \
  } while (0)

int MPI_Allreduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  (void)comm;
  if (op != MPI_SUM && op != MPI_MIN && op != MPI_MAX) fail("an operation that it does not know");
  show(send == MPI_IN_PLACE ? receive : send, bytes_of(count, type));
  switch (type) {
    case MPI_INT:
      REDUCE(int);
      break;
    case MPI_LONG:
      REDUCE(long);
      break;
    case MPI_LONG_LONG:
      REDUCE(long long);
      break;
    case MPI_INT64_T:
      REDUCE(int64_t);
      break;
    case MPI_DOUBLE:
      REDUCE(double);
      break;
    default:
      fail("a type that has no order");
  }
  meet();
  return MPI_SUCCESS;
}
