// The level nccl with real ranks on local nodes. A program uses the GPU of all nodes or of one: the driver, the NVML
// and the NCCL are those of tests/fake_gpu.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/value.h"
#include "engine/doctor/doctor_table.h"
#include "engine/verify/levels/levels.h"
#include "engine/verify/levels/nccl_places.h"
#include "engine/verify/verify_run.h"
#include "tests/support/catch.h"
#include "tests/unit/agent/scratch.h"
#include "tests/unit/remote/fakes.h"
#include "tests/unit/verify/sample_context.h"

namespace sparkplan {
namespace {

/// Nodes with one GPU each. The properties of the fakes count until the end of a case.
class Lab {
 public:
  Lab(int count, const std::map<std::string, std::string>& fakes) : sample_(count) {
    set("LD_LIBRARY_PATH", SPARKPLAN_FAKE_GPU);
    set("FAKE_GPU_COUNT", "1");
    for (const auto& [name, value] : fakes) set(name, value);
    for (NodeSpec& node : sample_.cluster.nodes) {
      node.transport = TransportKind::kLocal;
      node.root = "/tmp";
    }
    options().nccl.sizes = {4096};
    options().nccl.collectives = {Collective::kAllReduce};
    for (int i = 0; i < count; ++i) {
      auto& agent = agents_.emplace_back();
      agent.add(test::agent());
      auto client = AgentClient::open(test::node(), agent.options(), {});
      REQUIRE(client);
      clients_.push_back(*std::move(client));
    }
  }
  Lab(const Lab&) = delete;
  Lab& operator=(const Lab&) = delete;
  ~Lab() {
    for (const auto& name : names_) ::unsetenv(name.c_str());
  }

  /// A rank has only the variables of its node's section nccl.
  void has(std::size_t node, const std::string& name, const std::string& value) {
    sample_.cluster.nodes.at(node).sections["nccl"] =
        Value::map({{"mode", "auto"}, {"env", Value::map({{name, value}})}});
  }
  VerifyOptions& options() { return sample_.options; }
  VerifyContext context() {
    auto made = sample_.context();
    made.registry = &builtin_registry();
    for (std::size_t i = 0; i < made.nodes.size(); ++i) made.nodes[i].client = &clients_[i];
    return made;
  }
  std::vector<Check> verify() {
    auto made = context();
    return verify_nccl(made);
  }

 private:
  void set(const std::string& name, const std::string& value) {
    ::setenv(name.c_str(), value.c_str(), 1);
    names_.push_back(name);
  }
  testing::SampleContext sample_;
  std::deque<test::Remote> agents_;
  std::deque<AgentClient> clients_;
  std::vector<std::string> names_;
};

std::string own_pid() { return std::to_string(::getpid()); }

const Check* find_check(const std::vector<Check>& checks, const std::string& id) {
  const auto found = std::find_if(checks.begin(), checks.end(), [&](const Check& check) { return check.id == id; });
  return found == checks.end() ? nullptr : &*found;
}

Check check_in(const std::vector<Check>& checks, const std::string& id) {
  const Check* found = find_check(checks, id);
  if (found == nullptr) FAIL("there is no check " << id);
  return *found;
}

bool is_measured(const std::vector<Check>& checks) {
  return check_in(checks, "nccl/spark-01/spark-02/all_reduce").value.has_value();
}

/// The only node of three that has the check "use".
std::string used_node(const std::vector<Check>& checks) {
  std::vector<std::string> used;
  for (const Check& check : checks) {
    if (check.what == "use") used.push_back(check.nodes.at(0));
  }
  REQUIRE(used.size() == 1);
  return used[0];
}

}  // namespace

TEST_CASE("nccl level: nodes whose GPUs a program uses are named, and have no rank") {
  Lab lab(2, {{"FAKE_GPU_PROCESS", own_pid()}});
  const auto checks = lab.verify();
  const auto use = check_in(checks, "nccl/spark-02/use");
  CHECK(use.status == CheckStatus::kSkip);
  CHECK(use.cause == "the GPU is in use by nccl_test (pid " + own_pid() + ")");
  CHECK(use.fix == "end the job, or measure beside it with --force");
  CHECK(find_check(checks, "nccl/spark-02") == nullptr);
  const auto together = check_in(checks, "nccl/spark-01/spark-02/all_reduce");
  CHECK(together.status == CheckStatus::kSkip);
  CHECK(together.cause == "spark-01 is excluded, see nccl/spark-01/use");
  VerifyOptions named;
  named.required = Level::kNccl;
  const auto missing = nothing_measured(checks, named);
  REQUIRE(missing);
  CHECK(missing->cause.starts_with(use.cause));
  CHECK(missing->fix == use.fix);
}

TEST_CASE("nccl level: with force, nodes are measured beside a program, which is named") {
  Lab lab(2, {{"FAKE_GPU_PROCESS", own_pid()}});
  lab.options().force = true;
  const auto checks = lab.verify();
  CHECK(is_measured(checks));
  const auto use = check_in(checks, "nccl/spark-01/use");
  CHECK(use.status == CheckStatus::kPass);
  CHECK(use.text == "measured beside nccl_test (pid " + own_pid() + ")");
}

TEST_CASE("nccl level: the other nodes are measured without the one that a program uses") {
  const test::ScratchDirectory desk;
  Lab lab(3, {{"FAKE_GPU_PROCESS", own_pid()}, {"FAKE_GPU_PROCESS_OF", (desk / "/asked").string()}});
  const auto checks = lab.verify();
  std::set<std::string> measured;
  for (const Check& check : checks) {
    if (check.value) measured.insert(check.nodes.begin(), check.nodes.end());
  }
  CHECK(measured.size() == 2);
  CHECK_FALSE(measured.contains(used_node(checks)));
}

TEST_CASE("nccl level: a pair that is left over is measured once") {
  const test::ScratchDirectory desk;
  Lab lab(3, {{"FAKE_GPU_PROCESS", own_pid()}, {"FAKE_GPU_PROCESS_OF", (desk / "/asked").string()}});
  lab.options().nccl.sizes.clear();
  const auto checks = lab.verify();
  std::set<std::string> ids;
  std::size_t measured = 0;
  for (const Check& check : checks) {
    INFO(check.id);
    CHECK(ids.insert(check.id).second);
    if (check.what == "all_reduce" && check.value) ++measured;
  }
  CHECK(measured == 1);
}

TEST_CASE("nccl level: a GPU is free if NVML does not load or has no list, and if only a desktop draws") {
  for (const auto& fakes : std::vector<std::map<std::string, std::string>>{
           {{"FAKE_GPU_NVML", "broken"}}, {{"FAKE_GPU_PROCESS", "unsupported"}}, {{"FAKE_GPU_DESKTOP", own_pid()}}}) {
    INFO(fakes.begin()->first);
    Lab lab(2, fakes);
    const auto checks = lab.verify();
    CHECK(is_measured(checks));
    CHECK(find_check(checks, "nccl/spark-01/use") == nullptr);
  }
}

TEST_CASE("nccl level: a node whose programs NVML does not report is measured, and the check says so") {
  Lab lab(2, {{"FAKE_GPU_PROCESS", "unknown"}});
  const auto checks = lab.verify();
  CHECK(is_measured(checks));
  const Check& use = check_in(checks, "nccl/spark-01/use");
  CHECK(use.status == CheckStatus::kPass);
  CHECK(use.text == "measured, though NVML does not know the programs on the GPU");
}

TEST_CASE("nccl level: nodes with different numbers of GPUs have one rank for each GPU") {
  Lab lab(2, {});
  lab.has(0, "FAKE_GPU_COUNT", "1");
  lab.has(1, "FAKE_GPU_COUNT", "3");
  lab.options().nccl.ranks_per_node = 0;
  auto context = lab.context();
  const auto checks = verify_nccl(context);
  const Check check = check_in(checks, "nccl/spark-01/spark-02/all_reduce");
  INFO(check.cause);
  CHECK(check.status == CheckStatus::kPass);
  REQUIRE(context.tables.size() == 1);
  CHECK(context.tables[0].starts_with("# all_reduce, 4 ranks, out of place"));
  // A number is for all nodes, and the node with fewer GPUs is named.
  lab.options().nccl.ranks_per_node = 2;
  const auto misfits = nccl_misfits(lab.context());
  REQUIRE(misfits.size() == 1);
  CHECK(misfits[0].node == "spark-01");
}

TEST_CASE("nccl level: nodes with different releases of NCCL are named in one failure, and not measured together") {
  Lab lab(3, {});
  lab.has(2, "FAKE_NCCL_VERSION", "22703");
  const auto checks = lab.verify();
  const Check mixed = check_in(checks, "nccl/all/version");
  CHECK(mixed.status == CheckStatus::kFail);
  CHECK(mixed.text == "NCCL 2.27.3 on spark-03, 2.28.9 on spark-[01-02]");
  CHECK(mixed.fix == RowId("nccl-mixed-versions")->fix);
  const Check together = check_in(checks, "nccl/all/all_reduce");
  CHECK(together.status == CheckStatus::kSkip);
  CHECK(together.blocked_by == "nccl/all/version");
}

TEST_CASE("nccl level: sizes are not held against the memory of a node that a program uses") {
  Lab lab(2, {{"FAKE_GPU_PROCESS", own_pid()}});
  lab.options().nccl.sizes = {std::int64_t{1} << 30};
  CHECK(nccl_misfits(lab.context()).empty());
  lab.options().force = true;
  CHECK_FALSE(nccl_misfits(lab.context()).empty());
}

}  // namespace sparkplan
