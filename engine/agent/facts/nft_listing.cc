// What `nft list ruleset` prints. Source: nft(8).
#include "engine/agent/facts/nft_listing.h"

#include <algorithm>
#include <iterator>

#include "engine/agent/facts/input_rules.h"
#include "engine/core/text.h"

namespace sparkplan {
namespace {

using Words = std::vector<std::string>;

/// Commas and semicolons are words.
Words words_in(std::string_view line) {
  Words words;
  for (std::string& word : words_of_rule(line, Quotes::kNever)) {
    const bool quoted = word.starts_with('"');
    const char last = word.back();
    if (!quoted && word.size() > 1 && (last == ',' || last == ';')) {
      word.pop_back();
      words.push_back(std::move(word));
      words.emplace_back(1, last);
    } else {
      words.push_back(std::move(word));
    }
  }
  return words;
}

/// Puts the lines of the listing where they belong.
class NftListing {
 public:
  std::vector<NftTable> read(std::string_view ruleset) && {
    for (const auto line : split_lines(ruleset)) {
      const auto text = trim(line);
      // In a chain a rule may begin so.
      if (text.empty() || (text.starts_with('#') && blocks_.size() < 2)) continue;
      const bool opens = pending_.empty() && text.ends_with('{') && !text.starts_with("elements");
      add_to_pending(text);
      if (open_ > 0 && !opens) continue;  // The elements of a set go on.
      read_line(pending_);
      pending_.clear();
      pending_text_.clear();
      open_ = 0;
    }
    return std::move(tables_);
  }

 private:
  /// Each line once: a set may have a hundred thousand elements, a few in a line.
  void add_to_pending(std::string_view line) {
    constexpr std::size_t kEnough = 1000;  // For shown_rule().
    Words words = words_in(line);
    open_ += std::count(words.begin(), words.end(), "{") - std::count(words.begin(), words.end(), "}");
    pending_.insert(pending_.end(), std::move_iterator(words.begin()), std::move_iterator(words.end()));
    if (pending_text_.size() < kEnough) pending_text_ += (pending_text_.empty() ? "" : " ") + std::string(line);
  }

  void read_line(const Words& words) {
    if (words.front() == "}") {
      if (!blocks_.empty()) blocks_.pop_back();
    } else if (words.back() == "{") {
      open(words);
    } else if (blocks_.size() == 1 && words.front() == "flags" && words.size() > 1) {
      tables_.back().asleep = words[1] == "dormant";
    } else if (blocks_.size() == 2 && blocks_.back() == "chain") {
      read_in_chain(words);
    } else if (blocks_.size() == 2 && words.front() == "elements" && words.size() > 3) {
      tables_.back().sets[set_].assign(words.begin() + 3, words.end() - 1);
    }
  }

  void open(const Words& words) {
    const std::string name = words.size() > 1 ? words[1] : "";
    if (blocks_.empty()) {
      NftTable table;
      table.ipv4 = name == "ip" || name == "inet";
      table.name = name + (words.size() > 2 ? " " + words[2] : "");
      tables_.push_back(std::move(table));
    } else if (words.front() == "chain") {
      tables_.back().chains.emplace_back(name, NftChain{});
    } else if (words.front() == "set" || words.front() == "map") {
      set_ = name;
      tables_.back().sets[set_];
    }
    blocks_.push_back(words.front());
  }

  void read_in_chain(const Words& words) {
    NftChain& chain = tables_.back().chains.back().second;
    const auto follows = [&](std::string_view key, std::string_view value) {
      const auto found = std::find(words.begin(), words.end(), key);
      return found != words.end() && found + 1 != words.end() && *(found + 1) == value;
    };
    if (words.front() == "type") {
      chain.at_input = follows("hook", "input");
      chain.drops = follows("policy", "drop");
    } else if (words.front() != "comment") {
      chain.rules.push_back(words);
      chain.texts.push_back(shown_rule(pending_text_));
    }
  }

  std::vector<NftTable> tables_;
  Words pending_;             ///< Of the lines that belong together.
  std::string pending_text_;  ///< As they stand there.
  std::ptrdiff_t open_ = 0;   ///< Braces.
  std::string set_;
  std::vector<std::string> blocks_;  ///< "table", "chain"
};

}  // namespace

std::vector<NftTable> nft_tables(std::string_view ruleset) { return NftListing().read(ruleset); }

}  // namespace sparkplan
