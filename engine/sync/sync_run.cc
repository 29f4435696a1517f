#include "engine/sync/sync_run.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "engine/core/bounded_text.h"
#include "engine/fleet/session/fan_out.h"
#include "engine/fleet/session/last_line.h"
#include "engine/remote/programs/copy_client.h"

namespace sparkplan {
namespace {

/// One node in a run.
struct SyncNode {
  const NodeSpec* spec = nullptr;
  bool skipped = false;
  std::optional<CopyClient> client;
  std::optional<Error> error;  ///< Of the connection: it counts for all items.
  bool started = false;        ///< The program has not opened a tree yet.
  // Of the current item:
  Listing listing;
  bool is_read = false;
  ContentOfNode* shown = nullptr;
};

bool is_unreachable(const Error& error) {
  return error.code == ErrorCode::kUnreachable || error.code == ErrorCode::kUntrusted;
}

/// Above these, a node reads all of its files in place of a list of names.
constexpr std::size_t kMostNamesToRead = 2000;
constexpr std::size_t kMostNameBytesToRead = std::size_t{1} << 20;

/// The names to read, for CopyLook; empty: all.
std::vector<std::string> names_to_read(const std::vector<std::string>& names) {
  std::size_t bytes = 0;
  for (const std::string& name : names) bytes += name.size();
  if (names.size() > kMostNamesToRead || bytes > kMostNameBytesToRead) return {};
  return names;
}

class SyncRun {
 public:
  SyncRun(const Cluster& cluster, const RunOptions& run, const SyncOptions& options, bool writes)
      : cluster_(cluster), run_(run), options_(options), writes_(writes) {
    for (const NodeSpec& spec : cluster.nodes) {
      SyncNode& node = nodes_.emplace_back();
      node.spec = &spec;
      node.skipped = spec.maintenance || !run.selection.includes_node(spec.name.str());
    }
  }

  SyncReport run() {
    const auto items = content_items(cluster_);
    if (!items.empty()) {
      on_each([&](SyncNode& node) { connect(node); });
    }
    for (const ContentItem& item : items) {
      report_.items.emplace_back().item = item;
      handle(report_.items.back());
    }
    report_.interrupted = run_.stop.stop_requested();
    return std::move(report_);
  }

 private:
  template <class Work>
  void on_each(Work work) {
    fan_out(
        nodes_, run_.workers,
        [&](SyncNode& node) {
          if (node.skipped || node.error) return;
          last_line([&] { work(node); },
                    [&](Error error) {
                      if (node.shown != nullptr) return fail(node, std::move(error));
                      node.error = std::move(error);
                    });
        },
        [](SyncNode& node) {
          if (!node.client || node.error) return;
          last_line([&] { (void)node.client->send(CopyAlive{}); }, [](Error) {});
        });
  }

  void show(const SyncNode& node, std::string_view doing, Activity activity = Activity::kWorking) const {
    if (run_.progress) run_.progress(node.spec->name.str(), doing, activity);
  }

  void connect(SyncNode& node) {
    show(node, "connecting");
    auto client = CopyClient::open(*node.spec, run_.agent);
    if (!client) {
      node.error = std::move(client).error();
      return show(node, "failed", Activity::kFailed);
    }
    node.client = std::move(*client);
    node.started = true;
  }

  void fail(SyncNode& node, Error error) const {
    node.shown->status = is_unreachable(error) ? ContentStatus::kUnreachable : ContentStatus::kFailed;
    node.shown->error = std::move(error);
    show(node, "failed", Activity::kFailed);
  }
  static bool has_failed(const SyncNode& node) { return !node.is_read || node.shown->error.has_value(); }

  void handle(ContentReport& report) {
    for (SyncNode& node : nodes_) {
      ContentOfNode& shown = report.nodes.emplace_back();
      shown.node = node.spec->name.str();
      if (node.skipped) shown.status = ContentStatus::kSkipped;
    }
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      nodes_[i].shown = &report.nodes[i];
      nodes_[i].listing = {};
      nodes_[i].is_read = false;
      if (nodes_[i].error) fail(nodes_[i], *nodes_[i].error);
    }
    on_each([&](SyncNode& node) { look(node, report.item, {}, false); });
    const auto source = find_source(report);
    if (!source) return;
    compare(report, *source);
    if (!writes_ || run_.stop.stop_requested()) return;
    if (read_what_is_unread(report, *source)) compare(report, *source);
    if (options_.dry_run || run_.stop.stop_requested()) return;
    send(report, *source);
  }

  /// Starts the program again if it works on another tree, and opens the tree.
  Result<CopyOpened> open(SyncNode& node, const ContentItem& item, bool write) {
    if (!std::exchange(node.started, false)) SPARK_CHECK(node.client->restart());
    SPARK_CHECK(node.client->send(CopyOpen{item.path, item.owner, write, options_.rate}));
    return await<CopyOpened>(*node.client, options_.patience, 0, [](CopyAnswer&) {});
  }

  /// Lists the tree. With `paths`, reads these files first.
  void look(SyncNode& node, const ContentItem& item, const std::vector<std::string>& paths, bool read) {
    show(node, read ? "reading " + item.name : "comparing " + item.name);
    auto listing = list(node, item, paths, read);
    if (!listing) return fail(node, std::move(listing).error());
    node.listing = std::move(*listing);
    node.is_read = true;
    node.shown->changed = node.listing.changed;
    show(node, "waiting", Activity::kWaiting);
  }

  Result<Listing> list(SyncNode& node, const ContentItem& item, const std::vector<std::string>& paths, bool read) {
    SPARK_TRY(const auto opened, open(node, item, read));
    Listing listing;
    listing.exists = opened.exists;
    listing.was_received = opened.was_received;
    listing.free_bytes = opened.free_bytes;
    listing.partial_bytes = opened.partial_bytes;
    if (!opened.exists) return listing;
    SPARK_CHECK(node.client->send(CopyLook{read, read && options_.verify, false, names_to_read(paths)}));
    ListingParts parts(false);
    const auto take = [&](CopyAnswer& answer) {
      if (auto* part = std::get_if<CopyEntries>(&answer)) parts.add(std::move(*part));
    };
    const std::int64_t to_read = read ? node.listing.bytes() : 0;
    SPARK_TRY(auto looked, await<CopyLooked>(*node.client, options_.patience, to_read, take));
    SPARK_TRY(listing.entries, parts.take());
    listing.changed = std::move(looked.changed);
    return listing;
  }

  /// Adds the digests of chunks that the source knows: of files that are still those of its listing. Only the nodes
  /// that receive need them.
  Result<void> add_digests(SyncNode& source) {
    SPARK_CHECK(source.client->send(CopyLook{false, false, true, {}}));
    ListingParts parts(true);
    const auto take = [&](CopyAnswer& answer) {
      if (auto* part = std::get_if<CopyEntries>(&answer)) parts.add(std::move(*part));
    };
    SPARK_TRY(const auto looked, await<CopyLooked>(*source.client, options_.patience, 0, take));
    SPARK_TRY(auto entries, parts.take());
    std::map<std::string_view, CopyEntry*> there;
    for (CopyEntry& entry : entries) there.emplace(entry.path, &entry);
    for (CopyEntry& entry : source.listing.entries) {
      const auto now = there.find(entry.path);
      if (now == there.end() || now->second->size != entry.size || now->second->mtime_ns != entry.mtime_ns) continue;
      entry.digests = std::move(now->second->digests);
    }
    return {};
  }

  std::vector<NamedListing> listings() const {
    std::vector<NamedListing> all;
    for (const SyncNode& node : nodes_) {
      all.push_back({node.spec->name.str(), has_failed(node) ? nullptr : &node.listing});
    }
    return all;
  }

  std::optional<std::size_t> find_source(ContentReport& report) {
    const auto source = choose_source(listings(), report.item.from);
    if (!source) {
      const std::string& from = report.item.from;
      report.error = from.empty() ? make_error(ErrorCode::kNotFound, "no node that was read has " + report.item.name)
                                  : make_error(ErrorCode::kNotFound, from + " does not have it, or was not read");
      return std::nullopt;
    }
    report.nodes[*source].is_source = true;
    return source;
  }

  void compare(ContentReport& report, std::size_t source) {
    const Listing& right = nodes_[source].listing;
    if (report.item.from.empty()) report.unshared = unshared_files(listings(), source);
    report.bytes = right.bytes();
    report.files = static_cast<std::size_t>(std::count_if(
        right.entries.begin(), right.entries.end(), [](const auto& entry) { return entry.kind == CopyKind::kFile; }));
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      ContentOfNode& shown = report.nodes[i];
      if (i == source || has_failed(nodes_[i])) continue;
      shown.comparison = compare_listings(right, nodes_[i].listing, report.item.owner);
      const Comparison& found = shown.comparison;
      shown.status = !found.differing.empty()                              ? ContentStatus::kDiffers
                     : !found.missing.empty() || !found.properties.empty() ? ContentStatus::kMissing
                     : !found.unread.empty()                               ? ContentStatus::kUnread
                                                                           : ContentStatus::kPresent;
    }
  }

  /// True if a node has read files, so that the comparison has to be made again.
  bool read_what_is_unread(ContentReport& report, std::size_t source) {
    std::vector<std::string> of_any;
    for (const ContentOfNode& shown : report.nodes) {
      of_any.insert(of_any.end(), shown.comparison.unread.begin(), shown.comparison.unread.end());
    }
    std::sort(of_any.begin(), of_any.end());
    of_any.erase(std::unique(of_any.begin(), of_any.end()), of_any.end());
    if (of_any.empty() && !options_.verify) return false;
    on_each([&](SyncNode& node) {
      if (has_failed(node) || !node.listing.exists) return;
      const bool is_source = &node == &nodes_[source];
      const auto& paths = is_source ? of_any : node.shown->comparison.unread;
      if (paths.empty() && !options_.verify) return;
      look(node, report.item, options_.verify ? std::vector<std::string>() : paths, true);
    });
    return !has_failed(nodes_[source]);
  }

  void send(ContentReport& report, std::size_t source) {
    const auto differs = [](const ContentOfNode& shown) { return shown.status == ContentStatus::kDiffers; };
    const bool any_differs = std::any_of(report.nodes.begin(), report.nodes.end(), differs);
    const bool replace = any_differs && options_.may_replace && options_.may_replace(report);
    std::vector<std::size_t> places;
    bool any_lacks = false;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      ContentOfNode& shown = report.nodes[i];
      if (has_failed(nodes_[i]) || nodes_[i].skipped) continue;
      if (shown.status == ContentStatus::kDiffers && !replace) {
        fail(nodes_[i], make_error(ErrorCode::kRefused,
                                   counted(shown.comparison.differing.size(), "file") +
                                       " with other content: " + shown.comparison.differing.front(),
                                   "look at the files; `sparkplan sync --yes` replaces them"));
        continue;
      }
      const bool lacks = i != source && !shown.comparison.in_sync();
      any_lacks = any_lacks || lacks;
      // Behind cables, a node that has everything may be the only way to one that has not.
      if (i == source || lacks || !cluster_.cables.empty()) places.push_back(i);
    }
    if (!any_lacks) return;
    if (!report.unshared.empty() && !(options_.may_spread && options_.may_spread(report))) {
      report.error =
          make_error(ErrorCode::kRefused,
                     "without `from`, only " + nodes_[source].spec->name.str() + " has " +
                         counted(report.unshared.size(), "file") + ": " + shown_text(report.unshared.front()),
                     "name the node in `from`, or look at its files; `sparkplan sync --yes` sends them");
      return;
    }
    transfer_to(report, source, places, replace);
  }

  void transfer_to(ContentReport& report, std::size_t source, const std::vector<std::size_t>& places, bool replace) {
    on_each([&](SyncNode& node) {
      const auto place = static_cast<std::size_t>(&node - nodes_.data());
      if (std::find(places.begin(), places.end(), place) == places.end()) return;
      if (auto opened = open(node, report.item, true); !opened) return fail(node, std::move(opened).error());
      if (place != source) return;
      if (auto added = add_digests(node); !added) fail(node, std::move(added).error());
    });
    if (has_failed(nodes_[source])) return;
    std::vector<TransferMember> members;
    std::vector<std::size_t> of_member;
    std::size_t source_member = 0;
    for (const std::size_t place : places) {
      if (has_failed(nodes_[place])) continue;
      if (place == source) source_member = members.size();
      members.push_back({nodes_[place].spec, &*nodes_[place].client, replace});
      of_member.push_back(place);
    }
    TransferOptions options;
    options.encrypt = options_.encrypt;
    // Connections share the rate, and a chunk is passed on when it is whole: with many, each hop would wait longer.
    if (options_.rate > 0) options.streams = 2;
    options.stop = run_.stop;
    options.patience = patience_for(report.bytes, members.size(), options_.rate, options.streams);
    options.progress = [&](std::size_t member, const TransferProgress& progress) {
      if (options_.progress) options_.progress(report.item, members[member].node->name.str(), progress);
    };
    auto outcomes = transfer(cluster_, members, source_member, nodes_[source].listing.entries, options);
    for (std::size_t i = 0; i < outcomes.size(); ++i)
      take(report.nodes[of_member[i]], nodes_[of_member[i]], outcomes[i]);
  }

  void take(ContentOfNode& shown, SyncNode& node, TransferOutcome& outcome) const {
    shown.bytes_received = shown.is_source ? 0 : outcome.received_bytes;  // A source receives only requests.
    shown.seconds = outcome.seconds;
    shown.too_little_space = outcome.too_little_space;
    if (outcome.error) return fail(node, std::move(*outcome.error));
    if (shown.is_source || shown.comparison.in_sync()) return;
    shown.status = ContentStatus::kSent;
    shown.changed.clear();
    show(node, "done", Activity::kWaiting);
  }

  static std::string counted(std::size_t number, const std::string& word) {
    return std::to_string(number) + " " + word + (number == 1 ? "" : "s");
  }

  const Cluster& cluster_;
  const RunOptions& run_;
  const SyncOptions& options_;
  const bool writes_;
  std::vector<SyncNode> nodes_;
  SyncReport report_;
};

}  // namespace

std::string_view to_string(ContentStatus status) {
  static constexpr std::array<std::string_view, 8> kNames{"present", "missing", "differs",     "unread",
                                                          "sent",    "failed",  "unreachable", "skipped"};
  return kNames.at(static_cast<std::size_t>(status));
}

SyncReport look_at_content(const Cluster& cluster, const RunOptions& run) {
  const SyncOptions options;
  return SyncRun(cluster, run, options, false).run();
}

SyncReport sync_content(const Cluster& cluster, const RunOptions& run, const SyncOptions& options) {
  return SyncRun(cluster, run, options, true).run();
}

}  // namespace sparkplan
