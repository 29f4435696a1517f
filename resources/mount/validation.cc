#include "resources/mount/mount_unit.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "engine/core/diagnostic.h"
#include "engine/core/text.h"
#include "engine/core/tree.h"
#include "engine/resource/record_list.h"

namespace sparkplan::mount {
namespace {

constexpr std::size_t kLongestUnitName = 255;

/// Targets that would break the system: these trees with everything below them, and these directories themselves.
constexpr std::array<std::string_view, 5> kKernelTrees{"/proc", "/sys", "/dev", "/run", "/boot"};
constexpr std::array<std::string_view, 11> kSystemDirectories{"/",     "/bin", "/etc", "/lib", "/lib64",  "/root",
                                                              "/sbin", "/tmp", "/usr", "/var", "/var/lib"};

/// The one spelling that systemd accepts, without empty parts, "." and "..".
std::string canonical(const std::string& path) {
  std::string result;
  for (const std::string_view part : split(path, '/')) {
    if (part == "..") {
      result.erase(std::min(result.size(), result.rfind('/')));
      continue;
    }
    if (!part.empty() && part != ".") result += "/" + std::string(part);
  }
  return result.empty() ? "/" : result;
}

void check_path(const Value& path, std::vector<Diagnostic>& findings) {
  const std::string& text = *path.string();
  const std::string right = canonical(text);
  if (text != right) {
    findings.push_back(finding("mount.path", "\"" + printable(text) + "\" is not the full form of the path",
                               "write " + printable(right), path.where));
  } else if (text.ends_with('\\') || trim(text) != text) {
    findings.push_back(
        finding("mount.path", "a path in a unit cannot end in a blank or a backslash", "rename it", path.where));
  } else if (text != printable(text)) {
    findings.push_back(
        finding("mount.path", "\"" + printable(text) + "\" contains control characters", "rename it", path.where));
  }
}

void check_target(const Value& target, std::vector<Diagnostic>& findings) {
  check_path(target, findings);
  const std::string& text = *target.string();
  const bool system = std::ranges::any_of(kKernelTrees, [&](std::string_view tree) { return is_within(text, tree); }) ||
                      std::ranges::find(kSystemDirectories, text) != kSystemDirectories.end();
  if (system) {
    findings.push_back(finding("mount.system-directory",
                               "a mount at " + printable(text) + " would hide the system's own files",
                               "mount below /mnt, /srv or /media", target.where));
  }
  if (unit_name(text).size() > kLongestUnitName) {
    findings.push_back(finding("mount.path", "the path is too long for the name of a unit",
                               "non-ASCII characters, blanks and hyphens count four times: choose a shorter one",
                               target.where));
  }
}

/// One layer may add what another leaves out, so only merged entries are checked.
void check_keys(const Value& entry, std::vector<Diagnostic>& findings) {
  const Value* source = entry.find("source");
  const bool has_own_type =
      source != nullptr && (source->find("nfs") != nullptr || source->find("bind") != nullptr ||
                            source->find("tmpfs") != nullptr || (source->is_map() && source->entries()->empty()));
  if (auto missing = missing_key(entry, "target", "source")) findings.push_back(*std::move(missing));
  if (has_own_type) return;
  if (auto missing = missing_key(entry, "target", "type")) findings.push_back(*std::move(missing));
}

void check_source(const Value& entry, const Value& target, std::vector<Diagnostic>& findings) {
  const Value* source = entry.find("source");
  if (source == nullptr || !source->is_map()) return;
  const std::size_t given = source->entries()->size();
  if (given != 1) {
    findings.push_back(finding("mount.one-source", "\"source\" must name one source, not " + std::to_string(given),
                               "write one of nvme_tcp, nfs, device, bind, tmpfs; null drops an inherited one",
                               source->where));
    return;
  }
  const MapEntry& only = source->entries()->front();
  const Value* type = entry.find("type");
  if (type != nullptr && (only.key == "nfs" || only.key == "bind" || only.key == "tmpfs")) {
    findings.push_back(finding("mount.needless-type",
                               "\"type\" is for volumes only; the source " + only.key + " implies it", "leave it out",
                               type->where));
  }
  if (only.key == "nfs") {
    if (const Value* path = only.value.find("path"); path != nullptr && path->string() != nullptr)
      check_path(*path, findings);
  }
  if (only.key == "device" && only.value.string() != nullptr && only.value.string()->starts_with('/')) {
    check_path(only.value, findings);
  }
  if (only.key != "bind" || only.value.string() == nullptr) return;
  check_path(only.value, findings);
  if (is_within(*only.value.string(), *target.string()) || is_within(*target.string(), *only.value.string())) {
    findings.push_back(finding("mount.bind-into-itself", "the directory and its target must not contain each other",
                               "choose a target elsewhere", only.value.where));
  }
}

/// Of two opposite options the last one would win, and the mount would always differ from the section.
void check_contradictions(const Value& options, std::vector<Diagnostic>& findings) {
  static constexpr std::array<std::array<std::string_view, 2>, 6> kOpposites{{{"suid", "nosuid"},
                                                                              {"dev", "nodev"},
                                                                              {"exec", "noexec"},
                                                                              {"atime", "noatime"},
                                                                              {"relatime", "noatime"},
                                                                              {"async", "sync"}}};
  const auto has = [&](std::string_view word) {
    return std::ranges::any_of(*options.list_items(),
                               [&](const Value& one) { return one.string() != nullptr && *one.string() == word; });
  };
  for (const auto& [one, other] : kOpposites) {
    if (!has(one) || !has(other)) continue;
    findings.push_back(finding("mount.option",
                               "\"" + std::string(one) + "\" and \"" + std::string(other) + "\" contradict each other",
                               "remove one of them", options.where));
  }
}

void check_options(const Value& entry, std::vector<Diagnostic>& findings) {
  const Value* options = entry.find("options");
  if (items_of(options).empty()) return;
  check_contradictions(*options, findings);
  const Value* source = entry.find("source");
  const bool in_memory = source != nullptr && source->find("tmpfs") != nullptr;
  const bool binds = source != nullptr && source->find("bind") != nullptr;
  for (const Value& option : *options->list_items()) {
    if (option.string() == nullptr) continue;
    const std::string& text = *option.string();
    if (in_memory && text.starts_with("size=")) {
      findings.push_back(finding("mount.option", "the size of a tmpfs is given twice",
                                 "write it as `source: {tmpfs: {size: 8GiB}}` only", option.where));
      continue;
    }
    if (text.starts_with("ro=") || text.starts_with("rw=")) {
      findings.push_back(finding("mount.option", "\"" + printable(text) + "\" makes only a part read only or writable",
                                 "write " + text.substr(0, 2), option.where));
    } else if (text == "move" || (!binds && (text == "bind" || text == "rbind"))) {
      findings.push_back(finding("mount.option", "\"" + printable(text) + "\" mounts something other than its source",
                                 "leave it out; to bind a directory, write `source: {bind: DIRECTORY}`", option.where));
    } else if (text.starts_with("x-systemd.") || text == "noauto" || text == "auto") {
      findings.push_back(finding("mount.option", "\"" + printable(text) + "\" has no effect outside of fstab",
                                 "leave it out: the unit handles order, waiting and the boot", option.where));
    } else if (text == "remount" || text == "fail" || text != printable(text)) {
      findings.push_back(finding("mount.option", "\"" + printable(text) + "\" is not an option for a permanent mount",
                                 "leave it out", option.where));
    }
  }
}

/// A subsystem has one connection, and two addresses would need two units for it.
void check_subsystems(const Value& section, std::vector<Diagnostic>& findings) {
  std::map<std::string, StorageMount> seen;
  std::map<std::string, StorageMount> volumes;
  for (const StorageMount& mount : storage_mounts(section)) {
    if (!mount.nvme) continue;
    const auto [first, fresh] = seen.emplace(mount.nvme->subsystem, mount);
    const NvmeTcpVolume& other = *first->second.nvme;
    if (!fresh && (other.address != mount.nvme->address || other.port != mount.nvme->port)) {
      Diagnostic clash = finding("nvme_tcp.two-servers", mount.nvme->subsystem + " is given two servers",
                                 "give all its entries the same address and port", mount.source_where);
      clash.notes.push_back({"the other one", first->second.source_where});
      findings.push_back(std::move(clash));
    }
    const auto [volume, alone] = volumes.emplace(shared_volume(mount), mount);
    if (!alone && is_for_one_machine(mount.type) && volume->second.read_only() != mount.read_only()) {
      Diagnostic clash = finding("mount.read-and-write", "one volume cannot be mounted read only and writable at once",
                                 "mount it once, and bind its directories at the other targets", mount.where);
      clash.notes.push_back({"also mounted here", volume->second.where});
      findings.push_back(std::move(clash));
    }
  }
}

/// Writes beside a journal that was not replayed destroy the file system.
void check_journals(const Value& section, std::vector<Diagnostic>& findings) {
  for (const StorageMount& mount : storage_mounts(section)) {
    if (mount.read_only() || mount.kind == StorageKind::kBind) continue;
    for (const std::string& option : mount.options) {
      if (option != "noload" && option != "norecovery" && option != "nologreplay" && option != "rescue=nologreplay" &&
          option != "rescue=all") {
        continue;
      }
      findings.push_back(finding("mount.option", "\"" + option + "\" is for read-only mounts only",
                                 "leave it out, or add `ro`", mount.where));
    }
  }
}

/// Reports mounts that must each be mounted before the other.
void check_circles(const Value& section, std::vector<Diagnostic>& findings) {
  const std::vector<StorageMount> all = storage_mounts(section);
  const auto needs = [](const StorageMount& one, const StorageMount& other) {
    return one.target != other.target && (is_within(one.target, other.target) ||
                                          (one.kind == StorageKind::kBind && is_within(one.what, other.target)));
  };
  for (const StorageMount& start : all) {
    // All mounts that `start` needs, directly or indirectly.
    std::vector<const StorageMount*> reached{&start};
    for (std::size_t i = 0; i < reached.size(); ++i) {
      for (const StorageMount& other : all) {
        const bool known = std::find(reached.begin() + 1, reached.end(), &other) != reached.end();
        if (!known && needs(*reached[i], other)) reached.push_back(&other);
      }
    }
    if (std::find(reached.begin() + 1, reached.end(), &start) == reached.end()) continue;
    findings.push_back(finding("mount.circle", printable(start.target) + " depends on itself",
                               "bind one of the directories from elsewhere", start.where));
    return;
  }
}

}  // namespace

std::vector<Diagnostic> validate_section(const Value& section) {
  std::vector<Diagnostic> findings;
  for (const Value& entry : items_of(section)) {
    const Value* target = entry.find("target");
    if (target == nullptr || target->string() == nullptr) continue;
    check_keys(entry, findings);
    check_target(*target, findings);
    check_source(entry, *target, findings);
    check_options(entry, findings);
  }
  check_subsystems(section, findings);
  check_journals(section, findings);
  check_circles(section, findings);
  return findings;
}

}  // namespace sparkplan::mount
