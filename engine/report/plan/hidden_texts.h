#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace sparkplan {

inline constexpr std::string_view kHidden = "(hidden)";
inline constexpr std::string_view kHiddenChanged = "(hidden, changed)";
/// In place of a message, if HiddenTexts has no room for the texts to look for in it.
inline constexpr std::string_view kHiddenMessage = "(hidden: the node reports too many secret texts)";

/// The texts that were hidden in values: messages that quote them hide them, too. Texts of fewer than five characters
/// are left out, because "true", "root" and "0644" would be hidden everywhere.
class HiddenTexts {
 public:
  /// `shown` are never hidden: the names of the nodes. The set outlives the object. The texts take `most` bytes of
  /// memory at most: a node can report millions.
  explicit HiddenTexts(const std::set<std::string, std::less<>>& shown,
                       std::size_t most = std::numeric_limits<std::size_t>::max())
      : shown_(&shown), most_(most) {}

  /// The text without blanks at both ends, also as it is in quotes of a shell: messages quote values so.
  void add(std::string_view text);
  /// The line, and its value: of "password = 'x'", of "token: x  # new" and of "\"secret\": \"x\",".
  void add_line(std::string_view line);
  void add_lines(std::string_view text);
  /// To be called after the last add(), before length_at().
  void link();

  bool empty() const { return texts_.empty(); }
  /// True if there is no room for the texts. Then none is kept: each message may quote one, and is hidden whole.
  bool has_no_room() const { return bytes_ > most_; }
  /// The length of the longest hidden text, or piece of one, that `rest` begins with; 0 without such a text.
  std::size_t length_at(std::string_view rest) const;

 private:
  /// `text` is the longest other text that this text begins with, `next` the record of `text`. Without one both are
  /// null.
  struct Shorter {
    const std::string* text = nullptr;
    const Shorter* next = nullptr;
  };
  using Texts = std::map<std::string, Shorter, std::less<>>;

  void add_pieces(std::string_view text);

  const std::set<std::string, std::less<>>* shown_;
  std::size_t most_;
  std::size_t bytes_ = 0;  ///< Of memory, also of texts that were dropped.
  Texts texts_;
};

/// Hides the texts of both in the message, hidden parts side by side as one; the whole message if either has no room.
/// Compares a few hundred bytes at each place: a node can report thousands of secrets and messages, each of megabytes.
void hide_in(std::string& message, const HiddenTexts& some, const HiddenTexts& others);

}  // namespace sparkplan
