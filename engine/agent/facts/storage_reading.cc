#include "engine/agent/facts/facts_reader.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/text.h"
#include "engine/node/mount_table.h"

namespace sparkplan {
namespace {

/// The agent can kill a separate program, while its own read() would wait for a lost server.
constexpr std::chrono::seconds kReadingDeadline{45};
constexpr std::chrono::seconds kListingDeadline{10};
constexpr std::size_t kLongestComplaint = 500;

std::string first_line_printed(const std::string& text) {
  return std::string(trim(std::string_view(text).substr(0, text.find('\n')))).substr(0, kLongestComplaint);
}

/// The first error that shows damage; empty without one. Users can cause many other errors in directories that they
/// own: a server refuses these to root, they are encrypted, or a program is mounted there. The last line may be cut
/// off.
std::string damage_in(std::string_view errors) {
  constexpr std::array<std::string_view, 3> kDamage{"Input/output error", "Structure needs cleaning", "Bad message"};
  for (const std::string_view line : split_lines(errors.substr(0, errors.rfind('\n') + 1))) {
    const auto is_at_end = [&](std::string_view words) { return trim(line).ends_with(words); };
    if (std::ranges::any_of(kDamage, is_at_end)) return first_line_printed(std::string(line));
  }
  return {};
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

std::vector<std::string> find_large_file(const std::string& target) {
  return {"env", "LC_ALL=C", "find", target, "-xdev", "-maxdepth", "4", "-type", "f", "-size", "+8M", "-readable"};
}

/// About the directory itself; empty if one of its names can be read. A server may refuse it to root.
std::string complaint_about(const std::string& target, const NodeReader& node) {
  const std::vector<std::string> argv{"env", "LC_ALL=C",  "find", target,   "-mindepth",
                                      "1",   "-maxdepth", "1",    "-print", "-quit"};
  const auto output = node.query(argv, kListingDeadline);
  if (!output) return "the file system does not answer";
  const std::string complaint = output->exit_status == 0 ? "" : first_line_printed(output->standard_error);
  return complaint.ends_with("Permission denied") ? "" : complaint;
}

std::vector<std::string> read_blocks(const std::string& what) {
  return {"dd", "if=" + what, "of=/dev/null", "bs=4M", "count=64"};
}

std::vector<std::string> reading_of_device(const std::string& device, bool direct) {
  std::vector<std::string> argv = read_blocks(device);
  argv.insert(argv.begin(), {"env", "LC_ALL=C"});
  if (direct) argv.emplace_back("iflag=direct");
  return argv;
}

/// Users of the file system can put a link in the place of the file or of a directory above it, also meanwhile. Opening
/// a device such as a watchdog would change this machine. So no path is opened: find(1) enters each directory without
/// following links, and dd opens the name in it. The file is printed if it could be read.
std::vector<std::string> reading_of_file(const std::string& target, bool direct) {
  std::vector<std::string> argv = find_large_file(target);
  const auto add = [&](std::vector<std::string> words) { argv.insert(argv.end(), words.begin(), words.end()); };
  add({"(", "-execdir"});
  add(read_blocks("{}"));
  // Without nonblock, a user's lease on the file would hold the opening for as long as the deadline.
  add({direct ? "iflag=nofollow,nonblock,direct" : "iflag=nofollow,nonblock", ";", "-print", "-o", "-true", ")",
       "-quit"});
  return argv;
}

/// `device` is empty for a file of the file system.
Result<void> measure(const std::string& target, const std::string& device, ReadStorageReply& reply,
                     const NodeReader& node) {
  for (const bool direct : {true, false}) {
    std::vector<std::string> argv =
        device.empty() ? reading_of_file(target, direct) : reading_of_device(device, direct);
    auto output = node.query(argv, kReadingDeadline);
    if (!output && output.error().code == ErrorCode::kUnreachable) {
      reply.complaint = "no data could be read within " + std::to_string(kReadingDeadline.count()) + " s";
      return {};
    }
    if (!output) return failure(std::move(output).error());
    if (device.empty() ? !output->standard_output.empty() : output->exit_status == 0) {
      reply.direct = direct;
      read_outcome(output->standard_error, reply);
      return {};
    }
    // Some file systems cannot bypass the cache.
    if (direct) continue;
    const std::string& errors = output->standard_error;
    reply.complaint = device.empty() ? damage_in(errors) : first_line_printed(errors);
  }
  return {};
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
  std::vector<std::string> find = find_large_file(request.target);
  find.insert(find.end(), {"-print", "-quit"});
  auto found = node.query(find, kReadingDeadline);
  if (!found && found.error().code != ErrorCode::kUnreachable) return failure(std::move(found).error());
  // Among millions of small files, the search takes too long. Then, or if it could not enter all directories, the
  // directory itself decides.
  if (!found || (found->exit_status != 0 && found->standard_output.empty())) {
    reply.complaint = found ? damage_in(found->standard_error) : "";
    if (reply.complaint.empty()) reply.complaint = complaint_about(request.target, node);
    if (!found || !reply.complaint.empty()) return reply;
  }
  reply.what = std::string(trim(found->standard_output));
  const std::string device = reply.what.empty() && mount->source.starts_with("/dev/") ? mount->source : "";
  if (!device.empty()) reply.what = device;
  if (!reply.what.empty()) SPARK_CHECK(measure(request.target, device, reply, node));
  return reply;
}

}  // namespace sparkplan
