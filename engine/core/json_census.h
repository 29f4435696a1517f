#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/core/json_text.h"

namespace sparkplan::json_text {

/// The number of items in each list and map, in the order in which they are opened, and their total. Counted before any
/// value is built: a text over the limit costs no memory. A text within the limit is allocated once.
class Census {
 public:
  explicit Census(std::size_t most) : most_(most) {}

  /// False when there are more than `most`. Invalid JSON may be counted wrongly: the parser refuses it.
  bool take(std::string_view text) {
    for (std::size_t i = 0; i < text.size() && total_ <= most_; ++i) {
      switch (text[i]) {
        case ' ':
        case '\t':
        case '\n':
        case '\r':
        case ':':
          break;
        case '"':
          note_first();
          for (++i; i < text.size() && text[i] != '"'; ++i) i += text[i] == '\\' ? 1U : 0U;
          break;
        case '[':
        case '{':
          note_first();
          if (depth_ == kDeepest) return true;
          open_[depth_++] = sizes_.size();
          sizes_.push_back(0);
          break;
        case ']':
        case '}':
          if (depth_ == 0) return true;
          --depth_;
          break;
        case ',':
          add();
          break;
        default:
          note_first();
      }
    }
    return total_ <= most_;
  }

  /// The size of the next list or map in the order of opening.
  std::size_t next_size() { return next_ < sizes_.size() ? sizes_[next_++] : 0; }

 private:
  void note_first() {
    if (depth_ > 0 && sizes_[open_[depth_ - 1]] == 0) add();
  }
  void add() {
    if (depth_ == 0) return;
    ++sizes_[open_[depth_ - 1]];
    ++total_;
  }

  std::size_t most_;
  std::size_t total_ = 1;
  std::vector<std::uint32_t> sizes_;
  std::array<std::size_t, kDeepest> open_{};
  std::size_t depth_ = 0;
  std::size_t next_ = 0;
};

}  // namespace sparkplan::json_text
