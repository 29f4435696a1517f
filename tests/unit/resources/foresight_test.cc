// Warnings of a plan about changes that will fail.
#include "engine/domain/ahead/provision.h"
#include "engine/resource/registry.h"
#include "resources/package/apt.h"
#include "resources/sysctl/sysctl.h"
#include "resources/systemd_unit/verification.h"
#include "tests/support/catch.h"
#include "tests/support/fake_modprobe.h"
#include "tests/support/fake_node.h"

namespace sparkplan::test {
namespace {

/// "NAME CODE MESSAGE" for each finding of the type.
std::vector<std::string> foreseen(const std::string& type, const ChangesAhead& ahead, const FakeNode& node) {
  std::vector<std::string> found;
  for (const Ineffective& one : builtin_registry().find(type)->foresee(ahead, node)) {
    CHECK_FALSE(one.hint.empty());
    found.push_back(one.name + " " + one.code + " " + one.message);
  }
  return found;
}
using Found = std::vector<std::string>;

ChangesAhead unit(const std::string& text) {
  return {{"systemd_unit", {{"tune.service", Value::map({{"content", text}})}}}};
}

ChangesAhead parameter(const std::string& name, const std::string& value) {
  return {{"sysctl", {{name, Value::map({{"persistent", value}, {"running", value}})}}}};
}

std::optional<std::string> why_refused(const std::string& key, const std::string& wanted, const std::string& running) {
  return sysctl::why_refused(*sysctl::parse_key(key), wanted, running);
}

constexpr const char* kPolicy =
    "nvme-cli:\n  Installed: (none)\n  Candidate: 2.8-1\n  Version table:\n     2.8-1 500\n"
    "        500 http://ports.ubuntu.com noble/universe arm64 Packages\n"
    "mail-transport-agent:\n  Installed: (none)\n  Candidate: (none)\n  Version table:\n"
    "libc6:amd64:\n  Installed: 2.39-0ubuntu8\n  Candidate: 2.39-0ubuntu9\n  Version table:\n"
    "     2.39-0ubuntu9 500\n        500 http://ports.ubuntu.com noble/main amd64 Packages\n"
    " *** 2.39-0ubuntu8 100\n        100 /var/lib/dpkg/status\n";

}  // namespace

TEST_CASE("a package that no source has is foreseen, and so is a version") {
  const auto versions = package::parse_policy(kPolicy);
  CHECK(versions.at("nvme-cli") == std::set<std::string>{"2.8-1"});
  CHECK(versions.at("mail-transport-agent").empty());
  CHECK(versions.at("libc6:amd64") == std::set<std::string>{"2.39-0ubuntu8", "2.39-0ubuntu9"});

  FakeNode node;
  node.add_file("/var/lib/apt/lists/ports_noble_Packages", "");
  node.script("env LC_ALL=C apt-cache policy -- libc6:amd64 mail-transport-agent nvme-cli perftset", {0, kPolicy, ""});
  const Value any = Value::map({{"state", "installed"}});
  const Value old = Value::map({{"state", "installed"}, {"version", "2.31-1"}});
  ChangesAhead ahead{
      {"package", {{"libc6:amd64", old}, {"mail-transport-agent", any}, {"nvme-cli", any}, {"perftset", any}}}};
  const auto found = foreseen("package", ahead, node);
  REQUIRE(found.size() == 3);
  CHECK(found[0].starts_with("libc6:amd64 package.no-source "));
  CHECK(found[0].ends_with("do not have version 2.31-1 of libc6:amd64"));
  CHECK(found[1].ends_with("do not have mail-transport-agent"));
  CHECK(found[2].ends_with("do not have perftset"));

  SECTION("a plan that changes the sources may add it") {
    ahead["file"]["/etc/apt/sources.list.d/cuda.list"] = Value();
    CHECK(foreseen("package", ahead, node).empty());
  }
  SECTION("nothing is known without package lists, without apt, and in an image") {
    node.set_live(false);
    CHECK(foreseen("package", ahead, node).empty());
    node.set_live(true);
    node.erase("/var/lib/apt/lists/ports_noble_Packages");
    CHECK(foreseen("package", ahead, node).empty());
    CHECK(foreseen("package", ahead, FakeNode()).empty());
  }
}

TEST_CASE("a module that the kernel does not have is foreseen, unless a package may bring it") {
  FakeNode node;
  install_fake_modprobe(node);
  add_module(node, "loop");
  load_module(node, "nvme_core");
  const Value wanted = Value::map({{"options", ""}, {"persistent", true}, {"running", true}});
  ChangesAhead ahead{{"kernel_module", {{"loop", wanted}, {"nvme-core", wanted}, {"nvme-tcp", wanted}}}};
  const Found missing{"nvme-tcp kernel_module.not-there the running kernel has no module nvme-tcp"};
  CHECK(foreseen("kernel_module", ahead, node) == missing);
  ahead["package"]["nvme-cli"] = Value();
  CHECK(foreseen("kernel_module", ahead, node) == missing);
  ahead["package"]["linux-modules-extra-6.17.0-1031-nvidia"] = Value();
  CHECK(foreseen("kernel_module", ahead, node).empty());
  CHECK(node.log().empty());
}

TEST_CASE("the programs that a unit needs are those whose absence fails its start") {
  using Programs = std::set<std::string>;
  using systemd_unit::programs_needed;
  CHECK(programs_needed(
            "[Service]\nExecStartPre=-/opt/a\nExecStartPre=!!/opt/b x\nExecStart=@/opt/c d\nExecStop=/opt/e\n") ==
        Programs{"/opt/b", "/opt/c"});
  CHECK(programs_needed("[Service]\nExecStart=/opt/a\nExecStart=\nExecStart=sh -c 'x'\n") == Programs{"sh"});
  CHECK(programs_needed("[Service]\nExecStart=\"/opt/my tool\" -x\n") == Programs{"/opt/my tool"});
  CHECK(programs_needed("[Service]\nExecStart=%h/bin/x\nExecStart=${TOOL}\n").empty());
  CHECK(programs_needed("[Service]\nRootDirectory=/srv/root\nExecStart=/opt/a\n").empty());
  CHECK(programs_needed("[Unit]\nExecStart=/opt/a\n").empty());
}

TEST_CASE("a unit whose program is not there is foreseen, unless the plan may bring the program") {
  FakeNode node;
  node.add_file("/usr/bin/true", "", 0755);
  node.add_file("/opt/notes", "", 0644);
  CHECK(foreseen("systemd_unit", unit("[Service]\nExecStartPre=true\nExecStart=/usr/bin/true\n"), node).empty());
  CHECK(foreseen("systemd_unit", unit("[Service]\nExecStart=/opt/notes\n"), node) ==
        Found{"tune.service systemd_unit.no-program tune.service cannot start: /opt/notes is not executable"});
  CHECK(foreseen("systemd_unit", unit("[Service]\nExecStart=ibtune\n"), node).size() == 1);
  const ChangesAhead missing = unit("[Service]\nExecStart=/opt/tools/tune --all\n");
  CHECK(foreseen("systemd_unit", missing, node) ==
        Found{"tune.service systemd_unit.no-program tune.service cannot start: there is no /opt/tools/tune"});
  for (const auto& [type, name] :
       {std::pair{"file", "/opt/tools/tune"}, {"package", "tools"}, {"mount", "/opt/tools"}}) {
    INFO(type);
    ChangesAhead ahead = missing;
    ahead[type][name] = Value();
    CHECK(foreseen("systemd_unit", ahead, node).empty());
  }
  ChangesAhead other = missing;
  other["file"]["/opt/tools/other"] = Value();
  other["mount"]["/opt/too"] = Value();
  CHECK(foreseen("systemd_unit", other, node).size() == 1);
}

TEST_CASE("an NCCL library that is no file is foreseen, unless the plan may bring it") {
  FakeNode node;
  ChangesAhead ahead{{"nccl_env", {{"LD_LIBRARY_PATH", Value::map({{"prepended", "/opt/nccl/lib"}})}}}};
  CHECK(foreseen("nccl_env", ahead, node) ==
        Found{"LD_LIBRARY_PATH nccl_env.no-library there is no /opt/nccl/lib/libnccl.so.2 on this node"});
  ahead["mount"]["/opt/nccl"] = Value();
  CHECK(foreseen("nccl_env", ahead, node).empty());
  ahead.erase("mount");
  node.add_directory("/opt/nccl/lib/libnccl.so.2");
  CHECK(foreseen("nccl_env", ahead, node) ==
        Found{"LD_LIBRARY_PATH nccl_env.no-library /opt/nccl/lib/libnccl.so.2 is no file on this node"});
  node.erase("/opt/nccl/lib/libnccl.so.2");
  node.add_symlink("/opt/nccl/lib/libnccl.so.2", "libnccl.so.2.30.7");
  CHECK(foreseen("nccl_env", ahead, node).empty());
  CHECK(foreseen("nccl_env", {{"nccl_env", {{"NCCL_DEBUG", Value::map({{"profile", "WARN"}})}}}}, node).empty());
}

TEST_CASE("a value outside the kernel's bounds, or of another form, is known to be refused") {
  CHECK(why_refused("net.core.rmem_max", "4294967296", "212992") == "the kernel accepts at most 2147483647");
  CHECK(why_refused("net.core.wmem_max", "100", "212992") == "the kernel accepts no less than 4096");
  CHECK(why_refused("vm.swappiness", "201", "60") == "the kernel accepts at most 200");
  CHECK(why_refused("vm.swappiness", "99999999999999999999", "60") == "the kernel accepts at most 200");
  CHECK(why_refused("net.ipv4.tcp_rmem", "4096 131072", "4096 131072 6291456") ==
        "the kernel has 3 numbers there, now 4096 131072 6291456");
  CHECK(why_refused("vm.swappiness", "low", "60") == "the kernel has one number there, now 60");
  for (const auto& [key, wanted, running] : {std::array{"net.core.rmem_max", "268435456", "212992"},
                                             {"vm.swappiness", "0", "60"},
                                             {"kernel.shmmax", "18446744073692774399", "1"},
                                             {"kernel.panic", "-1", "0"},
                                             {"net.ipv4.ip_local_reserved_ports", "8000-8010", "8000"},
                                             {"kernel.hostname", "spark", "1"},
                                             {"kernel.watchdog_cpumask", "0-19", "0"},
                                             {"kernel.core_pattern", "core", "1"},
                                             {"net.core.default_qdisc", "fq", "fq_codel"}}) {
    INFO(key);
    CHECK_FALSE(why_refused(key, wanted, running));
  }
}

TEST_CASE("an algorithm without a module is foreseen") {
  FakeNode node;
  install_fake_modprobe(node);
  add_module(node, "sch_fq");
  node.add_kernel_file("/proc/sys/net/core/default_qdisc", {"fq_codel", {}, {}, {}});
  node.add_kernel_file("/proc/sys/net/ipv4/tcp_congestion_control", {"cubic", {}, {}, {}});
  node.add_kernel_file("/proc/sys/net/ipv4/tcp_available_congestion_control", {"reno cubic", {}, {}, {}});
  for (const char* there : {"fq", "pfifo_fast", "mq"}) {
    CHECK(foreseen("sysctl", parameter("net.core.default_qdisc", there), node).empty());
  }
  CHECK(foreseen("sysctl", parameter("net.core.default_qdisc", "cake"), node) ==
        Found{"net.core.default_qdisc sysctl.value-refused net.core.default_qdisc cannot be cake: the kernel has no "
              "module sch_cake"});
  CHECK(foreseen("sysctl", parameter("net.ipv4.tcp_congestion_control", "reno"), node).empty());
  CHECK(foreseen("sysctl", parameter("net.ipv4.tcp_congestion_control", "bbr"), node).size() == 1);
  node.add_kernel_file("/proc/sys/vm/swappiness", {"60", {}, {}, {}});
  CHECK(foreseen("sysctl", parameter("vm.swappiness", "300"), node).size() == 1);
  node.set_live(false);
  CHECK(foreseen("sysctl", parameter("vm.swappiness", "300"), node).empty());
}

}  // namespace sparkplan::test
