#pragma once

#include <string>

#include "tests/integration/lab/host.h"

namespace sparkplan::test {

/// The folder of the fake driver, NVML and NCCL on a host.
inline const std::string kFakeGpuLibraries = "/opt/fake-gpu";
inline const std::string kRankFile = "/usr/local/libexec/sparkplan/sparkplan-nccl";

/// A host that appears to have a GPU, for one case: with the libraries of tests/fake_gpu.
class GpuHost {
 public:
  /// `always`: properties that it keeps when has() gives it others.
  explicit GpuHost(int number, std::string always = "");
  GpuHost(const GpuHost&) = delete;
  GpuHost& operator=(const GpuHost&) = delete;
  ~GpuHost();
  const Host* operator->() const { return &host_; }

  /// Gives it properties, NAME=VALUE separated by blanks, in place of the former ones. tests/fake_gpu/variables.h reads
  /// them.
  void has(const std::string& properties) const;
  /// True while sparkplan-nccl runs there: a rank, or the test of the GPUs.
  bool runs_ranks() const { return !host_.shell("pgrep sparkplan-nccl || true").empty(); }

 private:
  Host host_;
  std::string always_;
};

}  // namespace sparkplan::test
