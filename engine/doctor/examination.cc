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
      auto opinion = names.size() > 1 ? examination.of_all(cluster) : skip("there is one node only");
      findings.push_back(finding_of(examination, names, std::move(opinion)));
      continue;
    }
    for (const ExaminedNode& node : cluster.nodes) {
      findings.push_back(finding_of(examination, {node.name}, examination.of_node(cluster, node)));
    }
  }
  return findings;
}

const SurveyFacts* survey_of(const ExaminedNode& node) { return node.facts->survey ? &*node.facts->survey : nullptr; }

std::string unreadable(const SurveyFacts& survey, const std::string& field) {
  const auto found = survey.unreadable.find(field);
  return found == survey.unreadable.end() ? "" : found->second;
}

const ExaminedHalf* half_with(const ExaminedNode& node, std::string_view interface) {
  const auto found = std::find_if(node.halves.begin(), node.halves.end(),
                                  [&](const ExaminedHalf& half) { return half.interface == interface; });
  return found == node.halves.end() ? nullptr : &*found;
}

std::vector<NcclSetting> nccl_settings(const SurveyFacts& survey) {
  std::map<std::string, NcclSetting> settings;
  for (const auto& [name, value] : survey.login.environment) {
    settings.insert({name, {name, value, "the environment of a command over ssh"}});
  }
  // A user's own file comes before that of the machine, which the reader has put behind it.
  for (const NcclFileFacts& file : survey.nccl_files) {
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
