#include "resources/netplan/trial.h"

#include <chrono>
#include <vector>

#include "engine/core/text.h"
#include "resources/netplan/foreign_files.h"
#include "resources/netplan/netplan_file.h"

namespace sparkplan::netplan {
namespace {

constexpr std::chrono::milliseconds kDeadline{30'000};
constexpr std::uint32_t kMode = 0600;

/// netplan speaks of the copy; the reader knows the original.
std::string in_terms_of_the_originals(std::string text, const std::string& copy) {
  for (auto at = text.find(copy); at != std::string::npos; at = text.find(copy, at)) text.erase(at, copy.size());
  return text;
}

/// Warnings about permissions come first; the complaint is what follows.
std::string complaint(const std::string& text) {
  std::string kept;
  for (const std::string_view line : split_lines(text)) {
    const bool noise = trim(line).empty() || line.find("too open") != std::string_view::npos ||
                       line.find("WARNING") != std::string_view::npos;
    if (!noise) kept += (kept.empty() ? "" : "\n") + std::string(line);
  }
  return kept;
}

/// What netplan has generated in the copy shows who would configure our interfaces.
Result<void> check_renderer(const std::string& content, const std::filesystem::path& copy, const NodeReader& node) {
  SPARK_TRY(const Stanzas stanzas, parse_file(content));
  for (const auto& [interface, stanza] : stanzas) {
    const auto handed_over =
        copy / "run/NetworkManager/system-connections" / ("netplan-" + interface + ".nmconnection");
    if (!node.status(handed_over)) continue;
    return failure(ErrorCode::kUnsupported, "netplan hands " + interface + " to NetworkManager on this node",
                   "this version activates interfaces of systemd-networkd only; nothing was written");
  }
  return {};
}

}  // namespace

Result<void> try_netplan_files(const std::string& content, Node& node) {
  SPARK_TRY(const auto copy, node.make_scratch_directory());
  SPARK_TRY(const auto paths, merged_files(node));
  for (const std::string& path : paths) {
    if (path == kOwnFile) continue;
    const auto text = node.read_file(path);
    if (!text && text.error().code == ErrorCode::kNotFound) continue;
    if (!text) return failure(text.error());
    SPARK_CHECK(node.write_file(copy.string() + path, {*text, kMode, 0, 0}));
  }
  SPARK_CHECK(node.write_file(copy.string() + std::string(kOwnFile), {content, kMode, 0, 0}));
  const std::vector<std::string> argv{"netplan", "generate", "--root-dir", copy.string()};
  const auto output = node.query(argv, kDeadline);
  if (!output && output.error().code == ErrorCode::kNotFound) {
    return failure(ErrorCode::kUnsupported, "there is no netplan on this node",
                   "install netplan.io, or leave `fabric` to whatever configures the network there");
  }
  if (!output) return failure(output.error());
  if (output->exit_status == 0) return check_renderer(content, copy, node);
  const std::string said = complaint(in_terms_of_the_originals(output->standard_error, copy.string()));
  return failure(ErrorCode::kRefused, "netplan does not take its files together with ours: " + said,
                 "mend the file that netplan names; nothing was written");
}

}  // namespace sparkplan::netplan
