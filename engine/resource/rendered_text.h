#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "engine/resource/artifact.h"

namespace sparkplan {

/// A text that a type makes from values of a node, where a part such as a name stands several times. It takes no more
/// than a file may have, whatever the node reports: too_large_to_read() finds it one byte above the limit then, and it
/// is never written.
class RenderedText {
 public:
  /// `most`: kLargestTextFile for a file, kLargestBlock for a block.
  explicit RenderedText(std::size_t most = kLargestTextFile) : most_(most) {}

  /// Adds the parts in their order, up to one byte above the limit.
  void add(std::initializer_list<std::string_view> parts);
  /// As add(), in quotes like shell_quote(), without a copy of the text.
  void add_quoted(std::string_view text);

  /// True above the limit: the caller can stop, because nothing more is added.
  bool is_full() const { return text_.size() > most_; }
  const std::string& text() const& { return text_; }
  std::string text() && { return std::move(text_); }

 private:
  std::size_t most_;
  std::string text_;
};

}  // namespace sparkplan
