#include "engine/sync/image.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <map>
#include <utility>

#include "engine/core/digest.h"
#include "engine/core/units.h"
#include "engine/model/container_image.h"
#include "engine/sync/answer_limits.h"
#include "engine/sync/pruning.h"
#include "engine/sync/sync_run.h"

namespace sparkplan {
namespace {

/// A stage's name has two halves: a digest of the image's name, and one of its id.
constexpr std::size_t kHalfOfStage = 16;
/// Its size decides how long the nodes may take.
constexpr std::int64_t kLargestArchive = 1'000'000'000'000;
/// docker's store of containerd reports and writes packed layers; other stores do both unpacked. In an unpacked layer,
/// each file has a header beside its bytes, and its last block is filled up: that counts for many small files.
constexpr std::int64_t kMostTimesTheImage = 3;
constexpr std::int64_t kMostBesideTheImage = std::int64_t{1} << 30U;

/// The size of the archive that the source lists decides what all receivers need.
Result<void> check_archive_size(const ContentItem& item, const ImageToSave& image, std::int64_t bytes) {
  if (bytes > kLargestArchive) return failure(ErrorCode::kUnsupported, "the archive has more than 1 TB");
  // Compared without a product, which the claim of a node could overflow.
  if ((bytes - kMostBesideTheImage) / kMostTimesTheImage <= image.bytes) return {};
  return failure(
      ErrorCode::kVerifyFailed,
      "its archive of " + item.name + " has " + format_megabytes(bytes) +
          ", but the nodes that have the image report " + format_megabytes(image.bytes) + " for it",
      "look at the image on this node" +
          (image.other.empty() ? std::string() : ", or name another node with it: `from: " + image.other + "`"));
}

/// An engine takes minutes for an archive, and its program gives signs of life meanwhile.
AnswerPatience patience_for_engine() {
  AnswerPatience patience;
  patience.total = std::chrono::hours(3);
  return patience;
}

CopyImage command_for(const SyncNode& node, const ContentItem& item, CopyImageAction action) {
  CopyImage command;
  command.action = action;
  command.engine = item.engine;
  command.name = item.name;
  command.owner = owner_on(node, item);
  return command;
}

Result<CopyImageState> ask(SyncNode& node, const CopyImage& command, const AnswerPatience& patience) {
  SPARK_CHECK(node.client->send(command));
  return await<CopyImageState>(*node.client, patience);
}

/// 0 if the node does not answer: then all layers are sent, and the transfer names the error.
std::size_t known_layers(SyncNode& node, const ImageToSend& sent) {
  CopyImage command = command_for(node, sent.item, CopyImageAction::kLook);
  command.layers = sent.image.layers;
  if (!begin_anew(node)) return 0;
  const auto state = ask(node, command, sent.patience);
  if (!state) return 0;
  return std::min(static_cast<std::size_t>(state->known_layers), sent.image.layers.size());
}

TreeAccess only_existing(TreeAccess access) {
  access.write = true;
  access.existing = true;
  return access;
}

}  // namespace

std::optional<std::size_t> choose_image(const std::vector<NamedImage>& images, const std::string& from) {
  const auto has_it = [&](std::size_t i) { return images[i].image != nullptr && !images[i].image->id.empty(); };
  std::map<std::string, std::size_t> nodes_with_id;
  for (std::size_t i = 0; i < images.size(); ++i) {
    if (!has_it(i)) continue;
    if (images[i].node == from) return i;
    ++nodes_with_id[images[i].image->id];
  }
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < images.size() && from.empty(); ++i) {
    if (!has_it(i)) continue;
    if (!best || nodes_with_id[images[i].image->id] > nodes_with_id[images[*best].image->id]) best = i;
  }
  return best;
}

NameList unshared_image(const std::string& name, const std::vector<NamedImage>& images, std::size_t source) {
  const auto has_it = std::ranges::count_if(
      images, [&](const NamedImage& one) { return one.image != nullptr && one.image->id == images[source].image->id; });
  return has_it == 1 ? NameList{name} : NameList();
}

std::int64_t bytes_of_image(const std::vector<NamedImage>& images, std::size_t source) {
  std::vector<std::int64_t> reported;
  for (const NamedImage& one : images) {
    if (one.image != nullptr && one.image->id == images[source].image->id) reported.push_back(one.image->bytes);
  }
  const auto middle = reported.begin() + static_cast<std::ptrdiff_t>(reported.size() / 2);
  std::nth_element(reported.begin(), middle, reported.end());
  return *middle;
}

std::string other_holder(const std::vector<NamedImage>& images, std::size_t source) {
  for (std::size_t i = 0; i < images.size(); ++i) {
    if (i != source && images[i].image != nullptr && images[i].image->id == images[source].image->id) {
      return images[i].node;
    }
  }
  return "";
}

Comparison compare_images(const std::string& name, const CopyImageState& source, const CopyImageState& node) {
  Comparison found;
  if (node.id == source.id) return found;
  if (node.id.empty()) {
    found.missing.add(name);
    found.missing_bytes = source.bytes;
    return found;
  }
  found.differing.add("image " + short_image_id(node.id));
  found.differing_bytes = source.bytes;
  return found;
}

std::string stage_of(const ContentItem& item, const std::string& id, std::size_t left_out) {
  const std::string image = item.name + '\0' + std::to_string(static_cast<int>(item.engine));
  const std::string archive = image + '\0' + id + (left_out > 0 ? '\0' + std::to_string(left_out) : "");
  return sha256(image).substr(0, kHalfOfStage) + sha256(archive).substr(0, kHalfOfStage);
}

bool is_stale_stage(const std::string& stage, const std::string& current) {
  return stage != current && stage.size() == current.size() &&
         stage.substr(0, kHalfOfStage) == current.substr(0, kHalfOfStage);
}

Result<CopyImageState> look_at_image(SyncNode& node, const ContentItem& item, const AnswerPatience& patience) {
  // The program has become the owner for good, and it ends after two minutes without a command.
  constexpr std::chrono::seconds kSurelyAlive{60};
  const std::string owner = owner_on(node, item);
  const bool goes_on = node.looks_for == owner && std::chrono::steady_clock::now() - node.last_look < kSurelyAlive;
  if (!goes_on) SPARK_CHECK(begin_anew(node));
  node.looks_for.reset();  // An error ends the program.
  SPARK_TRY(auto state, ask(node, command_for(node, item, CopyImageAction::kLook), patience));
  node.looks_for = owner;
  node.last_look = std::chrono::steady_clock::now();
  return state;
}

std::size_t layers_to_leave_out(std::vector<SyncNode>& nodes, const RunOptions& run, const ImageToSend& sent) {
  const std::size_t all = sent.image.layers.size();
  for (SyncNode& node : nodes) node.known_layers = all;
  if (all == 0) return 0;
  on_each_node(nodes, run, [&](SyncNode& node) {
    const auto place = static_cast<std::size_t>(&node - nodes.data());
    const bool receives = std::find(sent.places.begin(), sent.places.end(), place) != sent.places.end();
    if (receives && node.image.id != sent.image.id) node.known_layers = known_layers(node, sent);
  });
  std::size_t least = all;
  for (const SyncNode& node : nodes) least = std::min(least, node.known_layers);
  return least;
}

void drop_stale_stages(SyncNode& node, const std::string& stage, const AnswerPatience& patience) {
  prune_stages(
      *node.client, [&](const std::string& other) { return is_stale_stage(other, stage); }, patience);
}

void drop_unneeded_stages(std::vector<SyncNode>& nodes, std::size_t source, const ContentItem& item,
                          const AnswerPatience& patience) {
  const std::string& id = nodes[source].image.id;
  for (const SyncNode& node : nodes) {
    const bool has_it = !node.skipped && node.is_read && node.image.id == id;
    if (!node.is_controller && !has_it) return;
  }
  // Of no id: each stage of the image is another one.
  drop_stale_stages(nodes[source], stage_of(item, ""), patience);
}

bool is_too_little_space(const Error& error) { return error.sys_errno == ENOSPC; }

void fail_to_begin(const RunOptions& run, SyncNode& node, Error error) {
  node.shown->too_little_space = is_too_little_space(error);
  fail_node(run, node, std::move(error));
}

Result<CopyOpened> open_to_begin(SyncNode& node, const ContentItem& item, const TreeAccess& access) {
  SPARK_TRY(auto opened, open_tree(node, item, access));
  if (access.to_load == 0) return opened;
  SPARK_TRY(const auto found, ask(node, command_for(node, item, CopyImageAction::kSpace), access.patience));
  // Compared without a sum, which the claim of a node could overflow.
  const std::int64_t for_archive = found.store_shared ? access.to_load : 0;
  if (found.store.empty() || found.store_free_bytes - for_archive >= access.to_load) return opened;
  const std::string both = found.store_shared ? " for the image, and as much for its archive" : "";
  return failure(system_error("load " + item.name + " into " + found.store + ": " + format_megabytes(access.to_load) +
                                  " are needed as " + access.archive_of + " lists its archive" + both + ", " +
                                  format_megabytes(found.store_free_bytes) + " are free",
                              ENOSPC));
}

Result<std::vector<CopyEntry>> save_image(SyncNode& node, const ContentItem& item, const ImageToSave& image,
                                          const TreeAccess& access) {
  SPARK_TRY(const auto opened, open_tree(node, item, access));
  // By its own report: another node's claim must not make it lack the space.
  const std::int64_t own_bytes = node.image.bytes;
  if (opened.free_bytes < own_bytes) {
    Error error = system_error(
        "write the archive of " + item.name + " (" + format_megabytes(own_bytes) + ") to " + opened.path, ENOSPC);
    error.hint =
        "the archive of another image stays while a node lacks it: `sparkplan sync --prune` removes it, and "
        "`--exclude` "
        "leaves out a node that fails";
    return failure(std::move(error));
  }
  CopyImage command = command_for(node, item, CopyImageAction::kSave);
  command.left_out = static_cast<std::int64_t>(image.left_out);
  if (image.left_out > 0) command.id = image.id;
  SPARK_TRY(const auto saved, ask(node, command, patience_for_engine()));
  SPARK_TRY(auto listing, list_open_tree(node, access));
  const auto& entries = listing.entries;
  const bool is_archive = entries.size() == 1 && entries[0].kind == CopyKind::kFile && entries[0].path == kImageArchive;
  if (!is_archive) return failure(ErrorCode::kFailed, "there are other files beside the archive in " + opened.path);
  SPARK_CHECK(check_archive_size(item, image, entries[0].size));
  return std::move(listing.entries);
}

Result<void> load_image(SyncNode& node, const ContentItem& item, const std::string& id, std::size_t left_out,
                        const TreeAccess& access) {
  SPARK_TRY(const auto opened, open_tree(node, item, only_existing(access)));
  CopyImage command = command_for(node, item, CopyImageAction::kLoad);
  command.id = id;
  command.left_out = static_cast<std::int64_t>(left_out);
  SPARK_TRY(const auto loaded, ask(node, command, patience_for_engine()));
  if (loaded.id == id) return {};
  // The node has checked the archive, so that this is the same image in a store of the other kind. It keeps the name.
  return failure(ErrorCode::kVerifyFailed,
                 "the image has the id " + short_image_id(loaded.id) + " after loading, and " + short_image_id(id) +
                     " on the source",
                 kStoresOfTwoKinds);
}

Result<void> drop_stage(SyncNode& node, const ContentItem& item, const TreeAccess& access) {
  PrunedTree tree;
  // Not the path of the answer: that one has no links, and the record is kept under the one that was opened.
  tree.path = access.stage;
  tree.owner = owner_on(node, item);
  tree.kind = CopyTreeKind::kImage;
  prune(*node.client, tree, SharedPatience(access.patience));
  return tree.error ? failure(std::move(*tree.error)) : Result<void>();
}

}  // namespace sparkplan
