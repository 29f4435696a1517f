#include "engine/agent/facts/facts_reader.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/text.h"
#include "engine/node/mount_table.h"
#include "engine/process/child_process.h"

namespace sparkplan {
namespace {

/// The agent can kill a separate program, while its own read() would wait for a lost server.
constexpr std::chrono::seconds kFirstSearch{40};
constexpr std::chrono::seconds kNextSearch{20};
constexpr std::chrono::seconds kListing{10};
constexpr std::chrono::seconds kDeviceReading{25};
/// From the end of timeout(1) to the deadline of query().
constexpr std::chrono::seconds kSpare{2};
static_assert(kFirstSearch + 2 * kNextSearch + kListing + 2 * kDeviceReading + 6 * (kSpare + kKillPatience) <=
              kLongestStorageRead);
constexpr int kTimedOut = 124;  // Source: timeout(1).
constexpr std::size_t kLongestComplaint = 500;

std::string first_line_printed(const std::string& text) {
  return std::string(trim(std::string_view(text).substr(0, text.find('\n')))).substr(0, kLongestComplaint);
}

/// The last complete line of find or dd.
std::string last_error_in(std::string_view errors) {
  std::string_view last;
  for (const std::string_view line : split_lines(errors.substr(0, errors.rfind('\n') + 1))) {
    if (line.starts_with("find: ") || line.starts_with("dd: ")) last = line;
  }
  return first_line_printed(std::string(last));
}

/// Bytes and seconds of "268435456 bytes (268 MB, 256 MiB) copied, 0.104 s, 2.6 GB/s".
void read_outcome(const std::string& text, ReadStorageReply& reply) {
  for (const std::string_view line : split_lines(text)) {
    const auto words = words_of(line);
    if (words.size() < 5 || words[1].substr(0, 4) != "byte") continue;
    std::from_chars(words[0].data(), words[0].data() + words[0].size(), reply.bytes);
    for (std::size_t i = 1; i + 2 < words.size(); ++i) {
      if (words[i] != "copied,") continue;
      const double seconds = std::strtod(std::string(words[i + 1]).c_str(), nullptr);
      reply.nanoseconds = static_cast<std::int64_t>(seconds * 1e9);
    }
  }
}

/// Ends with kTimedOut if `argv` takes longer. Its output until then is kept, which query() would drop. A program that
/// waits in the kernel ignores the signal. The agent does not wait for it: query() has another deadline.
Result<CommandOutput> run_for(std::chrono::seconds time, std::vector<std::string> argv, const NodeReader& node) {
  argv.insert(argv.begin(), {"env", "LC_ALL=C", "timeout", "--signal=INT", std::to_string(time.count())});
  auto output = node.query(argv, time + kSpare);
  if (!output && output.error().code == ErrorCode::kUnreachable) return CommandOutput{kTimedOut, "", ""};
  return output;
}

/// About the directory itself; empty if its names can be read. A server may refuse it to root. It looks at none of the
/// names: a user can mount a program at one, which answers with any error, or never.
std::string complaint_about(const std::string& target, const NodeReader& node) {
  const auto output = run_for(kListing, {"find", target, "-maxdepth", "0", "-empty"}, node);
  if (!output || output->exit_status == kTimedOut) return "the file system does not answer";
  const std::string complaint = output->exit_status == 0 ? "" : first_line_printed(output->standard_error);
  return complaint.ends_with("Permission denied") ? "" : complaint;
}

std::vector<std::string> read_blocks(const std::string& what) {
  return {"dd", "if=" + what, "of=/dev/null", "bs=4M", "count=64"};
}

/// Which large files a search tries.
struct Choice {
  std::chrono::seconds time;
  std::string not_of = {};  ///< The ID of a user whose files are left out.
  bool direct = true;       ///< Tries to bypass the cache first.
};

/// Users of the file system can put a link in the place of the file or of a directory above it, also meanwhile. Opening
/// a device such as a watchdog would change this machine. So no path is opened: find(1) enters each directory without
/// following links, and dd opens the name in it. The owner of each file is printed before the file is read, and how it
/// was read afterwards. A file that cannot be read is followed by the next one.
std::vector<std::string> reading_of_file(const std::string& target, const Choice& choice) {
  std::vector<std::string> argv{"find", target, "-xdev", "-maxdepth", "4", "-type", "f", "-size", "+8M", "-readable"};
  const auto add = [&](std::vector<std::string> words) { argv.insert(argv.end(), words.begin(), words.end()); };
  // Without nonblock, a user's lease on the file would hold the opening for as long as the deadline.
  const auto add_reading = [&](const std::string& flags, const std::string& word) {
    add({"-execdir"});
    add(read_blocks("{}"));
    add({"iflag=nofollow,nonblock" + flags, ";", "-printf", word + " %p\\0"});
  };
  if (!choice.not_of.empty()) add({"!", "-uid", choice.not_of});
  // \c flushes the output.
  add({"-printf", "%U\\0\\c", "("});
  // Some file systems cannot bypass the cache.
  if (choice.direct) {
    add_reading(",direct", "direct");
    add({"-o"});
  }
  add_reading("", "cached");
  add({")", "-quit"});
  return argv;
}

/// The result of a search.
struct Search {
  std::string why;         ///< Nothing was read; empty after a reading.
  std::string last_owner;  ///< Of the file that was tried last, if the search took too long.
};

Result<Search> read_a_file(const std::string& target, const Choice& choice, ReadStorageReply& reply,
                           const NodeReader& node) {
  SPARK_TRY(const CommandOutput output, run_for(choice.time, reading_of_file(target, choice), node));
  std::string_view last = output.standard_output;
  if (last.ends_with('\0')) last.remove_suffix(1);
  last.remove_prefix(last.rfind('\0') + 1);
  const std::string_view how = last.substr(0, last.find(' '));
  if (how == "direct" || how == "cached") {
    reply.what = last.substr(how.size() + 1);
    reply.direct = how == "direct";
    read_outcome(output.standard_error, reply);
    return Search{reply.bytes > 0 ? "" : "the reading of a large file has no result", ""};
  }
  const bool tried = !last.empty() && last.find_first_not_of("0123456789") == std::string_view::npos;
  if (output.exit_status == kTimedOut) {
    std::string why = "no large file was found and read within " + std::to_string(choice.time.count()) + " s";
    if (!tried) return Search{std::move(why), ""};
    return Search{why + "; the last one tried belongs to user ID " + std::string(last), std::string(last)};
  }
  if (output.exit_status == 0 && !tried) return Search{"no file is large enough for a measurement", ""};
  return Search{
      (tried ? "no large file could be read: " : "no large file was found: ") + last_error_in(output.standard_error),
      ""};
}

/// A user can hold a file: the kernel keeps its lock while it waits for memory that a program of that user serves. A
/// direct read then waits without end, on some file systems every read. So the files of others are tried, then the
/// cache.
Result<void> read_another_file(const std::string& target, const Search& first, ReadStorageReply& reply,
                               const NodeReader& node) {
  for (const Choice& choice : {Choice{kNextSearch, first.last_owner}, Choice{kNextSearch, "", false}}) {
    SPARK_TRY(const Search next, read_a_file(target, choice, reply, node));
    if (next.why.empty()) break;
  }
  return {};
}

/// No user can hold a device.
Result<void> read_device(const std::string& device, ReadStorageReply& reply, const NodeReader& node) {
  reply.what = device;
  for (const bool direct : {true, false}) {
    std::vector<std::string> argv = read_blocks(device);
    if (direct) argv.emplace_back("iflag=direct");
    SPARK_TRY(const CommandOutput output, run_for(kDeviceReading, std::move(argv), node));
    reply.direct = direct;
    const bool timed_out = output.exit_status == kTimedOut;
    // At the signal of timeout(1), dd prints how much it has read.
    if (output.exit_status == 0 || timed_out) read_outcome(output.standard_error, reply);
    if (output.exit_status == 0 || reply.bytes > 0) {
      reply.complaint.clear();
      return {};
    }
    reply.complaint = timed_out ? "no data could be read within " + std::to_string(kDeviceReading.count()) + " s"
                                : first_line_printed(output.standard_error);
    if (timed_out) return {};
  }
  return {};
}

/// The source of FUSE is a text of its program.
bool is_on_a_device(const MountedFileSystem& mount) {
  const bool is_fuse = mount.type == "fuse" || mount.type.starts_with("fuse.");
  return mount.source.starts_with("/dev/") && !is_fuse;
}

}  // namespace

Result<ReadStorageReply> read_storage(const ReadStorageRequest& request, const NodeReader& node) {
  ReadStorageReply reply;
  SPARK_TRY(const auto mounts, mounted_file_systems(node));
  const MountedFileSystem* mount = mounted_at(mounts, request.target);
  if (mount == nullptr) {
    reply.complaint = "nothing is mounted there";
    return reply;
  }
  // Its source is a text of that user.
  if (mount->made_by_a_user()) {
    reply.complaint = "a user has mounted " + mount->type + " there";
    return reply;
  }
  SPARK_TRY(const Search search, read_a_file(request.target, {kFirstSearch}, reply, node));
  if (search.why.empty()) return reply;
  // Users can cause every error and every wait below it.
  reply.complaint = complaint_about(request.target, node);
  if (!reply.complaint.empty()) return reply;
  if (!search.last_owner.empty()) SPARK_CHECK(read_another_file(request.target, search, reply, node));
  if (reply.bytes == 0 && is_on_a_device(*mount)) SPARK_CHECK(read_device(mount->source, reply, node));
  if (reply.bytes == 0 && reply.complaint.empty()) reply.unmeasured = search.why;
  return reply;
}

}  // namespace sparkplan
