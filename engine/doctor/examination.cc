#include "engine/doctor/examination.h"

#include <algorithm>
#include <map>
#include <utility>

#include "engine/core/bounded_text.h"
#include "engine/doctor/examinations.h"

namespace sparkplan {
namespace {

/// Of one node. Its facts may list thousands of texts.
constexpr std::size_t kLongestSeen = 1500;

std::vector<Examination> all_examinations() {
  std::vector<Examination> all;
  for (const auto part :
       {link_examinations(), network_examinations(), rdma_examinations(), nccl_examinations(), machine_examinations(),
        readiness_examinations(), software_examinations(), parity_examinations()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

std::string reason_in(const std::map<std::string, std::string>& unreadable, std::string_view field) {
  const auto found = unreadable.find(std::string(field));
  if (found == unreadable.end()) return "";
  return found->second.empty() ? std::string(field) + " could not be read" : found->second;
}

/// Why a field that the row reads is missing; empty if all fields were read.
std::string why_not_read(const Examination& examination, const ExaminedNode& node) {
  for (const auto field : examination.reads) {
    if (field.empty()) continue;
    if (auto why = reason_in(node.facts->host.unreadable, field); !why.empty()) return why;
    if (!node.facts->extended) continue;
    if (auto why = reason_in(node.facts->extended->unreadable, field); !why.empty()) return why;
  }
  return "";
}

/// Why the node does not meet the need; empty if it does.
std::string why_missing(Need need, const ExaminedNode& node) {
  const auto any_half = [&](auto matches) { return std::any_of(node.halves.begin(), node.halves.end(), matches); };
  switch (need) {
    case Need::kRunning:
      return node.facts->live ? "" : "the node is not a running system";
    case Need::kSpark:
      return is_dgx_spark(*node.facts) ? "" : "not a DGX Spark";
    case Need::kFabric:
      return node.halves.empty() ? "no fabric declared" : "";
    case Need::kPcie:
      return any_half([](const ObservedPort& half) { return half.link != nullptr && half.link->pcie; })
                 ? ""
                 : "no interface of the fabric is on PCIe";
    case Need::kRdma:
      return any_half([](const ObservedPort& half) { return !half.hcas.empty() && half.link != nullptr; })
                 ? ""
                 : "no interface of the fabric has an RDMA device";
    case Need::kExtended:
      return node.facts->extended ? "" : "not read";
    case Need::kNothing:
      break;
  }
  return "";
}

Verdict verdict_on_node(const Examination& examination, const ExaminedCluster& cluster, const ExaminedNode& node) {
  auto why = why_not_read(examination, node);
  for (const Need need : examination.needs) {
    if (why.empty()) why = why_missing(need, node);
  }
  if (!why.empty()) return skip(std::move(why));
  if (const auto* of_node = std::get_if<0>(&examination.decide)) return (*of_node)(node);
  return std::get<1>(examination.decide)(cluster, node);
}

Verdict verdict_on_all(const Examination& examination, const ExaminedCluster& cluster) {
  if (cluster.nodes.size() < 2) return skip("the cluster has only one node");
  ExaminedCluster read{{}, cluster.ring, cluster.ring_size};
  std::string not_read;
  for (const ExaminedNode& node : cluster.nodes) {
    const auto why = why_not_read(examination, node);
    if (why.empty()) {
      read.nodes.push_back(node);
    } else if (not_read.empty()) {
      not_read = node.name + ": ";
      not_read += why;
    }
  }
  auto verdict = std::get<2>(examination.decide)(read);
  const bool finding = verdict.status == CheckStatus::kFail || verdict.status == CheckStatus::kWarn;
  // A difference between the nodes that were read is certain. Equality is not, while facts of other nodes are unknown.
  return finding || not_read.empty() ? std::move(verdict) : skip(std::move(not_read));
}

}  // namespace

std::vector<RowId> examined_rows() {
  std::vector<RowId> rows;
  for (const Examination& one : all_examinations()) rows.push_back(one.row);
  return rows;
}

std::vector<Finding> examine(const ExaminedCluster& cluster) {
  std::vector<Finding> findings;
  std::vector<std::string> names;
  for (const ExaminedNode& node : cluster.nodes) names.push_back(node.name);
  for (const Examination& examination : all_examinations()) {
    const auto add = [&](std::vector<std::string> nodes, bool between_nodes, Verdict verdict) {
      findings.push_back({examination.row, std::move(nodes), between_nodes, verdict.status, std::move(verdict.seen)});
    };
    if (examination.decide.index() == 2) {
      add(names, true, verdict_on_all(examination, cluster));
      continue;
    }
    for (const ExaminedNode& node : cluster.nodes) {
      auto verdict = verdict_on_node(examination, cluster, node);
      verdict.seen = cut_text(std::move(verdict.seen), kLongestSeen);
      add({node.name}, false, std::move(verdict));
    }
  }
  return findings;
}

const ObservedPort* half_with(const ExaminedNode& node, std::string_view interface) {
  const auto found = std::find_if(node.halves.begin(), node.halves.end(),
                                  [&](const ObservedPort& half) { return half.interface == interface; });
  return found == node.halves.end() ? nullptr : &*found;
}

std::vector<NcclSetting> nccl_settings(const ExtendedFacts& extended) {
  std::map<std::string, NcclSetting> settings;
  for (const auto& [name, value] : extended.login.environment) {
    settings.insert({name, {name, value, "the environment of a command over ssh"}});
  }
  // The facts list a user's own file before the machine's file.
  for (const NcclFileFacts& file : extended.nccl_files) {
    for (const auto& [name, value] : file.variables) settings.insert({name, {name, value, file.file}});
  }
  std::vector<NcclSetting> list;
  for (auto& [name, setting] : settings) list.push_back(std::move(setting));
  return list;
}

const NcclSetting* find_setting(std::span<const NcclSetting> settings, std::string_view name) {
  const auto found = std::ranges::find_if(settings, [&](const NcclSetting& one) { return one.name == name; });
  return found == settings.end() ? nullptr : &*found;
}

}  // namespace sparkplan
