#include "engine/verify/storage_level.h"

#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "engine/core/text.h"
#include "engine/fleet/fan_out.h"
#include "engine/resource/storage.h"

namespace sparkplan {
namespace {

/// The mounts of one node and what became of them.
struct NodeStorage {
  VerifyNode* node = nullptr;
  std::vector<StorageMount> mounts;
  std::vector<Check> checks;
};

std::string id_of(const VerifyNode& node, const StorageMount& mount) { return "storage/" + node.name() + mount.target; }

std::string source_of(const StorageMount& mount) {
  return mount.nvme ? mount.nvme->subsystem + " at " + mount.nvme->address : mount.what;
}

/// The field "state" of what a node shows, as the types mount and nvme_tcp have it; void where it is absent.
Result<std::string> state_of(const ObservedState& observed, const std::string& type, const std::string& name) {
  const auto of_type = observed.types.find(type);
  if (of_type == observed.types.end()) return std::string();
  const auto found = of_type->second.resources.find(name);
  if (found == of_type->second.resources.end()) return std::string();
  if (const auto* error = std::get_if<Error>(&found->second)) return failure(*error);
  const auto* present = std::get_if<Present>(&found->second);
  return present == nullptr ? std::string() : present->value.text_or("state", "");
}

/// The lowest thing that is wrong decides.
void judge(const StorageMount& mount, const ObservedState& observed, Check& check) {
  const auto fail = [&](std::string_view row, const std::string& details) {
    diagnose(check, CheckStatus::kFail, row, printable(details));
  };
  const auto mounted = state_of(observed, "mount", mount.target);
  if (!mounted) return fail("storage-unreadable", mounted.error().describe());
  const auto connected = mount.nvme ? state_of(observed, "nvme_tcp", mount.nvme->subsystem)
                                    : Result<std::string>(std::string("connected"));
  if (!connected) return fail("storage-not-connected", connected.error().describe());
  if (connected->empty() || *connected == "not connected") {
    return fail("storage-not-connected", mount.nvme->subsystem + " is not connected");
  }
  if (*connected == "reconnecting") return fail("storage-server-silent", mount.nvme->address + " does not answer");
  if (*connected != "connected") return fail("storage-other-source", mount.nvme->subsystem + " is " + *connected);
  if (mounted->empty() || *mounted == "not mounted")
    return fail("storage-not-mounted", mount.target + " is not mounted");
  if (mounted->starts_with("mounted from")) return fail("storage-other-source", mount.target + " is " + *mounted);
  if (*mounted != "mounted") return fail("storage-other-options", mount.target + " is " + *mounted);
  check.status = CheckStatus::kPass;
}

Check throughput(const VerifyNode& node, const StorageMount& mount, const ReadStorageReply& reply) {
  const std::string id = id_of(node, mount) + "/read";
  if (reply.bytes <= 0 || reply.nanoseconds <= 0) {
    return skipped(id, Level::kStorage, {node.name()}, "nothing large enough in it to measure by");
  }
  Check check;
  check.id = id;
  check.level = Level::kStorage;
  check.nodes = {node.name()};
  check.status = CheckStatus::kPass;
  check.text = printable(mount.target) + " read" + (reply.direct ? "" : ", maybe from the node's own cache");
  check.value = static_cast<double>(reply.bytes) / static_cast<double>(reply.nanoseconds);
  check.unit = "GB/s";
  return check;
}

void read_it(const StorageMount& mount, NodeStorage& storage, Check& check) {
  VerifyNode& node = *storage.node;
  const auto reply = node.client->read_storage({mount.target});
  if (!reply && note_if_lost(node, reply.error())) {
    check.status = CheckStatus::kSkip;
    check.cause = node.name() + " cannot be asked any more";
    return;
  }
  const std::string complaint = reply ? reply->complaint : reply.error().describe();
  if (!complaint.empty()) {
    diagnose(check, CheckStatus::kFail, "storage-unreadable", printable(mount.target + ": " + complaint));
    return;
  }
  storage.checks.push_back(throughput(node, mount, *reply));
}

void skip_all(NodeStorage& storage, const std::string& why) {
  for (const StorageMount& mount : storage.mounts) {
    storage.checks.push_back(skipped(id_of(*storage.node, mount), Level::kStorage, {storage.node->name()}, why));
  }
}

ObserveNodeRequest question_about(const std::vector<StorageMount>& mounts) {
  ObserveNodeRequest request;
  for (const StorageMount& mount : mounts) {
    request.names["mount"].push_back(mount.target);
    if (mount.nvme) request.names["nvme_tcp"].push_back(mount.nvme->subsystem);
  }
  return request;
}

void verify_node(Scene& scene, NodeStorage& storage) {
  VerifyNode& node = *storage.node;
  if (storage.mounts.empty()) {
    storage.checks.push_back(skipped("storage/" + node.name(), Level::kStorage, {node.name()}, "nothing declared"));
    return;
  }
  if (!node.can_be_asked()) return skip_all(storage, "the node cannot be asked");
  if (node.facts == nullptr || !node.facts->live) return skip_all(storage, "nothing is running there");
  const auto observed = node.client->observe(question_about(storage.mounts));
  if (!observed) {
    note_if_lost(node, observed.error());
    return skip_all(storage, observed.error().describe());
  }
  for (const StorageMount& mount : storage.mounts) {
    Check check;
    check.id = id_of(node, mount);
    check.level = Level::kStorage;
    check.nodes = {node.name()};
    check.text = printable(mount.target + ", " + mount.type + " from " + source_of(mount));
    if (mount.type == "none" || mount.type == "tmpfs")
      check.text = printable(mount.target + " from " + source_of(mount));
    judge(mount, *observed, check);
    storage.checks.push_back(check);
    if (check.status != CheckStatus::kPass || scene.stop.stop_requested() || !node.can_be_asked()) continue;
    scene.tell(node.name(), "reading " + printable(mount.target));
    const std::size_t place = storage.checks.size() - 1;
    read_it(mount, storage, check);
    storage.checks[place] = check;
  }
}

}  // namespace

std::vector<Check> verify_storage(Scene& scene) {
  std::vector<NodeStorage> all;
  for (VerifyNode& node : scene.nodes) {
    const auto section = node.spec->sections.find("storage");
    NodeStorage storage;
    storage.node = &node;
    if (section != node.spec->sections.end()) storage.mounts = storage_mounts(section->second);
    all.push_back(std::move(storage));
  }
  fan_out(
      all, scene.options.workers, [&](NodeStorage& storage) { verify_node(scene, storage); },
      [](const NodeStorage&) {});
  std::vector<Check> checks;
  for (NodeStorage& storage : all) {
    std::move(storage.checks.begin(), storage.checks.end(), std::back_inserter(checks));
  }
  return checks;
}

}  // namespace sparkplan
