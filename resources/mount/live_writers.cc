#include "resources/mount/live_writers.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "engine/core/diagnostic.h"
#include "engine/core/text.h"
#include "engine/core/tree.h"
#include "engine/domain/storage/fstab.h"
#include "engine/model/address.h"
#include "engine/node/mount_table.h"
#include "engine/resource/systemd_units.h"
#include "resources/mount/device_names.h"
#include "resources/mount/mount_unit.h"

namespace sparkplan::mount {
namespace {

constexpr const char* kType = "mount";
constexpr const char* kWrites = "writes";
constexpr const char* kPlaces = "places";
constexpr const char* kServed = "served";
/// The limit of names in one export: every other node searches the export for each of its mounts.
constexpr std::size_t kMostVolumes = 4096;
constexpr std::size_t kLongestPlace = 4096;  ///< Bytes in a message.

/// The volumes of a node, under all their names.
struct WrittenVolumes {
  std::set<std::string> mounted;
  std::map<std::string, std::string> by_file;           ///< Name -> the file that would mount it.
  std::set<std::string> own;                            ///< Names that a file or a local device of the node has.
  std::map<std::string, std::set<std::string>> served;  ///< Name -> the servers of the devices with that name.

  void note_origin(const DeviceNames& names) {
    for (const std::string& link : names.links) {
      if (names.servers.empty())
        own.insert(link);
      else
        served[link].insert(names.servers.begin(), names.servers.end());
    }
  }
};

bool writes(const MountedFileSystem& mounted) {
  const auto& options = mounted.super_options;
  return is_for_one_machine(mounted.type) && std::ranges::find(options, "ro") == options.end();
}

/// Adds the ext4 volumes of all mount namespaces. No readable mount table lists the mounts of a container.
/// Source: ext4_seq_options_show() in fs/ext4/super.c; the names are those of /sys/class/block.
Result<void> add_mounted_elsewhere(const NodeReader& node, WrittenVolumes& volumes) {
  const std::string directory = "/proc/fs/ext4";
  SPARK_TRY(const auto devices, or_empty(node.list_directory(directory)));
  for (const std::string& device : devices) {
    SPARK_TRY(const auto options, if_there(node.read_file(directory + "/" + device + "/options")));
    if (!options) continue;  // Unmounted meanwhile.
    if (trim(options->substr(0, options->find('\n'))) != "rw") continue;
    SPARK_TRY(const auto names, names_of_device("/dev/" + device, node));
    volumes.mounted.insert(names.links.begin(), names.links.end());
    volumes.note_origin(names);
  }
  return {};
}

Result<void> add_mounted(const NodeReader& node, WrittenVolumes& volumes) {
  SPARK_TRY(const auto mounts, mounted_file_systems(node));
  // Containers have hundreds of mounts of one device.
  std::set<std::pair<std::string, std::string>> seen;
  for (const MountedFileSystem& mounted : mounts) {
    if (!writes(mounted) || !seen.emplace(mounted.device, mounted.source).second) continue;
    SPARK_TRY(const auto names, names_of_mounted(mounted, node));
    volumes.mounted.insert(names.links.begin(), names.links.end());
    volumes.note_origin(names);
  }
  return add_mounted_elsewhere(node, volumes);
}

/// Our units mount volumes again that were unmounted by hand, or whose server was lost.
Result<void> add_units(const NodeReader& node, WrittenVolumes& volumes) {
  SPARK_TRY(const auto names, or_empty(node.list_directory(kSystemUnitDirectory)));
  for (const std::string& name : names) {
    if (!name.ends_with(".mount")) continue;
    SPARK_TRY(const UnitFile file, read_unit(name, "local-fs.target", node));
    if (!file.ours()) continue;
    const MountUnit unit = parse_unit(*file.content);
    if (!is_for_one_machine(unit.type) || unit.read_only()) continue;
    volumes.by_file.emplace(unit.what, system_unit_path(name));
    volumes.own.insert(unit.what);
  }
  return {};
}

/// "auto" or a list of types may resolve to a file system for one machine.
bool may_be_for_one_machine(const std::string& type) {
  const auto types = split(type, ',');
  return type.empty() ||
         std::ranges::any_of(types, [](std::string_view one) { return one == "auto" || is_for_one_machine(one); });
}

/// Mounted at boot, or at the first access.
bool mounts_by_itself(const FstabLine& line) {
  const auto has = [&](std::string_view option) {
    return std::ranges::find(line.options, option) != line.options.end();
  };
  return !has("noauto") || has("x-systemd.automount");
}

Result<void> add_fstab(const NodeReader& node, WrittenVolumes& volumes) {
  SPARK_TRY(const std::string text, or_empty(node.read_file("/etc/fstab")));
  for (const FstabLine& line : parse_fstab(text)) {
    if (!may_be_for_one_machine(line.type) || is_read_only(line.options) || !mounts_by_itself(line)) continue;
    std::string source = line.source;
    std::erase(source, '"');
    const std::string place = "/etc/fstab:" + std::to_string(line.line);
    const std::string path = device_path(source);
    volumes.by_file.emplace(path, place);
    volumes.own.insert(path);
    if (!node.live() || !path.starts_with("/dev/") || path.starts_with("/dev/disk/")) continue;
    SPARK_TRY(const auto names, names_of_device(path, node));
    for (const std::string& link : names.links) volumes.by_file.emplace(link, place);
    volumes.note_origin(names);
  }
  return {};
}

/// Null if the node has exported nothing.
const Value* of_type(const NodeExports& exports) {
  const auto found = exports.find(kType);
  return found == exports.end() ? nullptr : &found->second;
}

bool writes_to(const Value& told, const std::string& link) {
  const Value::List& links = items_of(told.find(kWrites));
  return std::ranges::find(links, Value(link)) != links.end();
}

/// The file that would mount the volume; empty if it is mounted.
std::string place_of(const Value& told, const std::string& link) {
  const Value* places = told.find(kPlaces);
  return places == nullptr ? "" : places->text_or(link, "").substr(0, kLongestPlace);
}

/// An export above the limit counts as no export.
bool says_too_much(const Value& told) {
  return items_of(told.find(kWrites)).size() > kMostVolumes || entries_of(told.find(kPlaces)).size() > kMostVolumes ||
         entries_of(told.find(kServed)).size() > kMostVolumes;
}

/// The servers from which alone the node has this name. Such a name is no proof: a server can give its volume the names
/// of any other one. Empty if the declared server of the volume itself may be one of them.
std::string foreign_servers(const Value& told, const StorageMount& mount) {
  const Value* served = told.find(kServed);
  const std::string servers = served == nullptr ? "" : served->text_or(mount.what, "");
  if (!mount.nvme) return servers;
  return !is_ip_address(mount.nvme->address) ||
                 (", " + servers + ",").find(", " + mount.nvme->address + ",") != std::string::npos
             ? ""
             : servers;
}

/// The node has the volume itself mounted writable.
bool has_mounted(const Value& own, const StorageMount& mount) {
  return writes_to(own, mount.what) && place_of(own, mount.what).empty() && foreign_servers(own, mount).empty();
}

/// The node has our unit for this mount. All other nodes see that unit in the exports, so none of them was given the
/// volume. A foreign line of fstab does not count: a user may have moved it.
bool has_unit(const Value& own, const StorageMount& mount) {
  return writes_to(own, mount.what) && place_of(own, mount.what) == system_unit_path(unit_name(mount.target));
}

/// With `mounted`, this node has the volume itself mounted writable.
Diagnostic other_writer(const std::string& name, bool stays, const std::string& self, const Value& told, bool mounted,
                        const StorageMount& mount) {
  const std::string place = place_of(told, mount.what);
  const std::string servers = printable(foreign_servers(told, mount));
  std::string hint = stays ? "apply that node first: `sparkplan apply --only " + name + "`"
                           : "release that node first: `sparkplan release " + name + "`";
  if (!servers.empty()) hint = "if that volume is another one, unmount it on " + name + "; else " + hint;
  if (place.starts_with("/etc/fstab"))
    hint = "remove the line from fstab on " + name + ", or add `ro` or `noauto` to its options";
  std::string message =
      name + (place.empty() ? " still writes to \"" : " would write again, through " + printable(place) + ", to \"") +
      printable(shared_volume(mount)) + "\", which " + self + " is to mount writable: two writers destroy it";
  if (!servers.empty())
    message += "; " + name + " reports that the volume is one of the server " + servers + ", which chooses its names";
  const bool doubtful = mounted && !servers.empty();
  return finding(doubtful ? Severity::kWarning : Severity::kError, "mount.other-writer", std::move(message),
                 std::move(hint), mount.where);
}

/// The export is from an earlier time; the node may write to more volumes now.
bool is_outdated(const Value& told) { return told.boolean_or(kOutdatedExport, false); }

/// `told` is null if the node has exported nothing. A user who removes a node from the file declares it gone.
Diagnostic maybe_other_writer(const std::string& name, bool stays, const std::string& self, const Value* told,
                              const StorageMount& mount) {
  return finding(stays ? Severity::kError : Severity::kWarning, "mount.maybe-other-writer",
                 "cannot determine whether " + name + " still writes to \"" + printable(shared_volume(mount)) +
                     "\", which " + self + " is to mount writable: it " +
                     (told == nullptr ? "was not asked, or did not answer" : "is excluded from the rest of this run"),
                 stays ? "apply with that node as well; if it is gone for good, remove it from the file"
                       : "make sure that it does not",
                 mount.where);
}

}  // namespace

Result<Value> written_volumes(const NodeReader& node) {
  WrittenVolumes volumes;
  if (node.live()) {
    SPARK_CHECK(add_mounted(node, volumes));
  }
  SPARK_CHECK(add_units(node, volumes));
  SPARK_CHECK(add_fstab(node, volumes));
  Value places = Value::map();
  std::set<std::string> links = volumes.mounted;
  for (const auto& [name, place] : volumes.by_file) {
    if (links.insert(name).second) places.set(name, place);
  }
  if (links.size() > kMostVolumes) {
    return failure(ErrorCode::kUnsupported, "there are more than " + std::to_string(kMostVolumes) + " volume names");
  }
  Value served = Value::map();
  for (const auto& [name, servers] : volumes.served) {
    if (!volumes.own.contains(name)) served.set(name, in_words(servers));
  }
  Value told = Value::map({{kWrites, Value::List(links.begin(), links.end())}, {kPlaces, std::move(places)}});
  if (!entries_of(&served).empty()) told.set(kServed, std::move(served));
  return told;
}

Shape exported_volumes() {
  return Shape::map({{kWrites, Shape::texts(), true},
                     {kPlaces, Shape::map_of(Shape::text(2 * Shape::kMostLineBytes))},
                     {kServed, Shape::map_of(Shape::line())}});
}

std::vector<Diagnostic> findings_about_writers(const ClusterView& view, const StorageMount& mount) {
  std::vector<Diagnostic> findings;
  if (shared_volume(mount).empty() || mount.read_only() || !is_for_one_machine(mount.type)) return findings;
  const std::string& self = view.self.name.str();
  const auto of_self = view.exports.find(self);
  const Value* own = of_self == view.exports.end() ? nullptr : of_type(of_self->second);
  const bool mounted = own != nullptr && has_mounted(*own, mount);
  const bool has_it = mounted || (own != nullptr && has_unit(*own, mount));
  const auto look_at = [&](const std::string& name, bool stays, const Value* told) {
    if (told != nullptr && says_too_much(*told)) told = nullptr;
    if (told != nullptr && writes_to(*told, mount.what)) {
      findings.push_back(other_writer(name, stays, self, *told, mounted, mount));
    } else if ((told == nullptr || is_outdated(*told)) && !has_it) {
      findings.push_back(maybe_other_writer(name, stays, self, told, mount));
    }
  };
  // This code runs for every pair of nodes, so it looks each node up once.
  std::size_t known = 0;
  for (const NodeSpec& node : view.cluster.nodes) {
    const auto exports = view.exports.find(node.name.str());
    const bool there = exports != view.exports.end();
    known += there ? 1U : 0U;
    if (node.name.str() != self) look_at(node.name.str(), true, there ? of_type(exports->second) : nullptr);
  }
  // No departing nodes: the usual case.
  if (known == view.exports.size()) return findings;
  std::set<std::string_view> in_file;
  for (const NodeSpec& node : view.cluster.nodes) in_file.insert(node.name.str());
  for (const auto& [name, exports] : view.exports) {
    if (!in_file.contains(name)) look_at(name, false, of_type(exports));
  }
  return findings;
}

}  // namespace sparkplan::mount
