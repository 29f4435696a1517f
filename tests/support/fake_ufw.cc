#include "tests/support/fake_ufw.h"

#include <vector>

#include "engine/core/text.h"

namespace sparkplan::test {
namespace {

using Call = FakeNode::Call;

const std::string kRules = "/etc/ufw/user.rules";

std::string in_hexadecimal(const std::string& text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string digits;
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    digits += kDigits[byte >> 4U];
    digits += kDigits[byte & 15U];
  }
  return digits;
}

/// `ufw [--force delete] allow in on IF from NETWORK [comment TEXT]`
Result<CommandOutput> ufw(const Call& call) {
  std::vector<std::string> words(call.argv.begin() + 1, call.argv.end());
  if (call.writable == nullptr) return CommandOutput{1, {}, "ERROR: asked to change something by a query\n"};
  const bool remove = words.size() > 2 && words[0] == "--force" && words[1] == "delete";
  if (remove) words.erase(words.begin(), words.begin() + 2);
  if (words.size() < 6 || words[1] != "in" || words[2] != "on" || words[4] != "from") {
    return CommandOutput{1, {}, "ERROR: Invalid syntax\n"};
  }
  const std::string match = " any any 0.0.0.0/0 any " + words[5] + " in_" + words[3];
  std::string added = "### tuple ### " + words[0] + match;
  if (words.size() == 8) added += " comment=" + in_hexadecimal(words[7]);
  added += "\n-A ufw-user-input -i " + words[3] + " -s " + words[5] + " -j ACCEPT\n";
  const std::string before = call.node.text_of(kRules).value_or("### RULES ###\n### END RULES ###\n");
  std::string after;
  bool skip = false;
  for (const std::string_view line : split_lines(before)) {
    if (line.starts_with("### tuple ###")) skip = line.find(match) != std::string_view::npos;
    if (line.starts_with("### END")) skip = false;
    if (line.starts_with("### END") && !remove) after += added;
    if (!skip) after += std::string(line) + "\n";
  }
  if (before != after) call.writable->put_file(kRules, after);
  return CommandOutput{0, remove ? "Rule deleted\n" : "Rule added\n", {}};
}

}  // namespace

void install_fake_ufw(FakeNode& node) { node.add_program("ufw", ufw); }

}  // namespace sparkplan::test
