#include "engine/domain/nccl/framework_environment.h"

#include <algorithm>

#include "engine/core/text.h"
#include "engine/core/tree.h"
#include "engine/domain/fabric/fabric_interfaces.h"
#include "engine/domain/fabric/job_network.h"

namespace sparkplan {
namespace {

constexpr std::string_view kTorch = "torch";
constexpr std::string_view kMpi = "mpi";
constexpr std::string_view kUcx = "ucx";
constexpr std::string_view kVllm = "vllm";

bool is_ring(const NodeSpec& node) {
  const auto fabric = node.sections.find("fabric");
  return fabric != node.sections.end() && fabric->second.text_or("topology", "") == "ring";
}

/// UCX takes a device with its port, "rocep1s0f1:1", or an interface for TCP. In a ring the two HCAs of a node lead to
/// different neighbours, and UCX would pair HCAs that no cable joins.
/// Source: UCX, its documentation of UCX_NET_DEVICES.
std::string ucx_devices(const Cluster& cluster, const NodeSpec& node, const Facts& facts, const Value& nccl,
                        const JobEndpoint& endpoint) {
  const std::string mode = nccl.text_or("mode", "safe");
  if (mode == "socket" || is_ring(node)) return endpoint.interface;
  std::vector<std::string> hcas = declared_hcas(node);
  const bool declared = !hcas.empty();
  for (const ObservedPort& port : fabric_interfaces(node, facts, cluster.profile).interfaces) {
    if (declared) break;
    for (const std::string& hca : port.hcas) {
      if (std::find(hcas.begin(), hcas.end(), hca) == hcas.end()) hcas.push_back(hca);
    }
  }
  for (std::string& hca : hcas) hca += ":1";
  // A running node without any HCA on its fabric has only TCP there.
  if (hcas.empty() && facts.live && endpoint.on_fabric) return endpoint.interface;
  return join(hcas, ",");
}

/// In `nccl: env`, null drops a variable. In `profile_env` it only drops an inherited value.
void drop_what_the_user_sets(const NodeSpec& node, const Value& nccl, std::map<std::string, std::string>& variables) {
  for (const MapEntry& entry : entries_of(nccl.find("env"))) variables.erase(entry.key);
  const auto profile = node.sections.find("profile_env");
  if (profile == node.sections.end()) return;
  for (const MapEntry& entry : entries_of(profile->second)) {
    if (!entry.value.is_null()) variables.erase(entry.key);
  }
}

}  // namespace

const std::vector<std::string>& framework_names() {
  static const std::vector<std::string> names{std::string(kTorch), std::string(kMpi), std::string(kUcx),
                                              std::string(kVllm)};
  return names;
}

// Sources: PyTorch, torch/csrc/distributed (Gloo, TensorPipe); Open MPI, docs/networking/tcp.rst; vLLM, vllm/envs.py;
// SGLang, python/sglang/srt/utils; Ray, python/ray/_private/services.py.
const std::vector<FrameworkVariable>& framework_variables() {
  static const std::vector<FrameworkVariable> variables{
      {"GLOO_SOCKET_IFNAME", kTorch},
      {"TP_SOCKET_IFNAME", kTorch},
      {"OMPI_MCA_btl_tcp_if_include", kMpi, false},
      {"OMPI_MCA_oob_tcp_if_include", kMpi, false},
      {"UCX_NET_DEVICES", kUcx},
      {"VLLM_HOST_IP", kVllm},
      {"SGLANG_HOST_IP", kVllm},
      {"RAY_NODE_IP_ADDRESS", kVllm},
      {"RAY_OVERRIDE_NODE_IP_ADDRESS", kVllm},
  };
  return variables;
}

const FrameworkVariable* find_framework_variable(std::string_view name) {
  const auto& all = framework_variables();
  const auto found = std::ranges::find_if(all, [&](const FrameworkVariable& one) { return one.name == name; });
  return found == all.end() ? nullptr : &*found;
}

std::vector<std::string> frameworks_in(const Value& nccl) {
  const Value* given = nccl.find(kFrameworks);
  return given == nullptr || given->is_null() ? framework_names() : texts_in(given);
}

std::map<std::string, std::string> framework_environment(const Cluster& cluster, const NodeSpec& node,
                                                         const Facts& facts, const Value& nccl) {
  if (nccl.is_null() || node.fabric.empty()) return {};
  const JobEndpoint endpoint = job_endpoint(cluster, node, facts);
  // The interfaces of one node may have other names than those of the next one; networks are the same everywhere.
  const std::map<std::string_view, std::string> values{
      {"GLOO_SOCKET_IFNAME", endpoint.interface},
      {"TP_SOCKET_IFNAME", endpoint.interface},
      {"OMPI_MCA_btl_tcp_if_include", join(endpoint.networks, ",")},
      {"OMPI_MCA_oob_tcp_if_include", endpoint.networks.empty() ? "" : endpoint.networks.front()},
      {"UCX_NET_DEVICES", ucx_devices(cluster, node, facts, nccl, endpoint)},
      {"VLLM_HOST_IP", endpoint.address},
      {"SGLANG_HOST_IP", endpoint.address},
      {"RAY_NODE_IP_ADDRESS", endpoint.address},
      {"RAY_OVERRIDE_NODE_IP_ADDRESS", endpoint.address},
  };
  const std::vector<std::string> wanted = frameworks_in(nccl);
  std::map<std::string, std::string> variables;
  for (const FrameworkVariable& one : framework_variables()) {
    const std::string& value = values.at(one.name);
    const bool asked = std::find(wanted.begin(), wanted.end(), one.framework) != wanted.end();
    if (asked && !value.empty()) variables[std::string(one.name)] = value;
  }
  drop_what_the_user_sets(node, nccl, variables);
  return variables;
}

std::map<std::string, std::string> framework_environment(const Cluster& cluster, const NodeSpec& node,
                                                         const Facts& facts) {
  const auto nccl = node.sections.find("nccl");
  return nccl == node.sections.end() ? std::map<std::string, std::string>()
                                     : framework_environment(cluster, node, facts, nccl->second);
}

}  // namespace sparkplan
