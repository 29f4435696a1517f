#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/json.h"
#include "engine/load/load.h"
#include "engine/plan/planner.h"
#include "engine/resource/managed_block.h"
#include "engine/resource/registry.h"
#include "engine/resource/reported.h"
#include "tests/support/case_folder.h"
#include "tests/support/catch.h"
#include "tests/support/fake_ssh.h"
#include "tests/support/step_runner.h"

namespace sparkplan::test {

inline const ResourceType& ssh_trust_type() { return *builtin_registry().find("ssh_trust"); }

inline const std::string kAuthorizedKeys = "/home/nvidia/.ssh/authorized_keys";
inline const std::string kKnownHosts = "/etc/ssh/ssh_known_hosts";
inline const std::string kConfig = "/etc/ssh/ssh_config.d/60-sparkplan.conf";
inline const std::string kKeyFile = "/home/nvidia/.ssh/sparkplan_ed25519";

inline std::string mark(const std::string& node) { return "sparkplan:lab:" + node; }

/// Nodes as in a run: the run asks for exports, plans and carries out, in stages.
class Fleet {
 public:
  explicit Fleet(int nodes) {
    load(nodes);
    for (const NodeSpec& spec : cluster_.nodes) {
      World& world = worlds_.emplace_back();
      world.self = spec.name.str();
      world.facts.hostname = world.self;
      world.node.add_directory("/home/nvidia");
      world.node.add_file("/proc/stat", "btime " + std::to_string(spec.id) + "\n");  // Each node is a separate machine.
      world.node.add_file("/etc/ssh/ssh_host_ed25519_key.pub", fake_public_key("host of " + world.self) + " root@x\n");
      install_fake_accounts(world.node,
                            {{"nvidia", 1000, 1000, "/home/nvidia"}, {"operator", 1001, 1001, "/home/operator"}});
      install_fake_ssh_keygen(world.node);
    }
  }

  void load(int nodes, const std::string& section = "ssh_trust: {users: [nvidia]}\n") {
    std::string yaml = "version: 1\nname: lab\nssh: {user: nvidia}\n" + section + "nodes:\n";
    for (int i = 1; i <= nodes; ++i) {
      yaml += "  - {name: n" + std::to_string(i) + ", address: 10.0.0." + std::to_string(i) + "}\n";
    }
    LoadedCluster loaded = load_cluster(yaml, "cluster.yaml", builtin_registry());
    REQUIRE(loaded.cluster);
    cluster_ = *std::move(loaded.cluster);
  }

  World& at(int number) { return worlds_.at(static_cast<std::size_t>(number - 1)); }

  /// Whether a run reaches the node.
  void set_reached(int number, bool reached) {
    if (reached) {
      missing_.erase(number);
    } else {
      missing_.insert(number);
    }
  }

  /// Replaces the node's true exports by `lie`.
  void let_say(int number, std::function<Value(Value truth)> lie) { said_[number] = std::move(lie); }

  Look look(int number) {
    ask_exports();
    World& world = at(number);
    world.cluster = cluster_;
    Look look = look_at(world, builtin_registry());
    // The controller refuses a whole reply with an observation of another shape.
    ObservedState checked = look.observed;
    const auto names = names_to_observe(look.desired, world.applied ? &world.manifest : nullptr);
    if (auto fits = check_observed(names, builtin_registry(), checked); !fits) FAIL(fits.error().describe());
    return look;
  }

  /// Runs stages until there is nothing left to do; returns the number of stages.
  int apply() {
    int stages = 0;
    while (stages < 10) {
      std::vector<Look> looks;
      for (std::size_t i = 1; i <= cluster_.nodes.size(); ++i) looks.push_back(look(static_cast<int>(i)));
      bool work = false;
      for (std::size_t i = 0; i < looks.size(); ++i) {
        if (missing_.contains(static_cast<int>(i) + 1) || looks[i].plan.steps.empty()) continue;
        work = true;
        const StepRun run = run_steps(looks[i].plan, builtin_registry(), worlds_[i].node);
        if (run.error) FAIL(run.error->describe());
        remember(looks[i].plan, run.done, worlds_[i].manifest);
        worlds_[i].applied = true;
      }
      if (!work) return stages;
      ++stages;
    }
    FAIL("it never ends");
    return stages;
  }

  std::string block_in(int number, const std::string& file) {
    const auto text = at(number).node.text_of(file);
    REQUIRE(text);
    const auto block = find_block(*text);
    REQUIRE(block);
    return block->value_or("(none)");
  }

 private:
  void ask_exports() {
    std::map<std::string, NodeExports> exports;
    for (std::size_t i = 0; i < cluster_.nodes.size(); ++i) {
      if (missing_.contains(static_cast<int>(i) + 1)) continue;
      const NodeSpec& spec = cluster_.nodes[i];
      const auto section = spec.sections.find("ssh_trust");
      if (section == spec.sections.end()) continue;
      const Result<Value> value = ssh_trust_type().exports(section->second, worlds_[i].node);
      REQUIRE(value);
      const auto said = said_.find(static_cast<int>(i) + 1);
      exports[spec.name.str()]["ssh_trust"] = said == said_.end() ? *value : said->second(*value);
    }
    for (World& world : worlds_) world.exports = exports;
  }

  Cluster cluster_;
  std::deque<World> worlds_;
  std::set<int> missing_;
  std::map<int, std::function<Value(Value)>> said_;
};

inline std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

inline bool in_sync(const Look& look) { return look.plan.in_sync() && look.plan.steps.empty(); }

/// The first finding of that code; null without one.
inline const Diagnostic* find_code(const Look& look, const std::string& code) {
  for (const Diagnostic& one : look.diagnostics) {
    if (one.code == code) return &one;
  }
  return nullptr;
}

}  // namespace sparkplan::test
