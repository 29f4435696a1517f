#include <algorithm>

#include "engine/resource/artifact.h"
#include "engine/resource/registry.h"
#include "resources/sysctl/sysctl.h"
#include "tests/support/catch.h"
#include "tests/support/fake_node.h"

namespace sparkplan::sysctl {
namespace {

using test::FakeNode;

const ResourceType& type() { return *builtin_registry().find("sysctl"); }
const std::string kOwn(kOwnFile);
const ArtifactId kSwappiness{"kernel_parameter", "vm/swappiness"};

std::vector<std::string> later_paths(const FakeNode& node) {
  const Result<std::vector<ConfigFile>> files = later_config_files(node);
  REQUIRE(files);
  std::vector<std::string> paths;
  for (const ConfigFile& file : *files) paths.push_back(file.path + (file.content.empty() ? " (empty)" : ""));
  return paths;
}

using Paths = std::vector<std::string>;

std::vector<std::string> codes(const Value& section) {
  std::vector<std::string> found;
  for (const Diagnostic& one : type().validate(section)) found.push_back(one.code);
  return found;
}

Value placed(const char* text, int line) {
  Value value(text);
  value.where = {line, 1, 2};
  return value;
}

}  // namespace

TEST_CASE("sysctl.d: files are sorted by name across directories, and only later ones are read") {
  FakeNode node;
  node.add_file("/usr/lib/sysctl.d/99-z.conf", "a.b=1");
  node.add_file("/run/sysctl.d/95-m.conf", "a.b=1");
  node.add_file("/etc/sysctl.d/91-a.conf", "a.b=1");
  node.add_file("/usr/local/lib/sysctl.d/97-l.conf", "a.b=1");
  node.add_file("/etc/sysctl.d/10-early.conf", "a.b=1");
  node.add_file("/usr/lib/sysctl.d/README", "a.b=1");
  node.add_file("/etc/sysctl.d/.99-hidden.conf", "a.b=1");
  node.add_file("/etc/sysctl.d/99-old.conf.bak", "a.b=1");
  node.add_file(kOwn, "a.b=1");
  node.add_file("/usr/lib/sysctl.d/90-sparkplan.conf", "a.b=2");
  CHECK(later_paths(node) == Paths{"/etc/sysctl.d/91-a.conf", "/run/sysctl.d/95-m.conf",
                                   "/usr/local/lib/sysctl.d/97-l.conf", "/usr/lib/sysctl.d/99-z.conf"});
}

TEST_CASE("sysctl.d: a name in /etc hides the same name elsewhere, /run hides /usr") {
  FakeNode node;
  for (const char* folder : {"/lib", "/usr/lib", "/usr/local/lib", "/run", "/etc"}) {
    node.add_file(std::string(folder) + "/sysctl.d/99-a.conf", "a.b=1");
    CHECK(later_paths(node) == Paths{std::string(folder) + "/sysctl.d/99-a.conf"});
  }
}

TEST_CASE("sysctl.d: an empty file and a link to /dev/null hide others and add no setting") {
  FakeNode node;
  node.add_special("/dev/null");
  node.add_file("/usr/lib/sysctl.d/98-a.conf", "a.b=1");
  node.add_file("/usr/lib/sysctl.d/99-b.conf", "a.b=1");
  node.add_file("/etc/sysctl.d/98-a.conf", "");
  node.add_symlink("/etc/sysctl.d/99-b.conf", "/dev/null");
  CHECK(later_paths(node) == Paths{"/etc/sysctl.d/98-a.conf (empty)"});
}

TEST_CASE("sysctl.d: a dangling link and a folder hide a name too") {
  FakeNode node;
  node.add_file("/usr/lib/sysctl.d/98-a.conf", "a.b=1");
  node.add_file("/usr/lib/sysctl.d/99-b.conf", "a.b=1");
  node.add_symlink("/etc/sysctl.d/98-a.conf", "/nowhere");
  node.add_directory("/etc/sysctl.d/99-b.conf");
  CHECK(later_paths(node).empty());
}

TEST_CASE("sysctl.d: /etc/sysctl.conf is read only through a link in sysctl.d") {
  FakeNode node;
  node.add_file("/etc/sysctl.conf", "a.b=1");
  CHECK(later_paths(node).empty());
  node.add_symlink("/etc/sysctl.d/99-sysctl.conf", "../sysctl.conf");
  CHECK(later_paths(node) == Paths{"/etc/sysctl.d/99-sysctl.conf"});
}

TEST_CASE("sysctl.d: an unreadable file or folder is an error, because it might override the managed file") {
  FakeNode node;
  node.add_file("/etc/sysctl.d/98-b.conf", "a.b=1");
  for (int n = 1; n <= 2; ++n) {
    node.fail_read(n, Error{ErrorCode::kPermissionDenied, "no", {}, {}, {}});
    CHECK(later_config_files(node).error().code == ErrorCode::kPermissionDenied);
  }
  node.add_file("/etc/sysctl.d/98-b.conf", std::string((1 << 20) + 1, '\n'));
  CHECK(later_config_files(node).error().code == ErrorCode::kUnsupported);
}

TEST_CASE("sysctl: a parameter is written with its newline and read back") {
  FakeNode node;
  node.add_kernel_file("/proc/sys/vm/swappiness", {"60", {}, {}, {}});
  const Observation wanted = Present{Value::map({{"value", "0"}}), {}};
  REQUIRE(apply_artifact(kSwappiness, wanted, type(), node));
  CHECK(same_state(read_artifact(kSwappiness, type(), node), wanted));
  CHECK(node.log() == std::vector<FakeNode::Write>{{"kernel", "/proc/sys/vm/swappiness"}});
}

TEST_CASE("sysctl: an empty value is written too") {
  FakeNode node;
  node.add_kernel_file("/proc/sys/vm/swappiness", {"60", {}, {}, {}});
  REQUIRE(apply_artifact(kSwappiness, Present{Value::map({{"value", ""}}), {}}, type(), node));
  CHECK(node.read_file("/proc/sys/vm/swappiness") == std::string("\n"));
}

TEST_CASE("sysctl: a value that the kernel silently limits is a failure that names both values") {
  FakeNode node;
  node.add_kernel_file("/proc/sys/vm/swappiness", {"60", {}, 200, {}});
  const Result<void> result = apply_artifact(kSwappiness, Present{Value::map({{"value", "500"}}), {}}, type(), node);
  REQUIRE_FALSE(result);
  CHECK(result.error().code == ErrorCode::kVerifyFailed);
  CHECK(result.error().message == "vm.swappiness shows 200 after 500 was written");
}

TEST_CASE("sysctl: a refused value gives the kernel's errno") {
  FakeNode node;
  node.add_kernel_file("/proc/sys/vm/swappiness", {"60", 22, {}, {}});
  const Result<void> result = apply_artifact(kSwappiness, Present{Value::map({{"value", "5"}}), {}}, type(), node);
  REQUIRE_FALSE(result);
  CHECK(result.error().code == ErrorCode::kFailed);
  CHECK(result.error().sys_errno == 22);
  CHECK(result.error().describe().starts_with("set vm.swappiness to 5: "));
  CHECK_FALSE(result.error().hint.empty());
}

TEST_CASE("sysctl: a parameter cannot become absent, and other artifacts are refused") {
  FakeNode node;
  node.add_kernel_file("/proc/sys/vm/swappiness", {"60", {}, {}, {}});
  CHECK(apply_artifact(kSwappiness, Absent{}, type(), node).error().code == ErrorCode::kBug);
  CHECK(apply_artifact({"link", "eth0"}, Absent{}, type(), node).error().code == ErrorCode::kBug);
  CHECK_FALSE(apply_artifact({"kernel_parameter", "../../etc/passwd"}, Present{Value::map(), {}}, type(), node));
  CHECK(node.log().empty());
}

TEST_CASE("sysctl: a parameter that the kernel lacks is an error with a hint, not absent") {
  FakeNode node;
  const ObservedType observed = type().observe({{"net.netfilter.nf_conntrack_max"}}, node);
  const auto* error = std::get_if<Error>(&observed.resources.at("net.netfilter.nf_conntrack_max"));
  REQUIRE(error != nullptr);
  CHECK(error->code == ErrorCode::kNotFound);
  CHECK(error->message == "this kernel has no parameter net.netfilter.nf_conntrack_max");
  CHECK(error->hint.find("module") != std::string::npos);
}

TEST_CASE("sysctl: an unknown parameter is an error on an existing interface, and not on a missing one") {
  FakeNode node;
  node.add_kernel_file("/proc/sys/net/ipv4/conf/eth0/rp_filter", {"0", {}, {}, {}});
  const ObservedType observed =
      type().observe({{"net.ipv4.conf.eth0.rp_fliter", "net.ipv4.conf.eth1.rp_filter"}}, node);
  CHECK(std::holds_alternative<Error>(observed.resources.at("net.ipv4.conf.eth0.rp_fliter")));
  const auto* away = std::get_if<Present>(&observed.resources.at("net.ipv4.conf.eth1.rp_filter"));
  REQUIRE(away != nullptr);
  CHECK(away->not_applicable.contains("running"));
}

TEST_CASE("sysctl: validation reports every finding at its position") {
  CHECK(codes(Value::map({{"vm.swappiness", 0}, {"net.core.rmem_max", "256MiB"}})).empty());
  CHECK(codes(Value::map({{"vm.*", 1}, {"swappiness", 1}, {"vm.swappiness", 1.5}})) ==
        std::vector<std::string>{"sysctl.key", "sysctl.key", "sysctl.value"});
  CHECK(codes(Value::map({{"VM.BAD", Value()}})).empty());
  CHECK(codes(Value()).empty());
}

TEST_CASE("sysctl: two spellings of one key conflict, and a note names the earlier one") {
  const Value section = Value::map({{"net/ipv4/conf/eth0.1/rp_filter", placed("1", 8), {8, 3, 9}},
                                    {"net.ipv4.conf.eth0/1.rp_filter", placed("1", 4), {4, 3, 9}}});
  const std::vector<Diagnostic> findings = type().validate(section);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].code == "sysctl.one-key-twice");
  CHECK(findings[0].where.line == 8);
  REQUIRE(findings[0].notes.size() == 1);
  CHECK(findings[0].notes[0].where.line == 4);
}

TEST_CASE("sysctl: keys that reset each other exclude each other") {
  CHECK(codes(Value::map({{"vm.dirty_bytes", 1}, {"vm.dirty_ratio", 1}})) ==
        std::vector<std::string>{"sysctl.either-or"});
  CHECK(codes(Value::map({{"vm.dirty_bytes", 1}, {"vm.dirty_ratio", Value()}})).empty());
}

TEST_CASE("sysctl: one-way switches are irreversible, and switches with side effects partly reversible") {
  CHECK(reversible_of(*parse_key("kernel.modules_disabled")) == Reversible::kNo);
  CHECK(reversible_of(*parse_key("net.ipv4.ip_forward")) == Reversible::kBestEffort);
  CHECK(reversible_of(*parse_key("net.core.rmem_max")) == Reversible::kExact);
}

}  // namespace sparkplan::sysctl
