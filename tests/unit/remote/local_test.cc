// The embedded agent as a child process, on a directory used as a node.
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <string>
#include <string_view>

#include "engine/core/digest.h"
#include "engine/core/file_descriptor.h"
#include "engine/process/child_process.h"
#include "engine/remote/programs/agent_image.h"
#include "tests/support/catch.h"
#include "tests/unit/agent/scratch.h"
#include "tests/unit/remote/fakes.h"

namespace sparkplan {
namespace {

NodeSpec local_node(const std::filesystem::path& root) {
  auto spec = test::node();
  spec.transport = TransportKind::kLocal;
  spec.root = root;
  return spec;
}

#ifndef __SANITIZE_ADDRESS__
/// The embedded agent of this machine, started as a user other than root, before it has received anything.
class UnaskedAgent {
 public:
  UnaskedAgent() {
    utsname machine{};
    ::uname(&machine);
    const auto image = agent_image(machine.machine);
    REQUIRE(image);
    const FileDescriptor file(::memfd_create("agent", MFD_CLOEXEC));
    REQUIRE(file.valid());
    REQUIRE(::write(file.get(), image->bytes.data(), image->bytes.size()) == static_cast<ssize_t>(image->bytes.size()));
    // A file that is open for writing cannot be executed.
    path_ =
        "/proc/self/fd/" + std::to_string(::open(("/proc/self/fd/" + std::to_string(file.get())).c_str(), O_RDONLY));
    REQUIRE(::pipe2(input_.data(), O_CLOEXEC) == 0);
    REQUIRE(::pipe2(output_.data(), O_CLOEXEC) == 0);
  }
  UnaskedAgent(const UnaskedAgent&) = delete;
  UnaskedAgent& operator=(const UnaskedAgent&) = delete;
  ~UnaskedAgent() {
    for (const int end : {input_[1], output_[0]}) ::close(end);
    ::waitpid(process_, nullptr, 0);  // The end of its input ends it.
  }

  void start() {
    process_ = ::fork();
    if (process_ == 0) {
      constexpr uid_t kNobody = 65534;
      const bool is_root = ::geteuid() == 0;
      const bool ready = !is_root || (::setgid(kNobody) == 0 && ::setuid(kNobody) == 0);
      if (ready && ::dup2(input_[0], 0) == 0 && ::dup2(output_[1], 1) == 1) {
        ::execl(path_.c_str(), "agent", "--stdio", "--root", "/proc", nullptr);
      }
      ::_exit(99);
    }
    for (const int end : {input_[0], output_[1]}) ::close(end);
  }

  /// Waits for its greeting.
  bool greets() const {
    constexpr int kPatience = 20'000;
    pollfd readable{output_[0], POLLIN, 0};
    char first = 0;
    return ::poll(&readable, 1, kPatience) == 1 && ::read(output_[0], &first, 1) == 1;
  }
  uid_t owner_of(std::string_view file) const {
    struct stat status {};
    REQUIRE(::stat(("/proc/" + std::to_string(process_) + "/" + std::string(file)).c_str(), &status) == 0);
    return status.st_uid;
  }

 private:
  std::string path_;
  std::array<int, 2> input_{};
  std::array<int, 2> output_{};
  pid_t process_ = -1;
};
#endif

}  // namespace

#ifndef __SANITIZE_ADDRESS__
TEST_CASE("the agent writes no core dump from its beginning, before any request") {
  UnaskedAgent agent;
  agent.start();
  REQUIRE(agent.greets());
  // The kernel gives these files to root if the process writes no core dump. Source: proc(5), PR_SET_DUMPABLE.
  CHECK(agent.owner_of("environ") == 0);
}
#endif

TEST_CASE("every embedded agent is an ELF file with a unique build id") {
  REQUIRE_FALSE(agent_architectures().empty());
  for (const auto& architecture : agent_architectures()) {
    const auto image = agent_image(architecture);
    REQUIRE(image);
    CHECK(image->bytes.substr(0, 4) ==
          "\x7f"
          "ELF");
    CHECK(image->build.size() == 40);
    const test::ScratchDirectory scratch;
    scratch.write("/packed", std::string(image->packed));
    const std::string digests = "gzip -dc <" + (scratch / "/packed").string() + " | sha256sum";
    const auto unpacked = run_and_capture(std::vector<std::string>{"sh", "-c", digests});
    REQUIRE(unpacked);
    CHECK(unpacked->standard_output.starts_with(sha256(image->bytes)));
  }
  CHECK_FALSE(agent_image("vax"));
}

TEST_CASE("a directory node is served by this build's agent, which leaves no trace") {
  const test::ScratchDirectory root;
  root.write("/etc/hostname", "golden\n");
  const auto before = root.tree();
  {
    auto client = AgentClient::open(local_node(root.path()), {}, {});
    REQUIRE(client);
    CHECK(client->hello().build == test::own_hello().build);
    CHECK(client->facts().facts.hostname == "golden");
    CHECK_FALSE(client->facts().facts.live);
    CHECK(client->host_key().empty());
    CHECK(client->call(PingRequest{}));
    CHECK(client->call(ObserveNodeRequest{}));
  }
  CHECK(root.tree() == before);
}

TEST_CASE("two clients see each other's locks") {
  const test::ScratchDirectory root;
  auto first = AgentClient::open(local_node(root.path()), {}, {});
  REQUIRE(first);
  REQUIRE(first->lock({"anna@laptop", 1, "apply", "now"}));
  auto second = AgentClient::open(local_node(root.path()), {}, {});
  REQUIRE(second);
  REQUIRE(second->facts().lock_holder);
  CHECK(second->facts().lock_holder->who == "anna@laptop");
  CHECK(second->lock({"bert@desk", 2, "apply", "now"}).error().code == ErrorCode::kBusy);
  REQUIRE(first->unlock());
  CHECK(second->lock({"bert@desk", 2, "apply", "now"}));
}

TEST_CASE("a missing directory is an unreachable node") {
  const test::ScratchDirectory root;
  const auto client = AgentClient::open(local_node(root / "/missing"), {}, {});
  REQUIRE_FALSE(client);
  CHECK(client.error().code == ErrorCode::kUnreachable);
  CHECK(client.error().message.find("missing") != std::string::npos);
}

}  // namespace sparkplan
