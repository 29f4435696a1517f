#include "engine/nccl/cuda_driver.h"

#include <dlfcn.h>

#include "engine/nccl/shared_library.h"

namespace sparkplan::cuda {

Result<Functions> load_driver() {
  void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    return failure(ErrorCode::kNotFound, "there is no NVIDIA driver (" + loader_complaint() + ")");
  Functions f{};
  const SharedLibrary in{library, "the NVIDIA driver"};
  SPARK_CHECK(in.find("cuInit", f.cuInit));
  SPARK_CHECK(in.find("cuDriverGetVersion", f.cuDriverGetVersion));
  SPARK_CHECK(in.find("cuGetErrorName", f.cuGetErrorName));
  SPARK_CHECK(in.find("cuGetErrorString", f.cuGetErrorString));
  SPARK_CHECK(in.find("cuDeviceGetCount", f.cuDeviceGetCount));
  SPARK_CHECK(in.find("cuDeviceGet", f.cuDeviceGet));
  SPARK_CHECK(in.find("cuDeviceGetName", f.cuDeviceGetName));
  SPARK_CHECK(in.find("cuDeviceGetAttribute", f.cuDeviceGetAttribute));
  SPARK_CHECK(in.find("cuDevicePrimaryCtxRetain", f.cuDevicePrimaryCtxRetain));
  SPARK_CHECK(in.find("cuCtxSetCurrent", f.cuCtxSetCurrent));
  SPARK_CHECK(in.find("cuCtxSynchronize", f.cuCtxSynchronize));
  SPARK_CHECK(in.find("cuMemGetInfo_v2", f.cuMemGetInfo));
  SPARK_CHECK(in.find("cuMemAlloc_v2", f.cuMemAlloc));
  SPARK_CHECK(in.find("cuMemFree_v2", f.cuMemFree));
  SPARK_CHECK(in.find("cuMemcpyHtoD_v2", f.cuMemcpyHtoD));
  SPARK_CHECK(in.find("cuMemcpyDtoH_v2", f.cuMemcpyDtoH));
  SPARK_CHECK(in.find("cuMemcpyDtoDAsync_v2", f.cuMemcpyDtoDAsync));
  SPARK_CHECK(in.find("cuMemsetD32_v2", f.cuMemsetD32));
  SPARK_CHECK(in.find("cuStreamCreate", f.cuStreamCreate));
  SPARK_CHECK(in.find("cuStreamQuery", f.cuStreamQuery));
  SPARK_CHECK(in.find("cuEventCreate", f.cuEventCreate));
  SPARK_CHECK(in.find("cuEventRecord", f.cuEventRecord));
  // The second version came with CUDA 12.8 and differs only in the values that it accepts.
  SPARK_CHECK(in.find("cuEventElapsedTime", f.cuEventElapsedTime));
  SPARK_CHECK(in.find("cuEventDestroy_v2", f.cuEventDestroy));
  SPARK_CHECK(in.find("cuDeviceGetPCIBusId", f.cuDeviceGetPCIBusId));
  SPARK_CHECK(in.find("cuModuleLoadData", f.cuModuleLoadData));
  SPARK_CHECK(in.find("cuModuleGetFunction", f.cuModuleGetFunction));
  SPARK_CHECK(in.find("cuLaunchKernel", f.cuLaunchKernel));
  return f;
}

std::string describe(const Functions& driver, Status status) {
  const char* name = nullptr;
  const char* text = nullptr;
  if (driver.cuGetErrorName(status, &name) != kSuccess || name == nullptr) {
    return "CUDA error " + std::to_string(status);
  }
  if (driver.cuGetErrorString(status, &text) != kSuccess || text == nullptr) return name;
  return std::string(name) + " (" + text + ")";
}

}  // namespace sparkplan::cuda
