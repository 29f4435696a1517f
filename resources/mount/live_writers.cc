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
#include "engine/resource/systemd_units.h"
#include "resources/mount/mount_state.h"
#include "resources/mount/mount_unit.h"

namespace sparkplan::mount {
namespace {

constexpr const char* kType = "mount";
constexpr const char* kWrites = "writes";
constexpr const char* kPlaces = "places";

/// The volumes of a node, by all their names.
struct WrittenVolumes {
  std::set<std::string> mounted;
  std::map<std::string, std::string> by_file;  ///< Name to the place that would have it mounted.
};

bool writes(const MountedFileSystem& mounted) {
  const auto& options = mounted.super_options;
  return is_for_one_machine(mounted.type) && std::find(options.begin(), options.end(), "ro") == options.end();
}

/// A device of which only the name is known.
MountedFileSystem unmounted(const std::string& path) {
  MountedFileSystem device;
  device.device = "0:0";
  device.source = path;
  return device;
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

Result<std::set<std::string>> links_of_device(const MountedFileSystem& mounted, const NodeReader& node) {
  std::set<std::string> links;
  SPARK_TRY(const auto of_udev, links_to(mounted, node));
  links.insert(of_udev.begin(), of_udev.end());
  SPARK_TRY(std::string link, nvme_link(mounted, node));
  if (!link.empty()) links.insert(std::move(link));
  return links;
}

/// What only another mount namespace has mounted, such as a container's, is in no table that can be read here.
/// Source: ext4_seq_options_show() in fs/ext4/super.c; the names are those of /sys/class/block.
Result<void> add_mounted_elsewhere(const NodeReader& node, std::set<std::string>& links) {
  const std::string directory = "/proc/fs/ext4";
  const auto devices = node.list_directory(directory);
  if (!devices && devices.error().code == ErrorCode::kNotFound) return {};
  if (!devices) return failure(devices.error());
  for (const std::string& device : *devices) {
    const auto options = node.read_file(directory + "/" + device + "/options");
    if (!options && options.error().code == ErrorCode::kNotFound) continue;  // Unmounted meanwhile.
    if (!options) return failure(options.error());
    if (trim(options->substr(0, options->find('\n'))) != "rw") continue;
    SPARK_TRY(const auto names, links_of_device(unmounted("/dev/" + device), node));
    links.insert(names.begin(), names.end());
  }
  return {};
}

Result<std::set<std::string>> mounted_volumes(const NodeReader& node) {
  std::set<std::string> links;
  SPARK_TRY(const auto mounts, mounted_file_systems(node));
  // Containers have hundreds of mounts of one device.
  std::set<std::pair<std::string, std::string>> seen;
  for (const MountedFileSystem& mounted : mounts) {
    if (!writes(mounted) || !seen.emplace(mounted.device, mounted.source).second) continue;
    SPARK_TRY(const auto names, links_of_device(mounted, node));
    links.insert(names.begin(), names.end());
  }
  SPARK_CHECK(add_mounted_elsewhere(node, links));
  return links;
}

/// A unit of ours mounts again what somebody has unmounted by hand, or what a server has lost.
Result<void> add_units(const NodeReader& node, WrittenVolumes& volumes) {
  const auto names = node.list_directory(kSystemUnitDirectory);
  if (!names && names.error().code == ErrorCode::kNotFound) return {};
  if (!names) return failure(names.error());
  for (const std::string& name : *names) {
    if (!name.ends_with(".mount")) continue;
    SPARK_TRY(const UnitFile file, read_unit(name, "local-fs.target", node));
    if (!file.ours()) continue;
    const MountUnit unit = parse_unit(*file.content);
    if (is_for_one_machine(unit.type) && !unit.read_only()) volumes.by_file.emplace(unit.what, system_unit_path(name));
  }
  return {};
}

/// "auto" and lists of types may turn out to be one for one machine.
bool may_be_for_one_machine(const std::string& type) {
  const auto types = split(type, ',');
  return type.empty() || std::any_of(types.begin(), types.end(),
                                     [](std::string_view one) { return one == "auto" || is_for_one_machine(one); });
}

/// Mounted at boot, or as soon as somebody goes there.
bool mounts_by_itself(const FstabLine& line) {
  const auto has = [&](std::string_view option) {
    return std::find(line.options.begin(), line.options.end(), option) != line.options.end();
  };
  return !has("noauto") || has("x-systemd.automount");
}

Result<void> add_fstab(const NodeReader& node, WrittenVolumes& volumes) {
  const auto text = node.read_file("/etc/fstab");
  if (!text && text.error().code == ErrorCode::kNotFound) return {};
  if (!text) return failure(text.error());
  for (const FstabLine& line : parse_fstab(*text)) {
    if (!may_be_for_one_machine(line.type) || is_read_only(line.options) || !mounts_by_itself(line)) continue;
    std::string source = line.source;
    std::erase(source, '"');
    const std::string place = "/etc/fstab:" + std::to_string(line.line);
    const std::string path = device_path(source);
    volumes.by_file.emplace(path, place);
    if (!node.live() || !path.starts_with("/dev/") || path.starts_with("/dev/disk/")) continue;
    SPARK_TRY(const auto links, links_of_device(unmounted(path), node));
    for (const std::string& link : links) volumes.by_file.emplace(link, place);
  }
  return {};
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

/// What would have the volume mounted there; empty where it is mounted.
std::string place_of(const Value& told, const std::string& link) {
  const Value* places = told.find(kPlaces);
  return places == nullptr ? "" : places->text_or(link, "");
}

Diagnostic other_writer(const std::string& name, bool stays, const std::string& self, const std::string& place,
                        const StorageMount& mount) {
  const bool by_fstab = place.starts_with("/etc/fstab");
  std::string hint = stays ? "apply that node first: `sparkplan apply --only " + name + "`"
                           : "let that node go first: `sparkplan release " + name + "`";
  if (by_fstab) hint = "take the line out of fstab on " + name + ", or add `ro` or `noauto` to its options";
  return finding(
      Severity::kError, "mount.other-writer",
      name + (place.empty() ? " still writes to \"" : " would write again, by " + printable(place) + ", to \"") +
          printable(shared_volume(mount)) + "\", which " + self + " is to write to: together they destroy it",
      std::move(hint), mount.where);
}

}  // namespace

Result<Value> written_volumes(const NodeReader& node) {
  WrittenVolumes volumes;
  if (node.live()) {
    SPARK_TRY(volumes.mounted, mounted_volumes(node));
  }
  SPARK_CHECK(add_units(node, volumes));
  SPARK_CHECK(add_fstab(node, volumes));
  Value places = Value::map();
  std::set<std::string> links = volumes.mounted;
  for (const auto& [name, place] : volumes.by_file) {
    if (links.insert(name).second) places.set(name, place);
  }
  Value list = Value::list();
  for (const std::string& link : links) list.list_items()->push_back(Value(link));
  return Value::map({{kWrites, std::move(list), {}}, {kPlaces, std::move(places), {}}});
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
      findings.push_back(other_writer(name, stays, self, place_of(*told, mount.what), mount));
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
