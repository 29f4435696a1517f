// Each format, checked by its own tool if that tool is installed.
#include "engine/export/export.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "engine/core/json.h"
#include "engine/load/load.h"
#include "tests/support/catch.h"
#include "tests/support/page_rules.h"
#include "tests/unit/export/exported.h"

namespace sparkplan {
namespace {

using test::exported;
using test::exported_with_remarks;
using test::File;
using test::has_line;
using test::kPair;
using test::said_by;

/// A function in place of env(1), so that it can start another function.
const std::string kEnv =
    "env() { while case \"$1\" in *=*) ;; *) false ;; esac; do export \"$1\"; shift; done; \"$@\"; }\n";

}  // namespace

TEST_CASE("export: a value with a line break cannot add a setting to another program's file") {
  const std::string file =
      "version: 1\nname: lab\nssh: {identity: \"/k\\nProxyCommand=/tmp/x\"}\nnodes: [{name: n1, address: h}]\n";
  const auto loaded = load_cluster(file, "cluster.yaml", builtin_registry());
  CHECK_FALSE(loaded.cluster);
  CHECK(has_errors(loaded.diagnostics));
}

TEST_CASE("export: an invisible character in a setting is refused, or escaped in JSON") {
  const std::string file =
      "version: 1\nname: lab\nnodes: [{name: n1, address: h}, {name: n2, address: i, ssh: {identity: "
      "\"/k\\u200b\"}}]\n";
  const auto loaded = load_cluster(file, "cluster.yaml", builtin_registry());
  REQUIRE(loaded.cluster);
  const auto config = export_cluster(*loaded.cluster, "ssh-config", builtin_registry());
  REQUIRE_FALSE(config);
  CHECK(config.error().code == ErrorCode::kInvalidInput);
  CHECK(config.error().message.find("a setting of n2 contains") != std::string::npos);
  const auto inventory = export_cluster(*loaded.cluster, "ansible", builtin_registry());
  REQUIRE(inventory);
  CHECK(inventory->text.find("\"/k\\u200b\"") != std::string::npos);
}

TEST_CASE("export ssh-config: ssh reads address, user, port, key and jump host") {
  const File file(exported(kPair, "ssh-config"));
  if (const auto first = said_by({"ssh", "-F", file.path(), "-G", "spark-01"})) {
    CHECK(has_line(*first, "hostname 10.0.0.11"));
    CHECK(has_line(*first, "user nvidia"));
    CHECK(has_line(*first, "port 22"));
    CHECK(has_line(*first, "identityfile ~/.ssh/my key"));
    CHECK(has_line(*first, "proxyjump gate@bastion:2222"));
    CHECK(has_line(*first, "stricthostkeychecking true"));
  }
  if (const auto second = said_by({"ssh", "-F", file.path(), "-G", "spark-02"})) {
    CHECK(has_line(*second, "hostname fd00::12"));
    CHECK(has_line(*second, "port 2200"));
    CHECK(has_line(*second, "stricthostkeychecking accept-new"));
  }
}

TEST_CASE("export ansible: ansible-inventory lists the hosts in a group of the cluster's name") {
  const File file(exported(kPair, "ansible"));
  const auto said = said_by({"ansible-inventory", "-i", file.path(), "--list"});
  if (!said) return;
  const auto inventory = parse_plain_json(*said);
  REQUIRE(inventory);
  const Value* group = inventory->find("my_lab");
  REQUIRE(group != nullptr);
  CHECK(canonical_json(*group->find("hosts")) == R"(["spark-01","spark-02"])");
  const Value* second = inventory->find("_meta")->find("hostvars")->find("spark-02");
  CHECK(second->text_or("ansible_host", "") == "fd00::12");
  CHECK(second->integer_or("ansible_port", 0) == 2200);
  CHECK(second->text_or("ansible_user", "") == "nvidia");
  CHECK(second->text_or("ansible_ssh_private_key_file", "") == "~/.ssh/my key");
}

TEST_CASE("export prometheus: targets for file discovery, as JSON") {
  const auto targets = parse_plain_json(exported(kPair, "prometheus"));
  REQUIRE(targets);
  REQUIRE(targets->list_items()->size() == 2);
  const Value& second = (*targets->list_items())[1];
  CHECK(canonical_json(second) == R"({"labels":{"cluster":"my-lab","node":"spark-02"},"targets":["[fd00::12]:9100"]})");
}

TEST_CASE("export env: a shell that reads the file has the node's variables") {
  const std::string text = exported(kPair, "env");
  const File file("uname() { echo spark-02; }\n" + text +
                  "printf '%s\\n' \"$MASTER_ADDR $WORLD_SIZE $NODE_RANK $NCCL_DEBUG $NCCL_IB_HCA\"\n");
  CHECK(said_by({"sh", file.path()}) == "192.168.100.11 2 1 WARN =rocep1s0f1,roceP2p1s0f1\n");
  const File with_domain("uname() { echo spark-01.lab.example; }\n" + text + "echo $NODE_RANK\n");
  CHECK(said_by({"sh", with_domain.path()}) == "0\n");
}

TEST_CASE("export env: a host without an entry in cluster.yaml gets a message, and --only sets its variables") {
  const File stranger("uname() { echo spark-2f1c; }\nexec 2>&1\n" + exported(kPair, "env") +
                      "printf '%s\\n' \"$WORLD_SIZE ${NCCL_DEBUG-none}\"\n");
  CHECK(
      said_by({"sh", stranger.path()}) ==
      "cluster.yaml has no node named spark-2f1c: no NCCL variables are set. Use: sparkplan export --format env --only "
      "NODE\n2 none\n");
  const File own("uname() { echo spark-2f1c; }\n" + exported(kPair, "env", "spark-02") +
                 "printf '%s\\n' \"$WORLD_SIZE $NODE_RANK $NCCL_IB_HCA\"\n");
  CHECK(said_by({"sh", own.path()}) == "2 1 =rocep1s0f1,roceP2p1s0f1\n");
}

TEST_CASE("export env and docker: names that only the nodes know are reported") {
  const std::string unknown = std::string(kPair).replace(std::string(kPair).find("profile: dgx-spark\n"), 19, "");
  for (const char* const format : {"env", "docker"}) {
    INFO(format);
    CHECK(exported_with_remarks(kPair, format).remarks.empty());
    const auto exported = exported_with_remarks(unknown, format);
    REQUIRE(exported.remarks.size() == 1);
    CHECK(exported.remarks[0].starts_with("only the nodes know the HCA or interface names of spark-[01-02]"));
  }
}

TEST_CASE("export torchrun: one command per node, with its own variables and the first node as its master") {
  const File file(kEnv + "torchrun() { echo \"$VLLM_HOST_IP $GLOO_SOCKET_IFNAME $NCCL_IB_HCA ${RANK-none} $*\"; }\n" +
                  exported(kPair, "torchrun"));
  const std::string of_all = " enp1s0f1np1 =rocep1s0f1,roceP2p1s0f1 none --nnodes=2 --nproc-per-node=1 --node-rank=";
  const std::string to_first = " --master-addr=192.168.100.11 --master-port=29500 train.py\n";
  CHECK(said_by({"sh", file.path(), "train.py"}) ==
        "192.168.100.11" + of_all + "0" + to_first + "192.168.100.12" + of_all + "1" + to_first);
}

TEST_CASE("export mpirun: one context per node with its own variables, and networks for Open MPI itself") {
  const File file("mpirun() { for word; do echo \"$word\"; done; }\n" + exported(kPair, "mpirun"));
  const auto said = said_by({"sh", file.path(), "/opt/all_reduce", "-b 8"});
  REQUIRE(said);
  const auto next = said->find("\n:\n");
  REQUIRE(next != std::string::npos);
  const std::string first = said->substr(0, next + 1);
  const std::string second = said->substr(next + 3);
  CHECK(
      first.starts_with("--bind-to\nnone\n--mca\nbtl_tcp_if_include\n192.168.100.0/24,192.168.101.0/24\n"
                        "--mca\noob_tcp_if_include\n192.168.100.0/24\n-np\n1\n--host\n192.168.100.11:1\n-x\n"));
  CHECK(second.starts_with("-np\n1\n--host\n192.168.100.12:1\n-x\n"));
  for (const std::string& context : {first, second}) {
    CHECK(context.ends_with("\n/opt/all_reduce\n-b 8\n"));
    CHECK(has_line(context, "NCCL_IB_HCA==rocep1s0f1,roceP2p1s0f1"));
    CHECK(has_line(context, "GLOO_SOCKET_IFNAME=enp1s0f1np1"));
    CHECK(context.find("OMPI_MCA_") == std::string::npos);
  }
  CHECK(has_line(first, "NODE_RANK=0"));
  CHECK(has_line(second, "NODE_RANK=1"));
}

TEST_CASE("mpirun's own options are those that all selected nodes have, with one value") {
  std::string text = kPair;
  const std::string first = "address: 10.0.0.11";
  text.replace(text.find(first), first.size(), first + ", nccl: {env: {OMPI_MCA_plm_rsh_agent: sh -c id}}");
  const auto of_first = exported_with_remarks(text, "mpirun");
  CHECK(of_first.text.find("plm_rsh_agent") == std::string::npos);
  CHECK(of_first.text.find("--mca oob_tcp_if_include '192.168.100.0/24'") != std::string::npos);
  REQUIRE(of_first.remarks.size() == 1);
  CHECK(of_first.remarks[0].starts_with("the nodes differ in OMPI_MCA_plm_rsh_agent: "));
  // The same parameter with another value.
  const std::string second = "{port: 2200, host_keys: accept-new}";
  text.replace(text.find(second), second.size(), second + ", nccl: {env: {OMPI_MCA_plm_rsh_agent: ssh}}");
  CHECK(exported(text, "mpirun").find("plm_rsh_agent") == std::string::npos);
  std::string of_all = kPair;
  of_all.replace(of_all.find("NCCL_DEBUG: WARN"), 16, "OMPI_MCA_plm_rsh_agent: ssh");
  const auto shared = exported_with_remarks(of_all, "mpirun");
  CHECK(shared.text.find("--mca plm_rsh_agent 'ssh'") != std::string::npos);
  CHECK(shared.remarks.empty());
}

TEST_CASE("export vllm: the first node serves, the others are headless, each with its own address") {
  const std::string print = "vllm() { echo \"$VLLM_HOST_IP $GLOO_SOCKET_IFNAME $*\"; }\n";
  const File file(print + kEnv + exported(kPair, "vllm"));
  CHECK(said_by({"sh", file.path(), "some/model", "--tensor-parallel-size", "2"}) ==
        "192.168.100.11 enp1s0f1np1 serve some/model --tensor-parallel-size 2 --nnodes 2 --node-rank 0 --master-addr "
        "192.168.100.11 --master-port 29501\n"
        "192.168.100.12 enp1s0f1np1 serve some/model --tensor-parallel-size 2 --nnodes 2 --node-rank 1 --master-addr "
        "192.168.100.11 --master-port 29501 --headless\n");
  CHECK(exported(kPair, "vllm", "spark-02").find("--node-rank 0") == std::string::npos);
}

TEST_CASE("export ray: the head comes first, and vLLM keeps the variables that are a node's own") {
  const File home("");
  const std::string config = std::filesystem::path(home.path()).parent_path() / "vllm";
  const File file("export VLLM_CONFIG_ROOT='" + config + "'\nray() { echo \"$RAY_NODE_IP_ADDRESS $*\"; }\n" + kEnv +
                  exported(kPair, "ray"));
  CHECK(said_by({"sh", file.path()}) ==
        "192.168.100.11 start --block --node-ip-address 192.168.100.11 --head --port 6379\n"
        "192.168.100.12 start --block --node-ip-address 192.168.100.12 --address 192.168.100.11:6379\n");
  std::ifstream list(config + "/ray_non_carry_over_env_vars.json");
  const std::string text{std::istreambuf_iterator<char>(list), {}};
  const auto names = parse_plain_json(text);
  REQUIRE(names);
  CHECK(canonical_json(*names) ==
        R"(["GLOO_SOCKET_IFNAME","NCCL_IB_HCA","NCCL_SOCKET_IFNAME","RAY_NODE_IP_ADDRESS",)"
        R"("RAY_OVERRIDE_NODE_IP_ADDRESS","SGLANG_HOST_IP","TP_SOCKET_IFNAME","UCX_NET_DEVICES","VLLM_HOST_IP"])");
}

TEST_CASE("export hosts: management addresses by the nodes' names, and the fabric's names as on the nodes") {
  CHECK(exported(kPair, "hosts") ==
        "10.0.0.11 spark-01\nfd00::12 spark-02\n192.168.100.11 spark-01-fabric\n192.168.100.12 spark-02-fabric\n");
  CHECK(exported(kPair, "hosts", "spark-02") == "fd00::12 spark-02\n192.168.100.12 spark-02-fabric\n");
  std::string by_name = kPair;
  by_name.replace(by_name.find("10.0.0.11"), 9, "spark.lan");
  const auto exported = exported_with_remarks(by_name, "hosts");
  CHECK(exported.text.find("spark.lan") == std::string::npos);
  REQUIRE(exported.remarks.size() == 1);
  CHECK(exported.remarks[0].starts_with("spark-01 is reached by a name, spark.lan"));
}

TEST_CASE("export hosts: a node's name gets one line, also if another node's fabric has that name") {
  const std::string twice =
      "version: 1\nname: lab\nprofile: dgx-spark\nfabric: {topology: direct}\nnodes:\n"
      "  - {name: spark-01, address: 10.0.0.11}\n";
  for (const char* const name : {"spark-01-fabric", "Spark-01-Fabric"}) {
    INFO(name);
    const auto exported =
        exported_with_remarks(twice + "  - {name: " + name + ", id: 2, address: 10.0.0.12}\n", "hosts");
    CHECK(exported.text ==
          "10.0.0.11 spark-01\n10.0.0.12 " + std::string(name) + "\n192.168.100.12 " + name + "-fabric\n");
    REQUIRE(exported.remarks.size() == 1);
    CHECK(exported.remarks[0] ==
          "there is no line with the fabric address 192.168.100.11: its name spark-01-fabric is the name of a node");
  }
}

TEST_CASE("export ssh-config: an alias of ~/.ssh/config becomes its own address, login and keys") {
  const auto loaded = load_cluster("version: 1\nname: lab\nnodes: [{name: n1, address: desk-spark}]\n", "cluster.yaml",
                                   builtin_registry());
  REQUIRE(loaded.cluster);
  SshTarget door{"10.9.8.1", "sam", 22, {}, false, {}, "", {}};
  door.name = "door";
  const SshTargets targets{
      {"n1", {"10.9.8.7", "sam", 2222, {"~/.ssh/desk", "/k/other"}, true, {door}, "desk", {"/k/hosts a"}}}};
  const auto config = export_cluster(*loaded.cluster, "ssh-config", builtin_registry(), {}, targets);
  REQUIRE(config);
  CHECK(config->text ==
        "Host n1\n  HostName 10.9.8.7\n  User sam\n  Port 2222\n  IdentityFile ~/.ssh/desk\n  IdentityFile /k/other\n"
        "  IdentitiesOnly yes\n  HostKeyAlias desk\n  UserKnownHostsFile \"/k/hosts a\"\n  ProxyJump door\n"
        "  StrictHostKeyChecking yes\n"
        "Host door\n  HostName 10.9.8.1\n  User sam\n  Port 22\n  StrictHostKeyChecking yes\n");
  const File file(config->text);
  if (const auto said = said_by({"ssh", "-F", file.path(), "-G", "n1"})) CHECK(has_line(*said, "hostname 10.9.8.7"));
  // Other tools do not read ~/.ssh/config either.
  CHECK(export_cluster(*loaded.cluster, "hostfile", builtin_registry(), {}, targets)->text == "10.9.8.7 slots=1\n");
}

TEST_CASE("export hostfile: each node has its fabric address and one GPU") {
  CHECK(exported(kPair, "hostfile") == "192.168.100.11 slots=1\n192.168.100.12 slots=1\n");
}

TEST_CASE("export topology: each cable has both ends, for each half") {
  CHECK(exported(kPair, "topology") ==
        "my-lab: direct, 2 nodes\n"
        "\n"
        "spark-01 ======== spark-02\n"
        "  port 1 half A  192.168.100.11/24    ----    192.168.100.12/24  port 1 half A\n"
        "  port 1 half B  192.168.101.11/24    ----    192.168.101.12/24  port 1 half B\n");
  const std::string ring = exported(
      "version: 1\nname: r\nfabric: {topology: ring}\nnodes:\n  - {name: a1, address: h1}\n  - {name: a2, address: "
      "h2}\n  - {name: a3, address: h3}\n",
      "topology");
  CHECK(ring.find("a3 ======== a1\n"
                  "  port 0 half A  192.168.104.13/24    ----    192.168.104.11/24  port 1 half A\n") !=
        std::string::npos);
  CHECK(exported("version: 1\nname: s\nfabric: {topology: switch, port: 0}\nnodes:\n  - {name: a1, address: h1}\n"
                 "  - {name: a2, address: h2}\n",
                 "topology")
            .find("a2               port 0 half A  192.168.100.12/24    ---- switch\n") != std::string::npos);
}

TEST_CASE("export: a cluster of directory trees has no hosts, and an unknown format is refused") {
  const auto loaded = load_cluster("version: 1\nname: i\nnodes: [{name: a, transport: local, root: /tmp}]\n",
                                   "cluster.yaml", builtin_registry());
  REQUIRE(loaded.cluster);
  CHECK(export_cluster(*loaded.cluster, "env", builtin_registry()).error().code == ErrorCode::kInvalidInput);
  CHECK(export_cluster(*loaded.cluster, "topology", builtin_registry()));
  for (const std::string& format : export_formats()) CHECK_FALSE(format.empty());
  const auto pair = load_cluster(kPair, "cluster.yaml", builtin_registry());
  CHECK(export_cluster(*pair.cluster, "xml", builtin_registry()).error().code == ErrorCode::kInvalidInput);
}

TEST_CASE("export: a node in maintenance has no rank, as in `run`, and can still be reached") {
  const std::string file =
      "version: 1\nname: lab\nprofile: dgx-spark\nssh: {user: nvidia}\nfabric: {topology: switch}\nnodes:\n"
      "  - {name: spark-01, address: 10.0.0.11, maintenance: true}\n"
      "  - {name: spark-02, address: 10.0.0.12}\n  - {name: spark-03, address: 10.0.0.13}\n";
  for (const std::string format :
       {"hostfile", "torchrun", "env", "mpirun", "vllm", "ray", "docker", "compose", "slurm"}) {
    INFO(format);
    const auto job = exported_with_remarks(file, format);
    CHECK(job.text.find("spark-01") == std::string::npos);
    CHECK(job.text.find("192.168.100.11") == std::string::npos);
    CHECK(std::ranges::find(job.remarks, "left out, as in `run`: spark-01 in maintenance") != job.remarks.end());
  }
  CHECK(exported(file, "torchrun").find("--nnodes=2") != std::string::npos);
  for (const std::string format : {"ssh-config", "ansible", "prometheus", "hosts"}) {
    INFO(format);
    CHECK(exported(file, format).find("spark-01") != std::string::npos);
  }
  const auto loaded = load_cluster(file, "cluster.yaml", builtin_registry());
  const auto none =
      export_cluster(*loaded.cluster, "env", builtin_registry(), [](const NodeSpec& node) { return node.maintenance; });
  REQUIRE_FALSE(none);
  CHECK(none.error().message == "all selected hosts are in maintenance: no host is left for a job");
}

TEST_CASE("export: svg is the drawing of the declared cables, with the addresses of their ends") {
  const std::string svg = exported(kPair, "svg");
  CHECK(test::complaints_about_markup(svg) == "");
  CHECK(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
  CHECK(svg.find("my-lab: direct, 2 nodes") != std::string::npos);
  CHECK(test::occurrences(svg, "class=\"wire wd\"") == 2);
  CHECK(svg.find("spark-01 port 1 half B (192.168.101.11/24) to spark-02 port 1 half B") != std::string::npos);
  CHECK(svg.find("<script") == std::string::npos);
}

}  // namespace sparkplan
