// The checks of NCCL's variables.
#include <algorithm>

#include "engine/core/diagnostic.h"
#include "engine/core/number_format.h"
#include "engine/core/text.h"
#include "engine/domain/nccl/nccl_variables.h"

namespace sparkplan {
namespace {

/// A name that NCCL last read before this release is an error; later ones are warnings, as the nodes may have that
/// NCCL.
constexpr NcclVersion kOldestInUse{2, 28, 3};
constexpr std::size_t kMostHcas = 32;  ///< Source: NCCL, src/transport/net_ib/init.cc: MAX_IB_DEVS.

/// True for a decimal or 0x number, as strtoll() with base 0 reads it.
bool is_number(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    text.remove_prefix(2);
    base = 16;
  }
  return parse_number<unsigned long long>(text, base).has_value();
}

std::string in_words(std::string_view alternatives) {
  std::string words;
  for (const auto one : split(alternatives, '|')) words += (words.empty() ? "" : ", ") + std::string(one);
  return words;
}

bool is_one_of(std::string_view word, std::string_view alternatives, bool any_case) {
  const auto all = split(alternatives, '|');
  return std::ranges::any_of(
      all, [&](std::string_view one) { return one == word || (any_case && lower_case(one) == lower_case(word)); });
}

/// The words of "Ring,Tree" or "^Tree" or "allreduce:Tree,Ring;broadcast:Ring".
std::vector<std::string_view> tokens_of(std::string_view text) {
  std::vector<std::string_view> tokens;
  for (auto part : split(text, ';')) {
    if (const auto colon = part.find(':'); colon != std::string_view::npos) part.remove_prefix(colon + 1);
    if (part.starts_with('^')) part.remove_prefix(1);
    for (const auto token : split(part, ',')) tokens.push_back(token);
  }
  return tokens;
}

/// The first word of a list that is not among the alternatives.
std::optional<std::string> stranger(const std::vector<std::string_view>& words, std::string_view alternatives) {
  for (auto word : words) {
    word = trim(word);
    if (word.starts_with('^')) word.remove_prefix(1);
    if (word.empty()) continue;  // NCCL ignores empty words.
    if (!is_one_of(word, alternatives, true)) return std::string(word);
  }
  return std::nullopt;
}

/// Why NCCL does not accept a value; empty if it does, or if the table has no rule.
std::string objection_to(std::string_view values, const std::string& value) {
  if (trim(value).empty()) return "";  // NCCL treats it as not set.
  const auto blank = values.find(' ');
  const std::string_view kind = values.substr(0, blank);
  const std::string_view words = blank == std::string_view::npos ? std::string_view() : values.substr(blank + 1);
  if (kind == "number") return is_number(value) ? "" : "takes a whole number and ignores any other value";
  if (kind == "exact") return is_one_of(value, words, false) ? "" : "takes one of " + in_words(words);
  if (kind == "word") return is_one_of(value, words, true) ? "" : "takes one of " + in_words(words);
  if (kind == "level") {
    return is_number(value) || is_one_of(value, words, false) ? "" : "takes one of " + in_words(words) + " or a number";
  }
  if (kind == "list" || kind == "tokens") {
    const auto strange = stranger(kind == "list" ? split(value, ',') : tokens_of(value), words);
    return strange ? "does not know \"" + printable(*strange) + "\": it takes " + in_words(words) : "";
  }
  if (kind == "hcas") {
    const auto devices = split(value, ',');
    if (devices.size() > kMostHcas) return "takes at most 32 devices";
    if (value == "=" || value == "^" || value == "^=") return "takes device names, separated by commas";
  }
  return "";
}

std::string nearest_name(const std::string& name) {
  std::vector<std::string> names;
  for (const NcclVariable& one : nccl_variables()) {
    if (one.reader == NcclReader::kCore) names.emplace_back(one.name);
  }
  const auto near = nearest(name, names);
  return near ? "did you mean " + *near + "?" : "delete it, or look up its name in the documentation of NCCL";
}

std::optional<Diagnostic> about_reader(const NcclAssignment& set, const NcclVariable* variable) {
  if (variable == nullptr || variable->reader == NcclReader::kNobody) {
    return finding(Severity::kError, "nccl.unknown-variable", "NCCL reads no variable " + printable(set.name),
                   variable != nullptr ? std::string(variable->values) : nearest_name(set.name), set.name_where);
  }
  if (variable->reader == NcclReader::kRemoved && variable->last) {
    const bool long_ago = *variable->last < kOldestInUse;
    return finding(
        long_ago ? Severity::kError : Severity::kWarning, "nccl.removed-variable",
        "NCCL does not read " + set.name + " any more: the last release that did is " + variable->last->str(),
        "delete it", set.name_where);
  }
  if (variable->reader == NcclReader::kPlugin) {
    return finding(Severity::kWarning, "nccl.plugin-variable",
                   set.name + " is read by an example plugin of NCCL, not by NCCL itself",
                   "without that plugin it does nothing", set.name_where);
  }
  if (variable->reader == NcclReader::kTests) {
    return finding(Severity::kWarning, "nccl.tests-variable",
                   set.name + " is read by the programs of nccl-tests, not by NCCL itself",
                   "set it where you start them", set.name_where);
  }
  return std::nullopt;
}

/// Settings that NCCL accepts but that should not be set.
std::optional<Diagnostic> about_habit(const NcclAssignment& set) {
  const auto warn = [&](const char* code, std::string message, std::string hint) {
    return finding(Severity::kWarning, code, std::move(message), std::move(hint), set.name_where);
  };
  if (set.name == "NCCL_IB_GID_INDEX") {
    return warn("nccl.gid-index", "a fixed NCCL_IB_GID_INDEX is wrong as soon as an address is added or removed",
                "leave it out: NCCL finds the index of the RoCE v2 address itself");
  }
  if (set.name == "NCCL_ALGO" || set.name == "NCCL_PROTO") {
    return warn("nccl.forced-choice", set.name + " keeps NCCL from choosing by message size and operation",
                "use it for measurements only; sparkplan sets what a ring of four or more nodes needs");
  }
  if (set.name == "NCCL_IB_TC") {
    return warn("nccl.traffic-class", "NCCL_IB_TC has an effect only if all switches know that traffic class",
                "leave it out unless PFC and ECN are set up for it");
  }
  return std::nullopt;
}

std::optional<Diagnostic> about_value(const NcclAssignment& set, const NcclVariable* variable) {
  if (variable == nullptr || variable->reader != NcclReader::kCore || variable->values.empty()) return std::nullopt;
  std::string objection = objection_to(variable->values, set.value);
  if (objection.empty()) return std::nullopt;
  return finding(Severity::kError, "nccl.bad-value", set.name + " " + objection, "", set.value_where);
}

/// NCCL_DEBUG=VERSION prints one line; messages of NCCL_DEBUG_SUBSYS are printed from INFO on.
std::optional<Diagnostic> about_debug(const std::vector<NcclAssignment>& environment) {
  const auto named = [&](std::string_view name) {
    return std::find_if(environment.begin(), environment.end(), [&](const auto& set) { return set.name == name; });
  };
  const auto level = named("NCCL_DEBUG");
  const auto parts = named("NCCL_DEBUG_SUBSYS");
  if (level == environment.end() || parts == environment.end()) return std::nullopt;
  if (!is_one_of(level->value, "VERSION|WARN", true)) return std::nullopt;
  return finding(Severity::kWarning, "nccl.debug-without-effect",
                 "NCCL_DEBUG_SUBSYS has no effect with NCCL_DEBUG: " + printable(level->value),
                 "write NCCL_DEBUG: INFO, or leave NCCL_DEBUG_SUBSYS out", parts->name_where);
}

std::string lack_of(NcclNeeds needs) {
  switch (needs) {
    case NcclNeeds::kGpuDirect:
      return "a GB10 has no GPUDirect RDMA";
    case NcclNeeds::kNvlinkSwitch:
      return "a GB10 has no NVLink switch";
    case NcclNeeds::kSecondGpu:
      return "there is only one GPU";
    case NcclNeeds::kNothing:
      break;
  }
  return "";
}

}  // namespace

std::vector<Diagnostic> lint_nccl(const std::vector<NcclAssignment>& environment) {
  std::vector<Diagnostic> findings;
  for (const NcclAssignment& set : environment) {
    if (!set.name.starts_with("NCCL_")) continue;
    const NcclVariable* variable = find_nccl_variable(set.name);
    for (auto& one : {about_reader(set, variable), about_habit(set), about_value(set, variable)}) {
      if (one) findings.push_back(*one);
    }
  }
  if (auto one = about_debug(environment)) findings.push_back(*std::move(one));
  return findings;
}

std::vector<Diagnostic> lint_nccl_on_node(const NcclAssignment& set, std::optional<NcclVersion> installed,
                                          bool is_spark, const std::string& product) {
  std::vector<Diagnostic> findings;
  const NcclVariable* variable = find_nccl_variable(set.name);
  if (variable == nullptr) return findings;
  if (installed && variable->since && *installed < *variable->since) {
    findings.push_back(finding(
        Severity::kError, "nccl.too-new",
        set.name + " is read from NCCL " + variable->since->str() + " on, but this node has " + installed->str(),
        "install a newer NCCL there, name one in nccl: {library: ...}, or delete the variable", set.name_where));
  }
  if (installed && variable->reader == NcclReader::kRemoved && variable->last && *installed > *variable->last) {
    findings.push_back(
        finding(Severity::kError, "nccl.removed-variable",
                set.name + " is read up to NCCL " + variable->last->str() + ", but this node has " + installed->str(),
                "delete it", set.name_where));
  }
  if (is_spark && variable->needs != NcclNeeds::kNothing) {
    findings.push_back(
        finding(Severity::kWarning, "nccl.no-effect-here",
                set.name + " does nothing here: " + lack_of(variable->needs) + " (product: " + printable(product) + ")",
                "delete it", set.name_where));
  }
  return findings;
}

}  // namespace sparkplan
