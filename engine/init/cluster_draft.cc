#include "engine/init/cluster_draft.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <utility>

#include "engine/core/bounded_text.h"
#include "engine/core/text.h"
#include "engine/init/bare_file.h"
#include "engine/init/fabric_choice.h"
#include "engine/init/fabric_found.h"
#include "engine/init/members.h"
#include "engine/init/sections.h"
#include "engine/init/yaml_writer.h"
#include "engine/load/load.h"
#include "engine/load/yaml_text.h"

namespace sparkplan {
namespace {

constexpr std::int64_t kGibibyte = std::int64_t{1} << 30;

/// "DGX Spark, Ubuntu 24.04.3 LTS, 119 GiB": properties that should be equal in a cluster, and useful details.
std::string description_of(const Facts& facts) {
  std::vector<std::string> parts;
  if (!facts.product.empty()) parts.push_back(facts.product);
  parts.push_back(facts.os_name.empty() ? facts.architecture : facts.os_name);
  if (facts.memory_total_bytes >= kGibibyte)
    parts.push_back(std::to_string(facts.memory_total_bytes / kGibibyte) + " GiB");
  if (!facts.nccl_version.empty()) parts.push_back("NCCL " + facts.nccl_version);
  return printable(join(parts, ", "));
}

/// Network mounts, which a cluster.yaml could declare. They are only reported, and few of them: a machine may list
/// thousands, and the file has a largest size.
std::string storage_of(const Facts& facts) {
  constexpr std::size_t kMostNamed = 16;
  if (!facts.extended) return {};
  std::vector<std::string> found;
  for (const FstabFacts& line : facts.extended->fstab) {
    const bool network = line.type.starts_with("nfs") || line.options.find("_netdev") != std::string::npos;
    if (network) {
      found.push_back("/etc/fstab mounts " + shown_text(line.target) + " from " + shown_text(line.device) + " (" +
                      shown_text(line.type) + ").");
    }
  }
  for (const NvmeControllerFacts& one : facts.extended->nvme) {
    if (one.transport == "pcie") continue;
    found.push_back(shown_text(one.name) + " is " + shown_text(one.subsystem) + " over " + shown_text(one.transport) +
                    ", " + shown_text(one.address) + ".");
  }
  std::string text;
  for (std::size_t i = 0; i < found.size() && i < kMostNamed; ++i) text += "\n" + found[i];
  if (found.size() > kMostNamed) text += "\nIt has " + std::to_string(found.size() - kMostNamed) + " more.";
  return text.empty() ? text : text + "\nsparkplan does not manage this: see `storage` in cluster.yaml(5).";
}

Diagnostic differing(const std::string& what, const std::map<std::string, std::vector<std::string>>& nodes_by_value) {
  Diagnostic remark;
  remark.severity = Severity::kWarning;
  remark.code = "init.mixed-machines";
  std::string values;
  for (const auto& [value, nodes] : nodes_by_value) {
    values += (values.empty() ? "" : ", ") + (value.empty() ? std::string("unknown") : listed_value(value)) + " on " +
              fold_names(nodes);
  }
  remark.message = "the machines differ in " + what + ": " + values;
  remark.hint = "use machines of one kind in a cluster, because jobs run on all nodes alike";
  return remark;
}

/// Sizes are compared by the next power of two, because MemTotal differs slightly between equal machines. `bytes` is
/// above 0.
std::string memory_class(std::int64_t bytes) {
  const auto begun = static_cast<std::uint64_t>((bytes - 1) / kGibibyte + 1);
  return "up to " + std::to_string(std::bit_ceil(begun)) + " GiB";
}

void remark_on_mixed_machines(const Members& members, std::vector<Diagnostic>& remarks) {
  std::map<std::string, std::vector<std::string>> memory;
  std::map<std::string, std::vector<std::string>> systems;
  for (const Member& member : members.nodes) {
    if (member.machine == nullptr) continue;
    const Facts& facts = *member.machine->facts;
    if (facts.memory_total_bytes > 0) memory[memory_class(facts.memory_total_bytes)].push_back(member.name);
    systems[facts.os_id + " " + facts.os_version].push_back(member.name);
  }
  if (memory.size() > 1) remarks.push_back(differing("memory", memory));
  if (systems.size() > 1) remarks.push_back(differing("their operating system", systems));
}

/// Writes the file from top to bottom. Each reason is a comment near the entry that it explains.
class FileText {
 public:
  FileText(const Members& members, const FabricChoice& fabric, const ProfileChoice& profile, const Sections& sections,
           const std::vector<Diagnostic>& remarks)
      : members_(members), fabric_(fabric), profile_(profile), sections_(sections), remarks_(remarks) {}

  std::string write(const std::string& schema) {
    writer_.line("# yaml-language-server: $schema=" + schema);
    writer_.comment(
        "Made by `sparkplan init` from the state of these machines. `sparkplan plan` shows what `apply` changes.");
    for (const Diagnostic& remark : remarks_) writer_.comment("Note: " + remark.message + ".");
    const Value bare = bare_file_of(members_);
    writer_.entry("version", 1);
    if (members_.cluster_known) {
      writer_.comment("The cluster's name, from the records on the nodes.");
    } else {
      writer_.comment(
          "The name of the cluster. Choose this name before the first apply: later applies refuse another one.");
    }
    writer_.entry("name", *bare.find("name"));
    write_profile();
    if (const Value* ssh = bare.find("ssh")) writer_.entry("ssh", *ssh);
    write_fabric();
    if (!sections_.of_cluster.empty()) writer_.comment("sparkplan already manages these sections on the nodes.");
    for (const MapEntry& section : sections_.of_cluster) writer_.entry(section.key, section.value);
    write_nodes(*bare.find("nodes"));
    return writer_.take();
  }

 private:
  void write_profile() {
    writer_.comment(profile_.why);
    if (!profile_.name.empty()) writer_.entry("profile", profile_.name);
  }

  void write_fabric() {
    if (!fabric_.why.empty()) writer_.comment(fabric_.why);
    if (!fabric_.section.is_null()) writer_.entry("fabric", fabric_.section);
  }

  void write_nodes(const Value& nodes) {
    writer_.comment(
        "You choose the node names: they may differ from host names and from aliases of ~/.ssh/config. If you change a "
        "name after an apply, the next apply renames the node. Then keep its old number with `id`: the fabric "
        "addresses derive from that number.");
    writer_.line("nodes:");
    const std::string shared = description_of_all();
    if (!shared.empty()) writer_.comment((members_.nodes.size() > 1 ? "Each: " : "") + shared, 2);
    for (std::size_t i = 0; i < members_.nodes.size(); ++i) {
      const Member& member = members_.nodes[i];
      std::string about = shared.empty() && member.machine != nullptr ? description_of(*member.machine->facts) : "";
      if (member.machine == nullptr) {
        about = "A member of the cluster that is skipped, because " + member.remark +
                ". Without `maintenance` the next apply would change it to match this file.";
      } else if (!member.remark.empty()) {
        about += (about.empty() ? "" : "; ") + member.remark;
      }
      if (member.machine != nullptr) about += storage_of(*member.machine->facts);
      if (about.starts_with('\n')) about.erase(0, 1);
      if (!about.empty()) writer_.comment(about, 2);
      writer_.item(record_of(member, (*nodes.list_items())[i]), 2);
    }
    for (const auto& [machine, why] : members_.left_out) {
      writer_.comment(why, 2);
      writer_.comment("- {name: NAME, address: " + yaml_scalar(Value(machine->address)) + "}", 2);
    }
  }

  /// Empty if the machines are not all alike.
  std::string description_of_all() const {
    std::string shared;
    for (const Member& member : members_.nodes) {
      if (member.machine == nullptr) continue;
      const std::string own = description_of(*member.machine->facts);
      if (!shared.empty() && shared != own) return "";
      shared = own;
    }
    return shared;
  }

  Value record_of(const Member& member, Value record) const {
    if (const auto own = fabric_.of_nodes.find(member.name); own != fabric_.of_nodes.end()) {
      record.set("fabric", own->second);
    }
    if (const auto own = fabric_.others.find(member.name); own != fabric_.others.end()) {
      record.set("interfaces", own->second);
    }
    if (const auto own = sections_.of_nodes.find(member.name); own != sections_.of_nodes.end()) {
      for (const MapEntry& section : own->second) record.set(section.key, section.value);
    }
    return record;
  }

  const Members& members_;
  const FabricChoice& fabric_;
  const ProfileChoice& profile_;
  const Sections& sections_;
  const std::vector<Diagnostic>& remarks_;
  YamlWriter writer_;
};

Value file_with_fabric(const Members& members, const FabricChoice& fabric) {
  Value file = bare_file_of(members);
  if (!fabric.section.is_null()) file.set("fabric", fabric.section);
  for (Value& node : *file.find("nodes")->list_items()) {
    const auto own = fabric.of_nodes.find(node.text_or("name", ""));
    if (own != fabric.of_nodes.end()) node.set("fabric", own->second);
    const auto others = fabric.others.find(node.text_or("name", ""));
    if (others != fabric.others.end()) node.set("interfaces", others->second);
  }
  return file;
}

Result<Cluster> cluster_with_fabric(const Members& members, const FabricChoice& fabric, const Registry& registry) {
  auto loaded = load_cluster(plain_text(file_with_fabric(members, fabric)), "cluster.yaml", registry);
  if (loaded.cluster) return *std::move(loaded.cluster);
  const auto wrong = std::find_if(loaded.diagnostics.begin(), loaded.diagnostics.end(),
                                  [](const Diagnostic& one) { return one.severity == Severity::kError; });
  if (wrong == loaded.diagnostics.end()) return failure(ErrorCode::kBug, "a file without errors does not load");
  return failure(ErrorCode::kInvalidInput, "no valid file can describe these machines: " + wrong->message, wrong->hint);
}

/// A machine with which no file is valid must not keep the others from theirs. If no file is valid with any of
/// them, the members stay as they are.
void leave_out_unloadable(Members& members, const Registry& registry) {
  const std::vector<Member> all = members.nodes;
  const auto file_with = [&](const std::vector<bool>& kept) {
    members.nodes.clear();
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (kept[i]) members.nodes.push_back(all[i]);
    }
    return members.nodes.empty() ? Value() : bare_file_of(members);
  };
  const auto kept = loadable_parts(all.size(), [&](const std::vector<bool>& tried) {
    const Value file = file_with(tried);
    return file.is_null() || cluster_of(file, registry).has_value();
  });
  std::vector<bool> with = kept;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (kept[i]) continue;
    with[i] = true;
    const std::string why = first_error_of(file_with(with), registry);
    with[i] = false;
    const std::string given = all[i].machine == nullptr ? all[i].name : all[i].machine->given;
    members.remarks.push_back(finding(Severity::kWarning, "init.not-written",
                                      given + " is left out, because no file may have it: " + why,
                                      "correct that and run init again"));
    if (all[i].machine != nullptr) members.left_out.push_back({all[i].machine, "No file may have it: " + why});
  }
  file_with(kept);
  if (members.read() == 0) members.nodes = all;
}

}  // namespace

Result<DraftedFile> draft_cluster(const InitInput& input, const Registry& registry) {
  SPARK_TRY(Members members, members_of(input.machines, registry));
  leave_out_unloadable(members, registry);
  const std::vector<FoundFabric> found = found_fabrics(members, registry);
  const FabricChoice fabric = choose_fabric(members, found, registry);
  SPARK_TRY(const Cluster cluster, cluster_with_fabric(members, fabric, registry));
  Sections sections = sections_of(members, cluster, registry);
  const ProfileChoice profile = choose_profile(members, cluster, registry, sections);
  DraftedFile draft;
  const auto write = [&] {
    do {
      draft.remarks = members.remarks;
      draft.remarks.insert(draft.remarks.end(), fabric.remarks.begin(), fabric.remarks.end());
      draft.remarks.insert(draft.remarks.end(), sections.remarks.begin(), sections.remarks.end());
      remark_on_mixed_machines(members, draft.remarks);
      draft.text = FileText(members, fabric, profile, sections, draft.remarks).write(input.schema);
    } while (draft.text.size() > kLongestFile && leave_out_longest(sections));
    return load_cluster(draft.text, "cluster.yaml", registry);
  };
  auto loaded = write();
  if (!loaded.cluster) {
    Value file = file_with_fabric(members, fabric);
    if (!profile.name.empty()) file.set("profile", profile.name);
    leave_out_invalid(sections, file, registry);
    loaded = write();
  }
  if (!loaded.cluster) {
    return failure(ErrorCode::kBug,
                   "the file for these machines would not be valid: " + loaded.diagnostics.front().message);
  }
  return draft;
}

}  // namespace sparkplan
