#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/sync/comparison.h"
#include "engine/sync/content_item.h"
#include "engine/sync/sync_node.h"
#include "engine/wire/copy_messages.h"

namespace sparkplan {

/// An image as one node has it.
struct NamedImage {
  std::string node;
  const CopyImageState* image = nullptr;  ///< Null: the node was not read.
};

/// Pure. The place of the node whose image counts: `from` if that is set, else the first one with the id that most
/// nodes have. Nothing if no node has one.
std::optional<std::size_t> choose_image(const std::vector<NamedImage>& images, const std::string& from);

/// Pure. The image's name, if no other node has the source's; else nothing.
NameList unshared_image(const std::string& name, const std::vector<NamedImage>& images, std::size_t source);

/// Pure. The size of the source's image, as most nodes with the same id report it: the middle one of their
/// numbers, and of two middle ones the larger. So no single one of three decides, and no other node can make the
/// archive of an honest source too large.
std::int64_t bytes_of_image(const std::vector<NamedImage>& images, std::size_t source);

/// Pure. The first other node with the source's image; empty if no other node has it.
std::string other_holder(const std::vector<NamedImage>& images, std::size_t source);

/// Pure. Images are equal if their ids are.
Comparison compare_images(const std::string& name, const CopyImageState& source, const CopyImageState& node);

/// Pure. The name of the directory in which the image's archive is kept during a transfer: 32 hexadecimal digits. An
/// archive that lacks other layers is another one.
std::string stage_of(const ContentItem& item, const std::string& id, std::size_t left_out = 0);
/// Pure. True for the stage of the same image and engine with another id.
bool is_stale_stage(const std::string& stage, const std::string& current);

/// The image in the node's store. The program that reported another image of the same owner serves this request, too.
/// Errors: those of CopyClient and of the engine.
Result<CopyImageState> look_at_image(SyncNode& node, const ContentItem& item, const AnswerPatience& patience);

/// An image and the nodes that take part.
struct ImageToSend {
  const ContentItem& item;
  const CopyImageState& image;             ///< On the source.
  const std::vector<std::size_t>& places;  ///< Of the source, the receivers, and those between them.
  const AnswerPatience& patience;
};
/// The number of layers, from the first one on, that all receivers have: one archive is sent to all of them.
std::size_t layers_to_leave_out(std::vector<SyncNode>& nodes, const RunOptions& run, const ImageToSend& sent);

/// Removes the archives of the same image with another id, or with other layers.
void drop_stale_stages(SyncNode& node, const std::string& stage, const AnswerPatience& patience);

/// Removes the source's archives of the image, if every node of the cluster has the image: an archive stays for nodes
/// that failed, and they may be left out of this run.
void drop_unneeded_stages(std::vector<SyncNode>& nodes, std::size_t source, const ContentItem& item,
                          const AnswerPatience& patience);

/// The image that the source writes as an archive.
struct ImageToSave {
  const std::string& id;
  std::int64_t bytes = 0;    ///< bytes_of_image().
  std::size_t left_out = 0;  ///< The archive lacks the content of so many layers, from the first one on.
  std::string other = {};    ///< other_holder().
};
/// Writes the image's archive into the stage, and lists that. It needs the space of the unpacked image.
/// Errors: as open_tree(); those of the engine; is_too_little_space(); kVerifyFailed (the archive is far larger than
/// the image).
Result<std::vector<CopyEntry>> save_image(SyncNode& node, const ContentItem& item, const ImageToSave& image,
                                          const TreeAccess& access);
bool is_too_little_space(const Error& error);
/// As fail_node(), for an error before the transfer: it may be is_too_little_space().
void fail_to_begin(const RunOptions& run, SyncNode& node, Error error);

/// open_tree() for a transfer. Of an image that the node is to load, asks for the space in the storage of its engine:
/// the load would fail after the whole transfer. A node that does not know its engine's storage passes.
/// Errors: as open_tree(); is_too_little_space().
Result<CopyOpened> open_to_begin(SyncNode& node, const ContentItem& item, const TreeAccess& access);

/// Has the node check the archive in the stage and load it, if it contains the image with this id and no other name.
/// Errors: as save_image(); kVerifyFailed (another image or name, or the image has another id after loading),
/// kUnsupported (an archive of another form).
Result<void> load_image(SyncNode& node, const ContentItem& item, const std::string& id, std::size_t left_out,
                        const TreeAccess& access);

/// Removes the stage, and forgets it. Errors: as prune().
Result<void> drop_stage(SyncNode& node, const ContentItem& item, const TreeAccess& access);

}  // namespace sparkplan
