/* An NCCL that is the real one but for one wrong element in the result of each all_reduce: what `sparkplan
 * verify` has to catch. Built by compare.py: cc -shared -fPIC wrong_nccl.c -o libnccl.so.2 -ldl, with
 * -DREAL_NCCL="\"/path/libnccl.so.2\"". */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

typedef struct {
  char internal[128];
} Id;

static void* real(const char* name) {
  static void* library;
  if (library == NULL) library = dlopen(REAL_NCCL, RTLD_NOW | RTLD_LOCAL);
  return dlsym(library, name);
}

#define FORWARD(name, parameters, arguments) \
  int name parameters { return ((int(*) parameters)real(#name))arguments; }

FORWARD(ncclGetVersion, (int* version), (version))
FORWARD(ncclGetUniqueId, (Id * id), (id))
FORWARD(ncclCommInitRank, (void** comm, int ranks, Id id, int rank), (comm, ranks, id, rank))
FORWARD(ncclCommDestroy, (void* comm), (comm))
FORWARD(ncclCommGetAsyncError, (void* comm, int* status), (comm, status))
FORWARD(ncclAllGather, (const void* s, void* r, size_t n, int type, void* comm, void* stream),
        (s, r, n, type, comm, stream))
FORWARD(ncclReduceScatter, (const void* s, void* r, size_t n, int type, int op, void* comm, void* stream),
        (s, r, n, type, op, comm, stream))
FORWARD(ncclBroadcast, (const void* s, void* r, size_t n, int type, int root, void* comm, void* stream),
        (s, r, n, type, root, comm, stream))
FORWARD(ncclReduce, (const void* s, void* r, size_t n, int type, int op, int root, void* comm, void* stream),
        (s, r, n, type, op, root, comm, stream))
FORWARD(ncclSend, (const void* s, size_t n, int type, int peer, void* comm, void* stream),
        (s, n, type, peer, comm, stream))
FORWARD(ncclRecv, (void* r, size_t n, int type, int peer, void* comm, void* stream), (r, n, type, peer, comm, stream))
FORWARD(ncclGroupStart, (void), ())
FORWARD(ncclGroupEnd, (void), ())

const char* ncclGetErrorString(int status) { return ((const char* (*)(int))real("ncclGetErrorString"))(status); }
const char* ncclGetLastError(void* comm) { return ((const char* (*)(void*))real("ncclGetLastError"))(comm); }

int ncclAllReduce(const void* s, void* r, size_t n, int type, int op, void* comm, void* stream) {
  typedef int (*AllReduce)(const void*, void*, size_t, int, int, void*, void*);
  const int status = ((AllReduce)real("ncclAllReduce"))(s, r, n, type, op, comm, stream);
  typedef int (*Memset)(unsigned long long, unsigned char, size_t, void*);
  const Memset spoil = (Memset)dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuMemsetD8Async");
  spoil((unsigned long long)r + n / 2 * 4, 0x41, 4, stream);
  return status;
}
