// The declarations of engine/nccl compared with the CUDA Toolkit's and NCCL's: same sizes, same numbers, same calling
// convention of functions.
#include <cuda.h>
#include <nccl.h>

#include <tuple>
#include <type_traits>

#include "engine/nccl/cuda_driver.h"
#include "engine/nccl/nccl_library.h"
#include "tests/support/catch.h"

namespace sparkplan {
namespace {

/// The type that the calling convention passes for T.
template <class T>
using Passed = std::conditional_t<
    std::is_pointer_v<T>, void*,
    std::conditional_t<std::is_enum_v<T> || std::is_integral_v<T>,
                       std::conditional_t<sizeof(T) == 8, long long, std::conditional_t<sizeof(T) == 4, int, char>>,
                       std::conditional_t<std::is_class_v<T>, std::integral_constant<std::size_t, sizeof(T)>, T>>>;

template <class F>
struct Call;
template <class R, class... A>
struct Call<R (*)(A...)> {
  using Type = std::tuple<Passed<R>, Passed<A>...>;
};

template <class Ours, class Theirs>
constexpr bool kSameCall = std::is_same_v<typename Call<Ours>::Type, typename Call<Theirs>::Type>;

#define SAME_CALL(functions, name) static_assert(kSameCall<decltype(functions::name), decltype(&::name)>, #name)

SAME_CALL(cuda::Functions, cuInit);
SAME_CALL(cuda::Functions, cuDriverGetVersion);
SAME_CALL(cuda::Functions, cuGetErrorName);
SAME_CALL(cuda::Functions, cuGetErrorString);
SAME_CALL(cuda::Functions, cuDeviceGetCount);
SAME_CALL(cuda::Functions, cuDeviceGet);
SAME_CALL(cuda::Functions, cuDeviceGetName);
SAME_CALL(cuda::Functions, cuDeviceGetAttribute);
SAME_CALL(cuda::Functions, cuDevicePrimaryCtxRetain);
SAME_CALL(cuda::Functions, cuCtxSetCurrent);
SAME_CALL(cuda::Functions, cuCtxSynchronize);
SAME_CALL(cuda::Functions, cuStreamCreate);
SAME_CALL(cuda::Functions, cuStreamQuery);
SAME_CALL(cuda::Functions, cuEventCreate);
SAME_CALL(cuda::Functions, cuEventRecord);
SAME_CALL(cuda::Functions, cuDeviceGetPCIBusId);
SAME_CALL(cuda::Functions, cuModuleLoadData);
SAME_CALL(cuda::Functions, cuModuleGetFunction);
SAME_CALL(cuda::Functions, cuLaunchKernel);
// sparkplan loads these functions by versioned names such as cuMemGetInfo_v2. cuda.h maps their plain names to the
// versioned functions.
static_assert(kSameCall<decltype(cuda::Functions::cuMemGetInfo), decltype(&::cuMemGetInfo_v2)>);
static_assert(kSameCall<decltype(cuda::Functions::cuMemAlloc), decltype(&::cuMemAlloc_v2)>);
static_assert(kSameCall<decltype(cuda::Functions::cuMemFree), decltype(&::cuMemFree_v2)>);
static_assert(kSameCall<decltype(cuda::Functions::cuMemcpyHtoD), decltype(&::cuMemcpyHtoD_v2)>);
static_assert(kSameCall<decltype(cuda::Functions::cuMemcpyDtoH), decltype(&::cuMemcpyDtoH_v2)>);
static_assert(kSameCall<decltype(cuda::Functions::cuMemcpyDtoDAsync), decltype(&::cuMemcpyDtoDAsync_v2)>);
static_assert(kSameCall<decltype(cuda::Functions::cuMemsetD32), decltype(&::cuMemsetD32_v2)>);
static_assert(kSameCall<decltype(cuda::Functions::cuEventDestroy), decltype(&::cuEventDestroy_v2)>);
static_assert(kSameCall<decltype(cuda::Functions::cuEventElapsedTime), CUresult (*)(float*, CUevent, CUevent)>);

SAME_CALL(nccl::Functions, ncclGetVersion);
SAME_CALL(nccl::Functions, ncclGetUniqueId);
SAME_CALL(nccl::Functions, ncclCommInitRank);
SAME_CALL(nccl::Functions, ncclCommDestroy);
SAME_CALL(nccl::Functions, ncclCommGetAsyncError);
SAME_CALL(nccl::Functions, ncclGetErrorString);
SAME_CALL(nccl::Functions, ncclGetLastError);
SAME_CALL(nccl::Functions, ncclAllReduce);
SAME_CALL(nccl::Functions, ncclAllGather);
SAME_CALL(nccl::Functions, ncclReduceScatter);
SAME_CALL(nccl::Functions, ncclBroadcast);
SAME_CALL(nccl::Functions, ncclReduce);
SAME_CALL(nccl::Functions, ncclSend);
SAME_CALL(nccl::Functions, ncclRecv);
SAME_CALL(nccl::Functions, ncclGroupStart);
SAME_CALL(nccl::Functions, ncclGroupEnd);

}  // namespace

TEST_CASE("our constants match the CUDA and NCCL headers") {
  CHECK(cuda::kSuccess == CUDA_SUCCESS);
  CHECK(cuda::kOutOfMemory == CUDA_ERROR_OUT_OF_MEMORY);
  CHECK(cuda::kNoDevice == CUDA_ERROR_NO_DEVICE);
  CHECK(cuda::kInvalidDevice == CUDA_ERROR_INVALID_DEVICE);
  CHECK(cuda::kNotReady == CUDA_ERROR_NOT_READY);
  CHECK(cuda::kIntegrated == CU_DEVICE_ATTRIBUTE_INTEGRATED);
  CHECK(cuda::kNonBlockingStream == CU_STREAM_NON_BLOCKING);
  CHECK(cuda::kDefaultEvent == CU_EVENT_DEFAULT);
  CHECK(sizeof(cuda::Address) == sizeof(CUdeviceptr));
  CHECK(nccl::kSuccess == ncclSuccess);
  CHECK(nccl::kRemoteError == ncclRemoteError);
  CHECK(nccl::kInProgress == ncclInProgress);
  CHECK(nccl::kFloat32 == ncclFloat32);
  CHECK(nccl::kSum == ncclSum);
  CHECK(nccl::kUniqueIdBytes == NCCL_UNIQUE_ID_BYTES);
  CHECK(sizeof(nccl::UniqueId) == sizeof(ncclUniqueId));
}

}  // namespace sparkplan
