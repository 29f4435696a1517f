// What has to be the same on all nodes, and what must not be.
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "engine/core/text.h"
#include "engine/doctor/examinations.h"
#include "engine/domain/nccl/nccl_variables.h"

namespace sparkplan {
namespace {

using Values = std::map<std::string, std::vector<std::string>>;  ///< Value -> the nodes that have it.

/// Of those nodes that have one.
template <class Value>
Values values_of(const ExaminedCluster& cluster, Value value) {
  Values values;
  for (const ExaminedNode& node : cluster.nodes) {
    const std::string one = value(node);
    if (!one.empty()) values[one].push_back(node.name);
  }
  return values;
}

std::string listed(const Values& values) {
  std::string text;
  for (const auto& [value, nodes] : values) text += (text.empty() ? "" : "; ") + fold_names(nodes) + " " + value;
  return text;
}

/// What it says that a DGX Spark has none, while others have one.
enum class Missing : std::uint8_t {
  kSaysNothing,
  kDiffers,
  kLeavesOpen,  ///< Another row tells why there is none; what it would be cannot be told.
};

std::vector<std::string> sparks_without(const ExaminedCluster& cluster, const Values& values) {
  std::vector<std::string> names;
  for (const ExaminedNode& node : cluster.nodes) {
    const bool has_one = std::any_of(values.begin(), values.end(), [&](const auto& value) {
      return std::find(value.second.begin(), value.second.end(), node.name) != value.second.end();
    });
    if (!has_one && is_dgx_spark(*node.facts)) names.push_back(node.name);
  }
  return names;
}

template <class Value>
Opinion equal(const ExaminedCluster& cluster, Verdict otherwise, const std::string& none, Value value,
              Missing missing = Missing::kSaysNothing) {
  auto values = values_of(cluster, value);
  if (values.empty()) return skip(none);
  const auto without = missing == Missing::kSaysNothing ? std::vector<std::string>() : sparks_without(cluster, values);
  if (!without.empty() && missing == Missing::kLeavesOpen && values.size() == 1) {
    return skip(fold_names(without) + " none; " + listed(values));
  }
  if (!without.empty()) values["none"] = without;
  if (values.size() == 1) return pass(values.begin()->first);
  return {otherwise, listed(values)};
}

Opinion each_once(const Values& values, const std::string& none) {
  if (values.empty()) return skip(none);
  Complaints complaints;
  for (const auto& [one, nodes] : values) {
    if (nodes.size() > 1) complaints.add(fold_names(nodes) + " have " + one);
  }
  return complaints.as(Verdict::kFail);
}

template <class Value>
Opinion distinct(const ExaminedCluster& cluster, const std::string& none, Value value) {
  return each_once(values_of(cluster, value), none);
}

Opinion kernels(const ExaminedCluster& cluster) {
  return equal(cluster, Verdict::kWarn, "nothing is running there",
               [](const ExaminedNode& node) { return node.facts->kernel; });
}

Opinion systems(const ExaminedCluster& cluster) {
  return equal(cluster, Verdict::kWarn, "not known",
               [](const ExaminedNode& node) { return node.facts->os_id + " " + node.facts->os_version; });
}

Opinion drivers(const ExaminedCluster& cluster) {
  return equal(
      cluster, Verdict::kFail, "no GPU driver is loaded",
      [](const ExaminedNode& node) { return node.facts->host.gpu_driver; }, Missing::kDiffers);
}

Opinion nccls(const ExaminedCluster& cluster) {
  auto opinion = equal(
      cluster, Verdict::kFail, "no NCCL is installed",
      [](const ExaminedNode& node) { return node.facts->nccl_version; }, Missing::kDiffers);
  // The same two on all nodes, and each node may use the other one.
  if (opinion.verdict == Verdict::kPass && !parse_nccl_version(opinion.seen)) {
    return skip("which of them is used cannot be told: " + opinion.seen);
  }
  return opinion;
}

Opinion firmwares(const ExaminedCluster& cluster) {
  return equal(
      cluster, Verdict::kWarn, "no RDMA device tells its firmware",
      [](const ExaminedNode& node) {
        const auto* extended = extended_of(node);
        std::string text;
        if (extended == nullptr) return text;
        std::map<std::string, int> versions;
        for (const RdmaFirmwareFacts& one : extended->rdma_firmware) {
          if (!one.firmware.empty()) ++versions[one.firmware];
        }
        for (const auto& [version, count] : versions) text += (text.empty() ? "" : ", ") + version;
        return text;
      },
      Missing::kLeavesOpen);
}

Opinion bioses(const ExaminedCluster& cluster) {
  return equal(cluster, Verdict::kWarn, "DMI tells no BIOS", [](const ExaminedNode& node) {
    // Those of different makers cannot be the same.
    const HostFacts& host = node.facts->host;
    return host.bios_version.empty() || !is_dgx_spark(*node.facts) ? "" : host.bios_version;
  });
}

Opinion memories(const ExaminedCluster& cluster) {
  return equal(cluster, Verdict::kFail, "not known", [](const ExaminedNode& node) {
    // The firmware keeps some to itself: to the next class, of 64 GB and 128 GB.
    constexpr std::int64_t kClass = std::int64_t{32} << 30;
    const auto bytes = node.facts->memory_total_bytes;
    if (bytes <= 0 || !is_dgx_spark(*node.facts)) return std::string();
    return std::to_string((bytes / kClass + (bytes % kClass > 0 ? 1 : 0)) * 32) + " GiB";
  });
}

Opinion users(const ExaminedCluster& cluster) {
  return equal(cluster, Verdict::kWarn, "the nodes were not reached over ssh", [](const ExaminedNode& node) {
    const auto* extended = extended_of(node);
    if (extended == nullptr || !extended->login.uid) return std::string();
    return extended->login.user + " (" + std::to_string(*extended->login.uid) + ")";
  });
}

/// Kernels name the same port differently; what it is called matters where a variable has to name it for all.
Opinion management_interfaces(const ExaminedCluster& cluster) {
  return equal(cluster, Verdict::kWarn, "the nodes were not reached over ssh", [](const ExaminedNode& node) {
    const auto links = links_with_address(node.facts->ssh_server_address, node.facts->links);
    return node.facts->ssh_server_address.empty() || links.empty() ? std::string() : *links.begin();
  });
}

Opinion host_nqns(const ExaminedCluster& cluster) {
  return distinct(cluster, "no node has an NQN",
                  [](const ExaminedNode& node) { return node.facts->host.nvme_host_nqn; });
}

Opinion machine_ids(const ExaminedCluster& cluster) {
  return distinct(cluster, "no node has a machine id", [](const ExaminedNode& node) { return node.facts->machine_id; });
}

Opinion host_keys(const ExaminedCluster& cluster) {
  // A machine that was copied, and then made a key of another kind, still has the others in common.
  Values values;
  for (const ExaminedNode& node : cluster.nodes) {
    std::set<std::string> own;
    for (const HostKeyFacts& key : node.facts->host.host_keys) own.insert(key.fingerprint);
    for (const std::string& fingerprint : own) values[fingerprint].push_back(node.name);
  }
  return each_once(values, "no node has a host key");
}

Opinion mtus(const ExaminedCluster& cluster) {
  return equal(cluster, Verdict::kFail, "no interface of a fabric is there", [](const ExaminedNode& node) {
    std::map<int, int> sizes;
    for (const ExaminedHalf& half : node.halves) {
      // One that is not as declared is told by its own row.
      if (half.link != nullptr && (!half.mtu || *half.mtu == half.link->mtu)) ++sizes[half.link->mtu];
    }
    std::string text;
    for (const auto& [size, count] : sizes) text += (text.empty() ? "" : ", ") + std::to_string(size);
    return text;
  });
}

constexpr auto kExaminations = std::to_array<Examination>({
    {"differs-kernel", nullptr, kernels},
    {"differs-system", nullptr, systems},
    {"differs-driver", nullptr, drivers, {{"gpu_driver"}}},
    {"nccl-mixed-versions", nullptr, nccls},
    {"differs-firmware", nullptr, firmwares, {{"rdma_firmware"}}},
    {"differs-bios", nullptr, bioses, {{"bios_version"}}},
    {"differs-memory", nullptr, memories},
    {"differs-user", nullptr, users},
    {"differs-management-interface", nullptr, management_interfaces},
    {"differs-mtu", nullptr, mtus},
    {"shared-host-nqn", nullptr, host_nqns, {{"nvme_host_nqn"}}},
    {"shared-machine-id", nullptr, machine_ids},
    {"shared-host-key", nullptr, host_keys, {{"host_keys"}}},
});

}  // namespace

std::span<const Examination> parity_examinations() { return kExaminations; }

}  // namespace sparkplan
