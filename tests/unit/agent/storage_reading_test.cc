// Reading from a mounted file system whose users put links into it: the real find and dd, below a scratch directory.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "engine/agent/facts/facts_reader.h"
#include "engine/process/child_process.h"
#include "tests/support/catch.h"
#include "tests/support/fake_node.h"
#include "tests/unit/agent/scratch.h"

namespace sparkplan {
namespace {

using test::FakeNode;
using test::ScratchDirectory;

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

void make_sparse(const ScratchDirectory& root, const std::string& name, std::int64_t bytes) {
  root.write(name, "");
  std::filesystem::resize_file(root / name, static_cast<std::uintmax_t>(bytes));
}

Result<CommandOutput> run_really(const FakeNode::Call& call) {
  SPARK_TRY(auto output, run_and_capture(call.argv, {}));
  return CommandOutput{output.exit_status, std::move(output.standard_output), std::move(output.standard_error)};
}

/// A node on which `target` is mounted from an NFS server. `meanwhile` runs before anything is read.
FakeNode node_with(
    const std::string& target, std::function<void()> meanwhile = [] {}) {
  FakeNode node;
  node.add_file("/proc/self/mountinfo", "40 1 0:50 / " + target + " rw - nfs4 spark-02:/models rw\n");
  node.add_program("find", run_really);
  node.add_program("env", [meanwhile = std::move(meanwhile)](const FakeNode::Call& call) {
    const bool reads = std::ranges::find(call.argv, "-execdir") != call.argv.end();
    if (reads) meanwhile();
    return run_really(call);
  });
  return node;
}

}  // namespace

namespace {

constexpr auto kDenied = "find: '/mounted/alice': Permission denied\n";

/// The complaint about /mounted, if the search for a large file ends like the first, and a look at the directory itself
/// like the second. Without an end they take too long.
std::string complaint(const std::optional<CommandOutput>& search, const std::optional<CommandOutput>& listing) {
  FakeNode node = node_with("/mounted");
  node.add_program("env", [&](const FakeNode::Call& call) -> Result<CommandOutput> {
    const bool is_search = std::ranges::find(call.argv, "-size") != call.argv.end();
    const auto& end = is_search ? search : listing;
    return end ? Result<CommandOutput>(*end) : failure(ErrorCode::kUnreachable, "find did not end in time");
  });
  const auto reply = read_storage({"/mounted"}, node);
  REQUIRE(reply);
  CHECK(reply->bytes == 0);
  return reply->complaint;
}

}  // namespace

TEST_CASE("storage: what users do in their own directories is no damage of the file system") {
  const CommandOutput listed{0, "/mounted/alice\n", ""};
  CHECK(complaint(CommandOutput{1, "", kDenied}, listed).empty());
  CHECK(complaint(CommandOutput{1, "", "find: '/mounted/alice': Stale file handle\n"}, listed).empty());
  CHECK(complaint(CommandOutput{1, "", std::string(kDenied) + "find: '/moun"}, listed).empty());
  CHECK(
      complaint(CommandOutput{1, "", kDenied}, CommandOutput{1, "", "find: '/mounted': Permission denied\n"}).empty());
  CHECK(complaint(std::nullopt, listed).empty());
}

TEST_CASE("storage: damage, and a directory that cannot be read itself, are complaints") {
  const CommandOutput listed{0, "/mounted/alice\n", ""};
  const std::string damaged = "find: '/mounted/b': Input/output error";
  CHECK(complaint(CommandOutput{1, "", kDenied + damaged + "\n"}, listed) == damaged);
  const std::string stale = "find: '/mounted': Stale file handle";
  CHECK(complaint(CommandOutput{1, "", stale + "\n"}, CommandOutput{1, "", stale + "\n"}) == stale);
  CHECK(complaint(std::nullopt, std::nullopt) == "the file system does not answer");
}

TEST_CASE("storage: of a mount that a user has made, nothing is read, because its source is the user's text") {
  FakeNode node;
  node.add_file("/proc/self/mountinfo",
                "40 1 0:50 / /mounted rw - fuse /dev/watchdog rw,user_id=1000,group_id=1000,allow_other\n");
  const auto reply = read_storage({"/mounted"}, node);
  REQUIRE(reply);
  CHECK(reply->complaint == "a user has mounted fuse there");
  CHECK(reply->what.empty());
}

TEST_CASE("storage: a large file of the file system is read") {
  const ScratchDirectory root;
  make_sparse(root, "/mounted/model/weights", 9 * kMiB);
  const auto reply = read_storage({(root / "/mounted").string()}, node_with((root / "/mounted").string()));
  REQUIRE(reply);
  CHECK(reply->complaint.empty());
  CHECK(reply->bytes == 9 * kMiB);
}

TEST_CASE("storage: a link in the place of a found file, or of its directory, is not followed") {
  const ScratchDirectory root;
  const std::string target = (root / "/mounted").string();
  make_sparse(root, "/elsewhere/weights", 20 * kMiB);
  SECTION("a name that ends in a blank, beside a link without the blank") {
    make_sparse(root, "/mounted/weights ", 9 * kMiB);
    root.make_link("/mounted/weights", (root / "/elsewhere/weights").string());
    const auto reply = read_storage({target}, node_with(target));
    REQUIRE(reply);
    CHECK(reply->bytes == 9 * kMiB);
  }
  SECTION("a directory that becomes a link after the search") {
    make_sparse(root, "/mounted/model/weights", 9 * kMiB);
    const auto meanwhile = [&] {
      root.remove("/mounted/model");
      root.make_link("/mounted/model", (root / "/elsewhere").string());
    };
    const auto reply = read_storage({target}, node_with(target, meanwhile));
    REQUIRE(reply);
    CHECK(reply->bytes == 0);
  }
}

}  // namespace sparkplan
