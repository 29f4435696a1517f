// Whether a job can start.
#include "engine/launch/preflight.h"

#include <algorithm>

#include "tests/support/catch.h"
#include "tests/unit/job/programs.h"

namespace sparkplan {
namespace {

using test::local_nodes;

constexpr const char* kPreflightTable =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
    "   0: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1\n"
    "   1: 0100007F:733C 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 2 1\n"
    "   2: 0B64A8C0:8000 0C64A8C0:733D 01 00000000:00000000 00:00000000 00000000  1000        0 3 1\n"
    "  sl  local_address                         remote_address                        st tx_queue\n"
    "   0: 00000000000000000000000000000000:1F90 00000000000000000000000000000000:0000 0A 00000000:00000000\n";

/// Two equal nodes on which a job can start.
class Nodes {
 public:
  explicit Nodes(int count = 2) : specs_(local_nodes(count)), facts(static_cast<std::size_t>(count)) {
    for (std::size_t i = 0; i < facts.size(); ++i) {
      facts[i].host.gpu_driver = "580.95.05";
      facts[i].nccl_version = "2.28.9";
      facts[i].memory_total_bytes = std::int64_t{128} << 30;
      facts[i].host.memory_available = std::int64_t{100} << 30;
      nodes.push_back(
          {&specs_[i], &facts[i], nullptr, {true, true, "GPU 0: NVIDIA GB10 (UUID: GPU-1)\n", "", kPreflightTable}});
    }
  }
  Nodes(const Nodes&) = delete;
  Nodes& operator=(const Nodes&) = delete;

  PreflightCheck check(const std::string& name, int port = 29500) const {
    const auto checks = judge_preflight(nodes, "", port);
    const auto found = std::find_if(checks.begin(), checks.end(), [&](const auto& one) { return one.name == name; });
    REQUIRE(found != checks.end());
    return *found;
  }
  /// Both nodes declare this interface, and have it with a cable.
  void add_fabric(const std::string& interface) {
    for (std::size_t i = 0; i < 2; ++i) {
      FabricPort half;
      half.interface = interface;
      half.address = "192.168.100.1" + std::to_string(i + 1);
      half.prefix_length = 24;
      specs_[i].fabric.push_back(half);
      LinkFacts link;
      link.name = interface;
      link.up = true;
      link.carrier = true;
      facts[i].live = true;
      facts[i].links.push_back(link);
    }
  }

 private:
  std::vector<NodeSpec> specs_;

 public:
  std::vector<Facts> facts;
  std::vector<PreflightNode> nodes;
};

}  // namespace

TEST_CASE("a listening port is found in both tables of the kernel, a connected one is none") {
  CHECK(is_listening(kPreflightTable, 22));
  CHECK(is_listening(kPreflightTable, 29500));
  CHECK(is_listening(kPreflightTable, 8080));
  CHECK_FALSE(is_listening(kPreflightTable, 29501));
  CHECK_FALSE(is_listening(kPreflightTable, 32768));
  for (const char* hostile : {"", "\n\n", "a b c d", "0: :: :: 0A", "0: x:y z:w 0A", ": : : :"}) {
    CHECK_FALSE(is_listening(hostile, 29500));
  }
}

TEST_CASE("nodes that are equal and free pass all checks") {
  const Nodes nodes;
  for (const auto& check : judge_preflight(nodes.nodes, "", 29501)) {
    INFO(check.name << ": " << check.text);
    CHECK(check.status == CheckStatus::kPass);
  }
}

TEST_CASE("a node that another run changes is not ready for a job") {
  Nodes nodes;
  NodeReport plan;
  plan.lock_holder = "anna@laptop (process 42, apply since 2026-03-01T12:00:00Z)";
  nodes.nodes[1].plan = &plan;
  const auto check = nodes.check("lock");
  CHECK(check.status == CheckStatus::kFail);
  CHECK(check.nodes == std::vector<std::string>{"spark-02"});
  CHECK(check.text.find("anna@laptop") != std::string::npos);
  CHECK_FALSE(check.fix.empty());
}

TEST_CASE("each failure names its node and has a fix") {
  Nodes nodes;
  nodes.nodes[1].answers.gpu_processes = "4711, python3\n";
  nodes.facts[1].host.memory_available = std::int64_t{5} << 30;
  for (const std::string name : {"gpu", "memory"}) {
    INFO(name);
    const auto check = nodes.check(name);
    CHECK(check.status == CheckStatus::kFail);
    CHECK(check.nodes == std::vector<std::string>{"spark-02"});
    CHECK_FALSE(check.fix.empty());
  }
  CHECK(nodes.check("gpu").text == "the GPU is in use by 4711, python3");
  const auto port = nodes.check("port");
  CHECK(port.status == CheckStatus::kFail);
  CHECK(port.nodes == std::vector<std::string>{"spark-01"});
}

TEST_CASE("an answer of nvidia-smi that lists no process does not occupy the GPU") {
  for (const char* answer : {"0, 7, 45, 12.50\n", "No running processes found\n", "-1, x\n", "17\n", "17,x\n"}) {
    INFO(answer);
    Nodes nodes;
    nodes.nodes[1].answers.gpu_processes = answer;
    CHECK(nodes.check("gpu").status == CheckStatus::kPass);
  }
}

TEST_CASE("another driver or NCCL on one node fails, with the versions by node") {
  Nodes nodes;
  nodes.facts[1].host.gpu_driver = "570.1";
  nodes.facts[1].nccl_version = "2.27.3";
  CHECK(nodes.check("driver").text == "GPU driver 570.1 on spark-02, 580.95.05 on spark-01");
  CHECK(nodes.check("nccl").status == CheckStatus::kFail);
}

TEST_CASE("without any GPU its checks are skipped; on one node alone, that fails and names the nodes with one") {
  Nodes nodes;
  nodes.nodes[1].answers.has_gpu_tool = false;
  CHECK(nodes.check("gpu").status == CheckStatus::kFail);
  CHECK(nodes.check("gpu").nodes == std::vector<std::string>{"spark-02"});
  CHECK(nodes.check("gpu").text == "it has no GPU, and spark-01 reports one");
  nodes.nodes[0].answers.has_gpu_tool = false;
  CHECK(nodes.check("gpu").status == CheckStatus::kSkip);
  for (auto& facts : nodes.facts) facts.host.gpu_driver.clear();
  CHECK(nodes.check("driver").status == CheckStatus::kSkip);
}

TEST_CASE("one rank per GPU needs the same number on all nodes, and a failure names the number of each node") {
  const std::vector<std::string> names{"spark-01", "spark-02", "spark-03", "spark-04"};
  const auto judged = [&](const std::vector<int>& numbers) {
    std::vector<PreflightAnswers> answers;
    for (const int number : numbers) {
      answers.emplace_back().has_gpu_tool = true;
      for (int i = 0; i < number; ++i) answers.back().gpus += "GPU " + std::to_string(i) + ": NVIDIA GB10\n";
    }
    return judge_gpu_counts(names, answers);
  };
  CHECK_FALSE(judged({1, 1, 1, 1}));
  CHECK_FALSE(judged({kMostRanksPerNode, kMostRanksPerNode, kMostRanksPerNode, kMostRanksPerNode}));

  const auto one_differs = judged({0, 1, 1, 1});
  REQUIRE(one_differs);
  CHECK(one_differs->status == CheckStatus::kFail);
  CHECK(one_differs->nodes == names);
  CHECK(one_differs->text ==
        "the nodes have no or not the same number of GPUs: spark-[02-04] report 1, spark-01 reports none");
  CHECK(judged({1, 1, 8, 1})->text.ends_with("spark-[01-02,04] report 1, spark-03 reports 8"));
  CHECK(judged({0, 0, 0, 0})->text.ends_with("spark-[01-04] report none"));
  CHECK(judged({65, 65, 65, 65})->text == "the nodes report 65 GPUs each; at most 64 ranks run on a node");
}

TEST_CASE("a half that has no cable, is down or is missing fails with its node") {
  Nodes nodes;
  nodes.add_fabric("enp1s0f1np1");
  CHECK(nodes.check("fabric").status == CheckStatus::kPass);
  const auto failure = [&] {
    const auto check = nodes.check("fabric");
    CHECK(check.status == CheckStatus::kFail);
    CHECK(check.nodes == std::vector<std::string>{"spark-02"});
    CHECK(check.fix == "run `sparkplan verify --level link`");
    return check.text;
  };
  LinkFacts& link = nodes.facts[1].links.front();
  link.carrier = false;
  CHECK(failure() == "enp1s0f1np1 has no carrier");
  link.up = false;
  CHECK(failure() == "enp1s0f1np1 is down");
  nodes.facts[1].links.clear();
  CHECK(failure().ends_with(" is missing"));
}

TEST_CASE("a node that has drifted is named with its changes") {
  Nodes nodes;
  NodeReport plan;
  plan.status = NodeStatus::kDrifted;
  Change change;
  change.id = {"sysctl", "net.core.rmem_max"};
  change.origin = Origin::kDrift;
  change.fields = {{"value", 1, 2}};
  plan.plan.changes.push_back(change);
  nodes.nodes[1].plan = &plan;
  const auto check = nodes.check("sync");
  CHECK(check.status == CheckStatus::kFail);
  CHECK(check.nodes == std::vector<std::string>{"spark-02"});
  CHECK(check.text == "drifted: sysctl/net.core.rmem_max");
}

TEST_CASE("changes that all follow from one node's report name that node, and how to leave it out") {
  Nodes nodes(3);
  NodeReport plan;
  plan.status = NodeStatus::kPending;
  Change change;
  change.id = {"ssh_trust", "nvidia"};
  change.fields = {{"known_hosts.spark-01", 1, 2}, {"authorized.spark-01", 1, 2}};
  const auto check = [&] {
    plan.plan.changes = {change};
    nodes.nodes[1].plan = &plan;
    return nodes.check("sync");
  };
  // The node itself may report a false state.
  CHECK(check().text == "not applied: ssh_trust/nvidia, from what spark-01 reports or this node has");
  CHECK(check().fix == "run `sparkplan apply`; if that does not help, leave out spark-01 or spark-02 with --exclude");
  nodes.nodes[2].plan = &plan;
  CHECK(check().text == "not applied: ssh_trust/nvidia, from what spark-01 reports");
  CHECK(check().fix == "run `sparkplan apply`; if that does not help, leave out spark-01 with --exclude");
  const std::string other = GENERATE("keys", "authorized.spark-02", "authorized.unknown");
  INFO(other);
  change.fields.push_back({other, 1, 2});
  CHECK(check().text == "not applied: ssh_trust/nvidia");
  CHECK(check().fix == "run `sparkplan apply`");
}

TEST_CASE("the words of one node's version cannot be taken for another node's version") {
  Nodes nodes;
  nodes.facts[0].host.gpu_driver = "570 on spark-02, 560";
  nodes.facts[1].host.gpu_driver = "580";
  const auto check = nodes.check("driver");
  CHECK(check.status == CheckStatus::kFail);
  CHECK(check.text.find("\"570 on spark-02, 560\" on spark-01") != std::string::npos);
  CHECK(check.text.find("580 on spark-02") != std::string::npos);
}

TEST_CASE("failures come first") {
  const Nodes nodes;
  CHECK(judge_preflight(nodes.nodes, "", 29500).front().name == "port");
}

}  // namespace sparkplan
