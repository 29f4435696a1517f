// Each format, checked by its own tool if that tool is installed.
#include "engine/export/export.h"

#include <stdlib.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "engine/core/json.h"
#include "engine/load/load.h"
#include "engine/process/child_process.h"
#include "tests/support/catch.h"

namespace sparkplan {
namespace {

constexpr const char* kPair = R"(
version: 1
name: my-lab
profile: dgx-spark
ssh: {user: nvidia, identity: "~/.ssh/my key", jump: gate@bastion:2222}
fabric: {topology: direct}
nccl: {env: {NCCL_DEBUG: WARN}}
nodes:
  - {name: spark-01, address: 10.0.0.11}
  - {name: spark-02, address: "fd00::12", ssh: {port: 2200, host_keys: accept-new}}
)";

ExportedText exported_with_remarks(const std::string& yaml, const std::string& format, const std::string& only = "") {
  const auto loaded = load_cluster(yaml, "cluster.yaml", builtin_registry());
  for (const auto& diagnostic : loaded.diagnostics) UNSCOPED_INFO(diagnostic.message);
  REQUIRE(loaded.cluster);
  auto text = export_cluster(*loaded.cluster, format, builtin_registry(),
                             [&](const NodeSpec& node) { return only.empty() || node.name.str() == only; });
  REQUIRE(text);
  return *std::move(text);
}

std::string exported(const std::string& yaml, const std::string& format, const std::string& only = "") {
  return exported_with_remarks(yaml, format, only).text;
}

class File {
 public:
  explicit File(const std::string& text) {
    std::array<char, 32> name{"/tmp/spark_export_XXXXXX"};
    REQUIRE(mkdtemp(name.data()) != nullptr);
    directory_ = name.data();
    std::ofstream(path(), std::ios::binary) << text;
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { std::filesystem::remove_all(directory_); }
  std::string path() const { return directory_ / "exported.yaml"; }

 private:
  std::filesystem::path directory_;
};

/// The program's output; nothing, and a warning, if the program is not installed.
std::optional<std::string> said_by(const std::vector<std::string>& argv) {
  const auto output = run_and_capture(argv);
  if (!output && output.error().code == ErrorCode::kNotFound) {
    WARN("not judged: there is no " + argv[0]);
    return std::nullopt;
  }
  REQUIRE(output);
  INFO(output->standard_error);
  REQUIRE(output->exit_status == 0);
  return output->standard_output;
}

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

}  // namespace

TEST_CASE("export: a value with a line break cannot add a setting to another program's file") {
  const std::string file =
      "version: 1\nname: lab\nssh: {identity: \"/k\\nProxyCommand=/tmp/x\"}\nnodes: [{name: n1, address: h}]\n";
  const auto loaded = load_cluster(file, "cluster.yaml", builtin_registry());
  CHECK_FALSE(loaded.cluster);
  CHECK(has_errors(loaded.diagnostics));
}

TEST_CASE("export: an invisible character in a setting is refused, or escaped in JSON") {
  const std::string file = "version: 1\nname: lab\nssh: {identity: \"/k\\u200b\"}\nnodes: [{name: n1, address: h}]\n";
  const auto loaded = load_cluster(file, "cluster.yaml", builtin_registry());
  REQUIRE(loaded.cluster);
  const auto config = export_cluster(*loaded.cluster, "ssh-config", builtin_registry());
  REQUIRE_FALSE(config);
  CHECK(config.error().code == ErrorCode::kInvalidInput);
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

TEST_CASE("export env: a host whose name is in no cluster.yaml is told so, and --only sets its variables") {
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

TEST_CASE("export docker: the options reach a container word for word") {
  const std::string with_storage = std::string(kPair) +
                                   "storage: [{target: /srv/models, source: {nfs: {server: 10.0.0.9, path: /models}}, "
                                   "options: [ro]}]\n";
  const File file("docker() { for word; do echo \"$word\"; done; }\n" + exported(with_storage, "docker"));
  const auto said = said_by({"sh", file.path(), "my image"});
  REQUIRE(said);
  for (const char* const word :
       {"run", "--network", "host", "/dev/infiniband", "memlock=-1", "NCCL_DEBUG=WARN",
        "NCCL_IB_HCA==rocep1s0f1,roceP2p1s0f1", "NODE_RANK=1", "WORLD_SIZE=2", "--init", "stack=67108864",
        "/srv/models:/srv/models:ro", "/etc/nccl.conf:/etc/nccl.conf:ro", "my image"}) {
    INFO(word);
    CHECK(has_line(*said, word));
  }
}

TEST_CASE("export torchrun: one command per node, each with the first node as its master") {
  const File file("torchrun() { echo \"$*\"; }\n" + exported(kPair, "torchrun"));
  const std::string of_all = "--nnodes=2 --nproc-per-node=1 --node-rank=";
  const std::string to_first = " --master-addr=192.168.100.11 --master-port=29500 train.py\n";
  CHECK(said_by({"sh", file.path(), "train.py"}) == of_all + "0" + to_first + of_all + "1" + to_first);
}

TEST_CASE("export hostfile and slurm: each node has its fabric address and one GPU") {
  CHECK(exported(kPair, "hostfile") == "192.168.100.11 slots=1\n192.168.100.12 slots=1\n");
  CHECK(exported(kPair, "slurm") ==
        "ClusterName=my_lab\n"
        "SlurmctldHost=spark-01(192.168.100.11)\n"
        "GresTypes=gpu\n"
        "NodeName=spark-01 NodeHostname=spark-01 NodeAddr=192.168.100.11 CPUs=20 Gres=gpu:1 State=UNKNOWN\n"
        "NodeName=spark-02 NodeHostname=spark-02 NodeAddr=192.168.100.12 CPUs=20 Gres=gpu:1 State=UNKNOWN\n"
        "PartitionName=my_lab Nodes=spark-01,spark-02 Default=YES State=UP\n"
        "# /etc/slurm/gres.conf of each node:\n"
        "# Name=gpu File=/dev/nvidia0\n");
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

}  // namespace sparkplan
