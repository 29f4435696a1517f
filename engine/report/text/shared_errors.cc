#include "engine/report/text/shared_errors.h"

#include <cstddef>
#include <map>
#include <utility>

#include "engine/core/ascii.h"
#include "engine/core/text.h"

namespace sparkplan {
namespace {

void replace_mark(std::string& text, std::string_view mark, std::string_view by) {
  for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + by.size())) {
    text.replace(at, mark.size(), by);
  }
}

}  // namespace

void replace_word(std::string& text, std::string_view name, std::string_view replacement) {
  if (name.empty()) return;
  const auto is_part_of_name = [&](std::size_t at) {
    const char byte = at < text.size() ? text[at] : ' ';
    return byte == '-' || byte == '_' || is_alphanumeric(byte);
  };
  for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at)) {
    const bool is_word = (at == 0 || !is_part_of_name(at - 1)) && !is_part_of_name(at + name.size());
    if (is_word) text.replace(at, name.size(), replacement);
    at += is_word ? replacement.size() : name.size();
  }
}

NodeTrouble trouble_of(const std::string& node, const std::string& address, const Error& error) {
  return {printable(node), printable(address), printable(error.describe()), printable(error.hint)};
}

NodeTrouble with_marks(NodeTrouble trouble) {
  // The address first: it may contain the name.
  replace_word(trouble.words, trouble.address, kAddressMark);
  replace_word(trouble.words, trouble.node, kNodeMark);
  replace_word(trouble.hint, trouble.address, kAddressMark);
  return trouble;
}

std::string words_for(std::string words, const std::vector<std::string>& nodes,
                      const std::vector<std::string>& addresses) {
  replace_mark(words, kNodeMark, fold_names(nodes));
  replace_mark(words, kAddressMark, fold_names(addresses));
  return words;
}

std::string hint_for(std::string hint, const std::vector<std::string>& addresses) {
  replace_mark(hint, kAddressMark, addresses.empty() ? "" : addresses.front());
  return hint;
}

std::vector<SharedTrouble> shared_troubles(const std::vector<NodeTrouble>& troubles) {
  struct Group {
    SharedTrouble shared;
    std::vector<std::string> addresses;
  };
  std::vector<Group> groups;
  std::map<std::pair<std::string, std::string>, std::size_t> places;
  for (const NodeTrouble& one : troubles) {
    NodeTrouble marked = with_marks(one);
    const auto [place, is_new] = places.try_emplace({marked.words, marked.hint}, groups.size());
    if (is_new) groups.push_back({{{}, std::move(marked.words), std::move(marked.hint)}, {}});
    Group& group = groups[place->second];
    group.shared.nodes.push_back(one.node);
    if (!one.address.empty()) group.addresses.push_back(one.address);
  }
  std::vector<SharedTrouble> all;
  for (Group& group : groups) {
    group.shared.words = words_for(std::move(group.shared.words), group.shared.nodes, group.addresses);
    group.shared.hint = hint_for(std::move(group.shared.hint), group.addresses);
    all.push_back(std::move(group.shared));
  }
  return all;
}

}  // namespace sparkplan
