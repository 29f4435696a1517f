// The texts that ssh_trust reads and writes, and the exports that it accepts from other nodes.
#include <random>

#include "engine/core/digest.h"
#include "resources/ssh_trust/public_key.h"
#include "resources/ssh_trust/shared_home.h"
#include "resources/ssh_trust/ssh_trust.h"
#include "resources/ssh_trust/trust_text.h"
#include "tests/support/catch.h"
#include "tests/support/fake_ssh.h"

namespace sparkplan::ssh_trust {
namespace {

const std::string kKey = test::fake_public_key("a");
const std::string kMark = "sparkplan:lab:spark-01";

std::optional<std::string> name_in(std::string_view mountinfo, const std::filesystem::path& directory) {
  return network_name(parse_mountinfo(mountinfo), directory);
}

std::string in_armour(const std::string& bytes) {
  return "-----BEGIN OPENSSH PRIVATE KEY-----\n" + base64_encode(bytes) + "\n-----END OPENSSH PRIVATE KEY-----\n";
}

}  // namespace

TEST_CASE("ssh_trust: a public key consists of type and blob, without its comment") {
  CHECK(parse_public_key(kKey + " someone@somewhere\n") == kKey);
  CHECK(parse_public_key("  " + kKey + "\t x y") == kKey);
  CHECK(comment_of(kKey + " root@spark-01 (new) \n") == "root@spark-01 (new)");
  CHECK(comment_of(kKey).empty());
}

TEST_CASE("ssh_trust: text that is no public key is rejected") {
  const std::string blob = kKey.substr(kKey.find(' ') + 1);
  for (const std::string& line :
       {std::string(), std::string("ssh-ed25519"), "ssh-rsa " + blob, "ssh-ed25519 " + blob.substr(1),
        "ssh-ed25519 " + blob + "=", std::string("ssh-ed25519 AAAA"), "SSH-ED25519 " + blob, "* ssh-ed25519 " + blob,
        "ssh-ed25519\n" + blob, "ssh-ed25519 " + blob.substr(0, 20) + "\n" + blob.substr(20)}) {
    INFO(line);
    CHECK_FALSE(parse_public_key(line));
  }
}

TEST_CASE("ssh_trust: only one complete ed25519 key is accepted") {
  CHECK(is_ed25519_public_key(kKey));
  const std::string short_key = "ssh-ed25519 " + base64_encode(std::string("\0\0\0\x0bssh-ed25519\0\0\0\x01x", 20));
  for (const std::string& text : {std::string(), kKey + " ", kKey + " comment", kKey + "\n" + kKey,
                                  "command=\"x\" " + kKey, "\n" + kKey, short_key}) {
    INFO(text);
    CHECK_FALSE(is_ed25519_public_key(text));
  }
}

TEST_CASE("ssh_trust: only the public part is read from a private key file") {
  const auto part = public_part(test::fake_private_key("a"));
  REQUIRE(part);
  CHECK(*part == kKey);
}

TEST_CASE("ssh_trust: an unusable private key is refused with the reason") {
  const std::string magic("openssh-key-v1\0", 15);
  const auto with_passphrase = public_part(in_armour(magic + std::string("\0\0\0\x0a"
                                                                         "aes256-ctr\0\0\0\x06"
                                                                         "bcrypt\0\0\0\0\0\0\0\1\0\0\0\1x",
                                                                         37)));
  REQUIRE_FALSE(with_passphrase);
  CHECK(with_passphrase.error().code == ErrorCode::kRefused);
  CHECK(with_passphrase.error().message.find("passphrase") != std::string::npos);
  for (const std::string& file :
       {std::string(), std::string("x"), in_armour("x"), in_armour(magic),
        in_armour(magic + std::string("\xff\xff\xff\xff", 4)), test::fake_private_key("a").substr(0, 90)}) {
    INFO(file);
    const auto part = public_part(file);
    REQUIRE_FALSE(part);
    CHECK(part.error().code == ErrorCode::kRefused);
  }
}

TEST_CASE("ssh_trust: no damaged private key breaks the reader") {
  const std::string whole = test::fake_private_key("a");
  std::mt19937 random(1);
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = whole;
    damaged[random() % damaged.size()] = static_cast<char>(random());
    if (i % 3 == 0) damaged.resize(random() % damaged.size());
    const auto part = public_part(damaged);
    if (part) CHECK(is_ed25519_public_key(*part));
  }
}

TEST_CASE("ssh_trust: a mark names its node, also when the cluster or the node has dots in its name") {
  CHECK(mark_of("lab", "spark-01") == kMark);
  CHECK(node_of_mark("x " + mark_of("lab.2", "a.b-c")) == "a.b-c");
  CHECK(node_of_mark(kKey + " " + kMark + " \t") == "spark-01");
  CHECK(node_of_mark(kMark).empty());  // The mark alone is not a line of sparkplan's.
  CHECK(node_of_mark(kMark + " x").empty());
  CHECK(node_of_mark("x sparkplan:lab").empty());
}

TEST_CASE("ssh_trust: an authorized line accepts a key only from its node's addresses") {
  CHECK(authorized_line({"::1", "10.0.0.1"}, "ssh-ed25519 AAAA", kMark) ==
        "from=\"10.0.0.1,::1\" ssh-ed25519 AAAA sparkplan:lab:spark-01");
}

TEST_CASE("ssh_trust: unexpected lines are listed, including a second one for a node") {
  const AuthorizedLines lines =
      parse_authorized("a " + kMark + "\n\n# note\nb " + kMark + "\nc sparkplan:lab:spark-02\n");
  CHECK(lines.of_node ==
        std::map<std::string, std::string>{{"spark-01", "a " + kMark}, {"spark-02", "c sparkplan:lab:spark-02"}});
  CHECK(lines.unexpected == std::vector<std::string>{"", "# note", "b " + kMark});
}

TEST_CASE("ssh_trust: parsing restores the rendered lines") {
  const AuthorizedLines lines{{{"a", "x sparkplan:lab:a"}, {"b", "y sparkplan:lab:b"}}, {"# z"}};
  const AuthorizedLines again = parse_authorized(render_authorized(lines));
  CHECK(again.of_node == lines.of_node);
  CHECK(again.unexpected == lines.unexpected);

  const KnownHosts hosts{{"a", {"a,1 k sparkplan:lab:a", "a,1 l sparkplan:lab:a"}}, {"b", {"b k sparkplan:lab:b"}}};
  CHECK(parse_known_hosts(render_known_hosts(hosts)) == hosts);

  const SshConfig config{{"a 10.0.0.1", {"nvidia", "root"}},
                         {"192.168.100.1", {"root"}},
                         {"c", {"nvidia"}},
                         {"d port 2222", {"root"}},
                         {"b fd00::2 port 2222", {"nvidia"}},
                         {"192.168.100.2 port 22022", {"nvidia", "o.p-e@r+x"}}};
  CHECK(parse_config(render_config(config)) == config);
  CHECK(parse_config("").empty());
  CHECK(parse_config("Host x\n  Port 3\nMatch originalhost a\n").empty());
}

TEST_CASE("ssh_trust: a managed key applies to logins under the same user name, on that user's hosts") {
  const std::string file = render_config({{"a 10.0.0.1", {"nvidia", "root"}}, {"b", {"root"}}});
  CHECK(file.find("Match originalhost 10.0.0.1,a localuser nvidia user nvidia\n"
                  "  IdentityFile ~/.ssh/sparkplan_ed25519\n") != std::string::npos);
  CHECK(file.find("Match originalhost 10.0.0.1,a,b localuser root user root\n") != std::string::npos);
  // No node can resolve an alias of the controller, so it is not written as the place of the machine.
  CHECK(file.find("Match originalhost b localuser root\n  StrictHostKeyChecking yes\n") != std::string::npos);
  CHECK(file.find("IdentitiesOnly") == std::string::npos);
}

TEST_CASE("ssh_trust: with a port other than 22 a host is listed with and without the port") {
  CHECK(known_hosts_line(known_hosts_names({"a", "10.0.0.1"}, 22), "ssh-ed25519 AAAA", kMark) ==
        "a,10.0.0.1 ssh-ed25519 AAAA " + kMark);
  CHECK(known_hosts_line(known_hosts_names({"a", "fd00::1"}, 2222), "ssh-ed25519 AAAA", kMark) ==
        "a,fd00::1,[a]:2222,[fd00::1]:2222 ssh-ed25519 AAAA " + kMark);
}

TEST_CASE("ssh_trust: a home on a network file system has the same name wherever it is mounted") {
  const std::string root = "30 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n";
  CHECK(name_in(root + "41 30 0:52 / /home rw shared:9 - nfs4 srv:/export rw,vers=4.2\n", "/home/nvidia") ==
        "nfs4 srv:/export/nvidia");
  CHECK(name_in(root + "41 30 0:52 / /home/nvidia rw - nfs4 srv:/export/nvidia rw\n", "/home/nvidia") ==
        "nfs4 srv:/export/nvidia");
  CHECK(name_in(root + "41 30 0:52 /sub /home rw master:1 propagate_from:2 - ceph 10.0.0.1:/ rw\n", "/home/nvidia") ==
        "ceph 10.0.0.1:/sub/nvidia");
  CHECK(name_in("30 1 0:5 / / rw - nfs srv:/root rw\n", "/home/nvidia") == "nfs srv:/root/home/nvidia");
  CHECK(name_in(root + "41 30 0:52 / /home/my\\040dir rw - nfs srv:/a rw\n", "/home/my dir/x") == "nfs srv:/a/x");
}

TEST_CASE("ssh_trust: a local file system, also one mounted over a network file system, has no network name") {
  const std::string nfs = "30 1 8:1 / / rw - ext4 /dev/sda1 rw\n41 30 0:52 / /home rw - nfs4 srv:/export rw\n";
  CHECK_FALSE(name_in(nfs, "/homes/nvidia"));
  CHECK_FALSE(name_in(nfs, "/root"));
  CHECK_FALSE(name_in(nfs + "50 41 8:2 / /home/nvidia rw - ext4 /dev/sdb1 rw\n", "/home/nvidia"));
  CHECK_FALSE(name_in(nfs + "50 41 8:2 / /home rw - ext4 /dev/sdb1 rw\n", "/home/nvidia"));
  CHECK_FALSE(name_in("nonsense\n\n1 2 3\n", "/home/nvidia"));
}

TEST_CASE("ssh_trust: mounts of users, as many as they like, do not hide the server of a home") {
  test::FakeNode node;
  const test::FakeUser nvidia{"nvidia", 1000, 1000, "/home/nvidia"};
  test::install_fake_accounts(node, {nvidia});
  node.add_directory("/home/nvidia");
  std::string mounts = "30 1 8:1 / / rw - ext4 /dev/sda1 rw\n41 30 0:52 / /home rw - nfs4 srv:/export rw\n";
  const std::string of_user = "50 41 0:60 / /home/nvidia/" + std::string(60'000, 'm') +
                              " rw,nosuid,nodev - fuse.sshfs server:/ rw,user_id=1000,group_id=1000\n";
  for (int i = 0; i < 300; ++i) mounts += of_user;
  node.add_file("/proc/self/mountinfo", mounts);
  const Result<Value> home = describe_home({"nvidia", 1000, 1000, "/home/nvidia", "/bin/bash"}, node);
  REQUIRE(home);
  REQUIRE(home->find("network") != nullptr);
  CHECK(*home->find("network")->string() == "nfs4 srv:/export/nvidia");
}

TEST_CASE("ssh_trust: homes are equal if the network, the kernel or the file server shows it") {
  const auto home = [](const char* network, const char* local, const char* remote) {
    Value value = Value::map({{"path", "/home/a"}, {"local", local}, {"remote", remote}});
    if (network != nullptr) value.set("network", network);
    return value;
  };
  CHECK(is_same_home(home("nfs a:/x", "1", "1"), home("nfs a:/x", "2", "2")));
  CHECK(is_same_home(home("nfs a:/x", "1", "7"), home("nfs 10.0.0.1:/x", "2", "7")));
  CHECK(is_same_home(home(nullptr, "1", "1"), home(nullptr, "1", "1")));
  CHECK_FALSE(is_same_home(home(nullptr, "1", "7"), home(nullptr, "2", "7")));  // Two images of one disk.
  CHECK_FALSE(is_same_home(home("nfs a:/x", "1", "1"), home("nfs a:/y", "2", "2")));
  CHECK_FALSE(is_same_home(home("nfs a:/x", "1", "7"), home(nullptr, "2", "7")));
  const auto on_machine = [&](const char* machine) { return home(nullptr, "1", "1").set("machine", machine); };
  CHECK(is_same_home(on_machine("A"), on_machine("A")));
  CHECK(is_same_home(on_machine("A"), home(nullptr, "1", "1")));  // A container without access to the machine's id.
  CHECK_FALSE(is_same_home(on_machine("A"), on_machine("B")));    // Clones that booted at the same time.
  CHECK_FALSE(is_same_home(Value::map(), Value::map()));
}

TEST_CASE("ssh_trust: sshd's settings that refuse a user are recognised") {
  const auto why = [](std::string_view settings, const std::string& user = "nvidia") {
    return why_refused(parse_server_settings(settings), user, {"nvidia", "sudo"});
  };
  const std::string usual =
      "port 22\npubkeyauthentication yes\nauthorizedkeysfile .ssh/authorized_keys .ssh/authorized_keys2\n";
  for (const char* fine : {"", "permitrootlogin no\n", "allowusers root\nallowusers nvidia\n", "allowusers nv*\n",
                           "allowusers nvidia@10.0.0.*\n", "denyusers root\n", "denyusers nvidia@10.1.0.0\n",
                           "allowgroups sudo\n", "denygroups docker\n"}) {
    INFO(fine);
    CHECK(why(usual + fine).empty());
  }
  CHECK(why("").empty());
  CHECK(why("authorizedkeysfile %h/.ssh/authorized_keys\n").empty());
  for (const char* bad : {"pubkeyauthentication no\n", "allowusers root\n", "denyusers nv*\n", "allowgroups docker\n",
                          "denygroups sudo\n"}) {
    INFO(bad);
    CHECK_FALSE(why(bad + usual).empty());
  }
  CHECK(why("authorizedkeysfile /etc/ssh/keys/%u\n") == "AuthorizedKeysFile is /etc/ssh/keys/%u");
  CHECK(why("permitrootlogin no\n", "root") == "PermitRootLogin is no");
  CHECK(why("permitrootlogin prohibit-password\n", "root").empty());
}

TEST_CASE("ssh_trust: ssh reads the managed file if an Include is at the top of its configuration") {
  for (const char* yes :
       {"Include /etc/ssh/ssh_config.d/*.conf\n\nHost *\n", "# x\n  include ssh_config.d/*\n",
        "Port 22\nInclude=\"/etc/ssh/ssh_config.d/*.conf\"\n", "Include /a /etc/ssh/ssh_config.d/60-*.conf\n"}) {
    INFO(yes);
    CHECK(includes_our_file(yes));
  }
  for (const char* no :
       {"", "# Include /etc/ssh/ssh_config.d/*.conf\n", "Host *\nInclude /etc/ssh/ssh_config.d/*.conf\n",
        "Include ~/.ssh/x\n", "match all\n  Include ssh_config.d/*.conf\n"}) {
    INFO(no);
    CHECK_FALSE(includes_our_file(no));
  }
}

}  // namespace sparkplan::ssh_trust
