// What NCCL finds on a node: its release, and the variables that reach a rank started over ssh.
#include <algorithm>
#include <array>

#include "engine/core/text.h"
#include "engine/doctor/examinations.h"
#include "engine/domain/nccl/nccl_variables.h"

namespace sparkplan {
namespace {

constexpr NcclVersion kWithoutKnownHang{2, 29, 3};
constexpr NcclVersion kWithRings{2, 30, 7};
constexpr NcclVersion kChoosesGid{2, 21, 5};

/// Only what somebody has set beside NCCL itself is of interest; nothing means that nobody has.
std::vector<NcclSetting> settings_of(const ExaminedNode& node) {
  const auto* extended = extended_of(node);
  return extended == nullptr ? std::vector<NcclSetting>() : nccl_settings(*extended);
}

/// Why the variables cannot be looked at; empty when they can.
std::string no_settings(const ExaminedNode& node) {
  const auto* extended = extended_of(node);
  return extended == nullptr ? "not asked" : "";
}

std::string described(const NcclSetting& setting) { return setting.name + "=" + setting.value + " in " + setting.from; }

Opinion version_row(const ExaminedNode& node, const NcclVersion& least, Verdict verdict) {
  if (node.facts->nccl_version.empty()) return skip("no NCCL is installed");
  const auto version = parse_nccl_version(node.facts->nccl_version);
  if (!version) return skip("which NCCL is used cannot be told: " + node.facts->nccl_version);
  if (*version >= least) return pass("NCCL " + version->str());
  return {verdict, "NCCL " + version->str()};
}

Opinion too_old(const ExaminedCluster& /*cluster*/, const ExaminedNode& node) {
  return version_row(node, kChoosesGid, Verdict::kFail);
}

Opinion version_hang(const ExaminedCluster& cluster, const ExaminedNode& node) {
  if (!is_dgx_spark(*node.facts)) return skip("no DGX Spark");
  // What is older still, or in a ring, other rows tell of.
  const auto version = parse_nccl_version(node.facts->nccl_version);
  if (version && (*version < kChoosesGid || cluster.ring)) return pass();
  return version_row(node, kWithoutKnownHang, Verdict::kWarn);
}

Opinion version_ring(const ExaminedCluster& cluster, const ExaminedNode& node) {
  if (!is_dgx_spark(*node.facts)) return skip("no DGX Spark");
  if (!cluster.ring) return skip("no ring");
  const auto version = parse_nccl_version(node.facts->nccl_version);
  if (version && *version < kChoosesGid) return pass();
  return version_row(node, kWithRings, Verdict::kWarn);
}

/// Names of HCAs in "=a,b:1", "^=c" and the like; nothing for a list of those that are not to be used.
std::vector<std::string> hcas_in(std::string_view value) {
  std::vector<std::string> names;
  value = trim(value);
  if (value.starts_with('^')) return names;
  if (value.starts_with('=')) value.remove_prefix(1);
  for (const auto item : split(value, ',')) names.emplace_back(item.substr(0, item.find(':')));
  return names;
}

bool names_one_of(const std::vector<std::string>& names, const std::vector<std::string>& hcas, bool exact) {
  return std::any_of(hcas.begin(), hcas.end(), [&](const std::string& hca) {
    return std::any_of(names.begin(), names.end(),
                       [&](const std::string& name) { return exact ? hca == name : hca.starts_with(name); });
  });
}

Opinion one_half(const ExaminedCluster& /*cluster*/, const ExaminedNode& node) {
  if (auto why = no_settings(node); !why.empty()) return skip(std::move(why));
  const auto settings = settings_of(node);
  const NcclSetting* hca = find_setting(settings, "NCCL_IB_HCA");
  if (hca == nullptr) return skip("NCCL_IB_HCA is not set");
  const auto names = hcas_in(hca->value);
  if (names.empty()) return pass();
  const bool exact = hca->value.starts_with('=');
  Complaints complaints;
  for (const ExaminedHalf& half : node.halves) {
    if (half.hcas.empty() || names_one_of(names, half.hcas, exact)) continue;
    complaints.add(described(*hca) + " leaves " + join(half.hcas, ", ") + " out");
  }
  return complaints.as(Verdict::kFail, described(*hca));
}

Opinion gid_index(const ExaminedCluster& /*cluster*/, const ExaminedNode& node) {
  if (auto why = no_settings(node); !why.empty()) return skip(std::move(why));
  const auto settings = settings_of(node);
  const NcclSetting* index = find_setting(settings, "NCCL_IB_GID_INDEX");
  if (index == nullptr || index->value == "-1") return pass();
  Complaints complaints;
  for (const ExaminedHalf& half : node.halves) {
    for (const RdmaDeviceFacts& device : node.facts->rdma_devices) {
      if (std::find(half.hcas.begin(), half.hcas.end(), device.name) == half.hcas.end()) continue;
      const RdmaPortFacts* port = rdma_port(device, half.interface);
      const auto right = port == nullptr ? Result<int>(failure(ErrorCode::kNotFound, ""))
                                         : roce_v2_gid_index(*port, half.address, half.interface);
      if (right && std::to_string(*right) != index->value) {
        complaints.add(described(*index) + ", and that of " + half.address + " on " + device.name + " is " +
                       std::to_string(*right));
      }
    }
  }
  if (complaints.any()) return complaints.as(Verdict::kFail);
  return warn(described(*index));
}

Opinion without_rdma(const ExaminedCluster& /*cluster*/, const ExaminedNode& node) {
  if (auto why = no_settings(node); !why.empty()) return skip(std::move(why));
  const auto settings = settings_of(node);
  Complaints complaints;
  if (const auto* net = find_setting(settings, "NCCL_NET"); net != nullptr && net->value == "Socket") {
    complaints.add(described(*net));
  }
  if (const auto* off = find_setting(settings, "NCCL_IB_DISABLE"); off != nullptr && off->value != "0") {
    complaints.add(described(*off));
  }
  return complaints.as(Verdict::kWarn);
}

Opinion socket_interface(const ExaminedCluster& /*cluster*/, const ExaminedNode& node) {
  if (auto why = no_settings(node); !why.empty()) return skip(std::move(why));
  if (!node.facts->live) return skip("nothing is running there");
  const auto settings = settings_of(node);
  const NcclSetting* wanted = find_setting(settings, "NCCL_SOCKET_IFNAME");
  if (wanted == nullptr) return pass();
  const bool exact = wanted->value.starts_with('=');
  const auto names = hcas_in(wanted->value);
  if (names.empty()) return pass();
  for (const LinkFacts& link : node.facts->links) {
    if (names_one_of(names, {link.name}, exact)) return pass();
  }
  return fail(described(*wanted) + ", and there is no such interface");
}

Opinion unknown_variable(const ExaminedCluster& /*cluster*/, const ExaminedNode& node) {
  if (auto why = no_settings(node); !why.empty()) return skip(std::move(why));
  Complaints complaints;
  for (const NcclSetting& setting : settings_of(node)) {
    if (!setting.name.starts_with("NCCL_")) continue;
    const NcclVariable* known = find_nccl_variable(setting.name);
    const bool read = known != nullptr && (known->reader == NcclReader::kCore || known->reader == NcclReader::kPlugin ||
                                           known->reader == NcclReader::kTests);
    if (!read) complaints.add(described(setting));
  }
  return complaints.as(Verdict::kWarn);
}

Opinion no_effect(const ExaminedCluster& /*cluster*/, const ExaminedNode& node) {
  if (auto why = no_settings(node); !why.empty()) return skip(std::move(why));
  if (!is_dgx_spark(*node.facts)) return skip("no DGX Spark");
  Complaints complaints;
  for (const NcclSetting& setting : settings_of(node)) {
    const NcclVariable* known = find_nccl_variable(setting.name);
    if (known != nullptr && known->needs == NcclNeeds::kGpuDirect && setting.value != "0") {
      complaints.add(described(setting));
    }
  }
  return complaints.as(Verdict::kWarn);
}

Opinion login_shells_only(const ExaminedCluster& /*cluster*/, const ExaminedNode& node) {
  if (auto why = no_settings(node); !why.empty()) return skip(std::move(why));
  const auto settings = settings_of(node);
  Complaints complaints;
  for (const auto& [name, value] : extended_of(node)->nccl_profile) {
    if (name.starts_with("NCCL_") && find_setting(settings, name) == nullptr) complaints.add(name);
  }
  return complaints.as(Verdict::kWarn);
}

Opinion preloaded(const ExaminedCluster& /*cluster*/, const ExaminedNode& node) {
  if (auto why = no_settings(node); !why.empty()) return skip(std::move(why));
  const auto settings = settings_of(node);
  const NcclSetting* preload = find_setting(settings, "LD_PRELOAD");
  if (preload == nullptr || preload->value.find("nccl") == std::string::npos) return pass();
  return warn(described(*preload));
}

Opinion ring_without_cumem(const ExaminedCluster& cluster, const ExaminedNode& node) {
  constexpr std::size_t kEagerTreeFails = 4;
  if (!cluster.ring || cluster.ring_size < kEagerTreeFails) return skip("no ring of four or more");
  if (auto why = no_settings(node); !why.empty()) return skip(std::move(why));
  const auto settings = settings_of(node);
  const NcclSetting* memory = find_setting(settings, "NCCL_CUMEM_ENABLE");
  return memory != nullptr && memory->value == "0" ? fail(described(*memory)) : pass();
}

constexpr auto kExaminations = std::to_array<Examination>({
    {"nccl-too-old", too_old},
    {"nccl-version-hang", version_hang},
    {"nccl-version-ring", version_ring},
    {"nccl-half-left-out", one_half, nullptr, {{"nccl_files", "login.environment"}}},
    {"nccl-gid-index-set", gid_index, nullptr, {{"nccl_files", "login.environment"}}},
    {"nccl-without-rdma", without_rdma, nullptr, {{"nccl_files", "login.environment"}}},
    {"nccl-interface-absent", socket_interface, nullptr, {{"nccl_files", "login.environment"}}},
    {"nccl-unknown-variable", unknown_variable, nullptr, {{"nccl_files", "login.environment"}}},
    {"nccl-no-effect", no_effect, nullptr, {{"nccl_files", "login.environment"}}},
    {"nccl-login-shells-only", login_shells_only, nullptr, {{"nccl_files", "nccl_profile"}}},
    {"nccl-preloaded", preloaded, nullptr, {{"nccl_files", "login.environment"}}},
    {"nccl-ring-without-cumem", ring_without_cumem, nullptr, {{"nccl_files", "login.environment"}}},
});

}  // namespace

std::span<const Examination> nccl_examinations() { return kExaminations; }

}  // namespace sparkplan
