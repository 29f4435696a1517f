#include "engine/doctor/examination.h"

#include <algorithm>
#include <map>

#include "engine/doctor/examinations.h"

namespace sparkplan {
namespace {

std::vector<Examination> all_examinations() {
  std::vector<Examination> all;
  for (const auto part : {link_examinations(), network_examinations(), rdma_examinations(), nccl_examinations(),
                          machine_examinations(), parity_examinations()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

Finding finding_of(const Examination& examination, std::vector<std::string> nodes, Opinion opinion) {
  return {examination.row, std::move(nodes), examination.of_all != nullptr, opinion.verdict, std::move(opinion.seen)};
}

std::string reason_in(const std::map<std::string, std::string>& unreadable, std::string_view field) {
  const auto found = unreadable.find(std::string(field));
  if (found == unreadable.end()) return "";
  return found->second.empty() ? std::string(field) + " could not be read" : found->second;
}

/// Why something that the row reads could not be looked at; empty when all could.
std::string why_not_read(const Examination& examination, const ExaminedNode& node) {
  for (const auto field : examination.reads) {
    if (field.empty()) continue;
    if (auto why = reason_in(node.facts->host.unreadable, field); !why.empty()) return why;
    const auto* extended = extended_of(node);
    if (extended == nullptr) continue;
    if (auto why = reason_in(extended->unreadable, field); !why.empty()) return why;
  }
  return "";
}

Opinion opinion_of_all(const Examination& examination, const ExaminedCluster& cluster) {
  if (cluster.nodes.size() < 2) return skip("there is one node only");
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
  auto opinion = examination.of_all(read);
  const bool finding = opinion.verdict == Verdict::kFail || opinion.verdict == Verdict::kWarn;
  // Those that could be read may well differ; that they do not says nothing of the others.
  return finding || not_read.empty() ? std::move(opinion) : skip(std::move(not_read));
}

}  // namespace

std::vector<std::string_view> examined_rows() {
  std::vector<std::string_view> rows;
  for (const Examination& one : all_examinations()) rows.push_back(one.row);
  return rows;
}

std::vector<Finding> examine(const ExaminedCluster& cluster) {
  std::vector<Finding> findings;
  std::vector<std::string> names;
  for (const ExaminedNode& node : cluster.nodes) names.push_back(node.name);
  for (const Examination& examination : all_examinations()) {
    if (examination.of_all != nullptr) {
      findings.push_back(finding_of(examination, names, opinion_of_all(examination, cluster)));
      continue;
    }
    for (const ExaminedNode& node : cluster.nodes) {
      auto why = why_not_read(examination, node);
      auto opinion = why.empty() ? examination.of_node(cluster, node) : skip(std::move(why));
      findings.push_back(finding_of(examination, {node.name}, std::move(opinion)));
    }
  }
  return findings;
}

const ExtendedFacts* extended_of(const ExaminedNode& node) {
  return node.facts->extended ? &*node.facts->extended : nullptr;
}

const ExaminedHalf* half_with(const ExaminedNode& node, std::string_view interface) {
  const auto found = std::find_if(node.halves.begin(), node.halves.end(),
                                  [&](const ExaminedHalf& half) { return half.interface == interface; });
  return found == node.halves.end() ? nullptr : &*found;
}

std::vector<NcclSetting> nccl_settings(const ExtendedFacts& extended) {
  std::map<std::string, NcclSetting> settings;
  for (const auto& [name, value] : extended.login.environment) {
    settings.insert({name, {name, value, "the environment of a command over ssh"}});
  }
  // A user's own file comes before that of the machine, which the reader has put behind it.
  for (const NcclFileFacts& file : extended.nccl_files) {
    for (const auto& [name, value] : file.variables) settings.insert({name, {name, value, file.file}});
  }
  std::vector<NcclSetting> list;
  for (auto& [name, setting] : settings) list.push_back(std::move(setting));
  return list;
}

const NcclSetting* find_setting(std::span<const NcclSetting> settings, std::string_view name) {
  const auto found =
      std::find_if(settings.begin(), settings.end(), [&](const NcclSetting& one) { return one.name == name; });
  return found == settings.end() ? nullptr : &*found;
}

}  // namespace sparkplan
