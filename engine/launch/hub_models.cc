#include "engine/launch/hub_models.h"

#include <cstddef>
#include <map>
#include <utility>

#include "engine/core/text.h"
#include "engine/core/tree.h"
#include "engine/domain/hub/hub_cache.h"

namespace sparkplan {
namespace {

constexpr std::size_t kLongestDirectory = 4096;

/// A constant: owners and directories are arguments, and no text of the user becomes part of it.
constexpr std::string_view kFindScript =
    "i=0; while [ $# -gt 1 ]; do home=$HOME; [ -z \"$1\" ] || home=$(getent passwd \"$1\" | cut -d: -f6); "
    "case $2 in '~/'*) dir=${home%/}${2#?};; *) dir=$2;; esac; "
    "if [ -d \"$dir\" ]; then printf '%s %s\\n' \"$i\" \"$dir\"; fi; i=$((i + 1)); shift 2; done";

bool can_be_directory_of(const HubModel& model, std::string_view path) {
  if (!model.directory.starts_with("~/")) return path == model.directory;
  return path.starts_with('/') && path.ends_with(std::string_view(model.directory).substr(1)) &&
         path.size() <= kLongestDirectory && printable(path) == path;
}

}  // namespace

std::vector<HubModel> hub_models(const NodeSpec& node) {
  std::vector<HubModel> models;
  const auto section = node.sections.find("models");
  if (section == node.sections.end()) return models;
  const auto variables = node.sections.find("profile_env");
  const auto cache = hub_cache(variables == node.sections.end() ? nullptr : &variables->second);
  for (const Value& record : items_of(section->second)) {
    const std::string name = record.text_or("hub", "");
    if (!name.empty() && cache) models.push_back({name, record.text_or("owner", ""), *cache + "/" + hub_folder(name)});
  }
  return models;
}

RankSpec hub_question(int rank, const std::vector<HubModel>& models) {
  RankSpec question{rank, {"sh", "-c", std::string(kFindScript), "hub"}, {}};
  for (const HubModel& model : models) question.argv.insert(question.argv.end(), {model.owner, model.directory});
  return question;
}

std::vector<std::string> hub_directories_in(const std::vector<HubModel>& models, std::string_view answer) {
  std::vector<std::string> directories(models.size());
  // Other lines are complaints of the shell.
  for (const std::string_view line : split_lines(answer)) {
    for (std::size_t i = 0; i < models.size(); ++i) {
      const std::string number = std::to_string(i) + " ";
      if (!line.starts_with(number) || !can_be_directory_of(models[i], line.substr(number.size()))) continue;
      directories[i] = line.substr(number.size());
    }
  }
  return directories;
}

std::vector<PreflightCheck> judge_hub_models(const std::vector<const NodeSpec*>& nodes,
                                             const std::vector<std::vector<std::string>>& directories) {
  std::map<std::string, std::vector<std::string>> lacking;
  for (std::size_t at = 0; at < nodes.size(); ++at) {
    const auto models = hub_models(*nodes[at]);
    for (std::size_t i = 0; i < models.size(); ++i) {
      if (!directories[at][i].empty()) continue;
      const std::string user = models[i].owner.empty() ? "the login user" : models[i].owner;
      lacking[models[i].name + " is not in the cache of " + user].push_back(nodes[at]->name.str());
    }
  }
  std::vector<PreflightCheck> checks;
  for (auto& [text, names] : lacking) {
    checks.push_back({"models", std::move(names), CheckStatus::kSkip,
                      text + ", or the login user cannot see it: not mounted", "run `sparkplan sync`"});
  }
  return checks;
}

}  // namespace sparkplan
