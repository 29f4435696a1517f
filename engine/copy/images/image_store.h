#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "engine/copy/accounts.h"
#include "engine/copy/digest_index.h"
#include "engine/copy/tree.h"
#include "engine/core/result.h"
#include "engine/model/container_image.h"
#include "engine/wire/copy_messages.h"

namespace sparkplan::copy {

/// One image in the store of a container engine, which is asked through its own program.
class ImageStore {
 public:
  /// `account` is the user of this process. `sign_of_life` is called while the engine works. `program` is the path of
  /// the engine's program; empty: the one of its name in the system's directories.
  ImageStore(ContainerEngine engine, std::string name, const Account& account, std::function<void()> sign_of_life,
             std::string program = {});

  /// Errors: kNotFound (no such engine), kFailed (the engine's own words).
  Result<CopyImageState> look() const;
  /// How many of these layers, from the first one on, the engine need not receive: it finds them in an image of its
  /// own. 0 if that cannot be told.
  std::size_t known_layers(const std::vector<std::string>& layers) const;
  /// Writes the archive into the tree at `path`, unless an earlier run has done so. It lacks the content of the first
  /// `left_out` layers of the image with this id. Errors: as look() and leave_out_layers().
  Result<void> save(const Tree& tree, const std::string& path, const std::string& id, std::size_t left_out) const;
  /// Loads the archive from the tree at `path`, if it contains the image with this id alone.
  /// Errors: as check_archive() and look().
  Result<void> load(const Tree& tree, const std::string& path, const std::string& id, std::size_t left_out) const;
  /// The space in the engine's storage, as storage_at() reports it. Empty also if the engine does not answer, and with
  /// docker's store of containerd, whose directory docker does not name.
  CopyImageState storage(const Tree& stage) const;
  /// Whether the engine has the image with this id, under any name or none. Also true if that cannot be told.
  bool has(const std::string& id) const;
  /// Counts the image with this id, and with `remove` removes it. It is kept if it also has another name than this one.
  /// Errors: as look(), also if a container uses the image.
  Result<void> prune(const std::string& id, bool remove, CopyPruned& pruned) const;

 private:
  struct Ended {
    int status = 0;
    std::string output;
    std::string words;  ///< The end of standard error, safe for a terminal.
  };
  Result<Ended> run(std::vector<std::string> arguments, std::chrono::seconds deadline) const;
  Result<std::string> archive_format() const;
  /// Whether the engine is docker with a store of containerd. Errors: as look().
  Result<bool> packs_layers() const;
  bool loads_parts() const;
  Result<void> shorten(const Tree& tree, const std::string& id, std::size_t left_out) const;
  std::string engine_name() const;
  tl::unexpected<Error> failed(const std::string& what, const Ended& ended) const;

  ContainerEngine engine_;
  std::string name_;
  std::function<void()> sign_of_life_;
  std::string program_;
};

/// "sha256:0123..." or "0123...", a number, and a JSON list of the layers, as the engines print them. Without a list of
/// digests, the layers are not known. Errors: kFailed.
Result<CopyImageState> image_state_from(const std::string& text);

/// The free space for an image in the directory that an engine names as its storage. Empty if the text is no path in
/// plain text, or if there is no such directory on this machine.
CopyImageState storage_at(const std::string& folder, const Tree& stage);

/// Before a save: removes an archive that a sync has brought. Its source could be false, and this node would pass the
/// archive on as its own image.
void drop_received_archive(const Tree& tree, const DigestIndex& index);

/// Counts the archive and what an interrupted run has left of it, and removes them with `remove`.
CopyPruned prune_archive(const Tree& tree, bool remove);

/// The directory of a stage, which keeps an archive during a transfer; "~/" begins the home of the user.
std::string path_of_stage(const std::string& stage, const Account& account);
/// True for a path that path_of_stage() can have made, with the home in place of "~".
bool is_path_of_stage(const std::string& path);

}  // namespace sparkplan::copy
