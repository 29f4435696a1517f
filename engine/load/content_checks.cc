#include <algorithm>
#include <string>
#include <vector>

#include "engine/core/text.h"
#include "engine/core/tree.h"
#include "engine/load/semantic_checks.h"

namespace sparkplan {
namespace {

/// The parts of a path that count, each followed by a slash.
std::string plain_path(const std::string& path) {
  std::string plain = "/";
  for (const auto part : split(path, '/')) {
    if (!part.empty() && part != ".") plain += std::string(part) + "/";
  }
  return plain;
}

void check_path(const Value& path, Findings& findings) {
  const auto parts = split(text_of(&path), '/');
  if (std::none_of(parts.begin(), parts.end(), [](std::string_view part) { return part == ".."; })) return;
  findings.error(path.where, "models.path", in_quotes(text_of(&path)) + " contains \"..\"",
                 "write the directory itself");
}

void check_from(const Value& from, const std::vector<std::string>& nodes, Findings& findings) {
  const std::string& name = text_of(&from);
  if (name.empty() || std::find(nodes.begin(), nodes.end(), name) != nodes.end()) return;
  const auto near = nearest(name, nodes);
  findings.error(from.where, "models.from", "there is no node " + in_quotes(name),
                 near ? "did you mean " + *near + "?" : "name a node of this file, or leave \"from\" out");
}

}  // namespace

void check_content(const UnresolvedCluster& draft, Findings& findings) {
  std::vector<std::string> nodes;
  for (const UnresolvedNode& node : draft.nodes) nodes.push_back(node.name);
  std::vector<std::pair<std::string, SourceRange>> earlier;
  for (const Value& record : items_of(draft.root->find("models"))) {
    if (const Value* from = record.find("from")) check_from(*from, nodes, findings);
    const Value* path = record.find("path");
    if (path == nullptr || !path->is_string()) continue;
    check_path(*path, findings);
    const std::string plain = plain_path(text_of(path));
    for (const auto& [other, where] : earlier) {
      if (!plain.starts_with(other) && !other.starts_with(plain)) continue;
      findings.error(path->where, "models.overlap", in_quotes(text_of(path)) + " is in another entry already",
                     "two entries cannot share a directory", {{"the other entry", where}});
    }
    earlier.emplace_back(plain, path->where);
  }
}

}  // namespace sparkplan
