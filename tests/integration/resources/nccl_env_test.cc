// NCCL's variables, as a login shell and NCCL itself read them.
#include "engine/core/text.h"
#include "tests/integration/lab/controller.h"
#include "tests/integration/lab/host.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

const std::string kNcclProfile = "/etc/profile.d/sparkplan-nccl.sh";
const std::string kNcclConf = "/etc/nccl.conf";

/// Both hosts on one cable. `apply` below selects only the nccl_env changes.
std::string cluster_of_two(const std::string& nccl) {
  return "fabric: {topology: direct, port: 1}\nnccl: {" + nccl +
         "}\nssh: {user: root}\nnodes:\n"
         "  - {name: spark-01, address: 10.77.0.1, fabric: {hcas: [rocep1s0f1, roceP2p1s0f1]}}\n"
         "  - {name: spark-02, address: 10.77.0.2, fabric: {hcas: [rocep1s0f1, roceP2p1s0f1]}}\n";
}

Run apply(const Controller& controller) {
  auto run = controller.run({"apply", "--yes", "--only", "*/nccl_env"});
  require_exit(run, 0);
  return run;
}

/// The value of a variable in the file, read without sparkplan's code. The first matching line counts.
std::string conf_value(const Host& host, const std::string& name) {
  const auto output = run_program(
      {"awk", "-v", "name=" + name,
       R"(/^#/ || !index($0, "=") {next} substr($0, 1, index($0, "=") - 1) == name {print substr($0, index($0, "=") + 1); exit})",
       host.path(kNcclConf).string()});
  CHECK(output.exit_status == 0);
  return std::string(output.standard_output.substr(0, output.standard_output.find('\n')));
}

TEST_CASE("nccl_env: a login shell and NCCL's own file have the same values") {
  const Host host(1);
  const Host second(2);
  const Controller controller;
  controller.cluster(cluster_of_two("mode: safe, env: {NCCL_DEBUG: WARN, UCX_TLS: \"it's rc\"}"));
  const auto run = apply(controller);
  CHECK(contains(run.out + run.err, "has no RDMA device rocep1s0f1"));
  for (const auto* one : {&host, &second}) {
    for (const std::string name : {"NCCL_IB_HCA", "NCCL_SOCKET_IFNAME", "NCCL_DEBUG"}) {
      CHECK(one->login_variable(name) == conf_value(*one, name));
    }
    CHECK(one->login_variable("NCCL_IB_HCA") == "=rocep1s0f1,roceP2p1s0f1");
    CHECK(one->login_variable("NCCL_SOCKET_IFNAME") == "=enp1s0f1np1");
    CHECK(one->login_variable("NCCL_DEBUG") == "WARN");
    CHECK(one->login_variable("UCX_TLS") == "it's rc");
    CHECK(conf_value(*one, "UCX_TLS").empty());
    CHECK(one->shell("stat -c '%a %U:%G' " + kNcclProfile + " " + kNcclConf) == "644 root:root\n644 root:root");
  }
}

TEST_CASE("nccl_env: a login shell has the variables of frameworks, and NCCL's file has not") {
  const Host host(1);
  const Host second(2);
  const Controller controller;
  controller.cluster(cluster_of_two("mode: safe"));
  apply(controller);
  CHECK(host.login_variable("VLLM_HOST_IP") == "192.168.100.11");
  CHECK(second.login_variable("VLLM_HOST_IP") == "192.168.100.12");
  for (const auto* one : {&host, &second}) {
    CHECK(one->login_variable("GLOO_SOCKET_IFNAME") == "enp1s0f1np1");
    CHECK(one->login_variable("UCX_NET_DEVICES") == "rocep1s0f1:1,roceP2p1s0f1:1");
    CHECK(one->login_variable("OMPI_MCA_btl_tcp_if_include") == "192.168.100.0/24,192.168.101.0/24");
    CHECK_FALSE(contains(one->text(kNcclConf).value_or(""), "GLOO"));
  }
  controller.cluster(cluster_of_two("mode: safe, frameworks: [torch]"));
  require_exit(controller.run({"apply", "--yes", "--yes-prune", "--only", "*/nccl_env"}), 0);
  CHECK(host.login_variable("VLLM_HOST_IP").empty());
  CHECK(host.login_variable("GLOO_SOCKET_IFNAME") == "enp1s0f1np1");
}

TEST_CASE("nccl_env: a second apply changes nothing") {
  const Host host(1);
  const Host second(2);
  const Controller controller;
  controller.cluster(cluster_of_two("mode: safe, library: /opt/nccl/lib/libnccl.so.2"));
  apply(controller);
  const auto profile = host.identity(kNcclProfile);
  const auto conf = host.identity(kNcclConf);
  apply(controller);
  CHECK(host.identity(kNcclProfile) == profile);
  CHECK(host.identity(kNcclConf) == conf);
  require_exit(controller.run({"plan", "--detailed-exitcode", "--only", "*/nccl_env"}), 0);
}

TEST_CASE("nccl_env: foreign lines in nccl.conf stay unchanged byte for byte, also after a removal") {
  const Host host(1);
  const Host second(2);
  const Controller controller;
  const std::string theirs = "# tuned in May\nNCCL_CROSS_NIC=1 \n\nNCCL_IB_TC=106";
  host.write(kNcclConf, theirs, 0640);
  controller.cluster(cluster_of_two("mode: safe"));
  apply(controller);
  REQUIRE(host.text(kNcclConf)->starts_with(theirs));
  CHECK(conf_value(host, "NCCL_CROSS_NIC") == "1 ");
  CHECK(conf_value(host, "NCCL_IB_TC") == "106");
  CHECK(conf_value(host, "NCCL_IB_HCA") == "=rocep1s0f1,roceP2p1s0f1");
  CHECK(host.shell("stat -c %a " + kNcclConf) == "640");

  host.append(kNcclConf, "NCCL_ALGO=Ring\n");
  controller.cluster(cluster_of_two("mode: socket"));
  apply(controller);
  CHECK(conf_value(host, "NCCL_NET") == "Socket");
  CHECK(conf_value(host, "NCCL_IB_HCA").empty());
  CHECK(conf_value(host, "NCCL_ALGO") == "Ring");

  controller.cluster(nodes_of_lab(2));
  // With the variables of frameworks, that is most of what sparkplan manages there.
  require_exit(controller.run({"apply", "--yes", "--yes-prune"}), 0);
  CHECK(host.text(kNcclConf) == theirs + "\nNCCL_ALGO=Ring\n");
  CHECK_FALSE(second.has(kNcclConf));
  CHECK_FALSE(host.has(kNcclProfile));
  CHECK(host.login_variable("NCCL_IB_HCA").empty());
}

TEST_CASE("nccl_env: drift in either file is found in that file and repaired") {
  const Host host(1);
  const Host second(2);
  const Controller controller;
  controller.cluster(cluster_of_two("mode: safe"));
  apply(controller);
  host.shell("sed -i 's/NCCL_IB_HCA=.*/NCCL_IB_HCA=mlx5_0/' " + kNcclConf);
  const auto drift = controller.run({"drift", "--json", "--only", "*/nccl_env"});
  require_exit(drift, 2);
  const auto change = change_in(drift.report(), "spark-01/nccl_env/NCCL_IB_HCA");
  REQUIRE_FALSE(change.is_null());
  CHECK(change.at("origin") == "drift");
  CHECK(change.dump().find("\"conf\"") != std::string::npos);
  CHECK(change.dump().find("\"profile\"") == std::string::npos);
  const auto profile = host.identity(kNcclProfile);
  apply(controller);
  CHECK(conf_value(host, "NCCL_IB_HCA") == "=rocep1s0f1,roceP2p1s0f1");
  CHECK(host.identity(kNcclProfile) == profile);
}

TEST_CASE("nccl_env: the library's folder is first in the search path of a login, and only once") {
  const Host host(1);
  const Host second(2);
  const Controller controller;
  controller.cluster(cluster_of_two("mode: auto, library: \"/opt/my nccl/lib/libnccl.so.2\""));
  apply(controller);
  CHECK(host.login_variable("LD_LIBRARY_PATH") == "/opt/my nccl/lib");
  CHECK_FALSE(host.has(kNcclConf));
  CHECK(host.shell("LD_LIBRARY_PATH=/usr/lib/cuda bash -lc 'bash -lc \"printenv LD_LIBRARY_PATH\"'") ==
        "/opt/my nccl/lib:/usr/lib/cuda");
}

TEST_CASE("nccl_env: a line above the block is reported as foreign, because NCCL keeps the first value") {
  const Host host(1);
  const Host second(2);
  const Controller controller;
  host.write(kNcclConf, "NCCL_DEBUG=TRACE\n");
  controller.cluster(cluster_of_two("mode: auto, env: {NCCL_DEBUG: WARN}"));
  const auto run = apply(controller);
  CHECK(contains(run.out + run.err, "/etc/nccl.conf:1"));
  CHECK(conf_value(host, "NCCL_DEBUG") == "TRACE");
  CHECK(conf_value(second, "NCCL_DEBUG") == "WARN");
}

}  // namespace
}  // namespace sparkplan::test
