#include "resources/package/apt.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/core/text.h"
#include "resources/package/artifacts.h"
#include "resources/package/dpkg_status.h"

namespace sparkplan::package {
namespace {

std::string list_of(const std::set<std::string>& names) {
  return join(std::vector<std::string>(names.begin(), names.end()), ", ");
}

/// apt may change this held package, and no other one.
std::optional<Error> other_held(const Step& step, const Simulation& simulation, const DpkgStatus& status) {
  std::set<std::string> others;
  for (const std::string& name : simulation.installs) {
    const KnownPackage* package = status.find(name);
    const bool other = name != status.name_to_apt(step.artifact.name);
    if (other && package != nullptr && package->held && package->installed()) others.insert(name);
  }
  if (others.empty()) return std::nullopt;
  return make_error(ErrorCode::kRefused,
                    "installing " + specification(step.artifact, step.after) + " would change " + list_of(others) +
                        ", which the node holds",
                    "list them with their versions as well, or run `apt-mark unhold` on the node");
}

class Preparation {
 public:
  explicit Preparation(Node& node) : node_(node) {}

  std::optional<Error> objection_to_install(const Step& step) {
    if (!updated_ && lists_are_old(node_)) update();
    auto error = try_install(step);
    if (!error || updated_) return error;
    update();
    return try_install(step);
  }

  /// `all`: the packages that the run removes.
  std::optional<Error> objection_to_removal(const std::string& name, const std::set<std::string>& all) const {
    const auto simulation = simulate_removal(name, node_);
    if (!simulation) return simulation.error();
    const auto status = DpkgStatus::read(node_);
    if (!status) return status.error();
    std::set<std::string> expected;
    for (const std::string& one : all) expected.insert(status->name_to_apt(one));
    std::set<std::string> others;
    std::set_difference(simulation->removes.begin(), simulation->removes.end(), expected.begin(), expected.end(),
                        std::inserter(others, others.end()));
    if (others.empty()) return std::nullopt;
    return make_error(ErrorCode::kRefused, list_of(others) + " would be removed with " + name,
                      "remove " + list_of(others) + " first if it is not needed, or keep " + name + " in the file");
  }

 private:
  void update() {
    updated_ = true;
    if (auto updated = update_lists(node_); !updated) update_failure_ = updated.error().message;
  }

  std::optional<Error> try_install(const Step& step) const {
    const std::string wanted = specification(step.artifact, step.after);
    const auto simulation = simulate_install(wanted, held_by(step.artifact), node_);
    if (!simulation) return simulation.error();
    if (!simulation->removes.empty()) {
      return make_error(ErrorCode::kRefused, "installing " + wanted + " would remove " + list_of(simulation->removes),
                        "install it by hand if that is what you want");
    }
    if (!simulation->complaint.empty()) return unknown(wanted, simulation->complaint);
    const auto status = DpkgStatus::read(node_);
    if (!status) return status.error();
    if (auto error = other_held(step, *simulation, *status)) return error;
    const KnownPackage* now = status->find(step.artifact.name);
    const bool there = now != nullptr && (now->installed() || now->broken());
    if (there || simulation->installs.contains(status->name_to_apt(step.artifact.name))) return std::nullopt;
    return unknown(wanted, "apt would install " + list_of(simulation->installs) + " instead");
  }

  Error unknown(const std::string& wanted, const std::string& complaint) const {
    std::string message = "apt cannot install " + wanted + ": " + complaint;
    if (!update_failure_.empty()) message += "; and the package lists could not be updated: " + update_failure_;
    return make_error(ErrorCode::kNotFound, std::move(message),
                      "find the name with `apt-cache search`; the node may lack the package source that has it");
  }

  Node& node_;
  bool updated_ = false;
  std::string update_failure_;
};

}  // namespace

std::vector<Objection> objections_to(std::span<const Step> steps, Node& node) {
  std::set<std::string> removed;
  for (const Step& step : steps) {
    const bool gone = step.artifact.kind != kHoldKind && std::holds_alternative<Absent>(step.after);
    if (gone) removed.insert(step.artifact.name);
  }
  std::vector<Objection> objections;
  Preparation preparation(node);
  for (const Step& step : steps) {
    if (step.artifact.kind == kHoldKind) continue;
    auto error = std::holds_alternative<Absent>(step.after)
                     ? preparation.objection_to_removal(step.artifact.name, removed)
                     : preparation.objection_to_install(step);
    if (error) objections.push_back({step.artifact, *std::move(error)});
  }
  return objections;
}

}  // namespace sparkplan::package
