#include "engine/sync/sync_run.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "engine/fleet/session/fan_out.h"
#include "engine/remote/programs/copy_client.h"
#include "engine/sync/foresight.h"
#include "engine/sync/image.h"
#include "engine/sync/prune_run.h"
#include "engine/sync/sync_node.h"

namespace sparkplan {
namespace {

using Clock = std::chrono::steady_clock;

bool is_model(const ContentItem& item) { return item.kind != ContentKind::kImage; }

class SyncRun {
 public:
  SyncRun(const Cluster& cluster, const RunOptions& run, const SyncOptions& options, bool writes)
      : cluster_(cluster), run_(run), options_(options), writes_(writes) {
    for (const NodeSpec& spec : cluster.nodes) {
      SyncNode& node = nodes_.emplace_back();
      node.spec = &spec;
      node.skipped = spec.maintenance || !run.selection.includes_node(spec.name.str());
      if (writes || node.skipped || spec.transport != TransportKind::kLocal) continue;
      node.skipped = true;
      node.error = make_error(ErrorCode::kUnsupported, "not compared: a node that is a directory takes no part");
    }
    SyncNode& controller = nodes_.emplace_back();
    controller.spec = &controller_;
    controller.is_controller = true;
  }

  SyncReport run() {
    const auto items = content_items(cluster_);
    const bool from_here = std::ranges::any_of(items, [](const auto& item) { return item.is_from_controller(); });
    nodes_.back().skipped = !from_here;
    if (!items.empty() || options_.prune) {
      on_each([&](SyncNode& node) { connect_node(run_, node); });
    }
    for (const ContentItem& item : items) {
      report_.items.emplace_back().item = item;
      handle(report_.items.back());
    }
    nodes_.back().skipped = true;
    for (SyncNode& node : nodes_) node.shown = nullptr;
    if (options_.prune && writes_) report_.pruned = prune_nodes(nodes_, run_, options_, items.size());
    report_.interrupted = run_.stop.stop_requested();
    return std::move(report_);
  }

 private:
  template <class Work>
  void on_each(Work work) {
    on_each_node(nodes_, run_, work);
  }

  void show(const SyncNode& node, std::string_view doing, Activity activity = Activity::kWorking) const {
    show_node(run_, node, doing, activity);
  }

  void tell(const ContentItem& item, const SyncNode& node, const TransferProgress& progress) const {
    if (options_.progress) options_.progress(item, node.spec->name.str(), progress);
  }

  void fail(SyncNode& node, Error error) const { fail_node(run_, node, std::move(error)); }
  static bool has_failed(const SyncNode& node) { return !node.is_read || node.shown->error.has_value(); }

  void handle(ContentReport& report) {
    nodes_.back().skipped = !report.item.is_from_controller();
    handle_on_all(report);
    if (nodes_.back().skipped) report.nodes.pop_back();
  }

  void handle_on_all(ContentReport& report) {
    for (SyncNode& node : nodes_) {
      ContentOfNode& shown = report.nodes.emplace_back();
      shown.node = node.spec->name.str();
      if (!node.skipped) continue;
      shown.status = ContentStatus::kSkipped;
      shown.error = node.error;
    }
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      nodes_[i].shown = &report.nodes[i];
      nodes_[i].listing = {};
      nodes_[i].is_read = false;
      if (nodes_[i].error && !nodes_[i].skipped) fail(nodes_[i], *nodes_[i].error);
    }
    on_each([&](SyncNode& node) {
      look_in_time(node, report.item);
      if (node.is_read) ++node.items_read;
    });
    const auto source = find_source(report);
    if (!source) return;
    compare(report, *source);
    if (!writes_) return note_outvoted(listings(), *source, report);
    if (run_.stop.stop_requested()) return;
    if (is_model(report.item) && read_what_is_unread(report, *source)) {
      compare(report, *source);
      fail_unread(run_, nodes_, *source);
    }
    foresee_networks(cluster_, nodes_, *source, report);
    if (options_.dry_run || run_.stop.stop_requested()) return;
    send(report, *source);
  }

  /// Without a transfer, a node has one total for all items: plans wait for it.
  void look_in_time(SyncNode& node, const ContentItem& item) {
    TreeAccess own = access(false);
    if (!writes_) own.patience.total -= std::min(own.patience.total, node.time_taken);
    if (own.patience.total.count() == 0) {
      return fail(node, make_error(ErrorCode::kUnreachable, "it took all of its time for the entries before this one"));
    }
    const auto begun = Clock::now();
    look(node, item, own);
    node.time_taken += std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begun);
  }

  /// Lists the tree. Reads files first if `access` says so.
  void look(SyncNode& node, const ContentItem& item, const TreeAccess& access) {
    show(node, access.read ? "reading " + item.name : "comparing " + item.name);
    if (!is_model(item)) {
      auto image = look_at_image(node, item, access.patience);
      if (!image) return fail(node, std::move(image).error());
      node.image = std::move(*image);
      node.image_ids.insert(node.image.id);
      node.is_read = true;
      return show(node, "waiting", Activity::kWaiting);
    }
    if (auto listed = list_tree(node, item, access); !listed) return fail(node, std::move(listed).error());
    node.is_read = true;
    node.shown->changed = node.listing.changed;
    show(node, "waiting", Activity::kWaiting);
  }

  std::vector<NamedListing> listings() const {
    std::vector<NamedListing> all;
    for (const SyncNode& node : nodes_) {
      const bool failed = has_failed(node);
      all.push_back({node.spec->name.str(), failed ? nullptr : &node.listing, !failed && node.shown->needs_consent()});
    }
    return all;
  }

  std::vector<NamedImage> images() const {
    std::vector<NamedImage> all;
    for (const SyncNode& node : nodes_) {
      all.push_back({node.spec->name.str(), has_failed(node) ? nullptr : &node.image});
    }
    return all;
  }

  std::optional<std::size_t> find_source(ContentReport& report) {
    const std::string& from = report.item.from;
    const auto source = is_model(report.item) ? choose_source(listings(), from) : choose_image(images(), from);
    if (!source) {
      if (std::all_of(nodes_.begin(), nodes_.end(), [](const auto& one) { return one.skipped; })) return std::nullopt;
      const bool from_here = report.item.is_from_controller();
      report.error = (from_here ? nodes_.back().shown->error : std::nullopt).value_or(no_source(report.item));
      for (SyncNode& node : nodes_) {
        if (!node.skipped && !has_failed(node)) node.shown->status = ContentStatus::kUnread;
      }
      return std::nullopt;
    }
    report.nodes[*source].is_source = true;
    return source;
  }

  void compare(ContentReport& report, std::size_t source) {
    const Listing& right = nodes_[source].listing;
    const auto all = listings();
    report.bytes = is_model(report.item) ? right.bytes() : nodes_[source].image.bytes;
    report.image_id = nodes_[source].image.id;
    report.files = static_cast<std::size_t>(std::count_if(
        right.entries.begin(), right.entries.end(), [](const auto& entry) { return entry.kind == CopyKind::kFile; }));
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      ContentOfNode& shown = report.nodes[i];
      if (i == source || nodes_[i].skipped || has_failed(nodes_[i])) continue;
      shown.comparison = is_model(report.item)
                             ? compare_listings(right, nodes_[i].listing, owner_on(nodes_[i], report.item))
                             : compare_images(report.item.name, nodes_[source].image, nodes_[i].image);
      if (is_model(report.item)) shown.changed = changed_files(all, source, i, !report.item.from.empty());
      shown.status = status_of(shown.comparison);
    }
  }

  /// True if a node has read files, so that the comparison has to be made again.
  bool read_what_is_unread(ContentReport& report, std::size_t source) {
    // Also enough for an honest node with other large trees below the same directory.
    constexpr std::int64_t kMostTimesTheSource = 5;
    const UnreadNames of_any = unread_of_any(report);
    if (of_any.names.empty() && !options_.verify) return false;
    // The source's own thread replaces its listing.
    const std::int64_t most_to_read = kMostTimesTheSource * nodes_[source].listing.bytes();
    on_each([&](SyncNode& node) {
      if (has_failed(node) || !node.listing.exists) return;
      const bool is_source = &node == &nodes_[source];
      const NameList& unread = node.shown->comparison.unread;
      const auto& paths = is_source ? of_any.names : unread.kept();
      if (paths.empty() && !options_.verify) return;
      TreeAccess reading = access(true);
      if (!options_.verify && !(is_source ? of_any.is_cut : unread.is_cut())) reading.paths = paths;
      // A node gets no time for files that it claims to have beside the source's tree.
      if (!is_source) reading.most_to_read = most_to_read;
      reading.progress = [&](const TransferProgress& progress) { tell(report.item, node, progress); };
      look(node, report.item, reading);
    });
    return !has_failed(nodes_[source]);
  }

  NameList unshared(const ContentItem& item, std::size_t source, bool replace) const {
    if (!item.from.empty()) return {};
    if (!is_model(item)) return unshared_image(item.name, images(), source);
    return unshared_files(listings(), source, replace, !item.owner.empty() || item.owner_is_login_user());
  }

  void send(ContentReport& report, std::size_t source) {
    // It may have failed while it read its files. Nothing can be compared with it then.
    if (has_failed(nodes_[source])) return;
    for (SyncNode& node : nodes_) node.looks_for.reset();  // From here on, programs work on a tree.
    const std::string source_name = nodes_[source].spec->name.str();
    // Before the nodes that differ fail: they may be the ones whose content is right.
    report.error = no_common_kind(report.item, listings(), source);
    if (report.error) return;
    const bool any_differs = std::ranges::any_of(report.nodes, &ContentOfNode::needs_consent);
    if (any_differs) note_outvoted(listings(), source, report);
    const bool replace = any_differs && options_.may_replace && options_.may_replace(report);
    // Before nodes are left out because their files may not be replaced: they share the others.
    report.unshared = unshared(report.item, source, replace);
    std::vector<std::size_t> places;
    bool any_lacks = false;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      ContentOfNode& shown = report.nodes[i];
      if (has_failed(nodes_[i]) || nodes_[i].skipped) continue;
      if (shown.status == ContentStatus::kDiffers && !(replace && shown.needs_consent())) {
        fail(nodes_[i], not_replaced(report.item, shown.comparison, source_name));
        continue;
      }
      const bool lacks = i != source && !shown.comparison.in_sync();
      any_lacks = any_lacks || lacks;
      // A node that has a whole model serves it too. Behind cables, one that has an image may be the only way to
      // others.
      if (i == source || lacks || is_model(report.item) || !cluster_.cables.empty()) places.push_back(i);
    }
    if (!any_lacks) {
      if (!is_model(report.item)) drop_unneeded_stages(nodes_, source, report.item, options_.patience);
      return;
    }
    if (!report.unshared.empty() && !(options_.may_spread && options_.may_spread(report))) {
      report.error = not_spread(report, source_name);
      return;
    }
    if (is_model(report.item)) return transfer_to(report, source, places, "");
    send_image(report, source, places);
  }

  bool is_among(const std::vector<std::size_t>& places, const SyncNode& node) const {
    const auto place = static_cast<std::size_t>(&node - nodes_.data());
    return std::find(places.begin(), places.end(), place) != places.end();
  }

  /// The image travels as an archive, which the engine of each node writes or loads.
  void send_image(ContentReport& report, std::size_t source, const std::vector<std::size_t>& places) {
    const CopyImageState image = nodes_[source].image;
    const std::size_t left_out =
        options_.verify ? 0 : layers_to_leave_out(nodes_, run_, {report.item, image, places, options_.patience});
    const std::string stage = stage_of(report.item, image.id, left_out);
    const ImageToSave to_save{image.id, bytes_of_image(images(), source), left_out, other_holder(images(), source)};
    // Files of interrupted syncs take the space that this one needs.
    on_each([&](SyncNode& node) {
      if (is_among(places, node)) drop_stale_stages(node, stage, options_.patience);
    });
    show(nodes_[source], "saving " + report.item.name);
    tell(report.item, nodes_[source], {0, 0, 0, 0, TransferPhase::kSaving});
    auto saved = save_image(nodes_[source], report.item, to_save, access_for(options_, stage));
    const bool is_saved = saved.has_value();
    if (is_saved) {
      nodes_[source].listing.entries = std::move(*saved);
      transfer_to(report, source, places, stage);
    } else {
      fail_to_begin(run_, nodes_[source], std::move(saved).error());
    }
    const bool is_awaited =
        is_saved && std::ranges::any_of(places, [&](std::size_t i) {
          return i != source && !report.nodes[i].comparison.in_sync() && report.nodes[i].status != ContentStatus::kSent;
        });
    on_each([&](SyncNode& node) {
      // A sync that was interrupted continues with the same archive, and with the source's digests of it.
      const bool is_source = &node == &nodes_[source];
      if (!is_among(places, node) || run_.stop.stop_requested() || (is_source ? is_awaited : has_failed(node))) return;
      if (node.shown->status == ContentStatus::kSent) load(node, report.item, source, left_out, stage);
      if (auto dropped = drop_stage(node, report.item, access_for(options_, stage)); !dropped && !has_failed(node)) {
        fail(node, std::move(dropped).error());
      }
    });
  }

  void load(SyncNode& node, const ContentItem& item, std::size_t source, std::size_t left_out,
            const std::string& stage) {
    const std::string& id = nodes_[source].image.id;
    show(node, "loading " + item.name);
    tell(item, node, {0, 0, 0, 0, TransferPhase::kLoading});
    const auto begun = Clock::now();
    auto loaded = load_image(node, item, id, left_out, access_for(options_, stage));
    node.shown->seconds += std::chrono::duration<double>(Clock::now() - begun).count();
    if (!loaded)
      return fail(node, std::move(loaded).error().within("load the image of " + nodes_[source].spec->name.str()));
    node.image_ids.insert(id);
    show(node, "done", Activity::kWaiting);
  }

  /// True if the node has everything, so that it can be a source too. An image's archive is on the first source alone.
  bool holds(const ContentReport& report, std::size_t source, const SyncNode& node) const {
    return is_model(report.item) && &node != &nodes_[source] && node.shown->comparison.in_sync();
  }

  void transfer_to(ContentReport& report, std::size_t source, std::vector<std::size_t> places,
                   const std::string& stage) {
    on_each([&](SyncNode& node) {
      if (!is_among(places, node)) return;
      TreeAccess access = access_for(options_, stage);
      access.archive_of = nodes_[source].spec->name.str();
      if (!stage.empty() && !node.shown->comparison.in_sync()) access.to_load = nodes_[source].listing.bytes();
      if (auto opened = open_to_begin(node, report.item, access); !opened) {
        if (!holds(report, source, node)) return fail_to_begin(run_, node, std::move(opened).error());
        node.shown->stopped = std::move(opened).error();
      }
      if (&node != &nodes_[source]) return;
      if (auto added = add_digests(node, report.item, access); !added) fail(node, std::move(added).error());
    });
    if (has_failed(nodes_[source])) return;
    std::erase_if(places, [&](std::size_t i) { return has_failed(nodes_[i]) || nodes_[i].shown->stopped; });
    std::vector<TransferMember> members;
    const auto source_member = static_cast<std::size_t>(std::ranges::find(places, source) - places.begin());
    const Listing& listing = nodes_[source].listing;
    for (const std::size_t place : places) {
      const SyncNode& node = nodes_[place];
      const RouteEnd end{node.spec, node.is_controller, node.is_controller ? "" : node.client->management_address()};
      // An archive may always be replaced. Of a model, only files of nodes for which the question had a yes.
      const bool may_replace = !stage.empty() || node.shown->needs_consent();
      members.push_back({end, &*nodes_[place].client, may_replace});
      if (holds(report, source, node)) members.back().held_times = times_on(listing, node.listing);
    }
    TransferOptions options;
    options.encrypt = options_.encrypt;
    options.root = listing.root;
    // Connections share the rate, and a chunk is passed on when it is whole: with many, each hop would wait longer.
    if (options_.rate > 0) options.streams = 2;
    options.stop = run_.stop;
    options.patience = patience_for(listing.bytes(), members.size(), options_.rate, options.streams);
    options.progress = [&](std::size_t member, const TransferProgress& progress) {
      tell(report.item, nodes_[places[member]], progress);
    };
    options.relay = [&](std::size_t member, const std::string& token, const std::stop_token& stop) {
      return CopyRelay::open(*members[member].end.node, run_.agent, token, stop);
    };
    auto outcomes = transfer(cluster_, members, source_member, listing.entries, options);
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      if (!members[i].holds()) {
        note_outcome(run_, nodes_[places[i]], std::move(outcomes[i]));
      } else if (!run_.stop.stop_requested()) {
        report.nodes[places[i]].stopped = std::move(outcomes[i].error);
      }
    }
  }

  TreeAccess access(bool read) const {
    TreeAccess access = access_for(options_, "");
    access.write = read;
    access.read = read;
    access.ignore_known = read && options_.verify;
    return access;
  }

  const Cluster& cluster_;
  const RunOptions& run_;
  const SyncOptions& options_;
  const bool writes_;
  const NodeSpec controller_ = controller_as_node();
  std::vector<SyncNode> nodes_;  ///< In the order of the cluster; the last one is the controller.
  SyncReport report_;
};

}  // namespace

SyncReport look_at_content(const Cluster& cluster, const RunOptions& run, const AnswerPatience& patience) {
  SyncOptions options;
  options.patience = patience;
  return SyncRun(cluster, run, options, false).run();
}

SyncReport sync_content(const Cluster& cluster, const RunOptions& run, const SyncOptions& options) {
  return SyncRun(cluster, run, options, true).run();
}

}  // namespace sparkplan
