// The formats for containers: docker and compose.
#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.h"
#include "tests/unit/export/exported.h"

namespace sparkplan {

using test::exported;
using test::File;
using test::has_line;
using test::kPair;
using test::said_by;

TEST_CASE("export docker: the options reach a container word for word") {
  const std::string with_storage = std::string(kPair) +
                                   "storage: [{target: /srv/models, source: {nfs: {server: 10.0.0.9, path: /models}}, "
                                   "options: [ro]}]\n";
  const File file("docker() { for word; do echo \"$word\"; done; }\n" + exported(with_storage, "docker"));
  const auto said = said_by({"sh", file.path(), "my image"});
  REQUIRE(said);
  for (const char* const word : {"run",
                                 "--network",
                                 "host",
                                 "/dev/infiniband",
                                 "memlock=-1",
                                 "NCCL_DEBUG=WARN",
                                 "NCCL_IB_HCA==rocep1s0f1,roceP2p1s0f1",
                                 "NODE_RANK=1",
                                 "WORLD_SIZE=2",
                                 "--init",
                                 "stack=67108864",
                                 "nofile=1048576",
                                 "core=0",
                                 "--oom-score-adj",
                                 "VLLM_HOST_IP=192.168.100.11",
                                 "VLLM_HOST_IP=192.168.100.12",
                                 "GLOO_SOCKET_IFNAME=enp1s0f1np1",
                                 "UCX_NET_DEVICES=rocep1s0f1:1,roceP2p1s0f1:1",
                                 "/srv/models:/srv/models:ro",
                                 "/etc/nccl.conf:/etc/nccl.conf:ro",
                                 "my image"}) {
    INFO(word);
    CHECK(has_line(*said, word));
  }
}

TEST_CASE(
    "export docker and compose: a container has the RDMA devices unless its NCCL uses sockets, and always the GPUs") {
  const auto yaml_with = [](const std::string& sections) {
    return "version: 1\nname: lab\n" + sections + "nodes: [{name: a1, address: h1}, {name: a2, address: h2}]\n";
  };
  const std::string fabric = "fabric: {topology: direct}\n";
  const std::vector<std::pair<std::string, bool>> cases{{fabric + "nccl: {}\n", true},
                                                        {fabric + "nccl: {mode: dmabuf}\n", true},
                                                        {"nccl: {mode: auto}\n", true},
                                                        {fabric + "nccl: {mode: socket}\n", false},
                                                        {fabric, true},
                                                        {"", false}};
  for (const auto& [sections, rdma] : cases) {
    INFO(sections);
    const std::string docker = exported(yaml_with(sections), "docker");
    const std::string compose = exported(yaml_with(sections), "compose");
    CHECK((docker.find("--device /dev/infiniband ") != std::string::npos) == rdma);
    CHECK(has_line(compose, "    devices: [\"/dev/infiniband:/dev/infiniband\"]") == rdma);
    CHECK(docker.find("--gpus all ") != std::string::npos);
    CHECK(compose.find("capabilities: [gpu]") != std::string::npos);
  }
}

TEST_CASE("export compose: one service per node, which docker compose accepts") {
  const std::string with_storage =
      std::string(kPair) +
      "storage: [{target: /srv/mod$els, source: {nfs: {server: 10.0.0.9, path: /m}}, options: [ro]}]\n";
  const std::string text = exported(with_storage, "compose");
  // A project's name has no "-" here: Compose takes only lower-case letters, digits, "-" and "_".
  CHECK(has_line(text, "name: \"my_lab\""));
  CHECK(has_line(text, "  \"spark-01\":"));
  CHECK(has_line(text, "      VLLM_HOST_IP: \"192.168.100.11\""));
  CHECK(has_line(text, "      VLLM_HOST_IP: \"192.168.100.12\""));
  CHECK(has_line(text, "      NODE_RANK: \"1\""));
  CHECK(has_line(text, "      - {type: bind, source: \"/srv/mod$$els\", target: \"/srv/mod$$els\", read_only: true}"));
  for (const char* const setting :
       {"    network_mode: host", "    ipc: host", "    init: true", "    cap_add: [IPC_LOCK]",
        "    ulimits: {memlock: -1, stack: 67108864, nofile: 1048576, core: 0}"}) {
    INFO(setting);
    CHECK(has_line(text, setting));
  }
  CHECK(text.find("restart:") == std::string::npos);
  const File file(text);
  static_cast<void>(said_by({"docker-compose", "-f", file.path(), "config", "--no-interpolate", "-q"}));
}

}  // namespace sparkplan
