#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "engine/domain/container/job_container.h"
#include "engine/launch/job_report.h"
#include "engine/model/cluster.h"
#include "engine/model/container_image.h"
#include "engine/wire/job_messages.h"

/// Whether the image of `run --image` is the same on all nodes. Everything here is pure.
namespace sparkplan {

/// One engine's answer about an image.
struct ImageAnswer {
  bool has_engine = false;  ///< The program is on the node.
  std::string id;           ///< 64 hexadecimal digits; empty: the node has no such image, or the engine failed.
  std::string reason;       ///< Why there is no id: the engine's last line.
};
/// By ContainerEngine.
using ImageAnswers = std::array<ImageAnswer, 2>;

/// The words that ask an engine for the id of an image.
std::vector<std::string> image_question(ContainerEngine engine, const std::string& image);
/// The answer in the end of the command and its output.
ImageAnswer image_answer(const RankReport& rank, const std::string& output);

/// The engine that the section `images` names for the image, or for any. Else the one in which more nodes have the
/// image; if they are equal, the one that more nodes have; else docker. So one node without docker is named, and does
/// not move all others to podman. Nothing: no node has an engine.
std::optional<ContainerEngine> choose_engine(const Cluster& cluster, const std::string& image,
                                             const std::vector<ImageAnswers>& answers);

/// Failures with their fix, or one pass. `nodes` and `answers` belong together.
std::vector<PreflightCheck> judge_image(const std::string& image, std::optional<ContainerEngine> engine,
                                        const std::vector<const NodeSpec*>& nodes,
                                        const std::vector<ImageAnswers>& answers);

}  // namespace sparkplan
