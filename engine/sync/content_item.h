#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/core/named_enum.h"
#include "engine/core/value.h"
#include "engine/model/cluster.h"
#include "engine/model/container_image.h"
#include "engine/wire/copy_messages.h"

namespace sparkplan {

enum class ContentKind : std::uint8_t {
  kDirectory,  ///< A directory at the same place on every node.
  kHub,        ///< A model in its owner's Hugging Face cache.
  kImage,      ///< A container image.
};
constexpr EnumNames<3> names_of(ContentKind /*kind*/) { return {"directory", "hub", "image"}; }

/// One entry of `models` or `images`: content that every node is to have.
struct ContentItem {
  ContentKind kind = ContentKind::kDirectory;
  std::string name;   ///< As the file and the report name it: the path, ORG/NAME, or the image's name.
  std::string from;   ///< The node whose content counts, or kControllerName; empty: the node that has most of it.
  std::string owner;  ///< Empty: the owners on the source, or the login user; see owner_is_login_user().
  SourceRange where;
  ContainerEngine engine = ContainerEngine::kDocker;  ///< Of an image.

  bool is_from_controller() const { return from == kControllerName; }
  /// Without a declared owner, the login user owns the copies: a cache belongs to one user, each user of podman has
  /// separate images, and the users of the controller are not those of the nodes.
  bool owner_is_login_user() const {
    if (kind == ContentKind::kImage) return engine == ContainerEngine::kPodman;
    return owner.empty() && (kind == ContentKind::kHub || is_from_controller());
  }
};

/// Pure. The models, then the images, in the order of the file.
std::vector<ContentItem> content_items(const Cluster& cluster);

/// Pure. The directory of a model on a machine whose logins have these variables, a map or null; "~/" begins the
/// owner's home. Errors: kInvalidInput (the place of the cache is not known).
Result<std::string> tree_of(const ContentItem& item, const Value* variables);

}  // namespace sparkplan
