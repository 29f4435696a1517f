#include "tests/unit/doctor/findings.h"

#include <algorithm>

#include "tests/support/catch.h"
#include "tests/unit/doctor/capture.h"

namespace sparkplan::test {

void change(std::string& capture, Edit edit) {
  if (edit.from.empty()) {
    capture += edit.to;
    return;
  }
  const bool everywhere = edit.from.starts_with('*');
  if (everywhere) edit.from.erase(0, 1);
  std::size_t times = 0;
  for (auto at = capture.find(edit.from); at != std::string::npos; at = capture.find(edit.from, at + edit.to.size())) {
    capture.replace(at, edit.from.size(), edit.to);
    ++times;
  }
  INFO("\"" << edit.from << "\" is there " << times << " times");
  REQUIRE((times == 1 || (everywhere && times > 0)));
}

std::string file(const std::string& path, const std::string& text) { return "== file " + path + "\n" + text + "\n"; }

Edit nccl_conf(const std::string& line) {
  const std::string head = "== file /etc/nccl.conf\n";
  return {head, head + line + "\n"};
}

Edit route(const std::string& json) {
  const std::string first = R"([{"dst":"default")";
  return {first, "[" + json + ",\n" + first.substr(1)};
}

Edit unit(const std::string& name) {
  return {"Id=" + name + "\nLoadState=not-found\nActiveState=inactive",
          "Id=" + name + "\nLoadState=loaded\nActiveState=active\nUnitFileState=enabled"};
}

std::vector<Finding> findings_of(const std::string& first, const std::string& second, bool ring) {
  const CapturedNode one = captured_node(first);
  const CapturedNode other = captured_node(second);
  constexpr std::size_t kRing = 4;
  return examine({{one.examined(), other.examined()}, ring, ring ? kRing : 0});
}

Problems problems_in(const std::vector<Finding>& findings) {
  Problems problems;
  for (const Finding& one : findings) {
    if (one.status == CheckStatus::kFail || one.status == CheckStatus::kWarn) problems.emplace(one.row->id, one.status);
  }
  return problems;
}

std::string listed(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& one : findings) {
    const bool bad = one.status == CheckStatus::kFail || one.status == CheckStatus::kWarn;
    if (bad) text += std::string(one.row->id) + " on " + one.nodes.front() + ": " + one.seen + "\n";
  }
  return text;
}

const Finding& finding_of(const std::vector<Finding>& findings, std::string_view row) {
  const auto found =
      std::find_if(findings.begin(), findings.end(), [&](const Finding& one) { return one.row->id == row; });
  INFO(row);
  REQUIRE(found != findings.end());
  return *found;
}

}  // namespace sparkplan::test
