#include "engine/launch/image_check.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
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

std::size_t place_of(ContainerEngine engine) { return static_cast<std::size_t>(engine); }

const ImageAnswer& answer_of(const ImageAnswers& answers, ContainerEngine engine) {
  return answers.at(place_of(engine));
}

ContainerEngine other_than(ContainerEngine engine) {
  return engine == ContainerEngine::kDocker ? ContainerEngine::kPodman : ContainerEngine::kDocker;
}

using Positions = std::vector<std::size_t>;

/// By ContainerEngine: the positions of the nodes with the image, or with the program.
std::array<Positions, 2> supporters(bool by_image, const std::vector<ImageAnswers>& answers) {
  std::array<Positions, 2> found;
  for (const ContainerEngine engine : kEngines) {
    for (std::size_t i = 0; i < answers.size(); ++i) {
      const ImageAnswer& answer = answer_of(answers[i], engine);
      if (by_image ? !answer.id.empty() : answer.has_engine) found.at(place_of(engine)).push_back(i);
    }
  }
  return found;
}

/// The engine with more supporters; nothing if the numbers are equal.
std::optional<ContainerEngine> more_supported(const std::array<Positions, 2>& supporting) {
  const auto [docker, podman] = std::pair(supporting[0].size(), supporting[1].size());
  if (docker == podman) return std::nullopt;
  return docker > podman ? ContainerEngine::kDocker : ContainerEngine::kPodman;
}

std::array<Positions, 2> without_common(const std::array<Positions, 2>& supporting) {
  std::array<Positions, 2> alone;
  std::ranges::set_difference(supporting[0], supporting[1], std::back_inserter(alone[0]));
  std::ranges::set_difference(supporting[1], supporting[0], std::back_inserter(alone[1]));
  return alone;
}

/// The node without which as many nodes would be on one side as on the other, if another node has different images in
/// both engines.
std::optional<std::size_t> deciding_node(const std::array<Positions, 2>& sides,
                                         const std::vector<ImageAnswers>& answers) {
  if (sides[0].size() + sides[1].size() != 1) return std::nullopt;
  const bool differ = std::ranges::any_of(answers, [](const ImageAnswers& node) {
    const std::string& docker = answer_of(node, ContainerEngine::kDocker).id;
    const std::string& podman = answer_of(node, ContainerEngine::kPodman).id;
    return !docker.empty() && !podman.empty() && docker != podman;
  });
  return differ ? std::optional((sides[0].empty() ? sides[1] : sides[0]).front()) : std::nullopt;
}

EngineChoice chosen_by(const std::vector<ImageAnswers>& answers) {
  EngineChoice choice;
  const auto programs = supporters(false, answers);
  const auto images = supporters(true, answers);
  choice.by_image = images[0] != images[1];
  if (choice.by_image) {
    choice.sides = without_common(images);
    choice.alone = deciding_node(choice.sides, answers);
    if (!choice.alone) choice.engine = more_supported(images);
  } else if (programs[0].size() == answers.size() || programs[0] == programs[1]) {
    if (!programs[0].empty()) choice.engine = ContainerEngine::kDocker;
  } else {
    choice.engine = more_supported(programs);
    choice.sides = without_common(programs);
    // Without that node, the others would start the image of docker.
    if (choice.engine == ContainerEngine::kPodman) choice.alone = deciding_node(choice.sides, answers);
    if (choice.alone) choice.engine.reset();
  }
  choice.on_all = choice.engine && programs.at(place_of(*choice.engine)).size() == answers.size();
  return choice;
}

std::string names_at(const Positions& positions, const std::vector<const NodeSpec*>& nodes) {
  std::vector<std::string> names;
  for (const std::size_t at : positions) names.push_back(nodes[at]->name.str());
  return fold_first_names(names);
}

/// The record of `images` that names the engine.
std::string statement(const std::string& image, const std::string& engine) {
  return "images: [{name: \"" + image + "\", engine: " + engine + "}]";
}

PreflightCheck failed(std::vector<std::string> nodes, std::string text, std::string fix) {
  return {"image", std::move(nodes), CheckStatus::kFail, std::move(text), std::move(fix)};
}

PreflightCheck no_image(const NodeSpec& node, const ImageAnswer& answer, const std::string& engine,
                        const std::string& image) {
  const std::string& name = node.name.str();
  if (!answer.has_engine) {
    return failed({name}, engine + " is not there",
                  "install it, or name the other engine for all nodes: " +
                      statement(image, engine == "docker" ? "podman" : "docker"));
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

/// Adds to a node's failure whose answers chose the engine: the node may be in order, and one of these answers wrong.
void name_choosers(PreflightCheck& check, const EngineChoice& choice, const std::vector<const NodeSpec*>& nodes,
                   const ImageAnswers& own, const std::string& image) {
  const ContainerEngine engine = *choice.engine;
  const ContainerEngine other = other_than(engine);
  const Positions& choosers = choice.sides.at(place_of(engine));
  const bool depends = !answer_of(own, engine).has_engine || answer_of(own, other).has_engine;
  if (choosers.empty() || !depends) return;
  const std::string program(to_string(engine));
  const std::string other_program(to_string(other));
  const std::string names = names_at(choosers, nodes);
  const bool one = choosers.size() == 1;
  check.text += "; " + program + " was chosen because " + names + (one ? " has " : " have ") +
                (choice.by_image ? "the image in it and not in " + other_program : "it and no " + other_program);
  const std::string stated = statement(image, other_program);
  if (check.fix.find(stated) == std::string::npos) check.fix += "; or state the engine in the file: " + stated;
  check.fix += "; or leave " + names + " out with --only";
}

/// The answers are divided into two groups of equal size.
PreflightCheck divided(std::vector<std::string> names, const EngineChoice& choice,
                       const std::vector<const NodeSpec*>& nodes, const std::string& image) {
  const std::string docker = names_at(choice.sides[0], nodes);
  const std::string podman = names_at(choice.sides[1], nodes);
  const std::string what = choice.by_image ? "the image is in " : "there is ";
  return failed(std::move(names),
                "docker or podman: " + what + "docker alone on " + docker + ", and " + (choice.by_image ? "in " : "") +
                    "podman alone on " + podman,
                "state the engine in the file: " + statement(image, "docker") + " or " + statement(image, "podman") +
                    "; or leave the nodes with the other engine out with --only");
}

PreflightCheck decided_by_one(const std::vector<std::string>& names, const EngineChoice& choice,
                              const std::string& image) {
  const std::string& name = names.at(*choice.alone);
  const std::string what = choice.by_image ? " has the image in one of them" : " has podman and no docker";
  return failed(names, "docker or podman: only " + name + what + ", and another node has different images in both",
                "state the engine in the file: " + statement(image, "docker") + " or " + statement(image, "podman") +
                    "; or leave " + name + " out with --exclude");
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

EngineChoice choose_engine(const Cluster& cluster, const std::string& image, const std::vector<ImageAnswers>& answers) {
  std::string named;
  const auto& nodes = cluster.nodes;
  const Value* section = nullptr;
  if (!nodes.empty() && nodes.front().sections.contains("images")) section = &nodes.front().sections.at("images");
  for (const Value& record : items_of(section)) {
    const std::string engine = record.text_or("engine", "");
    if (named.empty() || record.text_or("name", "") == image) named = engine.empty() ? named : engine;
  }
  const auto stated = value_named<ContainerEngine>(named);
  if (!stated) return chosen_by(answers);
  EngineChoice choice;
  choice.engine = stated;
  choice.on_all = true;
  return choice;
}

std::vector<PreflightCheck> judge_image(const std::string& image, const EngineChoice& choice,
                                        const std::vector<const NodeSpec*>& nodes,
                                        const std::vector<ImageAnswers>& answers) {
  std::vector<std::string> names;
  for (const NodeSpec* node : nodes) names.push_back(node->name.str());
  if (!choice.engine) {
    if (choice.alone) return {decided_by_one(names, choice, image)};
    if (!choice.sides[0].empty()) return {divided(names, choice, nodes, image)};
    return {failed(names, "neither docker nor podman is on any node", "install docker or podman on all nodes")};
  }
  const std::string program(to_string(*choice.engine));
  std::vector<PreflightCheck> checks;
  std::map<std::string, std::vector<std::string>> by_id;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const ImageAnswer& answer = answer_of(answers[i], *choice.engine);
    if (answer.id.empty()) {
      checks.push_back(no_image(*nodes[i], answer, program, image));
      name_choosers(checks.back(), choice, nodes, answers[i], image);
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
