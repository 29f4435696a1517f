#include "engine/agent/node/separate_access.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>

#include "engine/core/file_descriptor.h"
#include "tests/support/catch.h"

namespace sparkplan {
namespace {

constexpr std::chrono::seconds kDeadline{30};

}  // namespace

TEST_CASE("separate access: the answer of the other process is the answer, and so is its error") {
  const FileDescriptor needed(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  HomeAnswer wanted;
  wanted.status = {FileStatus::Kind::kDirectory, 0750, 1000, 1001, 4096, 7, 8, 9, "user ID 1001"};
  wanted.bytes = std::string("a\0b\n", 4) + std::string(std::size_t{3} << 20, 'x');
  const auto answer = in_separate_process([&] { return Result<HomeAnswer>(wanted); }, needed.get(), kDeadline);
  REQUIRE(answer);
  CHECK(answer->bytes == wanted.bytes);
  CHECK(answer->status.kind == FileStatus::Kind::kDirectory);
  CHECK(answer->status.mode == 0750);
  CHECK(answer->status.uid == 1000);
  CHECK(answer->status.gid == 1001);
  CHECK(answer->status.size == 4096);
  CHECK(answer->status.device == 7);
  CHECK(answer->status.inode == 8);
  CHECK(answer->status.changed_at_nanos == 9);
  CHECK(answer->status.acl_writer == "user ID 1001");

  const auto fails = [&]() -> Result<HomeAnswer> {
    Error error = system_error("open /home/alice", ENOENT);
    error.hint = "make it";
    return failure(std::move(error));
  };
  const auto failed = in_separate_process(fails, needed.get(), kDeadline);
  REQUIRE_FALSE(failed);
  CHECK(failed.error().code == ErrorCode::kNotFound);
  CHECK(failed.error().describe() == system_error("open /home/alice", ENOENT).describe());
  CHECK(failed.error().hint == "make it");
}

TEST_CASE("separate access: one that waits without end fails at its deadline, and changes nothing later") {
  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
  const FileDescriptor ours(ends[0]);
  FileDescriptor theirs(ends[1]);
  const auto waits = []() -> Result<HomeAnswer> {
    while (true) ::pause();
  };
  const auto answer = in_separate_process(waits, theirs.get(), std::chrono::milliseconds(50));
  REQUIRE_FALSE(answer);
  CHECK(answer.error().code == ErrorCode::kUnreachable);
  // The process is gone: no other end of the pipe is open.
  theirs.replace(-1);
  CHECK(read_up_to(ours.get(), 1, "the pipe") == std::string());
}

TEST_CASE("separate access: one that ends early is an error") {
  const FileDescriptor needed(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  const auto ends_early = []() -> Result<HomeAnswer> { ::_exit(0); };
  const auto answer = in_separate_process(ends_early, needed.get(), kDeadline);
  REQUIRE_FALSE(answer);
  CHECK(answer.error().code == ErrorCode::kFailed);
}

TEST_CASE("separate access: the other process has no descriptor but the one that it needs") {
  const FileDescriptor lock(::open("/", O_PATH | O_DIRECTORY));
  const FileDescriptor needed(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  const FileDescriptor connection(::open("/", O_PATH | O_DIRECTORY));
  const auto look = [&]() -> Result<HomeAnswer> {
    HomeAnswer open;
    for (const int one : {0, 1, 2, lock.get(), connection.get(), needed.get()})
      open.bytes += ::fcntl(one, F_GETFD) >= 0 ? '1' : '0';
    return open;
  };
  const auto answer = in_separate_process(look, needed.get(), kDeadline);
  REQUIRE(answer);
  CHECK(answer->bytes == "000001");
}

}  // namespace sparkplan
