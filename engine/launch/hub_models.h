#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/launch/job_report.h"
#include "engine/model/cluster.h"
#include "engine/wire/job_messages.h"

/// The models of the Hugging Face hub that the containers of `run --image` get. Everything here is pure.
namespace sparkplan {

/// An entry of `models` with `hub`.
struct HubModel {
  std::string name;       ///< ORG/NAME
  std::string owner;      ///< Empty: the login user.
  std::string directory;  ///< "~/" begins the owner's home, which only the node knows.
};

/// The models of a node, in the order of the file.
std::vector<HubModel> hub_models(const NodeSpec& node);

/// The command that asks a node for their directories, with the number `rank`.
RankSpec hub_question(int rank, const std::vector<HubModel>& models);

/// The directory of each model. Empty: the answer has none, or one that cannot be the model's.
std::vector<std::string> hub_directories_in(const std::vector<HubModel>& models, std::string_view answer);

/// A model without a directory on some nodes, each as one skipped check. `directories` belong to `nodes`, and to
/// hub_models() of each.
std::vector<PreflightCheck> judge_hub_models(const std::vector<const NodeSpec*>& nodes,
                                             const std::vector<std::vector<std::string>>& directories);

}  // namespace sparkplan
