#pragma once

#include <optional>
#include <set>
#include <string>

#include "engine/core/result.h"
#include "engine/model/plan.h"
#include "engine/node/node.h"

namespace sparkplan::package {

/// apt's objections to the steps of a run. Package lists are updated at most once, if they are old or an install fails.
class Preparation {
 public:
  explicit Preparation(Node& node) : node_(node) {}

  std::optional<Error> objection_to_install(const Step& step);
  /// `all`: the packages that the run removes.
  std::optional<Error> objection_to_removal(const std::string& name, const std::set<std::string>& all) const;

 private:
  void update();
  std::optional<Error> try_install(const Step& step) const;
  Error unknown(const std::string& wanted, const std::string& complaint) const;

  Node& node_;
  bool updated_ = false;
  std::string update_failure_;
};

}  // namespace sparkplan::package
