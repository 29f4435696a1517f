#include "engine/load/load.h"
#include "engine/resource/accounts.h"
#include "engine/resource/artifact.h"
#include "resources/file/places.h"
#include "tests/support/catch.h"
#include "tests/support/fake_node.h"

namespace sparkplan::file {
namespace {

using test::FakeNode;

bool mentions(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("file: paths that could lock users out, or that other programs rewrite, are refused with a reason") {
  for (const char* path :
       {"/etc/passwd", "/etc/shadow", "/etc/sudoers", "/etc/sudoers.d/lab", "/etc/ssh/sshd_config.d/10-lab.conf",
        "/etc/pam.d/sshd", "/etc/fstab", "/etc/netplan/70-mine.yaml", "/proc/sys/vm/swappiness", "/sys/x", "/dev/x",
        "/run/x", "/tmp/x", "/home/nvidia/x", "/root/.bashrc", "/var/lib/sparkplan/manifest.json",
        "/usr/local/libexec/sparkplan/agent", "/usr/bin/x", "/boot/x"}) {
    INFO(path);
    const auto objection = objection_to(path);
    REQUIRE(objection);
    CHECK(objection->code == "file.place");
    CHECK_FALSE(objection->message.empty());
    CHECK_FALSE(objection->hint.empty());
  }
  for (const char* path : {"/etc/motd", "/etc/passwd.lab", "/etc/sudoers.dist", "/homes/x", "/usr/local/bin/x",
                           "/opt/x", "/etc/ssh/ssh_config.d/70-mine.conf", "/var/lib/app/x"}) {
    INFO(path);
    CHECK_FALSE(objection_to(path));
  }
}

TEST_CASE("file: only normalised paths are accepted, so that no spelling evades a refusal") {
  for (const char* path : {"//etc/motd", "/etc//motd", "/etc/./motd", "/etc/motd/", "/", "/etc/."}) {
    INFO(path);
    REQUIRE(objection_to(path));
    CHECK(objection_to(path)->code == "file.path");
  }
}

TEST_CASE("file: a link or another user's directory in the path is refused and named") {
  FakeNode node;
  node.add_file("/etc/app/app.conf", "");
  CHECK(check_directories("/etc/app/other.conf", node).value());
  CHECK_FALSE(check_directories("/etc/none/other.conf", node).value());
  CHECK(check_directories("/motd", node).value());

  node.add_symlink("/etc/link", "/home/nvidia");
  const auto link = check_directories("/etc/link/below/x.conf", node);
  REQUIRE_FALSE(link);
  CHECK(link.error().code == ErrorCode::kRefused);
  CHECK(mentions(link.error().message, "/etc/link is a symbolic link"));

  node.add_file("/etc/file", "");
  CHECK(mentions(check_directories("/etc/file/x", node).error().message, "/etc/file is not a directory"));
}

TEST_CASE("file: a directory in which a group's members could put a link in place of the next one is refused") {
  FakeNode node;
  node.add_directory_of_group("/srv/lab", 02775, 1001);
  node.add_directory_of_group("/srv/lab/app", 0755, 0);
  const auto below = check_directories("/srv/lab/app/app.conf", node);
  REQUIRE_FALSE(below);
  CHECK(below.error().code == ErrorCode::kRefused);
  CHECK(mentions(below.error().message, "/srv/lab is writable by group ID 1001, whose members could replace"));
  // In the last directory, no other directory is opened.
  CHECK(check_directories("/srv/lab/app.conf", node).value());
  node.add_directory_of_group("/srv/lab", 03775, 1001);
  CHECK(check_directories("/srv/lab/app/app.conf", node).value());
  node.add_directory_of_group("/srv/lab", 0775, 0);
  CHECK(check_directories("/srv/lab/app/app.conf", node).value());
}

TEST_CASE("file: a directory whose ACL lets another user put a link in place of the next one is refused") {
  FakeNode node;
  node.add_directory_of_group("/srv/lab", 0775, 0);
  node.add_directory_of_group("/srv/lab/app", 0755, 0);
  REQUIRE(check_directories("/srv/lab/app/app.conf", node).value());
  node.set_acl_writer("/srv/lab", "user ID 1001");
  const auto below = check_directories("/srv/lab/app/app.conf", node);
  REQUIRE_FALSE(below);
  CHECK(below.error().code == ErrorCode::kRefused);
  CHECK(mentions(below.error().message, "/srv/lab has an ACL and is writable by user ID 1001"));
  CHECK(below.error().hint == "setfacl -b /srv/lab, or choose another directory");
  // As with a group: in the last directory no other directory is opened, and with the sticky bit none is renamed.
  CHECK(check_directories("/srv/lab/app.conf", node).value());
  node.add_directory_of_group("/srv/lab", 01775, 0);
  CHECK(check_directories("/srv/lab/app/app.conf", node).value());
}

TEST_CASE("file: while packages are pending, a missing file waits for them, and an existing file does not") {
  const auto loaded = load_cluster(
      "version: 1\nname: lab\nssh: {user: nvidia}\nfiles:\n  - {path: /etc/app/app.conf, content: a}\n"
      "  - {path: /etc/motd, content: b, owner: munge}\nnodes: [{name: spark-01, address: 10.0.0.11}]\n",
      "cluster.yaml", builtin_registry());
  REQUIRE(loaded.cluster);
  const NodeSpec& node = loaded.cluster->nodes.front();
  const Value& section = node.sections.at("files");
  FakeNode machine;
  machine.add_file("/etc/motd", "");
  const ResourceType* type = builtin_registry().find("file");
  const auto own = type->exports(section, machine);
  REQUIRE(own);
  const auto desired_with = [&](Value::List missing_packages) {
    const std::map<std::string, NodeExports> exports{
        {"spark-01", {{"file", *own}, {"package", Value::map({{"missing", Value(std::move(missing_packages))}})}}}};
    return type->desired(ClusterView{*loaded.cluster, node, exports}, section, Facts());
  };

  const Desired waiting = desired_with({Value("app")});
  CHECK(waiting.diagnostics.empty());
  REQUIRE(waiting.resources.size() == 2);
  CHECK(waiting.resources[0].desired.find("content")->is_unknown());
  CHECK(*waiting.resources[1].desired.find("content") == Value("b"));
  CHECK(waiting.resources[1].desired.find("uid")->is_unknown());

  const Desired settled = desired_with({});
  CHECK(settled.resources.empty());
  CHECK(settled.incomplete);
  REQUIRE(settled.diagnostics.size() == 2);
  CHECK(settled.diagnostics[0].code == "file.no-directory");
  CHECK(settled.diagnostics[1].code == "file.no-user");
}

TEST_CASE("file: a failed read of a directory is reported, and not treated as its absence") {
  FakeNode node;
  node.add_file("/etc/app/app.conf", "");
  node.fail_read(2, Error{ErrorCode::kPermissionDenied, "injected", {}, 13, {}});
  CHECK(check_directories("/etc/app/app.conf", node).error().code == ErrorCode::kPermissionDenied);
}

TEST_CASE("file: a restart of logind is begun, and its end reports systemctl's reason") {
  const ResourceType* type = builtin_registry().find("file");
  const ArtifactId restart{"restart", std::string(kLogind)};
  FakeNode node;
  node.script("systemctl restart systemd-logind.service", {0, "", ""});
  const auto works = type->begin(restart, Present{}, node);
  REQUIRE(works);
  REQUIRE(*works);
  CHECK(node.log() == std::vector<FakeNode::Write>{{"start", "systemctl restart systemd-logind.service"}});
  CHECK((*works)());

  node.script("systemctl restart systemd-logind.service", {1, "", "Job for systemd-logind.service failed.\n"});
  const auto fails = type->begin(restart, Present{}, node);
  REQUIRE(fails);
  const auto end = (*fails)();
  REQUIRE_FALSE(end);
  CHECK(end.error().message == "systemctl restart systemd-logind.service: Job for systemd-logind.service failed.");
  const auto folder = type->begin({"folder", "/etc/app.d"}, Absent{}, node);
  REQUIRE(folder);
  CHECK_FALSE(*folder);
}

TEST_CASE("file: an owner is searched for in the node's files, then in its directory service") {
  FakeNode node;
  node.add_file("/etc/passwd",
                "root:x:0:0::/root:/bin/sh\nbroken\nnv:x:none:0::/:/bin/sh\nnvidia:x:1000:1000::/:/bin/sh\n");
  node.add_file("/etc/group", "root:x:0:\nadm:x:4:syslog\n");
  CHECK(account_number("passwd", "nvidia", node).value() == std::optional<std::int64_t>(1000));
  CHECK(account_number("group", "adm", node).value() == std::optional<std::int64_t>(4));
  CHECK(account_number("passwd", "nv", node).value() == std::nullopt);
  CHECK(account_number("passwd", "nvid", node).value() == std::nullopt);

  node.script("getent passwd -- alice", {0, "alice:*:70001:70000::/home/alice:/bin/bash\n", ""});
  node.script("getent passwd -- bob", {2, "", ""});
  node.script("getent passwd -- carol", {3, "", ""});
  CHECK(account_number("passwd", "alice", node).value() == std::optional<std::int64_t>(70001));
  CHECK(account_number("passwd", "bob", node).value() == std::nullopt);
  CHECK_FALSE(account_number("passwd", "carol", node));

  node.set_live(false);
  CHECK(account_number("passwd", "alice", node).value() == std::nullopt);
}

TEST_CASE("file: a file without a change has no step for its folder, whatever the node reports about it") {
  const std::string path = "/etc/sparks.d/y";
  const Observation there = file_present("b", 0644);
  ObservedType observed;
  observed.artifacts[file_artifact(path)] = there;
  observed.artifacts[{"folder", "/etc/sparks.d"}] = Absent{};
  Resource resource;
  resource.id = {"file", path};
  resource.desired = present_value(there);
  const FileContent kept{"b", 0644, 0, 0};
  REQUIRE(decode_file_content(resource.desired) == kept);
  const std::vector<Resource> target{resource};
  Change change;
  change.id = resource.id;
  const auto steps = [&](std::vector<std::reference_wrapper<const Change>> changes) {
    const StepsInput input{{target.begin(), target.end()}, observed, std::move(changes), {}};
    return builtin_registry().find("file")->steps(input);
  };
  CHECK(steps({}).empty());
  CHECK(steps({change}).size() == 1);
}

}  // namespace sparkplan::file
