#include <algorithm>
#include <map>

#include "engine/core/tree.h"
#include "engine/domain/storage/storage.h"
#include "engine/load/semantic_checks.h"
#include "engine/model/address.h"

namespace sparkplan {
namespace {

const Value* section_of(const UnresolvedNode& node) {
  const auto found = node.sections.find("storage");
  return found == node.sections.end() ? nullptr : &found->second;
}

void check_address(const Value* address, Findings& findings) {
  const std::string& text = text_of(address);
  if (text.empty() || parse_ipv4(text) || is_ipv6(text) || is_host_name(text)) return;
  findings.error(place_of(address), "storage.address", in_quotes(text) + " is not an address",
                 "write an IPv4 or IPv6 address, or a host name");
}

/// A mount of a volume that other nodes can also reach.
struct Use {
  std::string node;
  StorageMount mount;
};

/// Reports the later place in the file, with the earlier one as a note. If both are the same place, only the node's
/// name differs.
void two_writers(const std::string& volume, const Use& first, const Use& second, Findings& findings) {
  std::vector<DiagnosticNote> notes;
  if (first.mount.where != second.mount.where)
    notes.push_back({"written by " + first.node + " here", first.mount.where});
  findings.error(second.mount.where, "storage.two-writers",
                 first.node + " and " + second.node + " would both write to the " + second.mount.type + " on " +
                     in_quotes(volume) + ", which destroys it",
                 "let one node write and give the others `options: [ro]`; if all nodes have to write, use NFS, gfs2 or "
                 "ocfs2",
                 std::move(notes));
}

void check_uses(const std::string& volume, const std::vector<Use>& uses, Findings& findings) {
  const auto writes = [](const Use& use) { return !use.mount.read_only(); };
  const auto writer = std::find_if(uses.begin(), uses.end(), writes);
  if (writer == uses.end()) return;
  const auto second = std::find_if(std::next(writer), uses.end(),
                                   [&](const Use& use) { return writes(use) && use.node != writer->node; });
  if (second != uses.end()) {
    const bool in_order = writer->mount.where <= second->mount.where;
    return two_writers(volume, in_order ? *writer : *second, in_order ? *second : *writer, findings);
  }
  const auto reader = std::find_if(uses.begin(), uses.end(), [&](const Use& use) { return use.node != writer->node; });
  if (reader == uses.end()) return;
  findings.warning(reader->mount.where, "storage.reads-beside-a-writer",
                   reader->node + " reads the " + reader->mount.type + " on " + in_quotes(volume) + " while " +
                       writer->node + " writes to it: it may see incomplete files and miss new ones",
                   "remount it after each change, or let no node write to it", {{"written here", writer->mount.where}});
}

/// Two disks may have the same name, so a second writer is only a warning. The user knows whether it is one disk.
void check_uncertain(const std::string& device, const std::vector<Use>& uses, Findings& findings) {
  const auto writes = [](const Use& use) { return !use.mount.read_only(); };
  const auto writer = std::find_if(uses.begin(), uses.end(), writes);
  if (writer == uses.end()) return;
  const auto second = std::find_if(std::next(writer), uses.end(),
                                   [&](const Use& use) { return writes(use) && use.node != writer->node; });
  if (second == uses.end()) return;
  findings.warning(second->mount.where, "storage.maybe-two-writers",
                   writer->node + " and " + second->node + " both write to the " + second->mount.type + " on " +
                       in_quotes(device) + ": if both names mean one disk, this destroys its data",
                   "name it by UUID= if each node has its own disk");
}

/// Files are written before volumes are mounted. Such a file would be hidden below the mount, and would block it.
void check_files(const UnresolvedNode& node, const std::vector<StorageMount>& mounts, Findings& findings) {
  const auto files = node.sections.find("files");
  if (files == node.sections.end()) return;
  for (const Value& record : items_of(&files->second)) {
    const std::string path = text_of(record.find("path"));
    const auto mount = std::find_if(mounts.begin(), mounts.end(),
                                    [&](const StorageMount& one) { return is_within(path, one.target); });
    if (mount == mounts.end()) continue;
    findings.error(place_of(record.find("path")), "files.in-storage",
                   in_quotes(path) + " is in a file system that \"storage\" mounts at " + in_quotes(mount->target),
                   "choose another path: \"files\" writes to the node's own disk; for a bind mount, write to the "
                   "source directory",
                   {{"mounted here", mount->where}});
  }
}

}  // namespace

void check_storage(const UnresolvedCluster& draft, Findings& findings) {
  std::map<std::string, std::vector<Use>> uses;
  std::map<std::string, std::vector<Use>> uncertain;
  for (const UnresolvedNode& node : draft.nodes) {
    const Value* section = section_of(node);
    if (section == nullptr) continue;
    for (const Value& entry : items_of(section)) {
      if (entry.text_or("target", "").empty()) continue;
      const Value* source = entry.find("source");
      if (source == nullptr) continue;
      check_address(find_below(*source, "nvme_tcp", "address"), findings);
      check_address(find_below(*source, "nfs", "server"), findings);
    }
    std::vector<StorageMount> mounts = storage_mounts(*section);
    check_files(node, mounts, findings);
    for (StorageMount& mount : mounts) {
      const std::string volume = shared_volume(mount);
      if (!is_for_one_machine(mount.type)) continue;
      const std::string device = maybe_shared_volume(mount);
      if (!volume.empty()) {
        uses[volume].push_back({node.name, std::move(mount)});
      } else if (!device.empty()) {
        uncertain[device].push_back({node.name, std::move(mount)});
      }
    }
  }
  for (const auto& [volume, all] : uses) check_uses(volume, all, findings);
  for (const auto& [device, all] : uncertain) check_uncertain(device, all, findings);
}

}  // namespace sparkplan
