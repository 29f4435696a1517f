#include "engine/verify/levels/storage_judgement.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/core/bounded_text.h"
#include "engine/core/text.h"
#include "engine/resource/systemd_units.h"

namespace sparkplan {
namespace {

constexpr const char* kMount = "mount";
constexpr const char* kConnection = "nvme_tcp";

/// Options that decide when a mount is made, not how.
constexpr std::array<std::string_view, 2> kOfTheBoot{"nofail", "_netdev"};

/// No unit is as long. A node can send four megabytes with two million options, and each becomes a text.
constexpr std::size_t kLongestUnit = std::size_t{256} << 10;

/// The state and unit of one resource on the node; both are empty if it is absent.
struct Shown {
  std::string state;
  std::string unit;
};

Result<Shown> shown(const ObservedState& observed, const ResourceId& id) {
  const Error silent{ErrorCode::kFailed, "the node has not reported " + id.words(), {}, {}, ""};
  const auto of_type = observed.types.find(id.type);
  if (of_type == observed.types.end()) return failure(silent);
  const auto found = of_type->second.resources.find(id.name);
  if (found == of_type->second.resources.end()) return failure(silent);
  if (const auto* error = std::get_if<Error>(&found->second)) return failure(*error);
  const auto* present = std::get_if<Present>(&found->second);
  if (present == nullptr) return Shown{};
  return Shown{present->value.text_or("state", ""), cut_text(present->value.text_or("unit", ""), kLongestUnit)};
}

std::string declared_unit(const DeclaredStorage& declared, const ResourceId& id) {
  const auto found = declared.find(id);
  return found == declared.end() ? std::string() : found->second.text_or("unit", "");
}

/// A setting of one section. Each "%%", which protects "%" from systemd, is "%" again.
std::string setting(const std::string& unit, std::string_view section, std::string_view key) {
  return with_specifiers(unit_setting(unit, section, key).value_or(""));
}

std::vector<std::string> options_in(const std::string& unit) {
  const std::string options = setting(unit, "Mount", "Options");
  std::vector<std::string> found;
  for (const std::string_view option : split(options, ',')) {
    const bool of_the_boot = std::find(kOfTheBoot.begin(), kOfTheBoot.end(), option) != kOfTheBoot.end();
    if (!option.empty() && !of_the_boot) found.emplace_back(option);
  }
  return found;
}

/// A row of the doctor's table and the observed fault.
struct Fault {
  RowId row;
  std::string seen;
};

std::optional<Fault> fault_of_connection(const StorageMount& mount, const DeclaredStorage& declared,
                                         const ObservedState& observed) {
  if (!mount.nvme) return std::nullopt;
  const std::string& subsystem = mount.nvme->subsystem;
  const ResourceId id{kConnection, subsystem};
  const auto now = shown(observed, id);
  if (!now) return Fault{"storage-not-connected", now.error().describe()};
  if (now->state.empty() || now->state == "not connected") {
    return Fault{"storage-not-connected", subsystem + " is not connected"};
  }
  const std::string as_declared = setting(declared_unit(declared, id), "Service", "ExecStart");
  if (!now->unit.empty() && setting(now->unit, "Service", "ExecStart") != as_declared) {
    return Fault{"storage-other-source", subsystem + " is connected by a unit whose server is not " +
                                             mount.nvme->address + " port " + std::to_string(mount.nvme->port)};
  }
  if (now->state == "reconnecting") return Fault{"storage-server-silent", mount.nvme->address + " does not answer"};
  if (now->state != "connected") return Fault{"storage-other-source", subsystem + " is " + now->state};
  return std::nullopt;
}

/// The fault of a mount that matches the node's own unit.
std::optional<Fault> fault_of_unit(const StorageMount& mount, const std::string& unit, const std::string& as_declared) {
  for (const char* key : {"What", "Type"}) {
    const std::string there = setting(unit, "Mount", key);
    if (there != setting(as_declared, "Mount", key)) {
      return Fault{"storage-other-source", mount.target + " is mounted from " + setting(unit, "Mount", "What") + " (" +
                                               setting(unit, "Mount", "Type") + ")"};
    }
  }
  const auto options = options_in(unit);
  const auto wanted = options_in(as_declared);
  if (options == wanted) return std::nullopt;
  return Fault{"storage-other-options",
               mount.target + " is mounted with " + (options.empty() ? std::string("no options") : join(options, ",")) +
                   ", but declared with " + (wanted.empty() ? std::string("none") : join(wanted, ","))};
}

std::optional<Fault> fault_of_mount(const StorageMount& mount, const Shown& now, const std::string& as_declared) {
  if (now.state.empty() || now.state == "not mounted") {
    return Fault{"storage-not-mounted", mount.target + " is not mounted"};
  }
  if (now.state.starts_with("mounted from")) return Fault{"storage-other-source", mount.target + " is " + now.state};
  if (auto by_unit = fault_of_unit(mount, now.unit, as_declared)) return by_unit;
  if (now.state != "mounted") return Fault{"storage-other-options", mount.target + " is " + now.state};
  return std::nullopt;
}

}  // namespace

std::map<std::string, NodeExports> exports_without_rivals(const Cluster& cluster, const Registry& registry) {
  NodeExports nothing;
  for (const ResourceType* type : registry.of_section("storage")) {
    if (type->info().exports_everywhere) nothing.emplace(type->info().name, Value::map());
  }
  std::map<std::string, NodeExports> exports;
  for (const NodeSpec& node : cluster.nodes) exports.emplace(node.name.str(), nothing);
  return exports;
}

DeclaredStorage declared_storage(const ClusterView& view, const Facts& facts, const Registry& registry) {
  DeclaredStorage declared;
  const auto section = view.self.sections.find("storage");
  if (section == view.self.sections.end()) return declared;
  for (const ResourceType* type : registry.of_section("storage")) {
    Desired desired = type->desired(view, section->second, facts);
    for (Resource& resource : desired.resources) declared.emplace(resource.id, std::move(resource.desired));
  }
  return declared;
}

void judge_mount(const StorageMount& mount, const DeclaredStorage& declared, const ObservedState& observed,
                 Check& check) {
  const auto fail = [&](RowId row, const std::string& details) {
    diagnose(check, CheckStatus::kFail, row, shown_text(details, kLongestErrorMessage));
  };
  const ResourceId id{kMount, mount.target};
  const auto now = shown(observed, id);
  if (!now) return fail("storage-unreadable", now.error().describe());
  if (const auto wrong = fault_of_connection(mount, declared, observed)) return fail(wrong->row, wrong->seen);
  if (const auto wrong = fault_of_mount(mount, *now, declared_unit(declared, id))) {
    return fail(wrong->row, wrong->seen);
  }
  check.status = CheckStatus::kPass;
}

void judge_reading(const StorageMount& mount, const ReadStorageReply& reply, Check& check) {
  if (reply.bytes <= 0 || reply.nanoseconds <= 0) {
    check.status = CheckStatus::kSkip;
    check.cause = reply.unmeasured.empty() ? "nothing was measured" : printable(reply.unmeasured);
    return;
  }
  check.pass(printable(mount.target) + " read" + (reply.direct ? "" : ", possibly from the node's cache"));
  check.value = static_cast<double>(reply.bytes) / static_cast<double>(reply.nanoseconds);
  check.unit = "GB/s";
}

}  // namespace sparkplan
