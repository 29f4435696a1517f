#include "engine/sync/comparison.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

#include "engine/core/digest.h"

namespace sparkplan {
namespace {

bool same_properties(const CopyEntry& source, const CopyEntry& node, const std::string& declared_owner) {
  if (source.kind == CopyKind::kLink) return true;
  const bool same_owner =
      declared_owner.empty() ? source.user == node.user && source.group == node.group : node.user == declared_owner;
  return same_owner && source.mode == node.mode;
}

/// Moves `at` to the name, or behind its place. Both lists are sorted by path. False: the name is not in the listing.
bool advance_to(const std::string& path, std::vector<CopyEntry>::const_iterator& at, const Listing& listing) {
  while (at != listing.entries.end() && at->path < path) ++at;
  return at != listing.entries.end() && at->path == path;
}

/// A file that one of the two nodes has not read is not the same.
bool same_content(const CopyEntry& one, const CopyEntry& other) {
  if (one.kind != other.kind || one.size != other.size) return false;
  // A node may list a target for a directory, which would then be no one else's, and its rights not compared.
  if (one.kind == CopyKind::kLink && one.target != other.target) return false;
  return one.kind != CopyKind::kFile || one.size == 0 || (!one.sum.empty() && one.sum == other.sum);
}

constexpr int kGroupWrites = 0020;
constexpr int kOthersWrite = 0002;
constexpr std::string_view kMoreWriters = " (writable by more users)";

/// Words for the rights that the source's mode and owner would change. Empty: they would change none.
std::string_view changed_rights(const CopyEntry& source, const CopyEntry& node, bool owner_is_declared) {
  if (source.kind == CopyKind::kLink || source.kind != node.kind) return "";
  const bool other_group = source.group != node.group && (source.mode & kGroupWrites) != 0;
  if (!owner_is_declared && (source.user != node.user || other_group)) return " (of another owner)";
  if ((source.mode & ~node.mode & (kGroupWrites | kOthersWrite)) != 0) return kMoreWriters;
  // Also fewer rights: users who lose the right to read a model are a fault of the service.
  const bool other_rights = source.mode != node.mode || (!owner_is_declared && source.group != node.group);
  return other_rights ? " (with other rights)" : "";
}

/// A node without the directory would get one that more users can write to, as on no other node.
bool root_is_unshared(const std::vector<NamedListing>& listings, std::size_t source) {
  const auto& root = listings[source].listing->root;
  const int writers = root ? root->mode & (kGroupWrites | kOthersWrite) : 0;
  bool any_lacks = false;
  for (std::size_t i = 0; i < listings.size(); ++i) {
    if (i == source || listings[i].listing == nullptr) continue;
    const auto& other = listings[i].listing->root;
    if (other && (writers & ~other->mode) == 0) return false;
    any_lacks = any_lacks || !listings[i].listing->exists;
  }
  return any_lacks && writers != 0;
}

/// Compares a file with the node's file of the same name and size.
void compare_content(const CopyEntry& source, const CopyEntry& node, Comparison& found) {
  if (source.sum.empty() || node.sum.empty()) {
    if (source.size == 0) return;
    found.unread.add(source.path);
    found.unread_bytes += source.size;
  } else if (source.sum != node.sum) {
    found.differing.add(source.path);
    found.differing_bytes += source.size;
  }
}

bool is_unread(const CopyEntry& entry) { return entry.kind == CopyKind::kFile && entry.size > 0 && entry.sum.empty(); }

/// True if nothing is known to differ. A node does not read a file whose size is not the source's.
bool may_be_same(const CopyEntry& one, const CopyEntry& other) {
  if (is_unread(one) || is_unread(other)) return one.kind == other.kind && one.size == other.size;
  return same_content(one, other);
}

/// How many of these entries may be the same, at most.
std::size_t largest_agreement(const std::vector<const CopyEntry*>& versions) {
  std::size_t most = 0;
  for (const CopyEntry* one : versions) {
    const auto agreeing =
        std::ranges::count_if(versions, [&](const CopyEntry* other) { return may_be_same(*one, *other); });
    most = std::max(most, static_cast<std::size_t>(agreeing));
    if (most == versions.size()) break;
  }
  return most;
}

}  // namespace

std::int64_t Listing::bytes() const {
  return std::accumulate(entries.begin(), entries.end(), std::int64_t{0},
                         [](std::int64_t sum, const CopyEntry& entry) { return sum + entry.size; });
}

Comparison compare_listings(const Listing& source, const Listing& node, const std::string& declared_owner) {
  Comparison found;
  auto own = node.entries.begin();
  for (const CopyEntry& entry : source.entries) {
    if (!advance_to(entry.path, own, node)) {
      found.missing.add(entry.path);
      found.missing_bytes += entry.size;
      continue;
    }
    const CopyEntry& other = *own;
    const bool other_size = entry.kind == CopyKind::kFile && entry.size != other.size;
    if (entry.kind != other.kind || entry.target != other.target || other_size) {
      found.differing.add(entry.path);
      found.differing_bytes += entry.size;
      if ((entry.kind == CopyKind::kDirectory) == (other.kind == CopyKind::kDirectory)) continue;
      if (!found.other_kind) found.other_kind = entry.path;
      ++found.other_kinds;
      continue;
    }
    if (entry.kind == CopyKind::kFile) compare_content(entry, other, found);
    if (!same_properties(entry, other, declared_owner)) found.properties.add(entry.path);
  }
  found.unfinished_bytes = std::clamp<std::int64_t>(node.partial_bytes, 0, found.missing_bytes);
  return found;
}

UnreadFiles::UnreadFiles(const Listing& listing) {
  for (const CopyEntry& entry : listing.entries) {
    if (is_unread(entry)) marks_.push_back(mark_of(entry));
  }
  std::sort(marks_.begin(), marks_.end());
}

bool UnreadFiles::contains(const CopyEntry& file) const {
  return is_unread(file) && std::binary_search(marks_.begin(), marks_.end(), mark_of(file));
}

UnreadFiles::Mark UnreadFiles::mark_of(const CopyEntry& file) {
  const std::string digits = sha256(std::to_string(file.size) + " " + file.path);
  Mark mark{};
  std::copy_n(digits.begin(), mark.size(), mark.begin());
  return mark;
}

NameList newly_unread(const UnreadFiles& before, const Listing& now) {
  NameList names;
  for (const CopyEntry& entry : now.entries) {
    if (is_unread(entry) && !before.contains(entry)) names.add(entry.path);
  }
  return names;
}

std::vector<std::int64_t> times_on(const Listing& source, const Listing& node) {
  std::vector<std::int64_t> times;
  times.reserve(source.entries.size());
  auto own = node.entries.begin();
  for (const CopyEntry& entry : source.entries) {
    times.push_back(advance_to(entry.path, own, node) ? own->mtime_ns : 0);
  }
  return times;
}

std::optional<std::size_t> choose_source(const std::vector<NamedListing>& listings, const std::string& from) {
  std::optional<std::size_t> best;
  const auto worth = [&](std::size_t i) {
    const Listing& listing = *listings[i].listing;
    return std::pair(listing.partial_bytes == 0, listing.bytes());
  };
  for (std::size_t i = 0; i < listings.size(); ++i) {
    const std::string& node = listings[i].node;
    const Listing* listing = listings[i].listing;
    if (listing == nullptr || !listing->exists) continue;
    if (!from.empty()) {
      if (node == from) return i;
      continue;
    }
    if (listing->entries.empty()) continue;
    if (!best || worth(i) > worth(*best)) best = i;
  }
  return best;
}

std::vector<std::string> changed_files(const std::vector<NamedListing>& listings, std::size_t source, std::size_t node,
                                       bool source_is_named) {
  const auto is_on_any = [&](const std::string& path) {
    for (std::size_t i = 0; i < listings.size(); ++i) {
      const bool counts = i == source || i == node || !source_is_named;
      if (!counts || listings[i].listing == nullptr) continue;
      if (std::ranges::binary_search(listings[i].listing->entries, path, {}, &CopyEntry::path)) return true;
    }
    return false;
  };
  std::vector<std::string> changed;
  std::ranges::copy_if(listings[node].listing->changed, std::back_inserter(changed), is_on_any);
  return changed;
}

std::optional<LoneKind> lone_kind(const std::vector<NamedListing>& listings, std::size_t source) {
  const auto& entries = listings[source].listing->entries;
  std::vector<bool> shared(entries.size(), false);
  std::vector<std::size_t> others(entries.size(), listings.size());  ///< The first one with another kind.
  for (std::size_t i = 0; i < listings.size(); ++i) {
    if (i == source || listings[i].listing == nullptr) continue;
    auto other = listings[i].listing->entries.begin();
    for (std::size_t at = 0; at < entries.size(); ++at) {
      if (!advance_to(entries[at].path, other, *listings[i].listing)) continue;
      if ((entries[at].kind == CopyKind::kDirectory) == (other->kind == CopyKind::kDirectory)) {
        shared[at] = true;
      } else {
        others[at] = std::min(others[at], i);
      }
    }
  }
  for (std::size_t at = 0; at < entries.size(); ++at) {
    if (shared[at] || others[at] == listings.size()) continue;
    return LoneKind{entries[at].path, entries[at].kind == CopyKind::kDirectory, listings[others[at]].node};
  }
  return std::nullopt;
}

NameList unshared_files(const std::vector<NamedListing>& listings, std::size_t source, bool by_name,
                        bool owner_is_declared) {
  const auto& entries = listings[source].listing->entries;
  std::vector<bool> shared(entries.size(), false);
  std::vector<bool> replaced(entries.size(), false);   ///< A question has shown it.
  std::vector<bool> lacked(entries.size(), false);     ///< By a node that would get it without that question.
  std::vector<bool> on_others(entries.size(), false);  ///< As the same kind of entry.
  std::vector<std::string_view> changes(entries.size());
  for (std::size_t i = 0; i < listings.size(); ++i) {
    if (i == source || listings[i].listing == nullptr) continue;
    auto other = listings[i].listing->entries.begin();
    for (std::size_t at = 0; at < entries.size(); ++at) {
      const bool has_name = advance_to(entries[at].path, other, *listings[i].listing);
      if (!has_name) lacked[at] = true;
      if (has_name && other->kind == entries[at].kind) on_others[at] = true;
      const bool is_same = has_name && same_content(entries[at], *other);
      const bool is_replaced = has_name && !is_same && by_name && listings[i].in_question;
      if (!is_same && !is_replaced) continue;
      const auto change = changed_rights(entries[at], *other, owner_is_declared);
      if (change.empty()) (is_same ? shared : replaced)[at] = true;
      changes[at] = change;
    }
  }
  NameList unshared;
  if (root_is_unshared(listings, source)) unshared.add("." + std::string(kMoreWriters));
  for (std::size_t at = 0; at < entries.size(); ++at) {
    const CopyEntry& entry = entries[at];
    const bool is_new_directory = entry.kind == CopyKind::kDirectory && !on_others[at];
    if (is_new_directory) {
      // It changes no rights to what is there. But more users could put files into a tree that others read from.
      if ((entry.mode & (kGroupWrites | kOthersWrite)) != 0) unshared.add(entry.path + std::string(kMoreWriters));
      continue;
    }
    const bool counts = entry.kind != CopyKind::kDirectory || !changes[at].empty();
    if (!counts || shared[at] || (replaced[at] && !lacked[at])) continue;
    unshared.add(entry.path + std::string(replaced[at] ? "" : changes[at]));
  }
  return unshared;
}

OutvotedFiles outvoted_files(const std::vector<NamedListing>& listings, std::size_t source) {
  std::vector<std::vector<CopyEntry>::const_iterator> others(listings.size());
  for (std::size_t i = 0; i < listings.size(); ++i) {
    if (listings[i].listing != nullptr) others[i] = listings[i].listing->entries.begin();
  }
  OutvotedFiles found;
  for (const CopyEntry& entry : listings[source].listing->entries) {
    if (entry.kind == CopyKind::kDirectory) continue;
    std::vector<const CopyEntry*> versions;
    bool is_shared = false;
    for (std::size_t i = 0; i < listings.size(); ++i) {
      if (i == source || listings[i].listing == nullptr) continue;
      if (!advance_to(entry.path, others[i], *listings[i].listing)) continue;
      // Not outvoted where no one has read it: nothing is known to differ.
      is_shared = is_shared || may_be_same(entry, *others[i]);
      if (others[i]->kind != CopyKind::kDirectory) versions.push_back(&*others[i]);
    }
    const std::size_t agreeing = is_shared ? 0 : largest_agreement(versions);
    if (agreeing < 2) continue;
    found.names.add(entry.path);
    found.agreeing = std::max(found.agreeing, agreeing);
    found.by_size =
        found.by_size || std::ranges::any_of(versions, [](const CopyEntry* one) { return is_unread(*one); });
  }
  return found;
}

}  // namespace sparkplan
