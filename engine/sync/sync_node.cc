#include "engine/sync/sync_node.h"

#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string_view>
#include <utility>

#include "engine/core/bounded_text.h"
#include "engine/process/own_user.h"
#include "engine/sync/reading_progress.h"
#include "engine/sync/sync_run.h"

namespace sparkplan {
namespace {

/// The variables that decide where this user's cache is.
Value own_variables() {
  Value variables = Value::map();
  for (const char* name : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') variables.set(name, value);
  }
  return variables;
}

Result<std::string> tree_on(const SyncNode& node, const ContentItem& item) {
  if (node.is_controller) {
    const Value variables = own_variables();
    SPARK_TRY(const std::string path, tree_of(item, &variables));
    return expand_home(path);
  }
  const auto variables = node.spec->sections.find("profile_env");
  return tree_of(item, variables == node.spec->sections.end() ? nullptr : &variables->second);
}

/// The names to read, for CopyLook; empty: all. Above these numbers, a node reads all of its files.
std::vector<std::string> names_to_read(const std::vector<std::string>& names) {
  std::size_t bytes = 0;
  for (const std::string& name : names) bytes += name.size();
  if (names.size() > NameList::kMostKept || bytes > NameList::kMostKeptBytes) return {};
  return names;
}

/// The bytes that the node reads for a CopyLook of these files, as it has listed them before.
std::int64_t bytes_to_read(const Listing& listing, const std::vector<std::string>& names) {
  if (names.empty()) return listing.bytes();
  const std::set<std::string_view> wanted(names.begin(), names.end());
  std::int64_t bytes = 0;
  for (const CopyEntry& entry : listing.entries) bytes += wanted.contains(entry.path) ? entry.size : 0;
  return bytes;
}

/// The bytes of them whose digests the node had not reported before: those that it reads.
std::int64_t bytes_to_show(const Listing& listing, const std::vector<std::string>& names, bool ignore_known) {
  const std::set<std::string_view> wanted(names.begin(), names.end());
  std::int64_t bytes = 0;
  for (const CopyEntry& entry : listing.entries) {
    const bool is_read = entry.kind == CopyKind::kFile && (ignore_known || entry.sum.empty());
    if (is_read && (names.empty() || wanted.contains(entry.path))) bytes += entry.size;
  }
  return bytes;
}

/// `names`: those that the node was to read; empty: all. A file without a sum is never called different, so that no
/// question would show it.
Result<void> check_was_read(const std::vector<CopyEntry>& entries, const std::vector<std::string>& names) {
  const std::set<std::string_view> wanted(names.begin(), names.end());
  for (const CopyEntry& entry : entries) {
    if (entry.kind != CopyKind::kFile || entry.size == 0 || !entry.sum.empty()) continue;
    if (!names.empty() && !wanted.contains(entry.path)) continue;
    return failure(ErrorCode::kFailed, "the node was to read " + shown_text(entry.path) + ", and lists no sum of it");
  }
  return {};
}

/// Two of the largest listings would take more memory than a node may cost. So the next one has the place of the
/// earlier one.
ListingParts in_place_of_listing(SyncNode& node) {
  constexpr std::size_t kFew = 10'000;
  const bool is_large = node.listing.entries.size() > kFew;
  ListingParts parts(std::move(node.listing.entries));
  node.listing = {};
  // The texts of the next one can come to another thread, to which the C library gives other memory.
  if (is_large) ::malloc_trim(0);
  return parts;
}

/// Receivers do not list such a name: it would be missing there after each sync.
Result<void> check_hub_names(const std::vector<CopyEntry>& entries) {
  const auto found = std::ranges::find_if(entries, [](const auto& entry) { return is_transient_blob(entry.path); });
  if (found == entries.end()) return {};
  return failure(ErrorCode::kFailed,
                 "the node lists " + shown_text(found->path) + ", which is no part of a model in a cache");
}

bool is_unreachable(const Error& error) {
  return error.code == ErrorCode::kUnreachable || error.code == ErrorCode::kUntrusted;
}

CopyTreeKind tree_kind(ContentKind kind) {
  switch (kind) {
    case ContentKind::kHub:
      return CopyTreeKind::kHub;
    case ContentKind::kImage:
      return CopyTreeKind::kImage;
    case ContentKind::kDirectory:
      break;
  }
  return CopyTreeKind::kDirectory;
}

}  // namespace

void show_node(const RunOptions& run, const SyncNode& node, std::string_view doing, Activity activity) {
  if (run.progress && !node.is_controller) run.progress(node.spec->name.str(), doing, activity);
}

void fail_node(const RunOptions& run, SyncNode& node, Error error) {
  if (node.shown == nullptr) {
    node.error = std::move(error);
  } else {
    node.shown->status = is_unreachable(error) ? ContentStatus::kUnreachable : ContentStatus::kFailed;
    node.shown->error = std::move(error);
  }
  show_node(run, node, "failed", Activity::kFailed);
}

void connect_node(const RunOptions& run, SyncNode& node) {
  show_node(run, node, "connecting", Activity::kWorking);
  auto client =
      node.is_controller ? CopyClient::open_here(*node.spec, run.agent) : CopyClient::open(*node.spec, run.agent);
  if (!client) {
    node.error = std::move(client).error();
    return show_node(run, node, "failed", Activity::kFailed);
  }
  node.client = std::move(*client);
  // The controller's program may wait for its item longer than it waits for commands.
  node.started = !node.is_controller;
}

NodeSpec controller_as_node() {
  return {*NodeName::parse(kControllerName), 0, {}, {}, TransportKind::kLocal, {}, false, {}, {}, {}};
}

TreeAccess access_for(const SyncOptions& options, const std::string& stage) {
  TreeAccess access;
  access.write = true;
  access.rate = options.rate;
  access.stage = stage;
  access.patience = options.patience;
  return access;
}

std::string owner_on(const SyncNode& node, const ContentItem& item) {
  // The controller is only read, with the rights of the user who runs sparkplan.
  if (node.is_controller) return "";
  return item.owner_is_login_user() ? node.client->user() : item.owner;
}

Result<CopyOpened> open_tree(SyncNode& node, const ContentItem& item, const TreeAccess& access) {
  CopyOpen open;
  if (item.kind == ContentKind::kImage) {
    open.path = access.stage;
  } else {
    SPARK_TRY(open.path, tree_on(node, item));
  }
  open.owner = owner_on(node, item);
  open.kind = tree_kind(item.kind);
  open.write = access.write;
  open.existing = access.existing;
  open.rate = access.rate;
  SPARK_CHECK(begin_anew(node));
  SPARK_CHECK(node.client->send(open));
  SPARK_TRY(auto opened, await<CopyOpened>(*node.client, access.patience));
  node.trees.insert(opened.path);
  return opened;
}

Result<void> begin_anew(SyncNode& node) {
  node.looks_for.reset();
  if (std::exchange(node.started, false)) return {};
  return node.client->restart();
}

Result<Listing> list_open_tree(SyncNode& node, const TreeAccess& access) {
  Listing listing;
  listing.exists = true;
  const auto names = names_to_read(access.paths);
  SPARK_CHECK(node.client->send(CopyLook{access.read, access.ignore_known, false, names}));
  const bool is_shown = access.read && access.progress;
  ReadingProgress reading(is_shown ? bytes_to_show(node.listing, names, access.ignore_known) : 0);
  const std::int64_t to_read = access.read ? std::min(bytes_to_read(node.listing, names), access.most_to_read) : 0;
  ListingParts parts = in_place_of_listing(node);
  const auto take = [&](CopyAnswer& answer) {
    if (auto* part = std::get_if<CopyEntries>(&answer)) parts.add(std::move(*part));
    const auto* progress = std::get_if<CopyProgress>(&answer);
    if (progress == nullptr || !is_shown) return;
    if (const auto shown = reading.note(progress->read_bytes)) access.progress(*shown);
  };
  SPARK_TRY(auto looked, await<CopyLooked>(*node.client, access.patience, to_read, take));
  SPARK_TRY(listing.entries, parts.take());
  if (access.read) SPARK_CHECK(check_was_read(listing.entries, names));
  if (const auto last = reading.last(); last && is_shown) access.progress(*last);
  listing.root = std::move(looked.root);
  keep_few_names(looked.changed);
  listing.changed = std::move(looked.changed);
  return listing;
}

Result<void> add_digests(SyncNode& node, const ContentItem& item, const TreeAccess& access) {
  SPARK_CHECK(node.client->send(CopyLook{false, false, true, {}}));
  auto& entries = node.listing.entries;
  // Not collected first: a second listing would take as much memory as the first one.
  const auto take = [&](CopyAnswer& answer) {
    auto* part = std::get_if<CopyEntries>(&answer);
    if (part != nullptr) take_digests_of(std::move(*part), entries);
  };
  SPARK_TRY(const auto looked, await<CopyLooked>(*node.client, access.patience, 0, take));
  return check_to_send(node.listing.entries, owner_on(node, item), node.listing.root);
}

Result<void> list_tree(SyncNode& node, const ContentItem& item, const TreeAccess& access) {
  const SharedPatience shared(access.patience);
  const UnreadFiles unread_before(node.listing);
  SPARK_TRY(const auto opened, open_tree(node, item, access));
  Listing listing;
  if (opened.exists) {
    TreeAccess left = access;
    left.patience = shared.left();
    SPARK_TRY(listing, list_open_tree(node, left));
    if (item.kind == ContentKind::kHub) SPARK_CHECK(check_hub_names(listing.entries));
  }
  listing.was_received = opened.was_received;
  listing.free_bytes = opened.free_bytes;
  listing.partial_bytes = opened.partial_bytes;
  if (access.read) node.newly_unread = newly_unread(unread_before, listing);
  node.listing = std::move(listing);
  return {};
}

}  // namespace sparkplan
