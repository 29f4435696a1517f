// NCCL on a node: its release, and the variables that reach a rank, NCCL's and those of other frameworks.
#include <algorithm>
#include <array>

#include "engine/core/text.h"
#include "engine/doctor/examinations.h"
#include "engine/domain/nccl/nccl_variables.h"
#include "engine/model/ipv4.h"

namespace sparkplan {
namespace {

constexpr NcclVersion kVersionWithoutKnownHang{2, 29, 3};
constexpr NcclVersion kVersionWithRings{2, 30, 7};
constexpr NcclVersion kChoosesGid{2, 21, 5};

constexpr std::string_view kOwnLibrary = "nccl: library names a file, which `sparkplan verify --level nccl` loads";

std::vector<NcclSetting> settings_of(const ExaminedNode& node) { return nccl_settings(extended_of(node)); }

std::string described(const NcclSetting& setting) { return setting.name + "=" + setting.value + " in " + setting.from; }

Verdict version_row(const ExaminedNode& node, const NcclVersion& least, CheckStatus verdict) {
  if (node.own_nccl) return skip(std::string(kOwnLibrary));
  if (node.facts->nccl_version.empty()) return skip("no NCCL is installed");
  const auto version = parse_nccl_version(node.facts->nccl_version);
  if (!version) return skip("the NCCL version in use is unknown: " + node.facts->nccl_version);
  if (*version >= least) return pass("NCCL " + version->str());
  return {verdict, "NCCL " + version->str()};
}

Verdict no_gpu(const ExaminedNode& node) {
  if (!node.nccl_declared) return skip("nccl is not declared");
  const std::string& version = node.facts->host.gpu_driver;
  return version.empty() ? fail("NVIDIA's driver is not loaded") : pass("driver " + version);
}

Verdict no_library(const ExaminedNode& node) {
  if (!node.nccl_declared) return skip("nccl is not declared");
  if (node.own_nccl) return skip(std::string(kOwnLibrary));
  if (!node.facts->nccl_version.empty()) return pass("NCCL " + node.facts->nccl_version);
  return fail("the loader finds no libnccl.so.2");
}

Verdict too_old(const ExaminedNode& node) { return version_row(node, kChoosesGid, CheckStatus::kFail); }

Verdict version_hang(const ExaminedCluster& cluster, const ExaminedNode& node) {
  // Other rows cover even older releases, and rings.
  const auto version = parse_nccl_version(node.facts->nccl_version);
  if (!node.own_nccl && version && (*version < kChoosesGid || cluster.ring)) return pass();
  return version_row(node, kVersionWithoutKnownHang, CheckStatus::kWarn);
}

Verdict version_ring(const ExaminedCluster& cluster, const ExaminedNode& node) {
  if (!cluster.ring) return skip("no ring");
  const auto version = parse_nccl_version(node.facts->nccl_version);
  if (!node.own_nccl && version && *version < kChoosesGid) return pass();
  return version_row(node, kVersionWithRings, CheckStatus::kWarn);
}

/// Names of HCAs in "=a,b:1", "^=c" and similar values; nothing for a list of excluded HCAs.
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

Verdict one_half(const ExaminedNode& node) {
  const auto settings = settings_of(node);
  const NcclSetting* hca = find_setting(settings, "NCCL_IB_HCA");
  if (hca == nullptr) return skip("NCCL_IB_HCA is not set");
  const auto names = hcas_in(hca->value);
  if (names.empty()) return pass();
  const bool exact = hca->value.starts_with('=');
  Complaints complaints;
  for (const ObservedPort& half : node.halves) {
    if (half.hcas.empty() || names_one_of(names, half.hcas, exact)) continue;
    complaints.add(described(*hca) + " leaves " + join(half.hcas, ", ") + " out");
  }
  return complaints.as(CheckStatus::kFail, described(*hca));
}

Verdict gid_index(const ExaminedNode& node) {
  const auto settings = settings_of(node);
  const NcclSetting* index = find_setting(settings, "NCCL_IB_GID_INDEX");
  if (index == nullptr || index->value == "-1") return pass();
  Complaints complaints;
  for (const ObservedPort& half : node.halves) {
    for (const RdmaDeviceFacts& device : node.facts->rdma_devices) {
      if (std::find(half.hcas.begin(), half.hcas.end(), device.name) == half.hcas.end()) continue;
      const RdmaPortFacts* port = rdma_port(device, half.interface);
      const auto right = port == nullptr ? Result<int>(failure(ErrorCode::kNotFound, ""))
                                         : roce_v2_gid_index(*port, half.address, half.interface);
      if (right && std::to_string(*right) != index->value) {
        complaints.add(described(*index) + ", but the index of " + half.address + " on " + device.name + " is " +
                       std::to_string(*right));
      }
    }
  }
  if (complaints.any()) return complaints.as(CheckStatus::kFail);
  return warn(described(*index));
}

Verdict without_rdma(const ExaminedNode& node) {
  const auto settings = settings_of(node);
  Complaints complaints;
  if (const auto* net = find_setting(settings, "NCCL_NET"); net != nullptr && net->value == "Socket") {
    complaints.add(described(*net));
  }
  if (const auto* off = find_setting(settings, "NCCL_IB_DISABLE"); off != nullptr && off->value != "0") {
    complaints.add(described(*off));
  }
  return complaints.as(CheckStatus::kWarn);
}

Verdict socket_interface(const ExaminedNode& node) {
  const auto settings = settings_of(node);
  const NcclSetting* wanted = find_setting(settings, "NCCL_SOCKET_IFNAME");
  if (wanted == nullptr) return pass();
  const bool exact = wanted->value.starts_with('=');
  const auto names = hcas_in(wanted->value);
  if (names.empty()) return pass();
  for (const LinkFacts& link : node.facts->links) {
    if (names_one_of(names, {link.name}, exact)) return pass();
  }
  return fail(described(*wanted) + ", but the node has no such interface");
}

Verdict unknown_variable(const ExaminedNode& node) {
  Complaints complaints;
  for (const NcclSetting& setting : settings_of(node)) {
    if (!setting.name.starts_with("NCCL_")) continue;
    const NcclVariable* known = find_nccl_variable(setting.name);
    const bool read = known != nullptr && (known->reader == NcclReader::kCore || known->reader == NcclReader::kPlugin ||
                                           known->reader == NcclReader::kTests);
    if (!read) complaints.add(described(setting));
  }
  return complaints.as(CheckStatus::kWarn);
}

Verdict no_effect(const ExaminedNode& node) {
  Complaints complaints;
  for (const NcclSetting& setting : settings_of(node)) {
    const NcclVariable* known = find_nccl_variable(setting.name);
    if (known != nullptr && known->needs == NcclNeeds::kGpuDirect && setting.value != "0") {
      complaints.add(described(setting));
    }
  }
  return complaints.as(CheckStatus::kWarn);
}

Verdict login_shells_only(const ExaminedNode& node) {
  const auto settings = settings_of(node);
  Complaints complaints;
  for (const auto& [name, value] : extended_of(node).nccl_profile) {
    if (name.starts_with("NCCL_") && find_setting(settings, name) == nullptr) complaints.add(name);
  }
  return complaints.as(CheckStatus::kWarn);
}

Verdict preloaded(const ExaminedNode& node) {
  const auto settings = settings_of(node);
  const NcclSetting* preload = find_setting(settings, "LD_PRELOAD");
  if (preload == nullptr || preload->value.find("nccl") == std::string::npos) return pass();
  return warn(described(*preload));
}

Verdict ring_without_cumem(const ExaminedCluster& cluster, const ExaminedNode& node) {
  constexpr std::size_t kEagerTreeFails = 4;
  if (!cluster.ring || cluster.ring_size < kEagerTreeFails) return skip("no ring of four or more nodes");
  const auto settings = settings_of(node);
  const NcclSetting* memory = find_setting(settings, "NCCL_CUMEM_ENABLE");
  return memory != nullptr && memory->value == "0" ? fail(described(*memory)) : pass();
}

/// A variable as the node's own files set it. A login shell and a command over ssh may see different values.
std::vector<NcclSetting> all_values(const ExaminedNode& node, std::string_view name) {
  std::vector<NcclSetting> values;
  const auto& extended = extended_of(node);
  const auto session = extended.login.environment.find(std::string(name));
  if (session != extended.login.environment.end()) {
    values.push_back({std::string(name), session->second, "the environment of a command over ssh"});
  }
  const auto shell = extended.nccl_profile.find(std::string(name));
  const bool same = session != extended.login.environment.end() && shell != extended.nccl_profile.end() &&
                    session->second == shell->second;
  if (shell != extended.nccl_profile.end() && !same) {
    values.push_back({std::string(name), shell->second, "the environment of login shells"});
  }
  return values;
}

bool has_link(const ExaminedNode& node, std::string_view name) {
  const auto& links = node.facts->links;
  return std::any_of(links.begin(), links.end(), [&](const LinkFacts& link) { return link.name == name; });
}

constexpr std::string_view kGloo = "GLOO_SOCKET_IFNAME";

/// Gloo takes one name; a list, a prefix or "^lo" is the name of no interface.
Verdict gloo_interface(const ExaminedNode& node) {
  Complaints complaints;
  for (const NcclSetting& set : all_values(node, kGloo)) {
    if (!set.value.empty() && !has_link(node, set.value)) complaints.add(described(set) + " names no interface");
  }
  return complaints.as(CheckStatus::kFail);
}

Verdict framework_elsewhere(const ExaminedNode& node) {
  if (node.frameworks.empty()) return skip("no variables of frameworks are derived for this node");
  Complaints complaints;
  for (const auto& [name, expected] : node.frameworks) {
    for (const NcclSetting& set : all_values(node, name)) {
      const bool other_row = name == kGloo && !has_link(node, set.value);
      if (set.value != expected && !other_row) complaints.add(described(set) + ", but the fabric needs " + expected);
    }
  }
  return complaints.as(CheckStatus::kWarn);
}

Verdict host_name_loopback(const ExaminedNode& node) {
  if (!all_values(node, kGloo).empty()) return pass(std::string(kGloo) + " is set");
  for (const std::string& address : extended_of(node).own_name_addresses) {
    // The resolver returns the first address of a family; an address of the network behind it does not help.
    if (parse_ipv4(address) && !address.starts_with("127.")) return pass(node.facts->hostname + " is " + address);
    if (address.starts_with("127.")) {
      return warn(node.facts->hostname + " is " + address + " in /etc/hosts, and " + std::string(kGloo) +
                  " is not set");
    }
  }
  return pass();
}

constexpr Needs kSettings{Need::kExtended};
constexpr Fields kFiles{"nccl_files", "login.environment"};
constexpr Fields kProfile{"nccl_profile", "login.environment"};
constexpr Fields kOwnName{"own_name_addresses", "nccl_profile"};
constexpr auto kNcclExaminations = std::to_array<Examination>({
    {"nccl-no-gpu", no_gpu, {Need::kRunning, Need::kSpark}, {{"gpu_driver"}}},
    {"nccl-no-library", no_library, {Need::kSpark}},
    {"nccl-too-old", too_old},
    {"nccl-version-hang", version_hang, {Need::kSpark}},
    {"nccl-version-ring", version_ring, {Need::kSpark}},
    {"nccl-half-left-out", one_half, kSettings, kFiles},
    {"nccl-gid-index-set", gid_index, kSettings, kFiles},
    {"nccl-without-rdma", without_rdma, kSettings, kFiles},
    {"nccl-interface-absent", socket_interface, {Need::kExtended, Need::kRunning}, kFiles},
    {"nccl-unknown-variable", unknown_variable, kSettings, kFiles},
    {"nccl-no-effect", no_effect, {Need::kExtended, Need::kSpark}, kFiles},
    {"nccl-login-shells-only", login_shells_only, kSettings, {{"nccl_files", "nccl_profile"}}},
    {"nccl-preloaded", preloaded, kSettings, kFiles},
    {"nccl-ring-without-cumem", ring_without_cumem, kSettings, kFiles},
    {"gloo-interface-absent", gloo_interface, {Need::kExtended, Need::kRunning}, kProfile},
    {"framework-elsewhere", framework_elsewhere, {Need::kExtended, Need::kRunning}, kProfile},
    {"host-name-loopback", host_name_loopback, {Need::kExtended, Need::kRunning}, kOwnName},
});

}  // namespace

std::span<const Examination> nccl_examinations() { return kNcclExaminations; }

}  // namespace sparkplan
