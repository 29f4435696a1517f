#include "engine/resource/registry.h"
#include "resources/limits/login.h"
#include "tests/support/catch.h"
#include "tests/support/fake_node.h"

namespace sparkplan::limits {
namespace {

const ResourceType& limits_type() { return *builtin_registry().find("limits"); }

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

constexpr const char* kWithoutSysResource = "Name:\tagent\nCapBnd:\t00000000a80425fb\n";
constexpr const char* kAllCapabilities = "Name:\tagent\nCapBnd:\t000001ffffffffff\n";

/// As the kernel prints it.
std::string proc_limits(const std::string& memlock, const std::string& files) {
  return "Limit                     Soft Limit           Hard Limit           Units     \n"
         "Max cpu time              unlimited            unlimited            seconds   \n"
         "Max locked memory         " +
         memlock + " bytes     \nMax open files            " + files +
         " files     \nMax nice priority         0                    0                    \n";
}

/// A node on which every login has 8192 KiB of locked memory and a soft limit of 1024 files, hard 4096.
struct Machine {
  Machine() {
    node.add_file("/etc/pam.d/su", "auth sufficient pam_rootok.so\n@include common-session\n");
    node.add_file("/etc/pam.d/common-session", "session\trequired  pam_limits.so\n");
    node.add_file("/proc/self/status", kAllCapabilities);
    node.add_file("/proc/sys/fs/nr_open", "1048576\n");
    node.add_file("/bin/bash", "");
    node.add_file("/home/alice/.profile", "");
    passwd(
        "root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1::/:/usr/sbin/nologin\n"
        "alice:x:1000:1000:Alice:/home/alice:/bin/bash\n");
    account("root:x:0:0:root:/root:/bin/bash", "root");
    account("alice:x:1000:1000:Alice:/home/alice:/bin/bash", "alice");
    node.add_file("/root/.profile", "");
    for (const char* user : {"alice", "root"}) login(user, {0, usual, ""});
    node.script("id -Gn -- alice", {0, "alice staff\n", ""});
    node.script("id -Gn -- root", {0, "root\n", ""});
  }

  void passwd(const std::string& text) { node.script("getent passwd", {0, text, ""}); }
  void account(const std::string& line, const std::string& user) {
    node.script("getent passwd -- " + user, {0, line + "\n", ""});
  }
  void sshd(const std::string& settings, const std::string& pam_service) {
    node.add_file("/usr/sbin/sshd", "");
    node.script("/usr/sbin/sshd -T", {0, settings, ""});
    node.add_file("/etc/pam.d/sshd", pam_service);
  }
  void login(const std::string& user, CommandOutput output) {
    node.script("su -l --session-command cat /proc/self/limits -- " + user, std::move(output));
  }

  std::vector<Ineffective> check(const std::string& name, const char* soft, const char* hard) const {
    Value limit = Value::map();
    if (soft != nullptr) limit.set("soft", soft);
    if (hard != nullptr) limit.set("hard", hard);
    return limits_type().check_effect({{name, limit}}, node);
  }
  /// The only message; "" when the limit takes effect.
  std::string message(const std::string& name, const char* soft, const char* hard) const {
    const std::vector<Ineffective> found = check(name, soft, hard);
    if (found.empty()) return "";
    CHECK(found.size() == 1);
    CHECK(found[0].name == name);
    CHECK(found[0].code == "limits.not_effective");
    return found[0].message;
  }

  const std::string usual = "Welcome!\n" + proc_limits("8388608              8388608             ",
                                                       "1024                 4096                ");
  test::FakeNode node;
};

}  // namespace

TEST_CASE("limits effect: a login with the declared limits gives no finding") {
  const Machine machine;
  CHECK(machine.message("*:memlock", "8192", "8192").empty());
  CHECK(machine.message("root:nofile", "1024", nullptr).empty());
  CHECK(machine.message("alice:nice", "20", "20").empty());
}

TEST_CASE("limits effect: a different limit is reported in the item's own unit, with both values") {
  const Machine machine;
  CHECK(machine.message("*:memlock", "unlimited", "unlimited") ==
        "a new login of alice gets memlock soft 8192 KiB instead of unlimited, hard 8192 KiB instead of unlimited");
  CHECK(machine.message("alice:nofile", "1024", "5000") ==
        "a new login of alice gets nofile hard 4096 instead of 5000");
}

TEST_CASE("limits effect: the first ordinary user is from /etc/passwd, unless another source has priority") {
  Machine machine;
  machine.node.add_file("/etc/passwd", "root:x:0:0:root:/root:/bin/bash\nbob:x:1001:1001::/home/bob:/bin/bash\n");
  machine.node.add_file("/home/bob/.profile", "");
  machine.node.script("id -Gn -- bob", {0, "bob\n", ""});
  machine.login("bob", {0, machine.usual, ""});
  CHECK(contains(machine.message("*:memlock", "unlimited", "unlimited"), "a new login of bob gets"));
  for (const char* others_first : {"passwd: ldap files\n", "group: files\n passwd:ldap files\n"}) {
    machine.node.add_file("/etc/nsswitch.conf", others_first);
    CHECK(contains(machine.message("*:memlock", "unlimited", "unlimited"), "a new login of alice gets"));
  }
}

TEST_CASE("limits effect: a login that cannot raise hard limits is the reported reason") {
  Machine machine;
  machine.node.add_file("/proc/self/status", kWithoutSysResource);
  CHECK(contains(machine.message("*:memlock", "unlimited", "unlimited"), "CAP_SYS_RESOURCE is missing"));
  // A process can always lower a limit, so this capability is not the cause.
  CHECK_FALSE(contains(machine.message("*:memlock", "64", "64"), "CAP_SYS_RESOURCE"));
}

TEST_CASE("limits effect: a PAM stack without pam_limits is the reported reason") {
  Machine machine;
  machine.node.add_file("/etc/pam.d/common-session", "# session required pam_limits.so\nauth required pam_limits.so\n");
  CHECK(contains(machine.message("*:memlock", "unlimited", "unlimited"), "does not use pam_limits.so"));
  machine.node.add_file("/etc/pam.d/su",
                        "session include common-session\nsession optional /lib/security/pam_limits.so\n");
  CHECK_FALSE(contains(machine.message("*:memlock", "unlimited", "unlimited"), "does not use pam_limits.so"));
}

TEST_CASE("limits effect: an sshd that sets no limits is reported, although su sets them") {
  Machine machine;
  const auto told = [&] { return machine.message("*:memlock", "8192", "8192"); };
  machine.sshd("port 22\nusepam yes\n", "@include common-session\n");
  CHECK(told().empty());
  machine.sshd("port 22\nusepam no\n", "@include common-session\n");
  CHECK(told() == "a login over ssh does not get memlock: sshd does not use PAM (UsePAM no)");
  machine.sshd("usepam yes\n", "session required pam_unix.so\n");
  CHECK(told() == "a login over ssh does not get memlock: /etc/pam.d/sshd does not use pam_limits.so");
  CHECK(machine.check("@staff:memlock", "8192", "8192").size() == 1);
  // One finding for a limit that su does not set either.
  CHECK(contains(machine.message("*:memlock", "64", "64"), "a new login of alice"));
}

TEST_CASE("limits effect: a user without a home is not used for a login, which might create the home") {
  Machine machine;
  machine.account("alice:x:1000:1000:Alice:/home/gone:/bin/bash", "alice");
  const std::vector<Ineffective> found = machine.check("alice:memlock", "64", "64");
  REQUIRE(found.size() == 1);
  CHECK(found[0].code == "limits.not_checked");
  CHECK(contains(found[0].message, "/home/gone"));
  machine.passwd("alice:x:1000:1000:Alice:/home/gone:/bin/bash\n");
  CHECK(machine.check("*:memlock", "64", "64").empty());
}

TEST_CASE("limits effect: a more specific line, a later file and an exemption are named with their position") {
  Machine machine;
  machine.node.add_file("/etc/security/limits.conf", "@staff hard memlock 8192\n");
  CHECK(contains(machine.message("*:memlock", nullptr, "unlimited"),
                 "/etc/security/limits.conf:1 sets 8192 for @staff and takes precedence"));
  machine.node.add_file("/etc/security/limits.d/99-x.conf", "\nalice - memlock 8192\n");
  CHECK(contains(machine.message("alice:memlock", "unlimited", "unlimited"),
                 "/etc/security/limits.d/99-x.conf:2 sets 8192 for alice and takes precedence"));
  machine.node.add_file("/etc/security/limits.d/00-x.conf", "alice -\n");
  CHECK(contains(machine.message("*:memlock", "unlimited", "unlimited"),
                 "/etc/security/limits.d/00-x.conf:1 exempts the user from all limits"));
}

TEST_CASE("limits effect: a value above the kernel's maximum and a soft limit above the hard one are reported") {
  const Machine machine;
  CHECK(contains(machine.message("root:nofile", "2000000", "2000000"), "the kernel allows 1048576"));
  CHECK(contains(machine.message("root:nofile", "5000", nullptr), "the hard limit is lower"));
}

TEST_CASE("limits effect: unlimited files means the kernel's maximum") {
  Machine machine;
  machine.login("root", {0, proc_limits("0 0", "1048576              1048576             "), ""});
  CHECK(machine.message("root:nofile", "unlimited", "unlimited").empty());
}

TEST_CASE("limits effect: a user's own limit overrides the limit for all users") {
  const Machine machine;
  const Value everybody = Value::map({{"soft", "64"}, {"hard", "64"}});
  const Value own = Value::map({{"soft", "8192"}, {"hard", "8192"}});
  CHECK(limits_type().check_effect({{"*:memlock", everybody}, {"alice:memlock", own}}, machine.node).empty());
  CHECK(limits_type().check_effect({{"*:memlock", everybody}, {"@staff:memlock", own}}, machine.node).empty());
  CHECK(limits_type().check_effect({{"*:memlock", everybody}, {"@others:memlock", own}}, machine.node).size() == 1);
}

TEST_CASE("limits effect: groups, ranges, logins, images and machines without users are not checked") {
  Machine machine;
  CHECK(machine.check("@staff:memlock", "64", "64").empty());
  CHECK(machine.check("500:600:memlock", "64", "64").empty());
  CHECK(machine.check("alice:maxlogins", "64", "64").empty());
  machine.passwd(
      "root:x:0:0:root:/root:/bin/bash\nservice:x:1500:1500::/:/usr/sbin/nologin\n"
      "gone:x:1501:1501::/:/bin/no-such-shell\n-c:x:1502:1502::/:/bin/bash\n");
  CHECK(machine.check("*:memlock", "64", "64").empty());
  machine.node.set_live(false);
  CHECK(machine.check("alice:memlock", "64", "64").empty());
}

TEST_CASE("limits effect: a failed login is reported, and not treated as a limit") {
  Machine machine;
  machine.login("alice", {1, "", "su: user alice does not exist\n"});
  const std::vector<Ineffective> found = machine.check("alice:memlock", "64", "64");
  REQUIRE(found.size() == 1);
  CHECK(found[0].code == "limits.not_checked");
  CHECK(contains(found[0].message, "su: user alice does not exist"));
}

TEST_CASE("limits effect: users whose login would begin too late are reported as not checked") {
  const Machine machine;
  const Value limit = Value::map({{"soft", "64"}, {"hard", "64"}});
  const auto found = limits_not_effective({{"alice:memlock", limit}, {"root:memlock", limit}}, machine.node,
                                          std::chrono::milliseconds(0));
  REQUIRE(found.size() == 2);
  for (const Ineffective& one : found) CHECK(one.code == "limits.not_checked");
  CHECK(found[0].name == "alice:memlock");
  CHECK(found[1].name == "root:memlock");
}

TEST_CASE("limits effect: the last ordinary user has uid 60000, as login.defs says") {
  Machine machine;
  CHECK(first_ordinary_user("alice:x:60000:60000::/home/alice:/bin/bash\n", machine.node) == "alice");
  CHECK_FALSE(first_ordinary_user("alice:x:60001:60001::/home/alice:/bin/bash\n", machine.node));
}

TEST_CASE("limits effect: names that resemble an option are no user names") {
  for (const char* good : {"alice", "a.b-c", "_x", "1user"}) CHECK(is_user_name(good));
  for (const char* bad : {"", "-c", ".x", "@staff", "*", "500:600", "a b", "%g", "a/b"}) CHECK_FALSE(is_user_name(bad));
}

TEST_CASE("limits effect: a home whose server is silent is a login that could not be read, and holds no other one") {
  Machine machine;
  machine.passwd(
      "root:x:0:0:root:/root:/bin/bash\nalice:x:1000:1000:Alice:/home/alice:/bin/bash\n"
      "bob:x:1001:1001:Bob:/local/bob:/bin/bash\n");
  machine.node.add_file("/local/bob/.profile", "");
  machine.node.add_file("/proc/self/mountinfo",
                        "22 1 259:2 / / rw shared:1 - ext4 /dev/nvme0n1p2 rw\n"
                        "31 22 0:50 / /home rw shared:9 - nfs4 10.0.0.11:/home rw\n");
  machine.node.set_silent("/home");
  const std::vector<Ineffective> found = machine.check("alice:memlock", "8192", "8192");
  REQUIRE(found.size() == 1);
  CHECK(found[0].code == "limits.not_checked");
  CHECK(contains(found[0].message, "nfs4 10.0.0.11:/home"));
  CHECK(first_ordinary_user("alice:x:1000:1000::/home/alice:/bin/bash\nbob:x:1001:1001::/local/bob:/bin/bash\n",
                            machine.node) == "bob");
}

TEST_CASE("limits effect: a home that is a link, or the root directory, is one") {
  Machine machine;
  machine.node.add_symlink("/home/carol", "/data/carol");
  CHECK(first_ordinary_user("carol:x:1000:1000::/home/carol/:/bin/bash\n", machine.node) == "carol");
  CHECK(first_ordinary_user("dave:x:1000:1000::/:/bin/bash\n", machine.node) == "dave");
  CHECK_FALSE(first_ordinary_user("erin:x:1000:1000:::/bin/bash\n", machine.node));
  CHECK_FALSE(first_ordinary_user("erin:x:1000:1000::home/alice:/bin/bash\n", machine.node));
}

}  // namespace sparkplan::limits
