#include "engine/verify/levels/levels.h"

#include <map>
#include <string>
#include <utility>

#include "engine/core/text.h"
#include "engine/domain/storage/storage.h"
#include "engine/fleet/session/fan_out.h"
#include "engine/fleet/session/last_line.h"
#include "engine/fleet/session/node_reply.h"
#include "engine/verify/levels/storage_judgement.h"

namespace sparkplan {
namespace {

/// The mounts of one node and their checks.
struct NodeStorage {
  VerifyNode* node = nullptr;
  std::vector<StorageMount> mounts;
  std::vector<Check> checks;
};

/// Its target without the first "/", which check_id() adds.
std::string what_of(const StorageMount& mount) { return mount.target.substr(mount.target.starts_with('/') ? 1 : 0); }

std::string source_of(const StorageMount& mount) {
  return mount.nvme ? mount.nvme->subsystem + " at " + mount.nvme->address : mount.what;
}

Check check_of(const VerifyNode& node, const StorageMount& mount) {
  Check check = skipped(Level::kStorage, {node.name()}, what_of(mount), "");
  const bool has_type = mount.type != "none" && mount.type != "tmpfs";
  check.text = printable(mount.target + (has_type ? ", " + mount.type : "") + " from " + source_of(mount));
  return check;
}

void read_it(const StorageMount& mount, NodeStorage& storage, Check& check) {
  VerifyNode& node = *storage.node;
  const auto reply = node.ask(ReadStorageRequest{mount.target}, kLongestStorageRead);
  if (!reply && note_if_lost(node, reply.error())) {
    check.status = CheckStatus::kSkip;
    check.cause = node.name() + " is no longer connected";
    return;
  }
  const std::string complaint = reply ? reply->complaint : reply.error().describe();
  if (!complaint.empty()) {
    diagnose(check, CheckStatus::kFail, "storage-unreadable", printable(mount.target + ": " + complaint));
    return;
  }
  Check reading = skipped(Level::kStorage, {node.name()}, what_of(mount) + "/read", "");
  judge_reading(mount, *reply, reading);
  storage.checks.push_back(std::move(reading));
}

void skip_all(NodeStorage& storage, const std::string& why) {
  for (const StorageMount& mount : storage.mounts) {
    storage.checks.push_back(skipped(Level::kStorage, {storage.node->name()}, what_of(mount), why));
  }
}

/// The node answers, but could not check.
void fail_all(NodeStorage& storage, const std::string& why) {
  for (const StorageMount& mount : storage.mounts) {
    Check check = check_of(*storage.node, mount);
    diagnose(check, CheckStatus::kFail, "storage-unreadable", printable(why));
    storage.checks.push_back(std::move(check));
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

void verify_node(VerifyContext& context, const std::map<std::string, NodeExports>& exports, NodeStorage& storage) {
  VerifyNode& node = *storage.node;
  if (storage.mounts.empty()) {
    storage.checks.push_back(skipped(Level::kStorage, {node.name()}, "", "no storage declared",
                                     "declare the mounts in cluster.yaml: the section `storage`"));
    return;
  }
  if (!node.can_be_asked()) return skip_all(storage, node.absence());
  if (node.facts == nullptr || !node.facts->live) return skip_all(storage, "the node is not a running system");
  const auto question = question_about(storage.mounts);
  const auto observed = node.timed({}, [&] { return observe_node(*node.client, question, *context.registry); });
  if (!observed) {
    if (note_if_lost(node, observed.error())) return skip_all(storage, observed.error().describe());
    return fail_all(storage, observed.error().describe());
  }
  const DeclaredStorage declared =
      declared_storage({context.cluster, *node.spec, exports}, *node.facts, *context.registry);
  for (const StorageMount& mount : storage.mounts) {
    Check check = check_of(node, mount);
    judge_mount(mount, declared, *observed, check);
    storage.checks.push_back(check);
    if (check.status != CheckStatus::kPass || context.stop.stop_requested() || !node.can_be_asked()) continue;
    context.progress(node.name(), "reading " + printable(mount.target));
    const std::size_t place = storage.checks.size() - 1;
    read_it(mount, storage, check);
    storage.checks[place] = check;
  }
}

}  // namespace

std::vector<Check> verify_storage(VerifyContext& context) {
  std::vector<NodeStorage> all;
  for (VerifyNode& node : context.nodes) {
    const auto section = node.spec->sections.find("storage");
    NodeStorage storage;
    storage.node = &node;
    if (section != node.spec->sections.end()) storage.mounts = storage_mounts(section->second);
    all.push_back(std::move(storage));
  }
  const auto exports = exports_without_rivals(context.cluster, *context.registry);
  fan_out(
      all, context.options.workers,
      [&](NodeStorage& storage) {
        last_line([&] { verify_node(context, exports, storage); },
                  [&](const Error& error) { fail_all(storage, error.describe()); });
      },
      // One node with many slow mounts takes longer than an agent waits for a request.
      [](NodeStorage& storage) { keep_agent(*storage.node); });
  std::vector<Check> checks;
  for (NodeStorage& storage : all) append(checks, std::move(storage.checks));
  return checks;
}

}  // namespace sparkplan
