#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sparkplan {

/// A chain of `nft list ruleset`.
struct NftChain {
  std::vector<std::vector<std::string>> rules;  ///< Their words; commas, semicolons and braces are words.
  std::vector<std::string> texts;               ///< Of the rules: shown_rule().
  bool at_input = false;
  bool drops = false;
};

struct NftTable {
  std::string name;  ///< "inet filter"
  bool asleep = false;
  bool ipv4 = false;
  std::vector<std::pair<std::string, NftChain>> chains;
  std::map<std::string, std::vector<std::string>> sets;  ///< Their elements, those of maps among them.
};

/// Pure. What `nft list ruleset` prints, put where it belongs. Time and memory grow with its length. Source: nft(8).
std::vector<NftTable> nft_tables(std::string_view ruleset);

}  // namespace sparkplan
