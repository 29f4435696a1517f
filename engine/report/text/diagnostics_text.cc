#include "engine/report/text/diagnostics_text.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <tuple>
#include <utility>

#include "engine/core/bounded_text.h"
#include "engine/core/text.h"
#include "engine/report/text/shared_errors.h"

namespace sparkplan {
namespace {

constexpr std::size_t kMostOfAKind = 50;
constexpr std::size_t kMostOfANode = 10;  // Of a kind. So a node that invents findings hides only its own.
constexpr std::size_t kMostNodeLines = 10;
constexpr std::size_t kAroundQuote = 14;  // "   12 | ", and "..." at both ends.

/// The finding with one word in place of the name of its node. Its texts are cut, because a node words parts of them.
Diagnostic without_node(Diagnostic diagnostic) {
  if (diagnostic.node.empty()) return diagnostic;
  for (std::string* text : {&diagnostic.message, &diagnostic.hint}) {
    *text = cut_text(printable(*text), kLongestErrorMessage);
    replace_word(*text, printable(diagnostic.node), kNodeMark);
  }
  diagnostic.node.clear();
  return diagnostic;
}

/// A finding, and the nodes that share it.
struct SharedFinding {
  Diagnostic finding;
  std::vector<std::string> nodes;  ///< Empty: it is about no node.

  Diagnostic whole() && {
    if (nodes.empty()) return std::move(finding);
    finding.node = fold_names(nodes);
    replace_word(finding.message, kNodeMark, finding.node);
    replace_word(finding.hint, kNodeMark, finding.node);
    return std::move(finding);
  }
};

std::vector<SharedFinding> shared(const std::vector<Diagnostic>& diagnostics, bool errors_only) {
  std::vector<SharedFinding> findings;
  // By all that sorts: a node may send thousands of findings that differ in one of these texts only.
  std::multimap<std::tuple<std::string, std::string, std::string, std::string, SourceRange>, std::size_t> places;
  for (const Diagnostic& diagnostic : diagnostics) {
    if (errors_only && diagnostic.severity != Severity::kError) continue;
    Diagnostic general = without_node(diagnostic);
    if (diagnostic.node.empty()) {
      findings.push_back({std::move(general), {}});
      continue;
    }
    auto key = std::make_tuple(general.message, general.hint, general.code, general.file, general.where);
    const auto [first, last] = places.equal_range(key);
    const auto twin =
        std::find_if(first, last, [&](const auto& one) { return findings[one.second].finding == general; });
    if (twin != last) {
      findings[twin->second].nodes.push_back(printable(diagnostic.node));
      continue;
    }
    places.emplace(std::move(key), findings.size());
    findings.push_back({std::move(general), {printable(diagnostic.node)}});
  }
  return findings;
}

/// Decides which findings are printed, and counts the others.
class Room {
 public:
  bool takes(const SharedFinding& one) {
    Kind& kind = one.finding.severity == Severity::kError ? errors_ : others_;
    const bool has_room =
        one.nodes.empty() || std::any_of(one.nodes.begin(), one.nodes.end(),
                                         [&](const std::string& node) { return kind.of_node[node] < kMostOfANode; });
    if (!has_room) {
      ++more_of_[fold_names(one.nodes)];
      return false;
    }
    if (kind.printed == kMostOfAKind) {
      ++kind.more;
      return false;
    }
    ++kind.printed;
    for (const std::string& node : one.nodes) ++kind.of_node[node];
    return true;
  }

  /// "and 12 more of spark-02", "and 3 more errors", a hint; empty if all are printed.
  std::string rest() const {
    std::string text;
    std::size_t lines = 0;
    std::size_t of_others = 0;
    for (const auto& [nodes, more] : more_of_) {
      if (++lines > kMostNodeLines) {
        of_others += more;
      } else {
        text += "and " + std::to_string(more) + " more of " + nodes + "\n";
      }
    }
    if (of_others > 0) text += "and " + std::to_string(of_others) + " more of other nodes\n";
    std::string kinds;
    if (errors_.more > 0) kinds += counted(errors_.more, "more error");
    if (others_.more > 0) kinds += (kinds.empty() ? "" : " and ") + counted(others_.more, "more warning");
    if (!kinds.empty()) text += "and " + kinds + "\n";
    return text.empty() ? text : text + "  hint: use --json to list all\n";
  }

 private:
  struct Kind {
    std::size_t printed = 0;
    std::size_t more = 0;
    std::map<std::string, std::size_t> of_node;  ///< Printed findings.
  };
  Kind errors_;
  Kind others_;
  std::map<std::string, std::size_t> more_of_;  ///< By the folded names of nodes.
};

/// "   12 | text of the file", and the caret below it.
bool is_of_file(std::string_view line) {
  const std::size_t digits = line.find_first_not_of(" 0123456789");
  return digits != std::string_view::npos && digits >= 5 && line.substr(digits - 1).starts_with(" |");
}

std::string wrapped_finding(const std::string& text, const TextStyle& style) {
  std::string all;
  constexpr std::size_t kContinued = 4;
  for (const std::string_view line : split_lines(text)) {
    all += is_of_file(line) ? std::string(line) + "\n" : continued(line, kContinued, style);
  }
  return all;
}

}  // namespace

std::string diagnostics_text(const std::vector<Diagnostic>& diagnostics, std::string_view source,
                             const TextStyle& style) {
  const std::size_t quoted = style.verbose ? kLongestQuote : std::min(kLongestQuote, columns_of(style) - kAroundQuote);
  std::string text;
  Room room;
  for (SharedFinding& one : shared(diagnostics, style.quiet)) {
    if (room.takes(one)) text += wrapped_finding(render(std::move(one).whole(), source, quoted), style);
  }
  return text + room.rest();
}

}  // namespace sparkplan
