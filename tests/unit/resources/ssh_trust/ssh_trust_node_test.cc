// One node reads its own accounts, homes, addresses and sudo.
#include <cstdint>
#include <set>
#include <string>
#include <variant>

#include "engine/resource/registry.h"
#include "resources/ssh_trust/account.h"
#include "resources/ssh_trust/addresses.h"
#include "resources/ssh_trust/exports.h"
#include "resources/ssh_trust/key_files.h"
#include "tests/support/catch.h"
#include "tests/support/fake_ssh.h"

namespace sparkplan::ssh_trust {

using test::FakeNode;

TEST_CASE("ssh_trust: sudo counts as passwordless only if it permits all commands without a password") {
  const auto has_root = [](const std::string& listing, int status = 0) {
    FakeNode node;
    node.add_directory("/home/nvidia");
    test::install_fake_accounts(node, {{"nvidia", 1000, 1000, "/home/nvidia"}});
    node.script("sudo -n -l -U nvidia", {status, listing, ""});
    const Result<Value> value = export_trust(Value::map({{"users", Value::list({"nvidia"})}}), node);
    REQUIRE(value);
    return value->find("users")->find("nvidia")->boolean_or("root", false);
  };
  const std::string lead = "User nvidia may run the following commands on spark-01:\n";
  CHECK(has_root(lead + "    (ALL : ALL) ALL\n    (ALL) NOPASSWD: ALL\n"));
  CHECK(has_root(lead + "    (root) NOPASSWD: SETENV: ALL\n"));
  CHECK(has_root(lead + "    (ALL) NOPASSWD: ALL, !/bin/su\n"));
  CHECK_FALSE(has_root(lead + "    (ALL : ALL) ALL\n"));
  CHECK_FALSE(has_root(lead + "    (ALL) NOPASSWD: /usr/bin/systemctl\n"));
  CHECK_FALSE(has_root("User nvidia is not allowed to run sudo on spark-01.\n"));
  CHECK_FALSE(has_root(lead + "    (ALL) NOPASSWD: ALL\n", 1));
}

TEST_CASE("ssh_trust: a node's exports are public, global and limited to the requested users") {
  FakeNode node;
  const test::FakeUser user{"nvidia", 1000, 1000, "/home/nvidia"};
  test::install_fake_accounts(node, {user});
  test::add_fake_key(node, user, "sparkplan:lab:spark-01");
  node.add_file("/etc/ssh/ssh_host_rsa_key.pub", test::fake_public_key("2") + " root@x\n");
  node.add_file("/etc/ssh/ssh_host_ed25519_key.pub", test::fake_public_key("1") + " root@x\n");
  node.add_file("/etc/ssh/ssh_host_ed25519_key", "secret");
  node.add_file("/etc/ssh/ssh_host_empty_key.pub", "");
  LinkFacts link;
  link.name = "eth0";
  link.addresses = {"10.0.0.11/24", "fe80::1/64", "169.254.7.7/16", "fd00::11/64", "fd00::a:b/64", "fd00::f/64"};
  node.add_link(link);
  LinkFacts containers;
  containers.name = "docker0";
  containers.kind = "bridge";
  containers.addresses = {"172.17.0.1/16", "fe80::1/64"};
  node.add_link(containers);
  node.set_connection_address("10.0.0.11");
  // The second address is temporary (RFC 8981); the third is missing from the table.
  node.add_file("/proc/self/net/if_inet6",
                "fd000000000000000000000000000011 02 40 00 80     eth0\n"
                "fd0000000000000000000000000a000b 02 40 00 01     eth0\nodd\n"
                "fe800000000000000000000000000001 02 40 20 80     eth0\n");
  const Result<Value> value = export_trust(Value::map({{"users", Value::list({"nvidia", "ghost"})}}), node);
  REQUIRE(value);
  CHECK(value->find("users")->find("nvidia")->text_or("public_key", "") ==
        test::fake_public_key("sparkplan:lab:spark-01"));
  CHECK(*value->find("users")->find("ghost") == Value::map());
  CHECK(*value->find("addresses") == Value::list({"10.0.0.11", "fd00::11"}));
  CHECK(value->find("host_keys")->list_items()->size() == 2);
  CHECK(node.log().empty());

  CHECK(own_addresses(node) == std::set<std::string>{"10.0.0.11", "fd00::11"});
  node.set_connection_address("fe80::1%docker0");
  CHECK(own_addresses(node) == std::set<std::string>{"172.17.0.1"});
  for (const char* elsewhere : {"", "10.0.0.99", "somewhere"}) {
    INFO(elsewhere);
    node.set_connection_address(elsewhere);
    CHECK(own_addresses(node).empty());
  }

  node.set_live(false);
  const Result<Value> of_image = export_trust(Value::map({{"users", Value::list({"nvidia"})}}), node);
  REQUIRE(of_image);
  CHECK(of_image->is_null());
}

TEST_CASE("ssh_trust: an account is read as on the node, and one without a home is like a missing one") {
  FakeNode node;
  const auto code_of = [&](const std::string& line, const std::string& user = "nvidia") {
    node.script("getent passwd -- " + user, {line.empty() ? 2 : 0, line, ""});
    const Result<Account> account = look_up(user, node);
    return account ? std::string() : std::string(to_string(account.error().code));
  };
  node.add_directory("/srv/home/nvidia");
  CHECK(code_of("nvidia:x:1000:1001:N,,,:/srv/home/nvidia/:/bin/bash\n").empty());
  CHECK(look_up("nvidia", node)->home == "/srv/home/nvidia");
  CHECK(look_up("nvidia", node)->gid == 1001);
  CHECK(code_of("") == "not_found");
  CHECK(code_of("nvidia:x:1000:1000::/home/nowhere:/bin/bash\n") == "not_found");
  CHECK(code_of("somebody:x:1000:1000::/srv/home/nvidia:/bin/bash\n", "1000") == "not_found");
  for (const char* home : {"", "/", "//", "/nonexistent", "relative", "/.."}) {
    INFO(home);
    CHECK(code_of("nvidia:x:1000:1000::" + std::string(home) + ":/bin/bash\n") == "unsupported");
  }
  CHECK(code_of("nvidia:x:many:1000::/srv/home/nvidia:/bin/bash\n") == "failed");
  node.script("getent passwd -- nvidia", {1, "", "broken"});
  CHECK_FALSE(cannot_hold_keys(look_up("nvidia", node).error()));
  CHECK_FALSE(cannot_hold_keys(look_up("unscripted", node).error()));  // A missing getent does not mean a missing user.
}

TEST_CASE("ssh_trust: getent is called only for users that the node's own files do not decide") {
  FakeNode node;
  node.add_directory("/home/nvidia");
  node.add_file("/etc/passwd", "nvidia2:x:1:1::/:/bin/sh\nnvidia:x:1000:1000::/home/nvidia:/bin/bash\n");
  node.script("getent passwd -- nvidia", {0, "nvidia:x:77:77::/home/nvidia:/bin/bash\n", ""});
  node.script("getent passwd -- elsewhere", {0, "elsewhere:x:78:78::/home/nvidia:/bin/bash\n", ""});
  const auto number_with = [&](const std::string& nsswitch, const std::string& user = "nvidia") {
    if (!nsswitch.empty()) node.add_file("/etc/nsswitch.conf", nsswitch);
    const Result<Account> account = look_up(user, node);
    return account ? account->uid : 0;
  };
  CHECK(number_with("") == 1000);
  CHECK(number_with("group: sss\npasswd:  files systemd\n") == 1000);
  CHECK(number_with("passwd: files systemd\n", "elsewhere") == 78);
  CHECK(number_with("passwd: sss files\n") == 77);
}

TEST_CASE("ssh_trust: a path from which sshd would not read keys is refused, with the remedy") {
  FakeNode node;
  const Account account{"nvidia", 1000, 1000, "/home/nvidia", "/bin/bash"};
  node.add_directory("/home/nvidia");
  const auto with_file = [&](std::uint32_t mode, std::uint32_t uid, std::uint32_t gid) {
    node.add_file("/home/nvidia/.ssh/authorized_keys", "x\n", mode, uid, gid);
    const Result<void> checked = check_home(account, node);
    return checked ? std::string() : checked.error().message;
  };
  test::install_fake_accounts(node, {{"nvidia", 1000, 1000, "/home/nvidia"}, {"users", 100, 100, "/home/users"}});
  CHECK(with_file(0600, 1000, 1000).empty());
  CHECK(with_file(0644, 0, 0).empty());
  CHECK(with_file(0664, 1000, 1000).empty());  // The user's own group, without other members.
  CHECK(with_file(0664, 1000, 100).find("its group") != std::string::npos);
  CHECK(with_file(0602, 1000, 1000).find("all users") != std::string::npos);
  CHECK(with_file(0600, 1001, 1000).find("1001") != std::string::npos);
  for (const char* path : {"/home/nvidia", "/home/nvidia/.ssh", "/home/nvidia/.ssh/authorized_keys"}) {
    INFO(path);
    node.add_directory("/home/nvidia/.ssh");
    node.set_acl_writer(path, "user ID 1001");
    CHECK(with_file(0664, 1000, 1000) == std::string(path) + " has an ACL and is writable by user ID 1001");
    node.set_acl_writer(path, "");
  }
  node.script("getent group -- 1000", {0, "nvidia:x:1000:somebody\n", ""});
  CHECK(with_file(0664, 1000, 1000).find("/home/nvidia/.ssh/authorized_keys") != std::string::npos);
}

TEST_CASE("ssh_trust: a home whose server is silent is the error of that user alone, and the server is named") {
  FakeNode node;
  const test::FakeUser root{"root", 0, 0, "/root"};
  const test::FakeUser alice{"alice", 1001, 1001, "/home/alice"};
  test::install_fake_accounts(node, {root, alice});
  test::add_fake_key(node, root, "sparkplan:lab:spark-02");
  test::add_fake_key(node, alice, "sparkplan:lab:spark-02");
  node.add_file("/proc/self/mountinfo",
                "22 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw\n"
                "31 22 0:50 / /home rw,relatime shared:9 - nfs4 10.0.0.11:/home rw,vers=4.2\n");
  node.set_silent("/home");
  const ResourceType& type = *builtin_registry().find("ssh_trust");
  const ObservedType observed = type.observe({{"alice", "root"}}, node);
  const auto* error = std::get_if<Error>(&observed.resources.at("alice"));
  REQUIRE(error != nullptr);
  CHECK(error->code == ErrorCode::kUnreachable);
  CHECK(error->message.find("nfs4 10.0.0.11:/home") != std::string::npos);
  CHECK(std::holds_alternative<Present>(observed.resources.at("root")));

  const Result<Value> exported = type.exports(Value::map({{"users", Value::list({"alice", "root"})}}), node);
  REQUIRE(exported);
  CHECK(*exported->find("users")->find("alice") == Value::map());
  CHECK(exported->find("users")->find("root")->find("public_key") != nullptr);

  const ArtifactId keys = authorized_keys_artifact("alice");
  CHECK(std::get<Error>(type.read_artifact(keys, node)).code == ErrorCode::kUnreachable);
  CHECK(type.apply(keys, Absent{}, node).error().code == ErrorCode::kUnreachable);
  CHECK(type.apply(authorized_keys_artifact("root"), Absent{}, node));
}

}  // namespace sparkplan::ssh_trust
