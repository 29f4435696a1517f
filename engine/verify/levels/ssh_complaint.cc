#include "engine/verify/levels/ssh_complaint.h"

#include <array>
#include <utility>

#include "engine/core/text.h"

namespace sparkplan {
namespace {

/// In order of precedence: a changed host key ends with the same words as an unknown host key.
constexpr std::array<std::pair<std::string_view, RowId>, 11> kWords{{
    {"does not exist", RowId("ssh-no-user")},
    {"REMOTE HOST IDENTIFICATION HAS CHANGED", RowId("ssh-host-key")},
    {"Host key verification failed", RowId("ssh-host-key")},
    {"host key is known for", RowId("ssh-host-key")},
    {"Could not resolve hostname", RowId("ssh-unknown-name")},
    {"Permission denied", RowId("ssh-denied")},
    {"Too many authentication failures", RowId("ssh-denied")},
    {"timed out", RowId("ssh-timeout")},
    {"Connection refused", RowId("ssh-refused")},
    {"No route to host", RowId("ssh-no-route")},
    {"Network is unreachable", RowId("ssh-no-route")},
}};

constexpr std::size_t kMostShown = 200;

std::string shown(std::string_view line) { return printable(trim(line).substr(0, kMostShown)); }

}  // namespace

SshComplaint read_complaint(std::string_view standard_error) {
  const auto lines = split_lines(standard_error);
  for (const auto& [words, row] : kWords) {
    for (const auto line : lines) {
      if (line.find(words) != std::string_view::npos) return {row, shown(line)};
    }
  }
  std::string last = "ssh printed no error";
  for (const auto line : lines) {
    if (!trim(line).empty()) last = shown(line);
  }
  return {"ssh-other", std::move(last)};
}

}  // namespace sparkplan
