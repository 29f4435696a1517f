// LocalNode's promises as a Node, on a directory tree.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstdlib>

#include "engine/agent/node/local_node.h"
#include "engine/agent/node/ssh_session.h"
#include "tests/support/catch.h"
#include "tests/unit/agent/scratch.h"
#include "tests/unit/agent/scratch_node.h"

namespace sparkplan {
namespace {

using test::node_at;
using test::ScratchDirectory;
using Kind = FileStatus::Kind;

/// Sets the umask and restores the old one.
class Umask {
 public:
  explicit Umask(mode_t mask) : before_(::umask(mask)) {}
  Umask(const Umask&) = delete;
  Umask& operator=(const Umask&) = delete;
  ~Umask() { ::umask(before_); }

 private:
  mode_t before_;
};

}  // namespace

TEST_CASE("a file is written with the requested mode, whatever the umask") {
  const ScratchDirectory root;
  auto node = node_at(root);
  for (const mode_t mask : {mode_t{0}, mode_t{022}, mode_t{0777}}) {
    const Umask umask(mask);
    for (const std::uint32_t mode : {0644U, 0600U, 0755U, 0777U, 0440U}) {
      INFO("umask " << mask << ", mode " << mode);
      REQUIRE(node.write_file("/file", {"x", mode, 0, 0}));
      CHECK(root.mode("/file") == mode);
    }
  }
}

TEST_CASE("the login user is the one who became root through sudo, and in a directory tree root") {
  const auto login_through = [](const char* uid) {
    ::setenv("SUDO_UID", uid, 1);
    const std::uint32_t found = login_user_id();
    ::unsetenv("SUDO_UID");
    return found;
  };
  const bool is_root = ::getuid() == 0;
  CHECK(login_user_id() == ::getuid());
  CHECK(login_through("1000") == (is_root ? 1000 : ::getuid()));
  for (const char* const text : {"", "x", "-1", "1000x", "99999999999"}) CHECK(login_through(text) == ::getuid());
  const ScratchDirectory root;
  CHECK(node_at(root).login_user() == 0);
}

TEST_CASE("lines of a file are read in turn, and those that are too long are left out") {
  const ScratchDirectory root;
  const auto node = node_at(root);
  const auto lines_of = [&](const std::string& text, NodeReader::LineLimits limits) {
    root.write("/file", text);
    std::string lines;
    const auto read = node.read_lines("/file", limits, [&](std::string_view line) -> Result<void> {
      lines += "[" + std::string(line) + "]";
      return line == "stop" ? failure(ErrorCode::kRefused, "stopped") : Result<void>();
    });
    return lines + (read ? "" : " " + read.error().message.substr(read.error().message.rfind('/') + 1));
  };
  CHECK(lines_of("", {}).empty());
  CHECK(lines_of("a\n\nb", {}) == "[a][][b]");
  CHECK(lines_of("one\nfour\nthree\nsix\n", {.line = 4}) == "[one][four][six]");
  CHECK(lines_of("three", {.line = 4}).empty());
  CHECK(lines_of("a\nstop\nb\n", {}) == "[a][stop] stopped");
  CHECK(lines_of("a\nb\n", {.all = 3}) == " file has more than 3 bytes");
  const std::string piece(std::size_t{65'536} - 2, 'x');
  CHECK(lines_of(piece + "\na\nbc\n", {}) == "[" + piece + "][a][bc]");
  CHECK(lines_of(piece + "yyy\na\n" + piece + piece + "\nb\n", {}) == "[a][b]");
  CHECK_FALSE(node.read_lines("/", {}, [](std::string_view) { return Result<void>(); }));
}

TEST_CASE("missing parent directories are created with mode 0755, whatever the umask") {
  const ScratchDirectory root;
  auto node = node_at(root);
  const Umask umask(0777);
  REQUIRE(node.write_file("/etc/sysctl.d/90-sparkplan.conf", {"x", 0644, 0, 0}));
  CHECK(root.mode("/etc") == 0755);
  CHECK(root.mode("/etc/sysctl.d") == 0755);
}

TEST_CASE("an existing directory keeps its mode") {
  const ScratchDirectory root;
  root.make_directory("/etc");
  ::chmod((root / "/etc").c_str(), 0700);
  auto node = node_at(root);
  REQUIRE(node.write_file("/etc/a/b", {"x", 0644, 0, 0}));
  CHECK(root.mode("/etc") == 0700);
}

TEST_CASE("a created directory has the requested mode, and its parents have 0755") {
  const ScratchDirectory root;
  auto node = node_at(root);
  const Umask umask(077);
  REQUIRE(node.make_directories("/var/lib/sparkplan", 0700));
  CHECK(root.mode("/var/lib") == 0755);
  CHECK(root.mode("/var/lib/sparkplan") == 0700);
  REQUIRE(node.make_directories("/var/lib/sparkplan", 0755));
  CHECK(root.mode("/var/lib/sparkplan") == 0700);
}

TEST_CASE("a file is replaced by a new one, so that open descriptors still read the old contents") {
  const ScratchDirectory root;
  root.write("/file", "old content");
  auto node = node_at(root);
  std::ifstream reader(root / "/file");
  REQUIRE(node.write_file("/file", {"new", 0600, 0, 0}));
  CHECK(std::string(std::istreambuf_iterator<char>(reader), {}) == "old content");
  CHECK(root.read("/file") == "new");
  CHECK(root.mode("/file") == 0600);
}

TEST_CASE("arbitrary bytes and empty contents can be written") {
  const ScratchDirectory root;
  auto node = node_at(root);
  const std::string bytes("\0\xff\n\r\x1b", 5);
  REQUIRE(node.write_file("/bytes", {bytes, 0644, 0, 0}));
  CHECK(node.read_file("/bytes") == bytes);
  REQUIRE(node.write_file("/bytes", {"", 0644, 0, 0}));
  CHECK(node.read_file("/bytes") == std::string());
}

TEST_CASE("the next write removes the temporary file of a killed write") {
  const ScratchDirectory root;
  auto node = node_at(root);
  root.write("/etc/.file.sparkplan-new", std::string(100, 'x'));
  REQUIRE(node.write_file("/etc/file", {"short", 0644, 0, 0}));
  CHECK(root.tree() == std::map<std::string, std::string>{{"/etc/file", std::to_string(0644) + " short"}});
}

TEST_CASE("a link at the temporary file's path is not followed") {
  const ScratchDirectory root;
  root.write("/victim", "untouched");
  root.make_link("/etc/.file.sparkplan-new", "../victim");
  auto node = node_at(root);
  REQUIRE(node.write_file("/etc/file", {"mine", 0644, 0, 0}));
  CHECK(root.read("/victim") == "untouched");
  CHECK(root.read("/etc/file") == "mine");
}

TEST_CASE("a failed write leaves nothing behind") {
  const ScratchDirectory root;
  root.write("/etc/directory/inside", "kept");
  root.make_link("/etc/link", "directory/inside");
  auto node = node_at(root);
  const auto before = root.tree();
  for (const char* path : {"/etc/directory", "/etc/link", "/etc/directory/inside/below"}) {
    INFO(path);
    CHECK_FALSE(node.write_file(path, {"x", 0644, 0, 0}));
    CHECK(root.tree() == before);
  }
}

TEST_CASE("a symbolic link, a directory or a device at a file's path is refused") {
  const ScratchDirectory root;
  root.make_directory("/directory");
  root.make_link("/link", "target");
  root.write("/target", "untouched");
  REQUIRE(::mkfifo((root / "/pipe").c_str(), 0600) == 0);
  auto node = node_at(root);
  for (const char* path : {"/directory", "/link", "/pipe", "/directory/.."}) {
    INFO(path);
    const auto written = node.write_file(path, {"x", 0644, 0, 0});
    REQUIRE_FALSE(written);
    CHECK(written.error().code == ErrorCode::kRefused);
    CHECK_FALSE(written.error().hint.empty());
  }
  CHECK(root.read("/target") == "untouched");
}

TEST_CASE("removing deletes a file or a link itself, and a missing file is no error") {
  const ScratchDirectory root;
  root.write("/target", "kept");
  root.make_link("/link", "target");
  root.make_directory("/directory");
  auto node = node_at(root);
  CHECK(node.remove_file("/link"));
  CHECK_FALSE(root.exists("/link"));
  CHECK(root.read("/target") == "kept");
  CHECK(node.remove_file("/target"));
  CHECK_FALSE(root.exists("/target"));
  CHECK(node.remove_file("/target"));
  CHECK(node.remove_file("/no/such/directory/file"));
  const auto removed = node.remove_file("/directory");
  REQUIRE_FALSE(removed);
  CHECK(removed.error().code == ErrorCode::kFailed);
  CHECK(root.exists("/directory"));
}

TEST_CASE("reading stops at the size limit and never returns a part as the whole") {
  const ScratchDirectory root;
  root.write("/file", std::string(1000, 'x'));
  const auto node = node_at(root);
  CHECK(node.read_file("/file", 1000) == std::string(1000, 'x'));
  const auto cut = node.read_file("/file", 999);
  REQUIRE_FALSE(cut);
  CHECK(cut.error().code == ErrorCode::kUnsupported);
  root.write("/large", std::string((std::size_t{1} << 20) + 1, 'x'));
  CHECK(node.read_file("/large").error().code == ErrorCode::kUnsupported);
}

TEST_CASE("only regular files are read, and a pipe without a writer does not block") {
  const ScratchDirectory root;
  root.make_directory("/directory");
  REQUIRE(::mkfifo((root / "/pipe").c_str(), 0600) == 0);
  const auto node = node_at(root);
  CHECK(node.read_file("/directory").error().code == ErrorCode::kUnsupported);
  CHECK(node.read_file("/pipe").error().code == ErrorCode::kUnsupported);
  CHECK(node.read_file("/missing").error().code == ErrorCode::kNotFound);
  CHECK(node.read_file("/missing/file").error().code == ErrorCode::kNotFound);
}

TEST_CASE("a device in a directory tree is not opened") {
  if (::geteuid() != 0) {
    WARN("SKIPPED: devices are made by root");
    return;
  }
  const ScratchDirectory root;
  root.make_directory("/etc");
  REQUIRE(::mknod((root / "/etc/os-release").c_str(), S_IFCHR | 0666, ::makedev(1, 3)) == 0);
  const auto node = node_at(root);
  for (const int flags : {O_RDONLY, O_WRONLY, O_RDWR | O_CREAT}) {
    const auto opened = node.open_descriptor("/etc/os-release", flags, 0600);
    REQUIRE_FALSE(opened);
    CHECK(opened.error().code == ErrorCode::kUnsupported);
  }
}

TEST_CASE("the status distinguishes all kinds of files and follows no link") {
  const ScratchDirectory root;
  root.write("/file", "12345");
  ::chmod((root / "/file").c_str(), 02751);
  root.make_directory("/directory");
  root.make_link("/link", "file");
  root.make_link("/dangling", "nowhere");
  REQUIRE(::mkfifo((root / "/pipe").c_str(), 0600) == 0);
  const auto node = node_at(root);
  const auto file = node.status("/file");
  REQUIRE(file);
  CHECK(file->kind == Kind::kRegular);
  CHECK(file->mode == 02751);
  CHECK(file->size == 5);
  CHECK(file->uid == 0);  // Root's uid, or the user's who builds the image.
  CHECK(file->gid == 0);
  CHECK(node.status("/directory")->kind == Kind::kDirectory);
  CHECK(node.status("/")->kind == Kind::kDirectory);
  CHECK(node.status("/link")->kind == Kind::kSymlink);
  CHECK(node.status("/dangling")->kind == Kind::kSymlink);
  CHECK(node.status("/pipe")->kind == Kind::kOther);
  CHECK(node.status("/missing").error().code == ErrorCode::kNotFound);
}

TEST_CASE("a directory is listed sorted by name, without its dot entries") {
  const ScratchDirectory root;
  for (const char* name : {"b", "B", "a10", "a9", ".hidden"}) root.write(std::string("/d/") + name, "");
  root.make_directory("/d/c");
  root.make_directory("/empty");
  const auto node = node_at(root);
  CHECK(node.list_directory("/d") == std::vector<std::string>{".hidden", "B", "a10", "a9", "b", "c"});
  CHECK(node.list_directory("/empty") == std::vector<std::string>{});
  CHECK(node.list_directory("/missing").error().code == ErrorCode::kNotFound);
  CHECK_FALSE(node.list_directory("/d/b"));
}

TEST_CASE("a directory with more names than any machine needs is refused, and costs no memory") {
  const ScratchDirectory root;
  root.make_directory("/full");
  for (int i = 0; i <= 50'000; ++i) {
    REQUIRE(::mknod((root / ("/full/" + std::to_string(i))).c_str(), S_IFREG | 0600, 0) == 0);
  }
  CHECK(node_at(root).list_directory("/full").error().code == ErrorCode::kUnsupported);
  std::filesystem::remove(root / "/full/0");
  CHECK(node_at(root).list_directory("/full")->size() == 50'000);
}

TEST_CASE("a directory tree runs no commands and has no kernel") {
  const ScratchDirectory root;
  root.write("/proc/sys/vm/swappiness", "60\n");
  auto node = node_at(root);
  CHECK_FALSE(node.live());
  const std::vector<std::string> argv{"true"};
  CHECK(node.query(argv, std::chrono::seconds(1)).error().code == ErrorCode::kUnsupported);
  CHECK(node.run(argv, std::chrono::seconds(1)).error().code == ErrorCode::kUnsupported);
  CHECK(node.write_kernel_file("/proc/sys/vm/swappiness", "1\n").error().code == ErrorCode::kUnsupported);
  CHECK(root.read("/proc/sys/vm/swappiness") == "60\n");
}

TEST_CASE("the machine itself runs commands, with a deadline") {
  auto node = LocalNode::open("/");
  REQUIRE(node);
  CHECK(node->live());
  const std::vector<std::string> echo{"echo", "$HOME"};
  const auto output = node->query(echo, std::chrono::seconds(20));
  REQUIRE(output);
  CHECK(output->standard_output == "$HOME\n");
  const std::vector<std::string> sleep{"sleep", "1000"};
  CHECK(node->run(sleep, std::chrono::milliseconds(100)).error().code == ErrorCode::kUnreachable);
  CHECK(node->read_file("/proc/self/comm"));
}

TEST_CASE("an oversized answer is an error for a query; for a change only its output is cut") {
  auto node = LocalNode::open("/");
  REQUIRE(node);
  const std::vector<std::string> talkative{"head", "-c", "5000000", "/dev/zero"};
  const auto answer = node->query(talkative, std::chrono::seconds(60));
  REQUIRE_FALSE(answer);
  CHECK(answer.error().code == ErrorCode::kFailed);
  CHECK(answer.error().message == "head prints more than 4194304 bytes");
  const auto change = node->run(talkative, std::chrono::seconds(60));
  REQUIRE(change);
  CHECK(change->standard_output.size() == 4194304);
}

TEST_CASE("a root that is not a directory cannot be opened") {
  const ScratchDirectory root;
  root.write("/file", "");
  CHECK(LocalNode::open(root / "/missing").error().code == ErrorCode::kNotFound);
  CHECK_FALSE(LocalNode::open(root / "/file"));
}

}  // namespace sparkplan
