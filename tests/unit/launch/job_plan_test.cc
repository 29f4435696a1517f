// From a request to the processes of each node.
#include "engine/launch/job_plan.h"

#include <algorithm>
#include <array>
#include <map>

#include "tests/support/catch.h"
#include "tests/unit/job/programs.h"

namespace sparkplan {
namespace {

using test::local_nodes;
using Words = std::vector<std::string>;

/// A job on nodes with the addresses 192.168.100.11 and on.
class Planned {
 public:
  explicit Planned(int nodes) : nodes_(local_nodes(nodes)) {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      members.push_back(
          {&nodes_[i], "192.168.100." + std::to_string(11 + i), {{"NCCL_IB_HCA", "=hca" + std::to_string(i)}}});
    }
    request.argv = {"python3", "train.py"};
  }
  Planned(const Planned&) = delete;
  Planned& operator=(const Planned&) = delete;

  std::vector<NodeJob> jobs() const {
    auto planned = plan_job(request, members, "job-1");
    REQUIRE(planned);
    return *std::move(planned);
  }

  JobRequest request;
  std::vector<JobMember> members;

 private:
  std::vector<NodeSpec> nodes_;
};

bool contains(const Words& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string after(const Words& words, const std::string& word) {
  const auto found = std::find(words.begin(), words.end(), word);
  return found == words.end() || found + 1 == words.end() ? "" : *(found + 1);
}

/// Two nodes of one cluster, whose file has the addresses 10.0.0.11 and 10.0.0.12.
struct TwoNodes {
  TwoNodes() {
    cluster.nodes = local_nodes(2);
    for (std::size_t i = 0; i < 2; ++i) cluster.nodes[i].address = "10.0.0.1" + std::to_string(i + 1);
  }
  Words addresses() const {
    return data_addresses({&cluster.nodes[0], &cluster.nodes[1]}, {&facts[0], &facts[1]}, cluster);
  }
  Cluster cluster;
  std::array<Facts, 2> facts;
};

LinkFacts link_with(const std::string& name, const std::string& address) {
  LinkFacts link;
  link.name = name;
  link.addresses = {address};
  return link;
}

}  // namespace

TEST_CASE("each rank knows its number, the numbers of all, and where rank 0 is") {
  Planned planned(2);
  planned.request.ranks_per_node = 2;
  const auto jobs = planned.jobs();
  REQUIRE(jobs.size() == 2);
  REQUIRE(jobs[1].start.ranks.size() == 2);
  const RankSpec& last = jobs[1].start.ranks[1];
  CHECK(last.rank == 3);
  CHECK(last.argv == Words{"python3", "train.py"});
  CHECK(last.environment == std::map<std::string, std::string>{{"RANK", "3"},
                                                               {"LOCAL_RANK", "1"},
                                                               {"WORLD_SIZE", "4"},
                                                               {"LOCAL_WORLD_SIZE", "2"},
                                                               {"NODE_RANK", "1"},
                                                               {"MASTER_ADDR", "192.168.100.11"},
                                                               {"MASTER_PORT", "29500"},
                                                               {"NCCL_IB_HCA", "=hca1"}});
  CHECK(jobs[0].start.together);
  CHECK_FALSE(jobs[0].start.hold);
}

TEST_CASE("a job: --env wins over the cluster's variables, and cannot break the ranks' numbers") {
  Planned planned(1);
  planned.request.environment = {{"NCCL_IB_HCA", "=mine"}};
  CHECK(planned.jobs()[0].start.ranks[0].environment.at("NCCL_IB_HCA") == "=mine");
  for (const std::string name : {"RANK", "LOCAL_RANK", "WORLD_SIZE", "NODE_RANK", "MASTER_ADDR", "MASTER_PORT"}) {
    INFO(name);
    planned.request.environment = {{name, "0"}};
    CHECK_FALSE(plan_job(planned.request, planned.members, "job-1"));
  }
}

TEST_CASE("a job: secrets of profile_env travel by name, and mpirun gets none") {
  Planned job(1);
  job.members[0].secrets = {"HF_TOKEN"};
  CHECK(job.jobs()[0].start.secrets == Words{"HF_TOKEN"});
  CHECK_FALSE(job.jobs()[0].start.ranks[0].environment.contains("HF_TOKEN"));
  job.request.launcher = Launcher::kMpirun;
  CHECK(job.jobs()[0].start.secrets.empty());

  auto nodes = local_nodes(1);
  CHECK(secret_names(nodes[0]).empty());
  const auto secret = Value::map({{"secret", Value::map({{"env", "HF_TOKEN"}})}});
  nodes[0].sections["profile_env"] =
      Value::map({{"HF_HOME", "/srv"}, {"HF_TOKEN", secret}, {"OLD", Value()}, {"NO/NAME", secret}});
  CHECK(secret_names(nodes[0]) == Words{"HF_TOKEN"});
}

TEST_CASE("a secret that mpirun does not pass on is reported with its nodes, unless --env gives it") {
  Planned job(2);
  job.members[0].secrets = {"HF_TOKEN", "WANDB_API_KEY"};
  job.members[1].secrets = {"HF_TOKEN"};
  CHECK(judge_secrets(job.request, job.members).empty());
  job.request.launcher = Launcher::kTorchrun;
  CHECK(judge_secrets(job.request, job.members).empty());
  job.request.launcher = Launcher::kMpirun;
  job.request.environment = {{"WANDB_API_KEY", "canary-4711"}};
  const auto checks = judge_secrets(job.request, job.members);
  REQUIRE(checks.size() == 1);
  CHECK(checks[0].nodes.size() == 2);
  CHECK(checks[0].status == CheckStatus::kSkip);
  CHECK(checks[0].text == "the ranks have no HF_TOKEN: mpirun passes no secret of profile_env on");
  CHECK(checks[0].fix.find("--env HF_TOKEN=VALUE") != std::string::npos);
}

TEST_CASE("torchrun starts once per node, with scripts as they are and programs after --no-python") {
  Planned planned(2);
  planned.request.launcher = Launcher::kTorchrun;
  planned.request.ranks_per_node = 4;
  planned.request.argv = {"train.py", "--lr", "1"};
  const auto jobs = planned.jobs();
  REQUIRE(jobs[1].start.ranks.size() == 1);
  CHECK(jobs[1].start.ranks[0].argv == Words{"torchrun", "--nnodes", "2", "--nproc-per-node", "4", "--node-rank", "1",
                                             "--master-addr", "192.168.100.11", "--master-port", "29500", "train.py",
                                             "--lr", "1"});
  planned.request.argv = {"./program"};
  CHECK(contains(planned.jobs()[0].start.ranks[0].argv, "--no-python"));
  planned.request.argv = {"-m", "package"};
  CHECK_FALSE(contains(planned.jobs()[0].start.ranks[0].argv, "--no-python"));
}

TEST_CASE("mpirun starts on the first node, and the starters of the others wait to end its ranks") {
  Planned planned(3);
  planned.request.launcher = Launcher::kMpirun;
  planned.request.ranks_per_node = 2;
  const auto jobs = planned.jobs();
  REQUIRE(jobs[0].start.ranks.size() == 1);
  CHECK_FALSE(jobs[0].start.hold);
  CHECK(jobs[1].start.ranks.empty());
  CHECK(jobs[1].start.hold);
  CHECK(jobs[2].start.hold);
  const auto& argv = jobs[0].start.ranks[0].argv;
  CHECK(argv.front() == "mpirun");
  CHECK(after(argv, "--host") == "192.168.100.11:2");
  CHECK(std::count(argv.begin(), argv.end(), ":") == 2);
  // Each node's ranks have that node's devices, and the mark by which its starter finds them.
  for (int i = 0; i < 3; ++i) CHECK(contains(argv, "NCCL_IB_HCA==hca" + std::to_string(i)));
  CHECK(std::count(argv.begin(), argv.end(), "SPARKPLAN_JOB=job-1") == 3);
}

TEST_CASE("no word of the user becomes part of a shell line") {
  Planned planned(1);
  planned.request.launcher = Launcher::kMpirun;
  planned.request.argv = {"echo", "$(touch /tmp/x)"};
  const auto argv = planned.jobs()[0].start.ranks[0].argv;
  CHECK(contains(argv, "$(touch /tmp/x)"));
  CHECK(after(argv, "-c").find("touch") == std::string::npos);
}

TEST_CASE("mpirun's arguments contain no value that --env gives") {
  Planned planned(2);
  planned.request.launcher = Launcher::kMpirun;
  planned.request.environment = {{"WANDB_API_KEY", "canary-4711"}};
  const auto rank = planned.jobs()[0].start.ranks[0];
  for (const std::string& word : rank.argv) CHECK(word.find("canary-4711") == std::string::npos);
  CHECK(std::count(rank.argv.begin(), rank.argv.end(), "WANDB_API_KEY") == 2);
  CHECK(rank.environment.at("WANDB_API_KEY") == "canary-4711");
  CHECK_FALSE(rank.environment.contains("NCCL_IB_HCA"));
}

TEST_CASE("a node that reports names which no argument can hold is named, and no other node") {
  using namespace std::string_literals;
  Planned planned(2);
  planned.request.launcher = Launcher::kMpirun;
  CHECK(judge_environment(planned.request, planned.members).empty());
  for (const std::string& value : {"=a\0b"s, "=a\nb"s, std::string(140'000, 'a')}) {
    for (const Launcher launcher : {Launcher::kMpirun, Launcher::kTorchrun, Launcher::kNone}) {
      planned.request.launcher = launcher;
      planned.members[1].environment["NCCL_IB_HCA"] = value;
      planned.members[1].environment["UCX_NET_DEVICES"] = value;
      const auto checks = judge_environment(planned.request, planned.members);
      REQUIRE(checks.size() == 1);
      CHECK(checks[0].status == CheckStatus::kFail);
      CHECK(checks[0].nodes == Words{planned.members[1].node->name.str()});
      CHECK(checks[0].text.starts_with("its NCCL_IB_HCA has "));
      CHECK(checks[0].fix.find("--only") != std::string::npos);
    }
  }
  // Your own values count, and a long one of yours is not a node's.
  planned.request.environment = {{"NCCL_IB_HCA", "=mine"}, {"UCX_NET_DEVICES", std::string(20'000, 'a')}};
  CHECK(judge_environment(planned.request, planned.members).empty());
}

TEST_CASE("what a node may report of its names does not fill the command of mpirun on the first node") {
  Planned planned(2);
  planned.request.launcher = Launcher::kMpirun;
  for (const char* const name : {"NCCL_IB_HCA", "NCCL_SOCKET_IFNAME", "UCX_NET_DEVICES", "GLOO_SOCKET_IFNAME"}) {
    planned.members[1].environment[name] = std::string(16 << 10, 'a');
  }
  CHECK(judge_environment(planned.request, planned.members).empty());
  CHECK(decode<StartJob>(encode(planned.jobs()[0].start)));
  planned.members[1].environment["NCCL_IB_HCA"] += "a";
  CHECK(judge_environment(planned.request, planned.members).size() == 1);
}

TEST_CASE("the ranks meet on the fabric only if all nodes share a network there") {
  TwoNodes two;
  for (std::size_t i = 0; i < 2; ++i) {
    FabricPort port;
    port.interface = "enp1s0f1np1";
    port.address = "192.168.100.1" + std::to_string(i + 1);
    port.prefix_length = 24;
    two.cluster.nodes[i].fabric.push_back(port);
  }
  CHECK(two.addresses() == Words{"192.168.100.11", "192.168.100.12"});
  two.cluster.nodes[1].fabric[0].address = "192.168.101.12";
  CHECK(two.addresses() == Words{"10.0.0.11", "10.0.0.12"});
}

TEST_CASE("a node that claims another node's link-local address does not get that node's ranks") {
  TwoNodes two;
  for (std::size_t i = 0; i < 2; ++i) {
    FabricPort port;
    port.interface = "enp1s0f1np1";
    port.link_local = true;
    two.cluster.nodes[i].fabric.push_back(port);
    LinkFacts link;
    link.name = port.interface;
    link.addresses = {"169.254.1." + std::to_string(i + 1) + "/16"};
    two.facts[i].live = true;
    two.facts[i].links = {link};
  }
  CHECK(two.addresses() == Words{"169.254.1.1", "169.254.1.2"});
  two.facts[1].links[0].addresses = {"169.254.1.1/16"};
  CHECK(two.addresses() == Words{"10.0.0.11", "10.0.0.12"});
}

TEST_CASE("a node that claims the link-local address of another node's second half does not get that node's ranks") {
  TwoNodes two;
  for (std::size_t i = 0; i < 2; ++i) {
    for (const std::string half : {"1", "2"}) {
      FabricPort port;
      port.interface = "half" + half;
      port.half = half == "1" ? 0 : 1;
      port.link_local = true;
      two.cluster.nodes[i].fabric.push_back(port);
      two.facts[i].links.push_back(link_with(port.interface, "169.254." + half + "." + std::to_string(i + 1) + "/16"));
    }
    two.facts[i].live = true;
  }
  CHECK(two.addresses() == Words{"169.254.1.1", "169.254.1.2"});
  two.facts[1].links[0].addresses = {"169.254.2.1/16"};
  CHECK(two.addresses() == Words{"10.0.0.11", "10.0.0.12"});
}

TEST_CASE("a node cannot move the ranks from addresses of the file by a claim to have them, too") {
  TwoNodes two;
  for (std::size_t i = 0; i < 2; ++i) {
    FabricPort port;
    port.interface = "half1";
    port.address = "192.168.100.1" + std::to_string(i + 1);
    port.prefix_length = 24;
    two.cluster.nodes[i].fabric.push_back(port);
    two.facts[i].live = true;
    two.facts[i].links = {link_with("half1", port.address + "/24")};
  }
  two.facts[1].links.push_back(link_with("eth9", "192.168.100.11/24"));
  CHECK(two.addresses() == Words{"192.168.100.11", "192.168.100.12"});
}

TEST_CASE("a node's own answer is not its address if another node has that address on an interface") {
  TwoNodes two;
  two.cluster.nodes[1].address = "spark-02.lan";
  two.facts[0].links = {link_with("docker0", "172.17.0.1/16"), link_with("eth1", "fd00:0::7/64")};
  for (const char* claim : {"172.17.0.1", "::ffff:172.17.0.1", "fd00::7"}) {
    INFO(claim);
    two.facts[1].ssh_server_address = claim;
    // It cannot win by having it as well.
    for (const bool has_it : {false, true}) {
      two.facts[1].links.clear();
      if (has_it) two.facts[1].links = {link_with("eth0", std::string(claim) + "/64")};
      CHECK(two.addresses() == Words{"10.0.0.11", "spark-02.lan"});
    }
  }
  two.facts[1].ssh_server_address = "10.0.0.99";
  two.facts[1].links = {link_with("eth0", "10.0.0.99/24")};
  CHECK(two.addresses() == Words{"10.0.0.11", "10.0.0.99"});
  // Another node that claims to have it as well has only the name of the file used.
  two.facts[0].links.push_back(link_with("eth0", "10.0.0.99/24"));
  CHECK(two.addresses() == Words{"10.0.0.11", "spark-02.lan"});
}

TEST_CASE("a node's own answer is its address only where the file has a name, and no other node has that address") {
  TwoNodes two;
  two.facts[1].ssh_server_address = "10.0.0.99";
  CHECK(two.addresses() == Words{"10.0.0.11", "10.0.0.12"});
  two.cluster.nodes[1].address = "spark-02.lan";
  CHECK(two.addresses() == Words{"10.0.0.11", "10.0.0.99"});
  for (const char* claim : {"10.0.0.11", "10.0.0.13:1,10.0.0.14", "127.0.0.1", "", "-x", "fe80::1%$(id)"}) {
    INFO(claim);
    two.facts[1].ssh_server_address = claim;
    CHECK(two.addresses() == Words{"10.0.0.11", "spark-02.lan"});
  }
  // Other spellings of the first node's address, and addresses that each machine has.
  for (const char* claim :
       {"::ffff:10.0.0.11", "::ffff:a00:b", "::10.0.0.11", "10.0.0.11:", "10.0.0.11:22", "a:b", "0.0.0.0",
        "::", "0:0:0:0:0:0:0:1", "::ffff:127.0.0.1", "224.0.0.1", "ff02::1", "fe80::11"}) {
    INFO(claim);
    two.facts[1].ssh_server_address = claim;
    CHECK(two.addresses() == Words{"10.0.0.11", "spark-02.lan"});
  }
  two.cluster.nodes[0].address = "fd00:0::11";
  for (const char* claim : {"fd00::11", "fd00:0::11", "FD00::11", "fd00:0:0:0:0:0:0:11"}) {
    INFO(claim);
    two.facts[1].ssh_server_address = claim;
    CHECK(two.addresses() == Words{"fd00:0::11", "spark-02.lan"});
  }
  two.facts[1].ssh_server_address = "fd00::12";
  CHECK(two.addresses() == Words{"fd00:0::11", "fd00::12"});
  // Two nodes with one claim.
  two.cluster.nodes[0].address = "spark-01.lan";
  for (Facts& facts : two.facts) facts.ssh_server_address = "10.0.0.50";
  CHECK(two.addresses() == Words{"spark-01.lan", "spark-02.lan"});
}

TEST_CASE("a connection's peer is known by each address of its node") {
  TwoNodes two;
  for (const char* const address : {"192.168.100.12", "192.168.101.12", ""}) {
    FabricPort half;
    half.address = address;
    two.cluster.nodes[1].fabric.push_back(half);
  }
  const auto& nodes = two.cluster.nodes;
  CHECK(nodes_by_address({{&nodes[0], "10.0.0.11", {}}, {&nodes[1], "10.9.9.2", {}}}) ==
        std::map<std::string, std::string>{{"10.0.0.11", "spark-01"},
                                           {"10.0.0.12", "spark-02"},
                                           {"10.9.9.2", "spark-02"},
                                           {"192.168.100.12", "spark-02"},
                                           {"192.168.101.12", "spark-02"}});
}

TEST_CASE("a variable is a name, an equals sign and any value") {
  CHECK(*parse_assignment("A=b=c") == std::pair<std::string, std::string>("A", "b=c"));
  CHECK(*parse_assignment("_A1=") == std::pair<std::string, std::string>("_A1", ""));
  for (const std::string text : {"", "A", "=b", "1A=b", "A B=c", "A-B=c"}) {
    INFO(text);
    CHECK_FALSE(parse_assignment(text));
  }
}

}  // namespace sparkplan
