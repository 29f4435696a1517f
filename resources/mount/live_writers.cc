#include "resources/mount/live_writers.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/text.h"
#include "engine/core/text_list.h"
#include "engine/resource/mount_table.h"
#include "resources/mount/mount_state.h"

namespace sparkplan::mount {
namespace {

constexpr const char* kType = "mount";
constexpr const char* kWrites = "writes";

bool writes(const MountedFileSystem& mounted) {
  const auto& options = mounted.super_options;
  return is_for_one_machine(mounted.type) && std::find(options.begin(), options.end(), "ro") == options.end();
}

/// The link that our rule makes, also where the rule is not there yet.
Result<std::string> nvme_link(const MountedFileSystem& mounted, const NodeReader& node) {
  SPARK_TRY(const std::string subsystem, subsystem_behind(mounted.source, node));
  if (subsystem.empty()) return std::string();
  const auto number =
      node.read_file("/sys/class/block/" + mounted.source.substr(mounted.source.rfind('/') + 1) + "/nsid");
  if (!number && number.error().code == ErrorCode::kNotFound) return std::string();
  if (!number) return failure(number.error());
  return std::string(kNvmeLinkPrefix) + subsystem + "-" + std::string(trim(*number));
}

/// Nothing for a node that has not told.
const Value* told_by(const ClusterView& view, const std::string& node) {
  const auto exports = view.exports.find(node);
  if (exports == view.exports.end()) return nullptr;
  const auto of_type = exports->second.find(kType);
  return of_type == exports->second.end() ? nullptr : &of_type->second;
}

bool writes_to(const Value& told, const std::string& link) {
  const auto links = texts_in(told.find(kWrites));
  return std::find(links.begin(), links.end(), link) != links.end();
}

/// Those of the file, and those that leave the cluster (false).
std::map<std::string, bool> all_nodes(const ClusterView& view) {
  std::map<std::string, bool> nodes;
  for (const NodeSpec& node : view.cluster.nodes) nodes[node.name.str()] = true;
  for (const auto& [name, told] : view.exports) nodes.emplace(name, false);
  return nodes;
}

Diagnostic finding(Severity severity, const char* code, std::string message, std::string hint, SourceRange where) {
  Diagnostic diagnostic;
  diagnostic.severity = severity;
  diagnostic.code = code;
  diagnostic.message = std::move(message);
  diagnostic.hint = std::move(hint);
  diagnostic.where = where;
  return diagnostic;
}

}  // namespace

Result<Value> written_volumes(const NodeReader& node) {
  std::set<std::string> links;
  std::vector<MountedFileSystem> mounts;
  if (node.live()) {
    SPARK_TRY(mounts, mounted_file_systems(node));
  }
  // Containers have hundreds of mounts of one device.
  std::set<std::pair<std::string, std::string>> seen;
  for (const MountedFileSystem& mounted : mounts) {
    if (!writes(mounted) || !seen.emplace(mounted.device, mounted.source).second) continue;
    SPARK_TRY(const auto of_udev, links_to(mounted, node));
    links.insert(of_udev.begin(), of_udev.end());
    SPARK_TRY(std::string link, nvme_link(mounted, node));
    if (!link.empty()) links.insert(std::move(link));
  }
  Value list = Value::list();
  for (const std::string& link : links) list.list_items()->push_back(Value(link));
  return Value::map({{kWrites, std::move(list), {}}});
}

std::vector<Diagnostic> findings_about_writers(const ClusterView& view, const StorageMount& mount) {
  std::vector<Diagnostic> findings;
  const std::string volume = shared_volume(mount);
  if (volume.empty() || mount.read_only() || !is_for_one_machine(mount.type)) return findings;
  const std::string self = view.self.name.str();
  const Value* own = told_by(view, self);
  const bool writes_already = own != nullptr && writes_to(*own, mount.what);
  for (const auto& [name, stays] : all_nodes(view)) {
    if (name == self) continue;
    const Value* told = told_by(view, name);
    if (told != nullptr && writes_to(*told, mount.what)) {
      findings.push_back(finding(Severity::kError, "mount.other-writer",
                                 name + " still writes to \"" + printable(volume) + "\", which " + self +
                                     " is to write to: together they destroy it",
                                 stays ? "apply that node first: `sparkplan apply --only " + name + "`"
                                       : "let that node go first: `sparkplan release " + name + "`",
                                 mount.where));
    } else if (told == nullptr && !writes_already) {
      // Whoever takes a node out of the file says that it is gone.
      findings.push_back(finding(stays ? Severity::kError : Severity::kWarning, "mount.maybe-other-writer",
                                 "nobody can tell whether " + name + " still writes to \"" + printable(volume) +
                                     "\", which " + self + " is to write to: it was not asked, or did not answer",
                                 stays ? "apply with that node as well; if it is gone for good, take it out of the file"
                                       : "see to it that it does not",
                                 mount.where));
    }
  }
  return findings;
}

}  // namespace sparkplan::mount
