#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/model/fields.h"

/// Facts that decide whether jobs can start on a machine and keep their speed: containers, memory, GPU, software.
/// They are parts of ExtendedFacts.
namespace sparkplan {

/// A CDI specification of NVIDIA's GPUs: the devices and libraries that a container gets.
struct CdiSpecFacts {
  std::string file;    ///< "/var/run/cdi/nvidia.yaml"
  std::string driver;  ///< The release in the names of its libraries: "580.95.05"; empty if they have none.

  bool operator==(const CdiSpecFacts&) const = default;
};

/// Ways of containers to the GPU.
struct ContainerFacts {
  std::vector<std::string> runtimes;    ///< Names of Docker's additional runtimes, in /etc/docker/daemon.json.
  std::optional<bool> toolkit;          ///< NVIDIA's container toolkit is installed.
  std::vector<CdiSpecFacts> cdi_specs;  ///< In the order of their precedence; the last one wins.
  std::optional<bool> may_use_docker;   ///< The login user is in the group docker. Nothing: there is no such group.
  bool operator==(const ContainerFacts&) const = default;
};

/// One look at the GPU. Fields that the driver does not report have no value.
struct GpuFacts {
  std::optional<std::int64_t> utilisation;  ///< Percent.
  std::optional<std::int64_t> clock_mhz;    ///< Of the streaming multiprocessors.
  std::optional<std::int64_t> power_watts;
  std::optional<std::int64_t> reasons;  ///< Why the clock is lower than it could be: bits of NVML.

  bool operator==(const GpuFacts&) const = default;
};

/// /dev/shm
struct SharedMemoryFacts {
  std::string type;                   ///< "tmpfs"; empty: nothing is mounted there.
  std::optional<std::int64_t> limit;  ///< Bytes. Nothing: half of the memory.
  std::int64_t used = 0;              ///< Bytes in its files, without those in directories.
  std::int64_t files = 0;

  bool operator==(const SharedMemoryFacts&) const = default;
};

/// Swap space that is switched on.
struct SwapFacts {
  std::int64_t total = 0;  ///< Bytes.
  std::int64_t used = 0;   ///< Bytes.

  bool operator==(const SwapFacts&) const = default;
};

/// An installed package of the kernel, of the GPU's driver or of its firmware.
struct PackageFacts {
  std::string name;
  std::string version;
  bool held = false;  ///< dpkg and apt neither upgrade nor remove it.

  bool operator==(const PackageFacts&) const = default;
};

/// Software that an upgrade or a boot changes.
struct SoftwareFacts {
  std::vector<std::string> kernels;     ///< Releases in /boot: "6.17.0-1031-nvidia"
  bool reboot_required = false;         ///< A package asks for a reboot.
  std::vector<std::string> reboot_for;  ///< These packages ask for it.
  std::vector<PackageFacts> packages;   ///< By name.
  std::optional<bool> upgrades_itself;  ///< unattended-upgrades is on. Nothing: apt has no such setting.

  bool operator==(const SoftwareFacts&) const = default;
};

void list_fields(FieldVisitor& field, CdiSpecFacts& spec);
void list_fields(FieldVisitor& field, ContainerFacts& containers);
void list_fields(FieldVisitor& field, GpuFacts& gpu);
void list_fields(FieldVisitor& field, SharedMemoryFacts& memory);
void list_fields(FieldVisitor& field, SwapFacts& swap);
void list_fields(FieldVisitor& field, PackageFacts& package);
void list_fields(FieldVisitor& field, SoftwareFacts& software);

}  // namespace sparkplan
