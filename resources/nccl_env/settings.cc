#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "engine/core/text.h"
#include "engine/resource/fabric_interfaces.h"
#include "engine/resource/shell_environment.h"
#include "resources/nccl_env/nccl_env.h"

namespace sparkplan::nccl_env {
namespace {

/// The value below `key` as written; null when there is none.
const Value* written(const Value& section, std::string_view key) {
  const Value* value = section.find(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

std::vector<std::string> hcas_given(const NodeSpec& node) {
  std::vector<std::string> hcas;
  const auto fabric = node.sections.find("fabric");
  const Value* given = fabric == node.sections.end() ? nullptr : fabric->second.find("hcas");
  if (given == nullptr || given->list_items() == nullptr) return hcas;
  for (const Value& one : *given->list_items()) {
    if (one.string() != nullptr) hcas.push_back(*one.string());
  }
  return hcas;
}

/// Compiles one section for one node.
class Compiler {
 public:
  Compiler(const ClusterView& view, const Value& section, const Facts& facts)
      : view_(view), section_(section), facts_(facts), mode_(section.text_or("mode", "safe")) {
    const Value* mode = written(section, "mode");
    mode_where_ = mode == nullptr ? section.where : mode->where;
    hcas_ = hcas_given(view.self);
  }

  WantedSettings run() {
    const bool has_fabric = !view_.self.fabric.empty() || !hcas_.empty();
    if (has_fabric && mode_ != "auto") add_what_the_fabric_needs();
    add_library();
    add_environment();
    if (!has_fabric && mode_ != "auto" && result_.variables.empty()) {
      warn("nccl.no-fabric", "node " + name() + " has no fabric, so mode " + mode_ + " sets nothing there",
           "add fabric, or name variables in nccl: env:");
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
    // Without the leading "=" NCCL takes each name for the beginning of one.
    const auto with_address =
        std::find_if(fabric.interfaces.begin(), fabric.interfaces.end(),
                     [](const FabricInterface& interface) { return !interface.wanted.address.empty(); });
    if (with_address != fabric.interfaces.end()) set("NCCL_SOCKET_IFNAME", "=" + with_address->name, mode_where_);
    if (mode_ != "dmabuf") return;
    set("NCCL_DMABUF_ENABLE", "1", mode_where_);
    if (is_dgx_spark(facts_)) {
      warn("nccl.dmabuf-no-effect", "mode dmabuf changes nothing on node " + name() + ": a GB10 has no GPUDirect RDMA",
           "mode safe says the same with one variable less");
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
    for (const FabricInterface& interface : fabric.interfaces) {
      if (interface.hcas.empty()) without.push_back(interface.name);
      for (const std::string& device : interface.hcas) {
        if (std::find(hcas_.begin(), hcas_.end(), device) == hcas_.end()) hcas_.push_back(device);
      }
    }
    if (!without.empty() || hcas_.empty()) warn_of_interfaces_without_device(without);
  }

  void warn_of_interfaces_without_device(const std::vector<std::string>& without) {
    const std::string hint = "name the devices below the node: fabric: {hcas: [rocep1s0f1, roceP2p1s0f1]}";
    if (!facts_.live) {
      return warn("nccl.no-rdma-device", "node " + name() + " is an image, which shows no RDMA devices", hint);
    }
    const std::string of = without.empty() ? "" : " for " + join(without, ", ");
    const std::string consequence =
        hcas_.empty() ? "NCCL will use TCP" : "NCCL will use " + join(hcas_, ", ") + " only";
    warn("nccl.no-rdma-device", "node " + name() + " shows no RDMA device" + of + ": " + consequence,
         "is the cable in, and the mlx5_ib module loaded? Else " + hint);
  }

  void warn_of_missing_devices() {
    if (!facts_.live) return;
    std::set<std::string> known;
    for (const RdmaDeviceFacts& device : facts_.rdma_devices) known.insert(device.name);
    for (const LinkFacts& link : facts_.links) known.insert(link.rdma_devices.begin(), link.rdma_devices.end());
    std::vector<std::string> missing;
    std::copy_if(hcas_.begin(), hcas_.end(), std::back_inserter(missing),
                 [&](const std::string& hca) { return !known.contains(hca); });
    if (missing.empty()) return;
    const std::vector<std::string> there(known.begin(), known.end());
    warn("nccl.hca-not-found", "node " + name() + " has no RDMA device " + join(missing, ", "),
         there.empty() ? "it shows none at all" : "it has " + join(there, ", "));
  }

  void add_library() {
    const Value* library = written(section_, "library");
    if (library == nullptr || library->string() == nullptr) return;
    const std::string directory = std::filesystem::path(*library->string()).parent_path().string();
    result_.variables[std::string(kLibraryPath)] = {{{}, directory, {}}, library->where};
  }

  void add_environment() {
    const Value* environment = written(section_, "env");
    if (environment == nullptr || environment->entries() == nullptr) return;
    for (const MapEntry& entry : *environment->entries()) {
      result_.variables.erase(entry.key);
      const Result<std::string> value = variable_value(entry.value);
      if (value && is_variable_name(entry.key)) set(entry.key, *value, entry.value.where);
    }
  }

  void set(const std::string& variable, const std::string& value, SourceRange where) {
    WantedSetting& wanted = result_.variables[variable] = {{value, {}, {}}, where};
    if (is_read_from_conf(variable)) wanted.setting.conf = value;
  }

  void warn(const char* code, std::string message, std::string hint) {
    Diagnostic diagnostic;
    diagnostic.severity = Severity::kWarning;
    diagnostic.code = code;
    diagnostic.message = std::move(message);
    diagnostic.hint = std::move(hint);
    diagnostic.where = mode_where_;
    diagnostic.node = name();
    result_.diagnostics.push_back(std::move(diagnostic));
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
