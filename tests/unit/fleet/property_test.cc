// Any valid file on any nodes: planned changes are made, and made changes can be rolled back. The seeds are fixed;
// SPARKPLAN_PROPERTY_RUNS in the environment sets the number of runs.
#include <cstdlib>
#include <random>

#include "engine/report/exit_code.h"
#include "tests/support/catch.h"
#include "tests/unit/fleet/bench.h"

namespace sparkplan {
namespace {

using test::changes;
using test::exit_of;
using test::FleetBench;

constexpr unsigned kSeed = 20260805;

int runs() {
  const char* wanted = std::getenv("SPARKPLAN_PROPERTY_RUNS");
  return wanted == nullptr ? 50 : std::atoi(wanted);
}

class Chance {
 public:
  explicit Chance(unsigned seed) : engine_(seed) {}
  std::size_t below(std::size_t limit) { return engine_() % limit; }
  bool one_in(std::size_t odds) { return below(odds) == 0; }
  template <class T>
  const T& pick(const std::vector<T>& all) {
    return all[below(all.size())];
  }

 private:
  std::mt19937 engine_;
};

const std::vector<std::string> kParameters{"vm.swappiness",      "vm.max_map_count",
                                           "kernel.pid_max",     "net.core.rmem_max",
                                           "net.ipv4.tcp_rmem",  "net.ipv4.conf.enp1s0/200.rp_filter",
                                           "kernel.core_pattern"};
const std::vector<std::string> kNumbers{"0", "1", "10", "256MiB", "\"4096 87380 16777216\"", "\"|/bin/false %p\"",
                                        "-1"};
const std::vector<std::string> kVariables{"HF_HOME", "OMP_NUM_THREADS", "EDITOR", "A", "http_proxy", "_x1"};
const std::vector<std::string> kTexts{"/mnt/models/hf", "16",         "\"\"",
                                      "\"it's $HOME\"", "\"a b  c\"", "\"back\\\\slash \\\"q\\\"\"",
                                      "\"*;&|`id`\"",   "\"größe\"",  "0"};

std::string mapping(Chance& chance, const std::vector<std::string>& keys, const std::vector<std::string>& values,
                    bool with_null) {
  std::string text = "{";
  for (const auto& key : keys) {
    if (chance.one_in(2)) continue;
    if (text.size() > 1) text += ", ";
    text += key + ": " + (with_null && chance.one_in(4) ? std::string("null") : chance.pick(values));
  }
  return text + "}";
}

/// Sections for all nodes and overrides for some nodes.
void draw(Chance& chance, FleetBench& bench) {
  bench.sections.clear();
  if (!chance.one_in(4)) bench.sections += "sysctl: " + mapping(chance, kParameters, kNumbers, false) + "\n";
  if (!chance.one_in(4)) bench.sections += "profile_env: " + mapping(chance, kVariables, kTexts, false) + "\n";
  for (auto& extra : bench.extra) {
    extra.clear();
    if (chance.one_in(3)) extra += ", sysctl: " + mapping(chance, kParameters, kNumbers, true);
    if (chance.one_in(3)) extra += ", profile_env: " + mapping(chance, kVariables, kTexts, true);
  }
}

/// Files on the nodes from before sparkplan, some of them at sparkplan's own paths.
void furnish(Chance& chance, FleetBench& bench, std::size_t nodes) {
  for (std::size_t node = 1; node <= nodes; ++node) {
    const auto& root = bench.root(node);
    if (chance.one_in(2)) root.write("/etc/hosts", chance.one_in(2) ? "127.0.0.1 localhost\n" : "no final newline");
    if (chance.one_in(3)) root.write(test::kSysctlFile, chance.one_in(2) ? "vm.swappiness = 60\n" : "# nothing\n\xff");
    if (chance.one_in(3)) root.write(test::kProfileFile, "export OLD=1\n");
    if (chance.one_in(3)) root.make_directory("/etc/profile.d");
    if (chance.one_in(4) && root.exists(test::kProfileFile)) {
      std::filesystem::permissions(root / test::kProfileFile, std::filesystem::perms(0600));
    }
  }
}

/// apply() must succeed and leave nothing to do.
void settle(const FleetBench& bench, const std::string& which) {
  INFO(which << ":\n" << bench.file());
  bench.apply_all();
}

}  // namespace

TEST_CASE("after an apply two plans are empty, and removing all resources leaves no trace") {
  for (int run = 0; run < runs(); ++run) {
    INFO("run " << run);
    Chance chance(kSeed + static_cast<unsigned>(run));
    const std::size_t nodes = chance.below(3) + 1;
    FleetBench bench(nodes);
    bench.options.allow_prune = true;
    furnish(chance, bench, nodes);
    const auto before = bench.trees();
    draw(chance, bench);
    settle(bench, "first");
    draw(chance, bench);
    settle(bench, "second");
    bench.sections.clear();
    for (auto& extra : bench.extra) extra.clear();
    settle(bench, "nothing");
    REQUIRE(bench.trees() == before);
  }
}

TEST_CASE("any change by hand in a managed file is found, and the next apply repairs it") {
  int edits = 0;
  for (int run = 0; run < runs() / 3; ++run) {
    INFO("run " << run);
    Chance chance(kSeed + 10000 + static_cast<unsigned>(run));
    FleetBench bench(1);
    draw(chance, bench);
    bench.apply_all();
    const auto good = bench.trees();
    for (const auto* path : {test::kSysctlFile, test::kProfileFile}) {
      if (!bench.root(1).exists(path)) continue;
      auto text = bench.root(1).read(path);
      if (chance.one_in(3)) {
        text += "# by hand\n";
      } else {
        text.erase(chance.below(text.size()), 1 + chance.below(20));
      }
      bench.root(1).write(path, text);
      ++edits;
      const auto plan = bench.plan();
      INFO(path << ":\n" << text);
      CHECK(exit_code(plan, ExitRules{false, true, false}) == ExitCode::kDifferent);
      CHECK_FALSE(changes(plan).empty());
      bench.apply_all();
      REQUIRE(bench.trees() == good);
    }
  }
  CHECK(edits >= runs() / 5);
}

TEST_CASE("a repeated plan is the same, and planning writes nothing") {
  for (int run = 0; run < runs() / 5; ++run) {
    INFO("run " << run);
    Chance chance(kSeed + 20000 + static_cast<unsigned>(run));
    FleetBench bench(2);
    furnish(chance, bench, 2);
    draw(chance, bench);
    const auto before = bench.whole_trees();
    const auto first = changes(bench.plan());
    CHECK(first == changes(bench.plan()));
    CHECK(bench.whole_trees() == before);
  }
}

}  // namespace sparkplan
