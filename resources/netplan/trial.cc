#include "resources/netplan/trial.h"

#include <array>
#include <chrono>
#include <vector>

#include "engine/core/digest.h"
#include "engine/core/text.h"
#include "engine/resource/systemd_units.h"
#include "resources/netplan/foreign_files.h"
#include "resources/netplan/netplan_file.h"
#include "resources/netplan/network_manager.h"

namespace sparkplan::netplan {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kDeadline{30'000};
constexpr std::uint32_t kMode = 0600;

/// What netplan generates for networkd. Source: netplan's src/networkd.c.
constexpr std::array<std::string_view, 2> kSuffixes{".netdev", ".network"};
/// The same for udev, which reads it at boot, whoever the renderer is.
constexpr std::string_view kSuffixForUdev = ".link";

/// netplan's own generator, which systemd runs at boot: what `netplan generate` starts once Python has
/// started. Source: netplan-generate(8); Ubuntu 24.04, Debian 12.
constexpr std::array<std::string_view, 2> kGenerators{"/usr/libexec/netplan/generate", "/lib/netplan/generate"};

std::vector<std::string> generate_command(const fs::path& copy, const NodeReader& node) {
  for (const std::string_view generator : kGenerators) {
    if (node.status(generator)) return {std::string(generator), "--root-dir", copy.string()};
  }
  return {"netplan", "generate", "--root-dir", copy.string()};
}

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

/// All netplan files of the node by their paths, with `changed` in place of some.
Result<std::map<std::string, std::string>> files_with(const NetplanFiles& changed, const NodeReader& node) {
  std::map<std::string, std::string> files;
  SPARK_TRY(const auto paths, merged_files(node));
  for (const std::string& path : paths) {
    if (changed.contains(path)) continue;
    SPARK_TRY(files[path], read_netplan_file(path, node));
  }
  for (const auto& [path, text] : changed) {
    if (text) files[path] = *text;
  }
  return files;
}

/// The same for the same files, and for no others.
std::string name_for(const std::map<std::string, std::string>& files) {
  std::string all;
  for (const auto& [path, text] : files) all += path + '\0' + std::to_string(text.size()) + '\0' + text;
  return "netplan-" + sha256(all);
}

/// A copy of all netplan files, with `changed` in place of some, and what netplan generates from them. What was tried
/// out is what is installed later: the generator runs once for the same files.
Result<fs::path> generate_in_copy(const NetplanFiles& changed, Node& node) {
  SPARK_TRY(const auto files, files_with(changed, node));
  SPARK_TRY(const auto copy, node.scratch_directory(name_for(files)));
  const fs::path done = copy / "generated";
  if (node.status(done)) return copy;
  for (const auto& [path, text] : files) SPARK_CHECK(node.write_file(copy.string() + path, {text, kMode, 0, 0}));
  const auto output = node.run(generate_command(copy, node), kDeadline);
  if (!output && output.error().code == ErrorCode::kNotFound) {
    return failure(ErrorCode::kUnsupported, "there is no netplan on this node",
                   "install netplan.io, or leave `fabric` to whatever configures the network there");
  }
  if (!output) return failure(output.error());
  if (output->exit_status == 0) {
    SPARK_CHECK(node.write_file(done, {"", kMode, 0, 0}));
    return copy;
  }
  const std::string said = complaint(in_terms_of_the_originals(output->standard_error, copy.string()));
  return failure(ErrorCode::kFailed, "netplan does not take its files together with ours: " + said,
                 "mend the file that netplan names; nothing was written");
}

/// Why networkd cannot configure `interface`, which netplan hands to it. Nothing when it runs.
std::optional<Error> why_no_networkd(const std::string& interface, const NodeReader& node) {
  const auto runs = is_active("systemd-networkd.service", node, kDeadline);
  if (!runs) return runs.error();
  if (*runs) return std::nullopt;
  return Error{ErrorCode::kUnsupported,
               "netplan hands " + interface + " to systemd-networkd, which is not running",
               {},
               {},
               "`systemctl enable --now systemd-networkd` starts it; where NetworkManager is to do it, some netplan "
               "file has to say `renderer: NetworkManager`; nothing was written"};
}

/// What netplan has generated in the copy shows who would configure our interfaces.
Result<void> check_renderer(const std::string& content, const fs::path& copy, const NodeReader& node) {
  SPARK_TRY(const Stanzas stanzas, parse_file(content));
  for (const auto& [interface, stanza] : stanzas) {
    const bool network_manager = node.status(copy.string() + generated_for_network_manager(interface)).has_value();
    auto problem = network_manager ? why_no_network_manager(interface, node) : why_no_networkd(interface, node);
    if (problem) return failure(*std::move(problem));
  }
  return {};
}

/// A file of the copy to where it counts. True if that changed anything.
Result<bool> install(const fs::path& copy, const fs::path& path, Node& node) {
  const fs::path source = copy / path.relative_path();
  const auto there = node.read_file(path);
  if (!there && there.error().code != ErrorCode::kNotFound) return failure(there.error());
  const auto text = node.read_file(source);
  if (!text && text.error().code == ErrorCode::kNotFound) {
    if (!there) return false;
    SPARK_CHECK(node.remove_file(path));
    return true;
  }
  if (!text) return failure(text.error());
  if (there && *there == *text) return false;
  SPARK_TRY(const FileStatus status, node.status(source));
  SPARK_CHECK(node.write_file(path, {*text, status.mode, status.uid, status.gid}));
  return true;
}

}  // namespace

Result<void> try_netplan_files(const NetplanFiles& changed, Node& node) {
  SPARK_TRY(const fs::path copy, generate_in_copy(changed, node));
  const auto own = changed.find(std::string(kOwnFile));
  if (own == changed.end() || !own->second) return {};
  return check_renderer(*own->second, copy, node);
}

Result<GeneratedChanges> install_generated_files(const std::set<std::string>& interfaces, Node& node) {
  SPARK_TRY(const fs::path copy, generate_in_copy({}, node));
  GeneratedChanges changed;
  for (const std::string& interface : interfaces) {
    const fs::path for_networkd = generated_for_networkd(interface);
    for (const std::string_view suffix : kSuffixes) {
      SPARK_TRY(const bool one, install(copy, fs::path(for_networkd).replace_extension(suffix), node));
      changed.for_networkd = changed.for_networkd || one;
    }
    SPARK_CHECK(install(copy, fs::path(for_networkd).replace_extension(kSuffixForUdev), node));
    const std::string profile = generated_for_network_manager(interface);
    SPARK_TRY(const bool one, install(copy, profile, node));
    if (one) changed.profiles.push_back(profile);
  }
  return changed;
}

fs::path generated_for_networkd(const std::string& interface) {
  return "/run/systemd/network/10-netplan-" + interface + ".network";
}

}  // namespace sparkplan::netplan
