#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "engine/core/diagnostic.h"
#include "engine/core/text.h"
#include "engine/core/tree.h"
#include "engine/domain/fabric/fabric_interfaces.h"
#include "engine/domain/nccl/framework_environment.h"
#include "engine/domain/nccl/nccl_variables.h"
#include "engine/resource/shell_environment.h"
#include "resources/nccl_env/nccl_env.h"

namespace sparkplan::nccl_env {
namespace {

constexpr std::size_t kRingWithStrangers = 4;  ///< In a ring of three, all nodes are neighbours.
constexpr int kPrefixThatNcclCompares = 24;    ///< Source: NCCL_IB_SUBNET_PREFIX_LEN, its default.

/// The value below `key` as written; null without one.
const Value* written(const Value& section, std::string_view key) {
  const Value* value = section.find(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

/// The number of nodes in a ring; 0 for another topology.
std::size_t nodes_in_ring(const ClusterView& view) {
  const auto fabric = view.self.sections.find("fabric");
  const bool ring = fabric != view.self.sections.end() && fabric->second.text_or("topology", "") == "ring";
  return ring ? view.cluster.nodes.size() : 0;
}

/// The release in the name of the library file; without `library`, the installed release.
std::optional<NcclVersion> release_in_use(const Value& section, const Facts& facts) {
  const Value* library = written(section, "library");
  if (library == nullptr || library->string() == nullptr) return parse_nccl_version(facts.nccl_version);
  constexpr std::string_view kPrefix = "libnccl.so.";
  const std::string name = std::filesystem::path(*library->string()).filename().string();
  return name.starts_with(kPrefix) ? parse_nccl_version(std::string_view(name).substr(kPrefix.size())) : std::nullopt;
}

class Compiler {
 public:
  Compiler(const ClusterView& view, const Value& section, const Facts& facts)
      : view_(view), section_(section), facts_(facts), mode_(section.text_or("mode", "safe")) {
    const Value* mode = written(section, "mode");
    mode_where_ = mode == nullptr ? section.where : mode->where;
    hcas_ = declared_hcas(view.self);
  }

  WantedSettings run() {
    const bool has_fabric = !view_.self.fabric.empty() || !hcas_.empty();
    if (has_fabric && mode_ != "auto") add_what_the_fabric_needs();
    add_frameworks();
    add_library();
    add_environment();
    check_ring();
    if (!has_fabric && mode_ != "auto" && result_.variables.empty()) {
      warn("nccl.no-fabric", "the node has no fabric, so mode " + mode_ + " sets nothing there",
           "add fabric, or set variables in nccl: env:");
    }
    return std::move(result_);
  }

 private:
  const std::string& name() const { return view_.self.name.str(); }

  void add_what_the_fabric_needs() {
    const FabricInterfaces fabric = fabric_interfaces(view_.self, facts_, view_.cluster.profile);
    result_.incomplete = !fabric.diagnostics.empty();
    if (mode_ == "socket") {
      set("NCCL_IB_DISABLE", "1", mode_where_);
      set("NCCL_NET", "Socket", mode_where_);
    } else {
      add_hcas(fabric);
    }
    if (nodes_in_ring(view_) != 0) {
      add_socket_of_a_ring();
    } else {
      add_socket_of(fabric);
    }
    if (mode_ != "socket") add_what_a_ring_needs();
    if (mode_ != "dmabuf") return;
    set("NCCL_DMABUF_ENABLE", "1", mode_where_);
    if (is_dgx_spark(facts_)) {
      warn("nccl.dmabuf-no-effect", "mode dmabuf changes nothing on node " + name() + ": a GB10 has no GPUDirect RDMA",
           "use mode safe: it has the same effect with one variable less");
    }
  }

  void add_socket_of(const FabricInterfaces& fabric) {
    // Without the leading "=", NCCL treats each name as a prefix.
    const auto with_address =
        std::ranges::find_if(fabric.interfaces, [](const ObservedPort& port) { return !port.address.empty(); });
    if (with_address != fabric.interfaces.end()) set("NCCL_SOCKET_IFNAME", "=" + with_address->interface, mode_where_);
  }

  /// NCCL's ranks find each other before they exchange data. No cable joins all nodes of a ring, so they use the
  /// network of our SSH connection.
  void add_socket_of_a_ring() {
    const auto links = links_with_address(facts_.ssh_server_address, facts_.links);
    if (links.size() == 1) set("NCCL_SOCKET_IFNAME", "=" + *links.begin(), mode_where_);
  }

  /// Each cable of a ring is a separate network, and a node reaches its neighbours through different ports. NCCL must
  /// choose the device by the peer's network, so the two ports must not be one device. From four nodes on, no cable
  /// joins some pairs, and only the ring algorithm does not connect them.
  /// Source: NCCL, src/transport/net_ib/connect.cc (from 2.30.7 on).
  void add_what_a_ring_needs() {
    const std::size_t count = nodes_in_ring(view_);
    if (count == 0) return;
    set("NCCL_IB_SUBNET_AWARE_ROUTING", "1", mode_where_);
    set("NCCL_IB_MERGE_NICS", "0", mode_where_);
    set("NCCL_NET_PLUGIN", "none", mode_where_);
    if (count >= kRingWithStrangers) set("NCCL_ALGO", "Ring", mode_where_);
    if (const int length = common_prefix_length(); length != 0 && length != kPrefixThatNcclCompares) {
      set("NCCL_IB_SUBNET_PREFIX_LEN", std::to_string(length), mode_where_);
    }
  }

  /// The common prefix length of all addresses of the node's fabric; 0 if they differ.
  int common_prefix_length() const {
    int common = 0;
    for (const FabricPort& address : view_.self.fabric) {
      if (common != 0 && address.prefix_length != common) return 0;
      common = address.prefix_length;
    }
    return common;
  }

  void check_ring() {
    const std::size_t count = nodes_in_ring(view_);
    if (count == 0 || mode_ == "socket" || mode_ == "auto") return;
    constexpr NcclVersion kFirstWithRings{2, 30, 7};
    const auto installed = release_in_use(section_, facts_);
    if (installed && *installed < kFirstWithRings) {
      warn("nccl.ring-needs-newer",
           "a ring needs NCCL " + kFirstWithRings.str() + ", which chooses the device by network, and node " + name() +
               " has " + installed->str(),
           "install a newer one there, or name one in nccl: {library: ...}");
    }
    for (const char* const variable : {"NCCL_CUMEM_ENABLE", "NCCL_RUNTIME_CONNECT"}) {
      const auto found = result_.variables.find(variable);
      if (count < kRingWithStrangers || found == result_.variables.end()) continue;
      if (found->second.setting.profile != "0") continue;
      warn("nccl.ring-connects-all",
           std::string(variable) + " 0 makes NCCL connect ring nodes that have no direct cable",
           "leave it out: NCCL then connects on demand");
    }
  }

  void add_hcas(const FabricInterfaces& fabric) {
    if (!hcas_.empty()) {
      warn_of_missing_devices();
    } else {
      take_devices_of(fabric);
    }
    if (!hcas_.empty()) set("NCCL_IB_HCA", "=" + join(hcas_, ","), mode_where_);
  }

  void take_devices_of(const FabricInterfaces& fabric) {
    std::vector<std::string> without;
    for (const ObservedPort& port : fabric.interfaces) {
      if (port.hcas.empty()) without.push_back(port.interface);
      for (const std::string& device : port.hcas) {
        if (std::ranges::find(hcas_, device) == hcas_.end()) hcas_.push_back(device);
      }
    }
    if (!without.empty() || hcas_.empty()) warn_of_interfaces_without_device(without);
  }

  void warn_of_interfaces_without_device(const std::vector<std::string>& without) {
    const std::string hint = "name the devices below the node: fabric: {hcas: [rocep1s0f1, roceP2p1s0f1]}";
    if (!facts_.live) {
      return warn("nccl.no-rdma-device", "the node is an image, so its RDMA devices are unknown", hint);
    }
    const std::string of = without.empty() ? "" : " for " + join(without, ", ");
    const std::string consequence =
        hcas_.empty() ? "NCCL will use TCP" : "NCCL will use " + join(hcas_, ", ") + " only";
    warn("nccl.no-rdma-device", "the node shows no RDMA device" + of + ": " + consequence,
         "check the cable, and that the mlx5_ib module is loaded; else " + hint);
  }

  void warn_of_missing_devices() {
    if (!facts_.live) return;
    std::set<std::string> known;
    for (const RdmaDeviceFacts& device : facts_.rdma_devices) known.insert(device.name);
    for (const LinkFacts& link : facts_.links) known.insert(link.rdma_devices.begin(), link.rdma_devices.end());
    std::vector<std::string> missing;
    std::ranges::copy_if(hcas_, std::back_inserter(missing),
                         [&](const std::string& hca) { return !known.contains(hca); });
    if (missing.empty()) return;
    const std::vector<std::string> there(known.begin(), known.end());
    warn("nccl.hca-not-found", "the node has no RDMA device " + join(missing, ", "),
         there.empty() ? "it has no RDMA devices" : "it has " + join(there, ", "));
  }

  void add_frameworks() {
    const Value* frameworks = written(section_, kFrameworks);
    const SourceRange where = frameworks == nullptr ? mode_where_ : frameworks->where;
    const auto variables = framework_environment(view_.cluster, view_.self, facts_, section_);
    for (const auto& [variable, value] : variables) set(variable, value, where);
    // An interface without a name leaves variables out that an earlier run has set.
    if (!view_.self.fabric.empty() && !frameworks_in(section_).empty()) {
      const auto fabric = fabric_interfaces(view_.self, facts_, view_.cluster.profile);
      result_.incomplete = result_.incomplete || !fabric.diagnostics.empty();
    }
  }

  void add_library() {
    const Value* library = written(section_, "library");
    if (library == nullptr || library->string() == nullptr) return;
    const std::string directory = std::filesystem::path(*library->string()).parent_path().string();
    result_.variables[std::string(kLibraryPath)] = {{{}, directory, {}}, library->where};
  }

  void add_environment() {
    const Value* environment = written(section_, "env");
    for (const MapEntry& entry : entries_of(environment)) {
      result_.variables.erase(entry.key);
      const Result<std::string> value = variable_value(entry.value);
      if (!value || !is_variable_name(entry.key)) continue;
      set(entry.key, *value, entry.value.where);
      const NcclAssignment assignment{entry.key, *value, entry.key_where, entry.value.where};
      const bool spark = is_dgx_spark(facts_);
      for (Diagnostic& one : lint_nccl_on_node(assignment, release_in_use(section_, facts_), spark, facts_.product)) {
        one.node = name();
        result_.diagnostics.push_back(std::move(one));
      }
    }
  }

  void set(const std::string& variable, const std::string& value, SourceRange where) {
    WantedSetting& wanted = result_.variables[variable] = {{value, {}, {}}, where};
    if (is_read_from_conf(variable)) wanted.setting.conf = value;
  }

  void warn(const char* code, std::string message, std::string hint) {
    result_.diagnostics.push_back(finding(Severity::kWarning, code, std::move(message), std::move(hint), mode_where_));
    result_.diagnostics.back().node = name();
  }

  const ClusterView& view_;
  const Value& section_;
  const Facts& facts_;
  std::string mode_;
  SourceRange mode_where_;
  std::vector<std::string> hcas_;
  WantedSettings result_;
};

}  // namespace

WantedSettings wanted_settings(const ClusterView& view, const Value& section, const Facts& own) {
  if (section.is_null()) return {};
  return Compiler(view, section, own).run();
}

}  // namespace sparkplan::nccl_env
