#pragma once

#include <compare>
#include <string>
#include <string_view>

#include "engine/core/result.h"

namespace sparkplan {

/// A node's name: a lower- or upper-case host name of RFC 1123, one label or dotted, at most 63 characters. It never
/// has a leading '-', a '/' or a character that is special to a shell, a path or ssh.
class NodeName {
 public:
  /// Errors: kInvalidInput.
  static Result<NodeName> parse(std::string_view text);
  const std::string& str() const { return text_; }
  auto operator<=>(const NodeName&) const = default;

 private:
  explicit NodeName(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

/// True for the id of a run: 1 to 64 letters, digits, '-' and '.', and no '.' first. It is also the name of a journal.
bool is_run_id(std::string_view text);

/// One managed object on one node: "sysctl/net.core.rmem_max". The type has no slash, the name may have some.
struct ResourceId {
  std::string type;
  std::string name;

  auto operator<=>(const ResourceId&) const = default;  // NOLINT(modernize-use-nullptr): the 0 is the compiler's own
  std::string str() const { return type + "/" + name; }
  /// For people: "file /etc/motd" if the name is a path, else as str().
  std::string words() const { return name.starts_with('/') ? type + " " + name : str(); }
  /// Errors: kInvalidInput when there is no slash or one side is empty.
  static Result<ResourceId> parse(std::string_view text);
};

/// The unit that is written, journaled, compared-and-swapped and rolled back as a whole: one file, one kernel
/// parameter, one link. `kind` is "file" or a word of the type that owns it.
struct ArtifactId {
  std::string kind;
  std::string name;

  auto operator<=>(const ArtifactId&) const = default;  // NOLINT(modernize-use-nullptr): the 0 is the compiler's own
  std::string str() const { return kind + ":" + name; }
  /// Errors: kInvalidInput when there is no colon or one side is empty.
  static Result<ArtifactId> parse(std::string_view text);
};

}  // namespace sparkplan
