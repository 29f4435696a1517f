#pragma once

#include <array>
#include <cstddef>
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

/// The engine of all nodes, and whose answers chose it.
struct EngineChoice {
  std::optional<ContainerEngine> engine;  ///< Nothing: no node has one, or the answers are divided.
  bool on_all = false;                    ///< The file names the engine, or all nodes have it.
  bool by_image = false;                  ///< The nodes with the image decided, not those with the program.
  /// No engine: this node alone would move the others to its engine, and one of them has another image there.
  std::optional<std::size_t> alone;
  /// By ContainerEngine: the positions of the nodes with the image, or the program, of this engine and not of the
  /// other. Empty where the choice depends on no node's answer.
  std::array<std::vector<std::size_t>, 2> sides;
};

/// The engine that the section `images` names for the image, or for any. Else the one in which more nodes have the
/// image; if the same nodes have it in both, docker if all nodes have docker, else the one that more nodes have. So one
/// node without docker is named, and does not move all others to podman. Between two groups of equal size it chooses
/// none: the answer of one node would decide. Nor does one node decide that the others start another image than they
/// would without it.
EngineChoice choose_engine(const Cluster& cluster, const std::string& image, const std::vector<ImageAnswers>& answers);

/// Failures with their fix, or one pass. If the choice of the engine fails a node, the message names the nodes whose
/// answers made the choice, and says how to state the engine. `nodes` and `answers` belong together, and `choice` to
/// them.
std::vector<PreflightCheck> judge_image(const std::string& image, const EngineChoice& choice,
                                        const std::vector<const NodeSpec*>& nodes,
                                        const std::vector<ImageAnswers>& answers);

}  // namespace sparkplan
