#include "engine/report/plan/hidden_texts.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "engine/core/text.h"
#include "engine/resource/shell_environment.h"

namespace sparkplan {
namespace {

constexpr std::size_t kShortestHidden = 5;
/// A longer text is hidden piece by piece: at each place of a message, no more bytes than these are compared.
constexpr std::size_t kLongestPiece = 256;
/// An entry of the map without the bytes of its text.
constexpr std::size_t kEntryBytes = 96;

/// The value of "password = 'x'", of "token: x  # new" and of "\"secret\": \"x\",".
std::string_view value_in(std::string_view line) {
  const std::size_t sign = line.find_first_of("=:");
  if (sign == std::string_view::npos) return {};
  std::string_view value = line.substr(sign + 1);
  value = trim(value.substr(0, value.find(" #")));
  while (value.ends_with(',') || value.ends_with(';')) value.remove_suffix(1);
  const bool quoted = value.size() > 1 && value.front() == value.back() && (value[0] == '"' || value[0] == '\'');
  return quoted ? value.substr(1, value.size() - 2) : value;
}

}  // namespace

void HiddenTexts::add(std::string_view text) {
  text = trim(text);
  if (text.size() < kShortestHidden || kHiddenChanged.find(text) != std::string_view::npos) return;
  if (shown_->contains(text)) return;
  add_pieces(text);
  if (text.find('\'') == std::string_view::npos) return;
  const std::string quoted = shell_quote(text);
  add_pieces(std::string_view(quoted).substr(1, quoted.size() - 2));
}

void HiddenTexts::add_pieces(std::string_view text) {
  for (std::size_t at = 0; at < text.size() && !has_no_room(); at += kLongestPiece) {
    // The last piece has no fewer bytes than the others, so that no short end of a secret is looked for alone.
    const std::size_t begin = text.size() < kLongestPiece ? 0 : std::min(at, text.size() - kLongestPiece);
    const std::string_view piece = text.substr(begin, kLongestPiece);
    if (texts_.try_emplace(std::string(piece)).second) bytes_ += kEntryBytes + piece.size();
  }
  if (has_no_room()) texts_.clear();
}

void HiddenTexts::add_line(std::string_view line) {
  add(line);
  add(value_in(line));
}

void HiddenTexts::add_lines(std::string_view text) {
  for_each_line(text, [&](std::string_view line) { add(line); });
}

void HiddenTexts::link() {
  std::vector<Texts::value_type*> longer;
  for (auto& one : texts_) {
    while (!longer.empty() && !one.first.starts_with(longer.back()->first)) longer.pop_back();
    if (!longer.empty()) one.second = {&longer.back()->first, &longer.back()->second};
    longer.push_back(&one);
  }
}

std::size_t HiddenTexts::length_at(std::string_view rest) const {
  const auto after = texts_.upper_bound(rest);
  if (after == texts_.begin()) return 0;
  const auto& [before, shorter] = *std::prev(after);
  const auto differ = std::mismatch(before.begin(), before.end(), rest.begin(), rest.end());
  const auto equal = static_cast<std::size_t>(differ.first - before.begin());
  if (equal == before.size()) return equal;
  // Each text that `rest` begins with comes before it, so that the last one before `rest` begins with it, too.
  const Shorter* one = &shorter;
  while (one->text != nullptr && one->text->size() > equal) one = one->next;
  return one->text == nullptr ? 0 : one->text->size();
}

void hide_in(std::string& message, const HiddenTexts& some, const HiddenTexts& others) {
  if (some.has_no_room() || others.has_no_room()) {
    if (!message.empty()) message = kHiddenMessage;
    return;
  }
  if (some.empty() && others.empty()) return;
  std::string shown;
  std::size_t end = 0;  // The end of the hidden part so far: texts can overlap.
  for (std::size_t at = 0; at < message.size(); ++at) {
    const std::string_view rest = std::string_view(message).substr(at);
    const std::size_t length = std::max(some.length_at(rest), others.length_at(rest));
    const bool follows = at > 0 && at == end;  // The next piece of one text, or another hidden text.
    if (length > 0 && at >= end && !follows) shown += kHidden;
    end = std::max(end, at + length);
    if (at >= end) shown += message[at];
  }
  message = std::move(shown);
}

}  // namespace sparkplan
