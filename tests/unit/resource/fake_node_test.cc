// The fake must keep Node's promises, or tests on it prove nothing.
#include "tests/support/fake_node.h"

#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

const Error kInjected{ErrorCode::kFailed, "injected", {}, 5, {}};
constexpr std::chrono::milliseconds kDeadline{1000};

}  // namespace

TEST_CASE("a fake node follows links when reading, also relative ones, and refuses to write to them") {
  FakeNode node;
  node.add_file("/etc/sysctl.conf", "x\n");
  node.add_symlink("/etc/sysctl.d/99-sysctl.conf", "../sysctl.conf");
  node.add_symlink("/lib", "/usr/lib");
  node.add_file("/usr/lib/a", "a");
  node.add_symlink("/loop", "/loop");
  CHECK(node.read_file("/etc/sysctl.d/99-sysctl.conf") == std::string("x\n"));
  CHECK(node.read_file("/lib/a") == std::string("a"));
  CHECK(node.status("/etc/sysctl.d/99-sysctl.conf")->kind == FileStatus::Kind::kSymlink);
  CHECK(node.status("/lib/a")->kind == FileStatus::Kind::kRegular);
  CHECK_FALSE(node.read_file("/loop"));
  CHECK(node.write_file("/etc/sysctl.d/99-sysctl.conf", {}).error().code == ErrorCode::kRefused);
  CHECK(node.write_file("/etc/sysctl.d", {}).error().code == ErrorCode::kRefused);
  CHECK(node.text_of("/etc/sysctl.conf") == "x\n");
}

TEST_CASE("a fake node lists files, links and folders by name") {
  FakeNode node;
  node.add_file("/a/z", "");
  node.add_file("/a/b/c", "");
  node.add_symlink("/a/l", "z");
  node.add_file("/ab", "");
  CHECK(node.list_directory("/a") == std::vector<std::string>{"b", "l", "z"});
  CHECK(node.list_directory("/nothing").error().code == ErrorCode::kNotFound);
  CHECK(node.status("/a/b")->kind == FileStatus::Kind::kDirectory);
}

TEST_CASE("a fake node distinguishes missing, special and oversized files") {
  FakeNode node;
  node.add_special("/dev/null");
  node.add_file("/long", "12345");
  CHECK(node.read_file("/absent").error().code == ErrorCode::kNotFound);
  CHECK(node.read_file("/dev/null").error().code == ErrorCode::kUnsupported);
  CHECK(node.read_file("/dev").error().code == ErrorCode::kUnsupported);
  CHECK(node.read_file("/long", 4).error().code == ErrorCode::kUnsupported);
  CHECK(node.read_file("/long", 5));
}

TEST_CASE("a fake kernel prints lists with tabs, limits values and refuses as configured") {
  FakeNode node;
  node.add_kernel_file("/proc/sys/list", {"1\t2", {}, {}, {}});
  node.add_kernel_file("/proc/sys/small", {"1", {}, 100, {}});
  node.add_kernel_file("/proc/sys/fixed", {"1", 22, {}, {}});
  REQUIRE(node.write_kernel_file("/proc/sys/list", "3 4\n"));
  CHECK(node.read_file("/proc/sys/list") == std::string("3\t4\n"));
  REQUIRE(node.write_kernel_file("/proc/sys/small", "1000\n"));
  CHECK(node.read_file("/proc/sys/small") == std::string("100\n"));
  const Result<void> refused = node.write_kernel_file("/proc/sys/fixed", "2\n");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::kFailed);
  CHECK(refused.error().sys_errno == 22);
  CHECK(node.write_kernel_file("/proc/sys/none", "2\n").error().code == ErrorCode::kNotFound);
  node.set_live(false);
  CHECK(node.write_kernel_file("/proc/sys/list", "1\n").error().code == ErrorCode::kUnsupported);
}

TEST_CASE("a fake node fails exactly the selected call, before or after its effect") {
  FakeNode node;
  node.fail_write(2, kInjected);
  CHECK(node.write_file("/a", {"1", 0644, 0, 0}));
  CHECK_FALSE(node.write_file("/a", {"2", 0644, 0, 0}));
  CHECK(node.text_of("/a") == "1");
  CHECK(node.write_file("/a", {"3", 0644, 0, 0}));
  node.fail_write(1, kInjected, true);
  CHECK_FALSE(node.remove_file("/a"));
  CHECK_FALSE(node.text_of("/a"));
  node.fail_read(2, kInjected);
  CHECK_FALSE(node.status("/a").error() == kInjected);
  CHECK(node.status("/a").error() == kInjected);
}

TEST_CASE("a fake node logs its writes and answers only scripted commands") {
  FakeNode node;
  node.script("systemctl daemon-reload", {0, "done\n", ""});
  const std::vector<std::string> reload{"systemctl", "daemon-reload"};
  const std::vector<std::string> other{"rm", "-rf", "/"};
  CHECK(node.query(reload, kDeadline)->standard_output == "done\n");
  CHECK(node.log().empty());
  CHECK(node.run(reload, kDeadline));
  CHECK(node.run(other, kDeadline).error().code == ErrorCode::kNotFound);
  REQUIRE(node.remove_file("/a"));
  CHECK(node.log() ==
        std::vector<FakeNode::Write>{{"run", "systemctl daemon-reload"}, {"run", "rm -rf /"}, {"remove", "/a"}});
}

}  // namespace sparkplan::test
