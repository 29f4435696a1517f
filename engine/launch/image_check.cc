#include "engine/launch/image_check.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "engine/core/bounded_text.h"
#include "engine/core/text.h"
#include "engine/core/tree.h"
#include "engine/model/container_image.h"

namespace sparkplan {
namespace {

constexpr std::array kEngines{ContainerEngine::kDocker, ContainerEngine::kPodman};

std::string_view last_line(std::string_view text) {
  std::string_view last;
  for (const auto line : split_lines(text)) {
    if (!trim(line).empty()) last = trim(line);
  }
  return last;
}

const ImageAnswer& answer_of(const ImageAnswers& answers, ContainerEngine engine) {
  return answers.at(static_cast<std::size_t>(engine));
}

/// The numbers of nodes that have the image in this engine, and that have the engine.
std::pair<std::ptrdiff_t, std::ptrdiff_t> support_for(ContainerEngine engine,
                                                      const std::vector<ImageAnswers>& answers) {
  const auto count = [&](auto matches) {
    return std::ranges::count_if(answers, [&](const ImageAnswers& node) { return matches(answer_of(node, engine)); });
  };
  return {count([](const ImageAnswer& answer) { return !answer.id.empty(); }),
          count([](const ImageAnswer& answer) { return answer.has_engine; })};
}

PreflightCheck failed(std::vector<std::string> nodes, std::string text, std::string fix) {
  return {"image", std::move(nodes), CheckStatus::kFail, std::move(text), std::move(fix)};
}

PreflightCheck no_image(const NodeSpec& node, const ImageAnswer& answer, const std::string& engine,
                        const std::string& image) {
  const std::string& name = node.name.str();
  if (!answer.has_engine) {
    return failed({name}, engine + " is not there",
                  "install it, or name the other engine for all nodes: images: [{name: \"" + image +
                      "\", engine: " + (engine == "docker" ? "podman" : "docker") + "}]");
  }
  if (says_no_such_image(answer.reason)) {
    return failed({name}, engine + " has no image " + image,
                  "sparkplan exec --only " + name + " -- " + engine + " pull " + image);
  }
  const bool denied = answer.reason.find("ermission denied") != std::string::npos && !node.ssh.user.empty();
  return failed({name}, engine + " does not answer: " + answer.reason,
                denied ? "users: [{name: " + node.ssh.user + ", groups: [" + engine + "]}]"
                       : "run `" + engine + " info` on the node");
}

}  // namespace

std::vector<std::string> image_question(ContainerEngine engine, const std::string& image) {
  return {std::string(to_string(engine)), "image", "inspect", "--format", "{{.Id}}", image};
}

ImageAnswer image_answer(const RankReport& rank, const std::string& output) {
  ImageAnswer answer;
  answer.has_engine = rank.ended && rank.ended->ending != RankEnding::kNotStarted;
  const auto last = last_line(output);
  auto id = rank.succeeded() ? image_id_from(last) : std::nullopt;
  if (id) {
    answer.id = std::move(*id);
  } else {
    answer.reason = last.empty() ? "no output" : shown_text(last);
  }
  return answer;
}

std::optional<ContainerEngine> choose_engine(const Cluster& cluster, const std::string& image,
                                             const std::vector<ImageAnswers>& answers) {
  std::string named;
  const auto& nodes = cluster.nodes;
  const Value* section = nullptr;
  if (!nodes.empty() && nodes.front().sections.contains("images")) section = &nodes.front().sections.at("images");
  for (const Value& record : items_of(section)) {
    const std::string engine = record.text_or("engine", "");
    if (named.empty() || record.text_or("name", "") == image) named = engine.empty() ? named : engine;
  }
  if (const auto engine = value_named<ContainerEngine>(named)) return engine;
  std::optional<ContainerEngine> best;
  std::pair<std::ptrdiff_t, std::ptrdiff_t> most{0, 0};
  for (const ContainerEngine engine : kEngines) {
    const auto count = support_for(engine, answers);
    if (count > most) {
      most = count;
      best = engine;
    }
  }
  return best;
}

std::vector<PreflightCheck> judge_image(const std::string& image, std::optional<ContainerEngine> engine,
                                        const std::vector<const NodeSpec*>& nodes,
                                        const std::vector<ImageAnswers>& answers) {
  std::vector<std::string> names;
  for (const NodeSpec* node : nodes) names.push_back(node->name.str());
  if (!engine) {
    return {failed(names, "neither docker nor podman is on any node", "install docker or podman on all nodes")};
  }
  const std::string program(to_string(*engine));
  std::vector<PreflightCheck> checks;
  std::map<std::string, std::vector<std::string>> by_id;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const ImageAnswer& answer = answer_of(answers[i], *engine);
    if (answer.id.empty()) {
      checks.push_back(no_image(*nodes[i], answer, program, image));
    } else {
      by_id[answer.id].push_back(names[i]);
    }
  }
  if (by_id.size() > 1) {
    std::vector<std::string> parts;
    for (const auto& [id, with] : by_id) parts.push_back(short_image_id(id) + " on " + fold_names(with));
    checks.push_back(failed(names, image + " is not the same image: " + join(parts, ", "),
                            "bring one to all nodes: sparkplan exec -- " + program + " pull " + image));
  }
  if (checks.empty()) {
    checks.push_back(
        {"image", names, CheckStatus::kPass, image + " " + short_image_id(by_id.begin()->first) + ", " + program, ""});
  }
  return checks;
}

}  // namespace sparkplan
