// How exports name the jump hosts of a node, and the keys for them.
#include <string>
#include <vector>

#include "engine/export/export.h"
#include "engine/load/load.h"
#include "tests/support/catch.h"

namespace sparkplan {
namespace {

bool has_whole_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

/// A jump host at 10.9.8.1, as ~/.ssh/config names it.
SshTarget jump_host(const std::string& name, const std::vector<std::string>& identities) {
  SshTarget jump;
  jump.address = "10.9.8.1";
  jump.user = "sam";
  jump.identities = identities;
  jump.name = name;
  return jump;
}

/// Two nodes at 10.9.8.1 and 10.9.8.2; the second is reached through `jumps`.
ExportedText exported_behind(const std::vector<SshTarget>& jumps, const std::string& format,
                             const std::string& only = "") {
  const auto loaded =
      load_cluster("version: 1\nname: lab\nnodes: [{name: n1, address: desk}, {name: n2, address: rack}]\n",
                   "cluster.yaml", builtin_registry());
  REQUIRE(loaded.cluster);
  SshTargets targets{{"n1", jump_host("", {"~/.ssh/desk"})}, {"n2", jump_host("", {"~/.ssh/rack"})}};
  targets["n2"].address = "10.9.8.2";
  targets["n2"].jumps = jumps;
  auto text = export_cluster(
      *loaded.cluster, format, builtin_registry(),
      [&](const NodeSpec& node) { return only.empty() || node.name.str() == only; }, targets);
  REQUIRE(text);
  return *std::move(text);
}

}  // namespace

TEST_CASE("export ssh-config: a jump host that is a node is named by its own Host block") {
  const std::string block =
      "Host n1\n  HostName 10.9.8.1\n  User sam\n  Port 22\n  IdentityFile ~/.ssh/desk\n  StrictHostKeyChecking yes\n";
  const auto behind_n1 = exported_behind({jump_host("10.9.8.1", {"~/.ssh/desk"})}, "ssh-config");
  CHECK(behind_n1.text == block +
                              "Host n2\n  HostName 10.9.8.2\n  User sam\n  Port 22\n  IdentityFile ~/.ssh/rack\n"
                              "  ProxyJump n1\n  StrictHostKeyChecking yes\n");
}

TEST_CASE("export ssh-config: a jump host that is no node of the configuration gets a Host block with its keys") {
  const std::string gate =
      "Host gate\n  HostName 10.9.8.1\n  User sam\n  Port 22\n  IdentityFile ~/.ssh/gate\n  StrictHostKeyChecking "
      "yes\n";
  const auto only_n2 = exported_behind({jump_host("gate", {"~/.ssh/gate"})}, "ssh-config", "n2");
  CHECK(has_whole_line(only_n2.text, "  ProxyJump gate"));
  CHECK(only_n2.text.ends_with(gate));

  SshTarget other_user = jump_host("gate", {});
  other_user.user = "root";
  SshTarget second = jump_host("gate", {});
  second.address = "10.9.8.7";
  CHECK(has_whole_line(exported_behind({other_user, second}, "ssh-config").text, "  ProxyJump gate,gate-2"));
}

TEST_CASE("export ssh-config: the name of a jump host never changes another block, and is never a pattern") {
  SshTarget jump = jump_host("n1", {});
  jump.address = "10.9.8.7";
  CHECK(has_whole_line(exported_behind({jump}, "ssh-config").text, "  ProxyJump n1-2"));
  for (const char* const name : {"*", "none", "fd00::1", "!n1", "-v", "a,b"}) {
    INFO(name);
    jump.name = name;
    CHECK(has_whole_line(exported_behind({jump}, "ssh-config").text, "  ProxyJump jump"));
  }
}

TEST_CASE("export ansible: the connection through a jump host has the jump host's keys") {
  const auto inventory = exported_behind({jump_host("gate", {"~/.ssh/gate"})}, "ansible");
  CHECK(inventory.remarks.empty());
  CHECK(has_whole_line(
      inventory.text,
      "          ansible_ssh_common_args: \"-o ProxyCommand=\\\"ssh -W '[%h]:%p' -p 22 -l sam -i ~/.ssh/gate "
      "10.9.8.1\\\"\""));
  CHECK(has_whole_line(exported_behind({jump_host("gate", {})}, "ansible").text,
                       "          ansible_ssh_common_args: \"-o ProxyJump=sam@10.9.8.1:22\""));
}

TEST_CASE("export ansible: a key that a shell could misread, or several jump hosts, are a remark and no command") {
  const SshTarget gate = jump_host("gate", {"~/.ssh/gate"});
  for (const std::vector<SshTarget>& jumps :
       {std::vector{gate, gate}, std::vector{jump_host("gate", {"/k/my key"})},
        std::vector{jump_host("gate", {"/k/$(reboot)"})}, std::vector{jump_host("gate", {"/k/{{ x }}"})},
        std::vector{jump_host("gate", {"-oProxyCommand"})}, std::vector{jump_host("gate", {"/k/%h"})}}) {
    const auto inventory = exported_behind(jumps, "ansible");
    CHECK(inventory.text.find("ProxyCommand") == std::string::npos);
    CHECK(inventory.text.find("-o ProxyJump=sam@10.9.8.1:22") != std::string::npos);
    REQUIRE(inventory.remarks.size() == 1);
    CHECK(inventory.remarks[0].starts_with("n2: the inventory cannot name the keys of sam@10.9.8.1:22"));
  }
}

}  // namespace sparkplan
