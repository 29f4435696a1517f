#include "tests/support/fake_groups.h"

#include <algorithm>
#include <string>
#include <vector>

#include "engine/core/text.h"

namespace sparkplan::test {
namespace {

constexpr const char* kGroups = "/etc/group";

/// gpasswd --add|--delete USER GROUP
Result<CommandOutput> gpasswd(const FakeNode::Call& call) {
  if (call.writable == nullptr) return failure(ErrorCode::kBug, "a group was changed while looking");
  const bool add = call.argv.at(1) == "--add";
  const std::string& user = call.argv.at(2);
  const std::string groups = call.node.text_of(kGroups).value_or("");
  std::string changed;
  bool done = false;
  for (const std::string_view line : split_lines(groups)) {
    const auto fields = split(line, ':');
    if (fields.size() != 4 || fields[0] != call.argv.at(3)) {
      changed += std::string(line) + "\n";
      continue;
    }
    std::vector<std::string> members;
    for (const auto member : split(fields[3], ',')) {
      if (!member.empty()) members.emplace_back(member);
    }
    const auto found = std::find(members.begin(), members.end(), user);
    done = add == (found == members.end());
    if (!add && done) members.erase(found);
    if (add && done) members.push_back(user);
    changed += std::string(line.substr(0, line.rfind(':') + 1)) + join(members, ",") + "\n";
  }
  if (!done) return CommandOutput{3, "", "gpasswd: user '" + user + "' is not a member\n"};
  call.writable->put_file(kGroups, changed);
  return CommandOutput{};
}

}  // namespace

void install_fake_gpasswd(FakeNode& node) { node.add_program("gpasswd", gpasswd); }

}  // namespace sparkplan::test
