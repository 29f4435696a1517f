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

/// The complaint about /mounted, if the search ends like this. Without `search`, it takes too long; `listed` is then
/// the end of a look at the directory itself.
std::string complaint(const std::optional<CommandOutput>& search, bool listed = true) {
  FakeNode node = node_with("/mounted");
  const auto too_late = [] { return failure(ErrorCode::kUnreachable, "find did not end in time"); };
  node.add_program("env", [&](const FakeNode::Call&) -> Result<CommandOutput> {
    return search ? Result<CommandOutput>(*search) : too_late();
  });
  node.add_program("find", [&](const FakeNode::Call&) -> Result<CommandOutput> {
    return listed ? Result<CommandOutput>(CommandOutput{0, "/mounted/a\n", ""}) : too_late();
  });
  const auto reply = read_storage({"/mounted"}, node);
  REQUIRE(reply);
  CHECK(reply->bytes == 0);
  return reply->complaint;
}

}  // namespace

TEST_CASE("storage: a file that root may not read is no trouble of the file system, nor are too many files to search") {
  const std::string denied = "find: '/mounted/alice': Permission denied\n";
  CHECK(complaint(CommandOutput{1, "", denied}).empty());
  CHECK(complaint(CommandOutput{1, "", denied + "find: '/mounted/new': No such file or directory\n"}).empty());
  CHECK(complaint(CommandOutput{1, "", denied + "find: '/mounted/b': Input/output error\n"}) ==
        "find: '/mounted/b': Input/output error");
  CHECK(complaint(std::nullopt).empty());
  CHECK(complaint(std::nullopt, false) == "the file system does not answer");
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
