#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "engine/core/text.h"
#include "engine/domain/storage/fstab.h"
#include "engine/domain/storage/storage.h"
#include "engine/domain/storage/storage_network.h"
#include "engine/node/mount_table.h"
#include "resources/mount/live_writers.h"
#include "resources/mount/mount_checks.h"
#include "resources/mount/mount_state.h"
#include "resources/mount/mount_steps.h"
#include "resources/mount/mount_unit.h"
#include "resources/mount/mount_way.h"

/// Mounts, each a systemd unit: `storage: [{target: /mnt/models, source: {...}, type: ext4}]`.
namespace sparkplan::mount {
namespace {

/// Every mount is compared with every other one, directory by directory.
constexpr std::size_t kMostMounts = 1000;

/// Lines of fstab by target; none if the file does not exist. Errors: as NodeReader::read_file().
Result<std::map<std::string, std::vector<FstabLine>>> fstab_lines(const NodeReader& node) {
  std::map<std::string, std::vector<FstabLine>> by_target;
  SPARK_TRY(const std::string text, or_empty(node.read_file("/etc/fstab")));
  for (FstabLine& line : parse_fstab(text)) by_target[line.target].push_back(std::move(line));
  return by_target;
}

std::string places_of(const std::vector<FstabLine>& lines) {
  std::vector<std::string> places;
  for (const FstabLine& line : lines) places.push_back("/etc/fstab:" + std::to_string(line.line));
  return join(places, ", ");
}

/// "remove the line", or "remove the lines".
std::string removal_of(const std::vector<FstabLine>& lines) {
  return lines.size() == 1 ? "remove the line" : "remove the lines";
}

Error in_fstab(const std::string& target, const std::vector<FstabLine>& lines) {
  return make_error(ErrorCode::kRefused,
                    places_of(lines) + (lines.size() == 1 ? " mounts " : " mount ") + target +
                        (lines.size() == 1 ? " already" : " already, more than once"),
                    removal_of(lines) +
                        " from /etc/fstab and run `systemctl daemon-reload`; the mount stays, and "
                        "sparkplan takes it over if it is the same");
}

/// The connection and the mounts that must be in sync first.
std::vector<ResourceId> needed_by(const StorageMount& mount, const std::vector<StorageMount>& all,
                                  const std::string& type) {
  std::vector<ResourceId> after;
  if (mount.nvme) after.push_back({"nvme_tcp", mount.nvme->subsystem});
  for (const StorageMount& other : all) {
    if (other.target == mount.target) continue;
    const bool below = is_within(mount.target, other.target);
    const bool bound_from = mount.kind == StorageKind::kBind && is_within(mount.what, other.target);
    if (below || bound_from) after.push_back({type, other.target});
  }
  return after;
}

class MountType final : public ResourceType {
 public:
  MountType() {
    info_.name = "mount";
    info_.section = "storage";
    info_.phase = Phase::kStorage;
    info_.summary = "mounts of volumes, directories and memory";
    info_.files = {"/etc/systemd/system/TARGET.mount"};
    info_.reversible_of_removal = Reversible::kBestEffort;
    info_.foresees = true;
    info_.exports_everywhere = true;  // A node that gives a volume up may no longer have a section.
    info_.records = {.identity = {"target"}, .by_path = true};
    info_.reported.resource = unit_shape();
    info_.reported.artifacts = {{mount_artifact({}).kind, info_.reported.resource},
                                {directory_artifact({}).kind, Shape::map({{"directory", Shape::boolean(), true}})}};
    info_.reported.exported = exported_volumes();
    info_.reported.most = kMostMounts;
  }

  Desired desired(const ClusterView& view, const Value& section, const Facts& own) const override {
    Desired result;
    const std::vector<StorageMount> all = storage_mounts(section);
    // The mounts share directories, so all of them wait for the fabric of any server.
    const auto fabric = fabric_of_storage(view, own, all);
    for (const StorageMount& mount : all) {
      auto findings = findings_about_writers(view, mount);
      const bool refused = has_errors(findings);
      result.diagnostics.insert(result.diagnostics.end(), findings.begin(), findings.end());
      if (refused) {
        // Only this mount: another node's claim to its volume must not keep the others from being removed.
        result.unresolved.insert({info_.name, mount.target});
        continue;
      }
      Value wanted = Value::map({{field::kContent, render_unit(mount)}, {field::kState, state::kMounted}});
      // The unit of its connection mounts an NVMe over TCP volume; the boot does not.
      if (!mount.nvme) wanted.set(field::kEnabled, true);
      Resource resource = make_resource(mount.target, std::move(wanted), mount.where);
      resource.after = needed_by(mount, all, info_.name);
      resource.after.insert(resource.after.end(), fabric.begin(), fabric.end());
      result.resources.push_back(std::move(resource));
    }
    return result;
  }

  std::optional<Value> section_from(const ClusterView& /*view*/, const ValuesByName& applied,
                                    const Facts& /*own*/) const override {
    return section_of(applied);
  }

  std::vector<Diagnostic> validate(const Value& section) const override { return validate_section(section); }

  Result<Value> exports(const Value& /*section*/, const NodeReader& node) const override {
    return written_volumes(node);
  }

  ObservedType observe(const ObserveRequest& request, const NodeReader& node) const override {
    ObservedType observed;
    const auto fstab = fstab_lines(node);
    const auto mounts = node.live() ? mounted_file_systems(node) : std::vector<MountedFileSystem>();
    for (const std::string& target : request.names) {
      const auto mount = fstab && mounts ? look_at_mount(target, *mounts, node)
                                         : Result<MountState>(failure(fstab ? mounts.error() : fstab.error()));
      Observation& resource = observed.resources[target];
      if (!mount) {
        resource = observed.artifacts[mount_artifact(target)] = mount.error();
        continue;
      }
      resource = observed.artifacts[mount_artifact(target)] = observation_of(*mount, node.live());
      if (node.live()) {
        look_at_directories(target, *mount, *mounts, node, observed);
        if (!mount->mounted() && !mount->unit.ours()) look_at_way_to(target, request.names, node, observed);
      }
      const auto lines = fstab->find(target);
      if (!mount->unit.in_the_way.empty()) {
        resource = unit_in_the_way(*mount);
      } else if (lines != fstab->end()) {
        add_fstab(target, lines->second, mount->unit.ours(), observed);
      }
    }
    return observed;
  }

  std::vector<FieldChange> diff(const Resource& resource, const Present& present) const override {
    std::vector<FieldChange> fields = ResourceType::diff(resource, present);
    // The mount is no longer in the file. Its unit is removed even if it is not mounted now.
    if (!resource.where.known() && present.value.find(field::kContent) != nullptr) {
      std::erase_if(fields, [&](const FieldChange& one) {
        return one.path != field::kContent && present.value.find(one.path) != nullptr &&
               resource.desired.find(one.path) != nullptr;
      });
    }
    return fields;
  }

  std::vector<Step> steps(const StepsInput& input) const override { return mount_steps(input, info_); }

  std::vector<Ineffective> foresee(const ChangesAhead& ahead, const NodeReader& node) const override {
    const auto wanted = ahead.find(info_.name);
    return wanted == ahead.end() || !node.live() ? std::vector<Ineffective>() : foresee_ways(wanted->second, node);
  }

  Observation read_artifact(const ArtifactId& artifact, const NodeReader& node) const override {
    if (artifact.kind == directory_artifact({}).kind) return observe_directory(artifact.name, node);
    if (artifact.kind != mount_artifact({}).kind) return ResourceType::read_artifact(artifact, node);
    const auto mount = look_at_mount(artifact.name, node);
    if (!mount) return mount.error();
    return observation_of(*mount, node.live());
  }

  std::vector<Objection> prepare(std::span<const Step> steps, const ChangesAhead& /*ahead*/,
                                 Node& node) const override {
    return node.live() ? objections_to(steps, node) : std::vector<Objection>();
  }

  Result<void> apply(const ArtifactId& artifact, const Observation& after, Node& node) const override {
    if (artifact.kind == directory_artifact({}).kind) return make_directory(artifact.name, after, node);
    if (artifact.kind != mount_artifact({}).kind) return ResourceType::apply(artifact, after, node);
    return make_mount(artifact.name, after, node);
  }

 private:
  static Error unit_in_the_way(const MountState& mount) {
    return make_error(ErrorCode::kRefused, mount.unit.in_the_way,
                      "sparkplan leaves it alone: remove it, or choose another target");
  }

  /// Our unit wins over fstab at boot, but `mount TARGET` and readers of fstab use the line.
  void add_fstab(const std::string& target, const std::vector<FstabLine>& lines, bool ours,
                 ObservedType& observed) const {
    if (!ours) {
      observed.resources[target] = in_fstab(target, lines);
      return;
    }
    observed.foreign.push_back(
        {{info_.name, target},
         field::kContent,
         lines.front().source,
         places_of(lines),
         std::string(lines.size() == 1 ? "also describes" : "also describe") + " this mount: " + removal_of(lines)});
  }

  /// A mounted path is a directory. A query of the file system itself may block forever if its server is gone.
  static Observation look_at_directory(const std::string& path, const MountState& mount,
                                       const std::vector<MountedFileSystem>& mounts, const NodeReader& node) {
    if (!mount.mounted() && mounted_at(mounts, path) == nullptr) return observe_directory(path, node);
    return Present{Value::map({{"directory", true}}), {}};
  }

  /// The directories of a target inside another one become visible with the mount of that one.
  static void look_at_way_to(const std::string& target, const std::vector<std::string>& names, const NodeReader& node,
                             ObservedType& observed) {
    const bool nested = std::ranges::any_of(
        names, [&](const std::string& other) { return other != target && is_within(target, other); });
    Observation& resource = observed.resources[target];
    if (nested || std::holds_alternative<Error>(resource)) return;
    if (auto objection = objection_to_way(target, node)) resource = *std::move(objection);
  }

  static void look_at_directories(const std::string& target, const MountState& mount,
                                  const std::vector<MountedFileSystem>& mounts, const NodeReader& node,
                                  ObservedType& observed) {
    for (const std::string& path : directories_of(target)) {
      Observation directory = look_at_directory(path, mount, mounts, node);
      const auto* error = std::get_if<Error>(&directory);
      if (error != nullptr && !mount.mounted()) observed.resources[target] = *error;
      observed.artifacts[directory_artifact(path)] = std::move(directory);
    }
  }
};

}  // namespace

std::unique_ptr<ResourceType> make_resource_type() { return std::make_unique<MountType>(); }

}  // namespace sparkplan::mount
