#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "engine/wire/copy_messages.h"

namespace sparkplan {

/// A tree as one node has it. `entries` are sorted by path.
struct Listing {
  bool exists = false;
  bool was_received = false;
  std::int64_t free_bytes = 0;
  std::int64_t partial_bytes = 0;
  std::vector<CopyEntry> entries;
  std::vector<std::string> changed;  ///< Files that changed since a sync brought them.
  std::optional<CopyRoot> root;      ///< The directory itself, if it exists.

  std::int64_t bytes() const;
};

/// Counts names and keeps the first ones: a source's names must not fill the memory once for every other node.
class NameList {
 public:
  static constexpr std::size_t kMostKept = 2000;
  static constexpr std::size_t kMostKeptBytes = std::size_t{1} << 20;

  NameList() = default;
  NameList(std::initializer_list<std::string> names) {
    for (const std::string& name : names) add(name);
  }

  void add(const std::string& name) {
    ++count_;
    if (kept_.size() == kMostKept || bytes_ > kMostKeptBytes) return;
    bytes_ += name.size();
    kept_.push_back(name);
  }
  /// Of all names, also of those that were not kept.
  std::size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  bool is_cut() const { return count_ > kept_.size(); }
  /// The first ones, in the order in which they were added.
  const std::vector<std::string>& kept() const { return kept_; }
  /// Only of a list that is not empty.
  const std::string& front() const { return kept_.front(); }

  friend bool operator==(const NameList& list, const std::vector<std::string>& names) {
    return !list.is_cut() && list.kept_ == names;
  }

 private:
  std::vector<std::string> kept_;
  std::size_t bytes_ = 0;  ///< Of the names that were kept.
  std::size_t count_ = 0;
};

/// The files of the source's tree that a node lacks. Files that only the node has are not compared: a sync leaves them.
struct Comparison {
  NameList missing;  ///< Names that are not there.
  std::int64_t missing_bytes = 0;
  /// Of `missing_bytes`: the node has them in files that an interrupted sync has begun. The node's claim.
  std::int64_t unfinished_bytes = 0;
  NameList differing;                ///< Files with other content, links with another target, names of another kind.
  std::int64_t differing_bytes = 0;  ///< As large as they are on the source.
  NameList unread;                   ///< Files of equal size whose content one of the two nodes has not read yet.
  std::int64_t unread_bytes = 0;
  NameList properties;  ///< Files and directories with another mode or owner.
  /// The first name that is a directory on the source and none on the node, or the reverse. No consent replaces it.
  std::optional<std::string> other_kind;
  std::size_t other_kinds = 0;  ///< The number of these names. They differ, too.

  bool in_sync() const { return missing.empty() && differing.empty() && unread.empty() && properties.empty(); }
  std::int64_t bytes_to_send() const { return missing_bytes - unfinished_bytes + differing_bytes; }
};

/// Pure. `declared_owner`: every name is to belong to this user; empty: to the source's.
Comparison compare_listings(const Listing& source, const Listing& node, const std::string& declared_owner);

/// The files that a listing has without a sum, as digests of their names and sizes: of the largest tree, 4 MB. Two
/// whole listings of it would take more memory than a node may cost.
class UnreadFiles {
 public:
  explicit UnreadFiles(const Listing& listing);
  /// True if the listing has this file with this size and without a sum.
  bool contains(const CopyEntry& file) const;

 private:
  /// Half of the digest's digits: a node cannot find two names with the same ones.
  using Mark = std::array<char, 32>;
  static Mark mark_of(const CopyEntry& file);

  std::vector<Mark> marks_;  ///< Sorted.
};

/// Pure. Files that `now` lists without a sum, and that an earlier listing of the node had with a sum, with another
/// size, or not at all.
NameList newly_unread(const UnreadFiles& before, const Listing& now);

/// Pure. When each of the source's entries was modified on a node that has them all: what that node needs to serve
/// them.
std::vector<std::int64_t> times_on(const Listing& source, const Listing& node);

/// Pure. The place of the listing that is the source: of the node `from` if that is set, else the one with most bytes
/// among the whole ones, else among all. Equal ones: the first. Nothing if no node has the tree.
struct NamedListing {
  std::string node;
  const Listing* listing = nullptr;  ///< Null: the node was not read.
  bool in_question = false;          ///< It has other content, and a yes lets that be replaced.
};
std::optional<std::size_t> choose_source(const std::vector<NamedListing>& listings, const std::string& from);

/// Pure. The files that changed on a node since a sync brought them, without those that the node has no more and that
/// nothing brings back: the source lacks them, too. If the file does not name the source (`source_is_named`), a node
/// becomes it by what it claims. So then every other node that was read must lack them.
std::vector<std::string> changed_files(const std::vector<NamedListing>& listings, std::size_t source, std::size_t node,
                                       bool source_is_named);

/// A name that is a directory on the source alone, or the reverse.
struct LoneKind {
  std::string path;
  bool is_directory = false;  ///< On the source.
  std::string other;          ///< The first node that has it as another kind.
};
/// Pure. The first name that other nodes have, and each of them as a directory where the source has none, or the
/// reverse.
std::optional<LoneKind> lone_kind(const std::vector<NamedListing>& listings, std::size_t source);

/// Pure. Files and links of the source that no other node has with the same content. Also names that every other node
/// has with another owner or with other rights: there the reason follows the name. So it does for a directory that
/// no other node has and that more users than its owner can write to, also for the tree's own directory (".") if a node
/// lacks it. A node that has other content vouches only for its own. `by_name`: after a consent to replace such files,
/// a name on a node of the question is enough, unless another node lacks the name: it would get a file that no question
/// has shown for it.
NameList unshared_files(const std::vector<NamedListing>& listings, std::size_t source, bool by_name,
                        bool owner_is_declared);

/// Files that only the source has so, and whose other version is the same on other nodes.
struct OutvotedFiles {
  NameList names;
  std::size_t agreeing = 0;  ///< So many nodes agree on another version of one of these files, at most.
  bool by_size = false;      ///< Some of them have not read their version: equal sizes count as the same there.
};
/// Pure. Files and links of the source that every other node that has them has with other content, if two or more
/// others agree on another one. A file of equal size that one of the two nodes has not read counts as the same.
OutvotedFiles outvoted_files(const std::vector<NamedListing>& listings, std::size_t source);

}  // namespace sparkplan
