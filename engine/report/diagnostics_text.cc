#include "engine/report/diagnostics_text.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "engine/core/text.h"

namespace sparkplan {
namespace {

constexpr std::size_t kMostOfAKind = 50;
constexpr std::size_t kAroundQuote = 14;        // "   12 | ", and "..." at both ends.
constexpr std::string_view kNodeName = "\x1f";  // Stands for the node's name. No printable text contains it.

/// Replaces `name` where it is a word of its own.
void replace_word(std::string& text, std::string_view name, std::string_view replacement) {
  const auto is_part_of_name = [&](std::size_t at) {
    const char byte = at < text.size() ? text[at] : ' ';
    return byte == '-' || byte == '_' || (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') ||
           (byte >= 'A' && byte <= 'Z');
  };
  for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at)) {
    const bool is_word = (at == 0 || !is_part_of_name(at - 1)) && !is_part_of_name(at + name.size());
    if (is_word) text.replace(at, name.size(), replacement);
    at += is_word ? replacement.size() : name.size();
  }
}

/// What the finding says, whatever node it is about. It may name that node.
Diagnostic without_node(Diagnostic diagnostic) {
  if (diagnostic.node.empty()) return diagnostic;
  for (std::string* text : {&diagnostic.message, &diagnostic.hint}) {
    *text = printable(*text);
    replace_word(*text, printable(diagnostic.node), kNodeName);
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
    replace_word(finding.message, kNodeName, finding.node);
    replace_word(finding.hint, kNodeName, finding.node);
    return std::move(finding);
  }
};

std::vector<SharedFinding> shared(const std::vector<Diagnostic>& diagnostics, bool errors_only) {
  std::vector<SharedFinding> findings;
  std::multimap<std::string, std::size_t> places;  // By message.
  for (const Diagnostic& diagnostic : diagnostics) {
    if (errors_only && diagnostic.severity != Severity::kError) continue;
    Diagnostic general = without_node(diagnostic);
    if (diagnostic.node.empty()) {
      findings.push_back({std::move(general), {}});
      continue;
    }
    const auto [first, last] = places.equal_range(general.message);
    const auto twin =
        std::find_if(first, last, [&](const auto& one) { return findings[one.second].finding == general; });
    if (twin != last) {
      findings[twin->second].nodes.push_back(printable(diagnostic.node));
      continue;
    }
    places.emplace(general.message, findings.size());
    findings.push_back({std::move(general), {printable(diagnostic.node)}});
  }
  return findings;
}

/// "   12 | text of the file", and the caret below it.
bool is_of_file(std::string_view line) {
  const std::size_t digits = line.find_first_not_of(" 0123456789");
  return digits != std::string_view::npos && digits >= 5 && line.substr(digits - 1).starts_with(" |");
}

std::string wrapped_finding(const std::string& text, const TextStyle& style) {
  std::string all;
  for (const std::string_view line : split_lines(text)) {
    if (is_of_file(line) || text_width(line) <= columns_of(style)) {
      all.append(line).append("\n");
      continue;
    }
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    std::string begin(indent, ' ');
    for (const std::string& piece : broken(line.substr(indent), columns_of(style) - 4)) {
      all.append(begin).append(piece).append("\n");
      begin.assign(4, ' ');
    }
  }
  return all;
}

}  // namespace

std::string diagnostics_text(const std::vector<Diagnostic>& diagnostics, std::string_view source,
                             const TextStyle& style) {
  const std::size_t quoted = style.verbose ? kLongestQuote : std::min(kLongestQuote, columns_of(style) - kAroundQuote);
  std::string text;
  std::size_t errors = 0;
  std::size_t others = 0;
  for (SharedFinding& one : shared(diagnostics, style.quiet)) {
    const bool is_error = one.finding.severity == Severity::kError;
    if (++(is_error ? errors : others) > kMostOfAKind) continue;
    text += wrapped_finding(render(std::move(one).whole(), source, quoted), style);
  }
  std::string rest;
  if (errors > kMostOfAKind) rest += counted(errors - kMostOfAKind, "more error");
  if (others > kMostOfAKind) rest += (rest.empty() ? "" : " and ") + counted(others - kMostOfAKind, "more warning");
  if (rest.empty()) return text;
  return text + "and " + rest + "\n  hint: use --json to list all\n";
}

}  // namespace sparkplan
