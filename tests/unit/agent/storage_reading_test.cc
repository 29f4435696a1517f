// Reading from a mounted file system whose users put links into it: the real find and dd, below a scratch directory.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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

/// A node on which /mounted of `root` is mounted from an NFS server. Before each reading of a file, `meanwhile` runs in
/// the directory of the file, whose name is $file.
FakeNode node_with(const ScratchDirectory& root, const std::string& meanwhile = ":") {
  root.write("/bin/dd", "#!/bin/sh\nPATH=/usr/bin:/bin file=${1#if=}\n" + meanwhile + "\nexec dd \"$@\"\n");
  std::filesystem::permissions(root / "/bin/dd", std::filesystem::perms::owner_all);
  FakeNode node;
  node.add_file("/proc/self/mountinfo",
                "40 1 0:50 / " + (root / "/mounted").string() + " rw - nfs4 spark-02:/models rw\n");
  node.add_program("env", [path = (root / "/bin").string()](FakeNode::Call call) {
    call.argv.insert(call.argv.begin() + 1, "PATH=" + path + ":/usr/bin:/bin");
    return run_really(call);
  });
  return node;
}

ReadStorageReply reply_about(const ScratchDirectory& root, const FakeNode& node) {
  const auto reply = read_storage({(root / "/mounted").string()}, node);
  REQUIRE(reply);
  CHECK(reply->complaint.empty());
  return *reply;
}

constexpr auto kDenied = "find: '/mounted/alice': Permission denied\n";
const CommandOutput kReadable{0, "", ""};
const CommandOutput kNothingFound{0, "", ""};
const CommandOutput kStats{0, "", "268435456 bytes (268 MB, 256 MiB) copied, 0.1 s, 2.7 GB/s\n"};

bool has(const std::vector<std::string>& argv, const std::string& word) { return std::ranges::count(argv, word) > 0; }

/// A search as find(1) prints it: each "|" separates two names.
CommandOutput search(int exit_status, std::string printed, std::string errors = "") {
  std::ranges::replace(printed, '|', '\0');
  return {exit_status, std::move(printed), std::move(errors)};
}
CommandOutput reading_of(const std::string& printed) { return search(0, printed, kStats.standard_error); }

/// What the programs of a node come to. Without an end they take too long.
struct Programs {
  using End = std::optional<CommandOutput>;
  End first = kNothingFound;   ///< The search for a large file.
  End others = kNothingFound;  ///< The one that leaves out the files of a user.
  End cached = kNothingFound;  ///< The one that never bypasses the cache.
  End listing = kReadable;     ///< The look at the directory of the mount.
  End device = kStats;
  std::vector<std::vector<std::string>> ran = {};

  const End& end_of(const std::vector<std::string>& argv) const {
    if (has(argv, "-empty")) return listing;
    if (has(argv, "-uid")) return others;
    if (has(argv, "-size")) return has(argv, "iflag=nofollow,nonblock,direct") ? first : cached;
    return device;
  }
};

ReadStorageReply reply_with(Programs& programs, const std::string& source = "spark-02:/models") {
  FakeNode node;
  node.add_file("/proc/self/mountinfo", "40 1 0:50 / /mounted rw - ext4 " + source + " rw\n");
  node.add_program("env", [&](const FakeNode::Call& call) -> Result<CommandOutput> {
    programs.ran.push_back(call.argv);
    const auto& end = programs.end_of(call.argv);
    return end ? Result<CommandOutput>(*end) : failure(ErrorCode::kUnreachable, "it did not end in time");
  });
  const auto reply = read_storage({"/mounted"}, node);
  REQUIRE(reply);
  return *reply;
}

/// The reply, if the search ends like that, and the directory of the mount can be read.
ReadStorageReply reply_after(std::optional<CommandOutput> first) {
  Programs programs;
  programs.first = std::move(first);
  return reply_with(programs);
}

}  // namespace

TEST_CASE("storage: what users do in their own directories is no damage of the file system") {
  const auto first = GENERATE(Programs::End(), Programs::End({1, "", kDenied}),
                              Programs::End({1, "", "find: '/mounted/a': Bad message\n"}),
                              Programs::End({1, "", "find: '/mounted/alice': Stale file handle\n"}),
                              Programs::End({1, "", "find: '/mounted/mount-of-alice': Input/output error\n"}),
                              Programs::End(search(0, "1001|", "dd: error reading './weights': Input/output error\n")),
                              Programs::End(search(124, "1001|")), Programs::End(search(124, "")));
  const ReadStorageReply reply = reply_after(first);
  CHECK(reply.complaint.empty());
  CHECK(reply.bytes == 0);
  CHECK_FALSE(reply.unmeasured.empty());
}

TEST_CASE("storage: a directory of a mount that cannot be read is a complaint, unless a server refuses it to root") {
  Programs programs;
  programs.first = GENERATE(Programs::End(), Programs::End({1, "", kDenied}), Programs::End(search(124, "1001|")));
  programs.listing = CommandOutput{1, "", "find: '/mounted': Structure needs cleaning\n"};
  CHECK(reply_with(programs).complaint == "find: '/mounted': Structure needs cleaning");
  programs.listing = std::nullopt;
  CHECK(reply_with(programs).complaint == "the file system does not answer");
  programs.listing = CommandOutput{124, "", ""};
  CHECK(reply_with(programs).complaint == "the file system does not answer");
  programs.listing = CommandOutput{1, "", "find: '/mounted': Permission denied\n"};
  CHECK(reply_with(programs).complaint.empty());
}

TEST_CASE("storage: the look at the directory of a mount looks at no name in it") {
  Programs programs;
  reply_with(programs);
  const auto look = std::ranges::find_if(programs.ran, [](const auto& argv) { return has(argv, "-empty"); });
  REQUIRE(look != programs.ran.end());
  const auto depth = std::ranges::find(*look, "-maxdepth");
  REQUIRE(depth != look->end());
  CHECK(*std::next(depth) == "0");
}

TEST_CASE("storage: of a user who holds a file, the files are left out") {
  Programs programs;
  programs.first = search(124, "1000|1001|");
  programs.others = reading_of("1002|direct /mounted/weights|");
  const ReadStorageReply reply = reply_with(programs);
  CHECK(reply.complaint.empty());
  CHECK(reply.what == "/mounted/weights");
  CHECK(reply.bytes == 268435456);
  CHECK(reply.direct);
  const auto& argv = programs.ran.back();
  const auto user = std::ranges::find(argv, "-uid");
  REQUIRE(user != argv.end());
  CHECK(*std::prev(user) == "!");
  CHECK(*std::next(user) == "1001");
}

TEST_CASE("storage: if a user holds the only large file, it is read through the cache") {
  Programs programs;
  programs.first = search(124, "1001|");
  programs.cached = reading_of("1001|cached /mounted/weights|");
  const ReadStorageReply reply = reply_with(programs);
  CHECK(reply.complaint.empty());
  CHECK(reply.what == "/mounted/weights");
  CHECK(reply.bytes == 268435456);
  CHECK_FALSE(reply.direct);
}

TEST_CASE("storage: if no file can be read in time, the device below the mount is read, and decides") {
  Programs programs;
  programs.first = search(124, "1001|");
  programs.others = programs.cached = std::nullopt;
  SECTION("without a device, the reading is skipped, after a few searches") {
    const ReadStorageReply reply = reply_with(programs);
    CHECK(reply.complaint.empty());
    CHECK(reply.unmeasured ==
          "no large file was found and read within 40 s; the last one tried belongs to user ID 1001");
    CHECK(programs.ran.size() == 4);
  }
  SECTION("the source of FUSE is no device") {
    FakeNode node;
    node.add_file("/proc/self/mountinfo", "40 1 0:50 / /mounted rw - fuse.models /dev/fuse rw,user_id=0\n");
    node.add_program("env", [&](const FakeNode::Call& call) -> Result<CommandOutput> {
      CHECK_FALSE(has(call.argv, "if=/dev/fuse"));
      return kNothingFound;
    });
    const auto reply = read_storage({"/mounted"}, node);
    REQUIRE(reply);
    CHECK(reply->unmeasured == "no file is large enough for a measurement");
  }
  SECTION("it works") {
    const ReadStorageReply reply = reply_with(programs, "/dev/nvme1n1");
    CHECK(reply.complaint.empty());
    CHECK(reply.what == "/dev/nvme1n1");
    CHECK(reply.bytes == 268435456);
  }
  SECTION("it is slow") {
    programs.device = CommandOutput{124, "", "8388608 bytes (8.4 MB, 8.0 MiB) copied, 25 s, 336 kB/s\n"};
    const ReadStorageReply reply = reply_with(programs, "/dev/nvme1n1");
    CHECK(reply.complaint.empty());
    CHECK(reply.bytes == 8388608);
  }
  SECTION("it fails") {
    programs.device = CommandOutput{1, "", "dd: error reading '/dev/nvme1n1': Input/output error\n"};
    CHECK(reply_with(programs, "/dev/nvme1n1").complaint == "dd: error reading '/dev/nvme1n1': Input/output error");
  }
  SECTION("it is silent") {
    programs.device = std::nullopt;
    CHECK(reply_with(programs, "/dev/nvme1n1").complaint == "no data could be read within 25 s");
  }
}

TEST_CASE("storage: a reading is skipped for the reason that is true") {
  CHECK(reply_after(kNothingFound).unmeasured == "no file is large enough for a measurement");
  CHECK(reply_after(std::nullopt).unmeasured == "no large file was found and read within 40 s");
  CHECK(reply_after(CommandOutput{1, "", std::string(kDenied) + "find: '/moun"}).unmeasured ==
        "no large file was found: find: '/mounted/alice': Permission denied");
  CHECK(reply_after(search(0, "1001|1002|",
                           "dd: failed to open './a': Resource temporarily unavailable\n0 bytes copied, 0.1 s\n"))
            .unmeasured == "no large file could be read: dd: failed to open './a': Resource temporarily unavailable");
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
  const ReadStorageReply reply = reply_about(root, node_with(root));
  CHECK(reply.what == (root / "/mounted/model/weights").string());
  CHECK(reply.bytes == 9 * kMiB);
}

TEST_CASE("storage: a large file that cannot be read is followed by the next one") {
  const ScratchDirectory root;
  for (const char* name : {"a", "b", "c", "d"}) make_sparse(root, std::string("/mounted/held-") + name, 20 * kMiB);
  make_sparse(root, "/mounted/weights", 9 * kMiB);
  // In place of a user's lease, which not every file system has.
  const ReadStorageReply reply = reply_about(root, node_with(root, "case $file in *held*) exit 1;; esac"));
  CHECK(reply.what == (root / "/mounted/weights").string());
  CHECK(reply.bytes == 9 * kMiB);
}

TEST_CASE("storage: a link in the place of a found file, or of its directory, is not followed") {
  const ScratchDirectory root;
  const std::string elsewhere = (root / "/elsewhere").string();
  make_sparse(root, "/elsewhere/weights", 20 * kMiB);
  SECTION("a name that ends in a blank, beside a link without the blank") {
    make_sparse(root, "/mounted/weights ", 9 * kMiB);
    root.make_link("/mounted/weights", elsewhere + "/weights");
    CHECK(reply_about(root, node_with(root)).bytes == 9 * kMiB);
  }
  SECTION("a file that becomes a link once it is found") {
    make_sparse(root, "/mounted/weights", 9 * kMiB);
    const FakeNode node = node_with(root, "ln -sf " + elsewhere + "/weights $file");
    CHECK(reply_about(root, node).bytes == 0);
  }
  SECTION("a directory that becomes a link once its file is found") {
    make_sparse(root, "/mounted/model/weights", 9 * kMiB);
    const std::string model = (root / "/mounted/model").string();
    const FakeNode node = node_with(root, "mv " + model + " " + model + "-before && ln -s " + elsewhere + " " + model);
    CHECK(reply_about(root, node).bytes == 9 * kMiB);
  }
}

}  // namespace sparkplan
