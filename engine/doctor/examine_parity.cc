// Properties that must be equal on all nodes, and properties that must differ.
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "engine/core/bounded_text.h"
#include "engine/core/text.h"
#include "engine/doctor/examinations.h"
#include "engine/domain/nccl/nccl_variables.h"

namespace sparkplan {
namespace {

using Values = std::map<std::string, std::vector<std::string>>;  ///< Value -> the nodes that have it.

/// The values of the nodes that have one.
template <class Value>
Values values_of(const ExaminedCluster& cluster, Value value) {
  Values values;
  for (const ExaminedNode& node : cluster.nodes) {
    const std::string one = value(node);
    if (!one.empty()) values[one].push_back(node.name);
  }
  return values;
}

/// Each value is cut: one node words it.
std::string listed(const Values& values) {
  std::string text;
  for (const auto& [value, nodes] : values) {
    text += (text.empty() ? "" : "; ") + fold_names(nodes) + " " + listed_value(value);
  }
  return text;
}

/// How a DGX Spark without the property counts if other nodes have it.
enum class Missing : std::uint8_t {
  kSaysNothing,
  kDiffers,
  kLeavesOpen,  ///< Another row has the reason; equality stays unknown.
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
Verdict equal(const ExaminedCluster& cluster, CheckStatus otherwise, const std::string& none, Value value,
              Missing missing = Missing::kSaysNothing) {
  const auto values = values_of(cluster, value);
  if (values.empty()) return skip(none);
  const auto without = missing == Missing::kSaysNothing ? std::vector<std::string>() : sparks_without(cluster, values);
  if (!without.empty() && missing == Missing::kLeavesOpen && values.size() == 1) {
    return skip(fold_names(without) + " none; " + listed(values));
  }
  if (values.size() == 1 && without.empty()) return pass(values.begin()->first);
  // Beside the values, not among them: a node may word its own value "none".
  return {otherwise, listed(values) + (without.empty() ? "" : "; " + fold_names(without) + " none")};
}

Verdict each_once(const Values& values, const std::string& none) {
  if (values.empty()) return skip(none);
  Complaints complaints;
  for (const auto& [one, nodes] : values) {
    if (nodes.size() > 1) complaints.add(fold_names(nodes) + " have " + one);
  }
  return complaints.as(CheckStatus::kFail);
}

template <class Value>
Verdict distinct(const ExaminedCluster& cluster, const std::string& none, Value value) {
  return each_once(values_of(cluster, value), none);
}

Verdict kernels(const ExaminedCluster& cluster) {
  return equal(cluster, CheckStatus::kWarn, "no node is a running system",
               [](const ExaminedNode& node) { return node.facts->kernel; });
}

Verdict systems(const ExaminedCluster& cluster) {
  return equal(cluster, CheckStatus::kWarn, "not known",
               [](const ExaminedNode& node) { return node.facts->os_id + " " + node.facts->os_version; });
}

Verdict drivers(const ExaminedCluster& cluster) {
  return equal(
      cluster, CheckStatus::kFail, "no GPU driver is loaded",
      [](const ExaminedNode& node) { return node.facts->host.gpu_driver; }, Missing::kDiffers);
}

Verdict nccls(const ExaminedCluster& cluster) {
  const auto& nodes = cluster.nodes;
  if (std::any_of(nodes.begin(), nodes.end(), [](const ExaminedNode& node) { return node.own_nccl; })) {
    return skip("nccl: library names a file; `sparkplan verify --level nccl` compares what the nodes load");
  }
  auto verdict = equal(
      cluster, CheckStatus::kFail, "no NCCL is installed",
      [](const ExaminedNode& node) { return node.facts->nccl_version; }, Missing::kDiffers);
  // With two releases on every node, each node may use a different release.
  if (verdict.status == CheckStatus::kPass && !parse_nccl_version(verdict.seen)) {
    return skip("the NCCL version in use is unknown: " + verdict.seen);
  }
  return verdict;
}

Verdict firmwares(const ExaminedCluster& cluster) {
  return equal(
      cluster, CheckStatus::kWarn, "no RDMA device reports its firmware",
      [](const ExaminedNode& node) {
        const auto& extended = node.facts->extended;
        std::string text;
        if (!extended) return text;
        std::map<std::string, int> versions;
        for (const RdmaFirmwareFacts& one : extended->rdma_firmware) {
          if (!one.firmware.empty()) ++versions[one.firmware];
        }
        for (const auto& [version, count] : versions) text += (text.empty() ? "" : ", ") + version;
        return text;
      },
      Missing::kLeavesOpen);
}

/// Each manufacturer numbers its BIOSes itself.
Verdict bioses(const ExaminedCluster& cluster) {
  std::map<std::string, Values> by_vendor;
  for (const ExaminedNode& node : cluster.nodes) {
    const HostFacts& host = node.facts->host;
    if (host.bios_version.empty() || !is_dgx_spark(*node.facts)) continue;
    by_vendor[host.vendor][host.bios_version].push_back(node.name);
  }
  if (by_vendor.empty()) return skip("DMI reports no BIOS version");
  Complaints complaints;
  std::string all;
  for (const auto& [vendor, versions] : by_vendor) {
    all += (all.empty() ? "" : "; ") + listed(versions);
    if (versions.size() > 1) complaints.add(listed(versions));
  }
  return complaints.any() ? complaints.as(CheckStatus::kWarn)
                          : pass(by_vendor.size() == 1 ? by_vendor.begin()->second.begin()->first : all);
}

Verdict memories(const ExaminedCluster& cluster) {
  return equal(cluster, CheckStatus::kFail, "not known", [](const ExaminedNode& node) {
    // The firmware reserves some memory, so sizes are rounded up to 32 GiB. 64 GB and 128 GB still differ.
    constexpr std::int64_t kClass = std::int64_t{32} << 30;
    const auto bytes = node.facts->memory_total_bytes;
    if (bytes <= 0 || !is_dgx_spark(*node.facts)) return std::string();
    return std::to_string((bytes / kClass + (bytes % kClass > 0 ? 1 : 0)) * 32) + " GiB";
  });
}

Verdict users(const ExaminedCluster& cluster) {
  return equal(cluster, CheckStatus::kWarn, "the nodes were not reached over ssh", [](const ExaminedNode& node) {
    const auto& extended = node.facts->extended;
    if (!extended || !extended->login.uid) return std::string();
    return extended->login.user + " (" + std::to_string(*extended->login.uid) + ")";
  });
}

/// Kernels name the same port differently. The name matters where one variable has to name it for all nodes.
Verdict management_interfaces(const ExaminedCluster& cluster) {
  return equal(cluster, CheckStatus::kWarn, "the nodes were not reached over ssh", [](const ExaminedNode& node) {
    const auto links = links_with_address(node.facts->ssh_server_address, node.facts->links);
    return node.facts->ssh_server_address.empty() || links.empty() ? std::string() : *links.begin();
  });
}

Verdict host_nqns(const ExaminedCluster& cluster) {
  return distinct(cluster, "no node has an NQN",
                  [](const ExaminedNode& node) { return node.facts->host.nvme_host_nqn; });
}

Verdict machine_ids(const ExaminedCluster& cluster) {
  return distinct(cluster, "no node has a machine id", [](const ExaminedNode& node) { return node.facts->machine_id; });
}

Verdict host_keys(const ExaminedCluster& cluster) {
  // A copied machine that then made a new key of one kind still shares the other keys.
  Values values;
  for (const ExaminedNode& node : cluster.nodes) {
    std::set<std::string> own;
    for (const HostKeyFacts& key : node.facts->host.host_keys) own.insert(key.fingerprint);
    for (const std::string& fingerprint : own) values[fingerprint].push_back(node.name);
  }
  return each_once(values, "no node has a host key");
}

Verdict mtus(const ExaminedCluster& cluster) {
  return equal(cluster, CheckStatus::kFail, "no node has an interface of the fabric", [](const ExaminedNode& node) {
    std::map<int, int> sizes;
    for (const ObservedPort& half : node.halves) {
      // Row link-mtu covers an MTU that differs from the declared one.
      if (half.link != nullptr && (!half.mtu || *half.mtu == half.link->mtu)) ++sizes[half.link->mtu];
    }
    std::string text;
    for (const auto& [size, count] : sizes) text += (text.empty() ? "" : ", ") + std::to_string(size);
    return text;
  });
}

constexpr auto kParityExaminations = std::to_array<Examination>({
    {"differs-kernel", kernels},
    {"differs-system", systems},
    {"differs-driver", drivers, {}, {{"gpu_driver"}}},
    {"nccl-mixed-versions", nccls},
    {"differs-firmware", firmwares, {}, {{"rdma_firmware"}}},
    {"differs-bios", bioses, {}, {{"bios_version"}}},
    {"differs-memory", memories},
    {"differs-user", users},
    {"differs-management-interface", management_interfaces},
    {"differs-mtu", mtus},
    {"shared-host-nqn", host_nqns, {}, {{"nvme_host_nqn"}}},
    {"shared-machine-id", machine_ids},
    {"shared-host-key", host_keys, {}, {{"host_keys"}}},
});

}  // namespace

std::span<const Examination> parity_examinations() { return kParityExaminations; }

}  // namespace sparkplan
