#include "resources/netplan/trial.h"

#include <array>
#include <chrono>

#include "engine/core/digest.h"
#include "engine/core/text.h"
#include "engine/resource/systemd_units.h"
#include "resources/netplan/foreign_files.h"
#include "resources/netplan/netplan_file.h"
#include "resources/netplan/network_manager.h"

namespace sparkplan::netplan {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kGenerateDeadline{30'000};
constexpr std::uint32_t kMode = 0600;

/// Files that netplan generates for networkd. Source: netplan's src/networkd.c.
constexpr std::array<std::string_view, 2> kSuffixes{".netdev", ".network"};
/// The file for udev, which reads it at boot with either renderer.
constexpr std::string_view kSuffixForUdev = ".link";

/// netplan's own generator, which systemd runs at boot. `netplan generate` starts the same one, once Python has
/// started. Source: netplan-generate(8); Ubuntu 24.04, Debian 12.
constexpr std::array<std::string_view, 2> kGenerators{"/usr/libexec/netplan/generate", "/lib/netplan/generate"};

std::vector<std::string> generate_command(const fs::path& copy, const NodeReader& node) {
  for (const std::string_view generator : kGenerators) {
    if (node.status(generator)) return {std::string(generator), "--root-dir", copy.string()};
  }
  return {"netplan", "generate", "--root-dir", copy.string()};
}

/// netplan names paths of the copy; the user knows the original ones.
std::string in_terms_of_the_originals(std::string text, const std::string& copy) {
  for (auto at = text.find(copy); at != std::string::npos; at = text.find(copy, at)) text.erase(at, copy.size());
  return text;
}

/// netplan prints warnings about permissions first, and then the error.
std::string complaint(const std::string& text) {
  std::string kept;
  for (const std::string_view line : split_lines(text)) {
    const bool noise = trim(line).empty() || line.find("too open") != std::string_view::npos ||
                       line.find("WARNING") != std::string_view::npos;
    if (!noise) kept += (kept.empty() ? "" : "\n") + std::string(line);
  }
  return kept;
}

/// All netplan files of the node by path, with `changed` applied.
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

/// A name that only equal files share.
std::string name_for(const std::map<std::string, std::string>& files) {
  std::string all;
  for (const auto& [path, text] : files) all += path + '\0' + std::to_string(text.size()) + '\0' + text;
  return "netplan-" + sha256(all);
}

/// A copy of all netplan files with `changed` applied, and the files that netplan generates from them. Equal files give
/// the same copy: the generator runs once, and the checked files are those that are installed later.
Result<fs::path> generate_in_copy(const NetplanFiles& changed, Node& node) {
  SPARK_TRY(const auto files, files_with(changed, node));
  SPARK_TRY(const auto copy, node.scratch_directory(name_for(files)));
  const fs::path done = copy / "generated";
  if (node.status(done)) return copy;
  for (const auto& [path, text] : files) SPARK_CHECK(node.write_file(copy.string() + path, {text, kMode, 0, 0}));
  SPARK_TRY(const CommandOutput output,
            needs_program(node.run(generate_command(copy, node), kGenerateDeadline), "netplan",
                          "install netplan.io, or remove `fabric` and configure the network with another tool"));
  if (output.exit_status == 0) {
    SPARK_CHECK(node.write_file(done, {"", kMode, 0, 0}));
    return copy;
  }
  const std::string said = complaint(in_terms_of_the_originals(output.standard_error, copy.string()));
  return failure(ErrorCode::kFailed, "netplan rejects its files combined with ours: " + said,
                 "repair the file that netplan names; nothing was written");
}

/// Why networkd cannot configure `interface`, which netplan assigns to it. Nothing if it runs.
std::optional<Error> why_no_networkd(const std::string& interface, const NodeReader& node) {
  const auto runs = is_active("systemd-networkd.service", node, kGenerateDeadline);
  if (!runs) return runs.error();
  if (*runs) return std::nullopt;
  return make_error(ErrorCode::kUnsupported,
                    "netplan gives " + interface + " to systemd-networkd, which is not running",
                    "start it with `systemctl enable --now systemd-networkd`; to use NetworkManager instead, set "
                    "`renderer: NetworkManager` in a netplan file; nothing was written");
}

/// Checks that the renderer of our interfaces runs. The generated files in the copy show which renderer it is.
Result<void> check_renderer(const std::string& content, const fs::path& copy, const NodeReader& node) {
  SPARK_TRY(const Stanzas stanzas, parse_file(content));
  for (const auto& [interface, stanza] : stanzas) {
    const bool network_manager = node.status(copy.string() + generated_for_network_manager(interface)).has_value();
    auto problem = network_manager ? why_no_network_manager(interface, node) : why_no_networkd(interface, node);
    if (problem) return failure(*std::move(problem));
  }
  return {};
}

/// Copies a generated file to its real path, or removes a stale one there. True if that changed anything.
Result<bool> install(const fs::path& copy, const fs::path& path, Node& node) {
  const fs::path source = copy / path.relative_path();
  SPARK_TRY(const auto there, if_there(node.read_file(path)));
  SPARK_TRY(const auto text, if_there(node.read_file(source)));
  if (there == text) return false;
  if (!text) {
    SPARK_CHECK(node.remove_file(path));
    return true;
  }
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
