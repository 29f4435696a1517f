#pragma once

#include <cstddef>
#include <string>

#include "engine/core/result.h"

/// The part of the CUDA driver API that the tests of NCCL and of the GPU need, with its own declarations: the program
/// is built without the CUDA Toolkit and loads the driver when it runs. Source: CUDA Driver API, cuda.h;
/// tests/unit/nccl/headers_test.cc compares the declarations with it.
namespace sparkplan::cuda {

using Status = int;  // CUresult
inline constexpr Status kSuccess = 0;
inline constexpr Status kOutOfMemory = 2;
inline constexpr Status kNoDevice = 100;
inline constexpr Status kInvalidDevice = 101;
inline constexpr Status kNotReady = 600;

using Device = int;
using Address = unsigned long long;  // CUdeviceptr
using Context = struct ContextBody*;
using Stream = struct StreamBody*;
using Event = struct EventBody*;
using Module = struct ModuleBody*;
using Function = struct FunctionBody*;

using Attribute = int;  // CUdevice_attribute
inline constexpr Attribute kMultiprocessors = 16;
inline constexpr Attribute kIntegrated = 18;
inline constexpr unsigned int kNonBlockingStream = 1;
inline constexpr unsigned int kDefaultEvent = 0;

/// The functions by their names in the library. Some have the version suffix that cuda.h adds by a macro.
struct Functions {
  Status (*cuInit)(unsigned int flags);
  Status (*cuDriverGetVersion)(int* version);
  Status (*cuGetErrorName)(Status error, const char** name);
  Status (*cuGetErrorString)(Status error, const char** text);
  Status (*cuDeviceGetCount)(int* count);
  Status (*cuDeviceGet)(Device* device, int ordinal);
  Status (*cuDeviceGetName)(char* name, int length, Device device);
  Status (*cuDeviceGetAttribute)(int* value, Attribute attribute, Device device);
  Status (*cuDevicePrimaryCtxRetain)(Context* context, Device device);
  Status (*cuCtxSetCurrent)(Context context);
  Status (*cuCtxSynchronize)();
  Status (*cuMemGetInfo)(std::size_t* free, std::size_t* total);
  Status (*cuMemAlloc)(Address* address, std::size_t bytes);
  Status (*cuMemFree)(Address address);
  Status (*cuMemcpyHtoD)(Address to, const void* from, std::size_t bytes);
  Status (*cuMemcpyDtoH)(void* to, Address from, std::size_t bytes);
  Status (*cuMemcpyDtoDAsync)(Address to, Address from, std::size_t bytes, Stream stream);
  Status (*cuMemsetD32)(Address to, unsigned int value, std::size_t count);
  Status (*cuStreamCreate)(Stream* stream, unsigned int flags);
  Status (*cuStreamQuery)(Stream stream);
  Status (*cuEventCreate)(Event* event, unsigned int flags);
  Status (*cuEventRecord)(Event event, Stream stream);
  Status (*cuEventElapsedTime)(float* milliseconds, Event start, Event end);
  Status (*cuEventDestroy)(Event event);
  Status (*cuDeviceGetPCIBusId)(char* id, int length, Device device);
  Status (*cuModuleLoadData)(Module* module, const void* image);
  Status (*cuModuleGetFunction)(Function* function, Module module, const char* name);
  Status (*cuLaunchKernel)(Function function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                           unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared_bytes,
                           Stream stream, void** parameters, void** extra);
};

/// libcuda.so.1, loaded until the program ends.
/// Errors: kNotFound (no driver), kUnsupported (it lacks a function).
Result<Functions> load_driver();

/// "CUDA_ERROR_OUT_OF_MEMORY (out of memory)"
std::string describe(const Functions& driver, Status status);

}  // namespace sparkplan::cuda
