#include "tests/integration/lab/gpu_host.h"

#include <exception>
#include <filesystem>
#include <utility>

namespace sparkplan::test {
namespace {

const std::string kProperties = "/etc/fake-gpu.conf";
const std::string kLoaderFile = "/etc/ld.so.conf.d/fake-gpu.conf";

}  // namespace

GpuHost::GpuHost(int number, std::string always) : host_(number), always_(std::move(always)) {
  host_.shell("mkdir -p " + kFakeGpuLibraries);
  for (const char* name : {"libcuda.so.1", "libnccl.so.2", "libnvidia-ml.so.1"}) {
    std::filesystem::copy_file(std::filesystem::path(SPARKPLAN_FAKE_GPU) / name,
                               host_.path(kFakeGpuLibraries + "/" + name),
                               std::filesystem::copy_options::overwrite_existing);
  }
  host_.shell("echo " + kFakeGpuLibraries + " > " + kLoaderFile + "; ldconfig");
  has("");
}

GpuHost::~GpuHost() {
  try {
    host_.shell("rm -rf " + kFakeGpuLibraries + " " + kLoaderFile + " " + kProperties + " " + kRankFile + "; ldconfig");
  } catch (const std::exception&) {  // The case has failed already.
  }
}

void GpuHost::has(const std::string& properties) const {
  host_.shell("printf '%s\\n' " + always_ + " " + properties + " > " + kProperties);
}

}  // namespace sparkplan::test
