#include "engine/report/checks/verify_verdict.h"

#include <map>
#include <optional>

#include "engine/core/text.h"
#include "engine/report/checks/check_report.h"
#include "engine/report/checks/matrix.h"
#include "engine/report/text/text_style.h"

namespace sparkplan {
namespace {

/// The half that a check is about: "A" for "A" and "A/cable"; nothing for other checks.
std::optional<char> half_of(const Check& check) {
  const std::string& what = check.what;
  if (!measures_a_half(check.level) || what.empty() || what[0] < 'A' || what[0] > 'Z') return std::nullopt;
  return what.size() == 1 || what[1] == '/' ? std::optional(what[0]) : std::nullopt;
}

/// "both halves", "half A", "all 4 halves"
std::string halves_text(std::size_t count, char first) {
  if (count == 1) return "half " + std::string(1, first);
  return count == 2 ? "both halves" : "all " + std::to_string(count) + " halves";
}

std::string trouble_text(const StatusCounts& counts) {
  if (counts.fail > 0) return counted(counts.fail, "check") + " failed";
  return counted(counts.warn, "warning");
}

/// The results of the halves, and of the checks that concern no half.
std::vector<std::string> findings_in(const std::vector<Check>& checks) {
  std::map<char, StatusCounts> by_half;
  StatusCounts rest;
  for (const Check& check : checks) {
    const auto half = half_of(check);
    (half ? by_half[*half] : rest).add(check.status);
  }
  std::vector<std::string> parts;
  std::size_t good = 0;
  char first_good = 'A';
  for (const auto& [half, counts] : by_half) {
    if (counts.fail + counts.warn > 0) {
      parts.push_back("half " + std::string(1, half) + ": " + trouble_text(counts));
    } else if (counts.pass > 0) {
      if (good++ == 0) first_good = half;
    }
  }
  if (good > 0) parts.insert(parts.begin(), halves_text(good, first_good) + " good");
  if (rest.fail + rest.warn > 0) parts.push_back((by_half.empty() ? "" : "other checks: ") + trouble_text(rest));
  if (parts.empty() && rest.pass > 0) parts.emplace_back("all checks passed");
  if (parts.empty()) parts.emplace_back("nothing was measured");
  return parts;
}

struct Slowest {
  const PairMatrix* matrix = nullptr;
  std::size_t from = 0;
  std::size_t to = 0;
  double value = 0;
};

std::optional<Slowest> slowest_in(const std::vector<PairMatrix>& matrices, Level level) {
  std::optional<Slowest> slowest;
  for (const PairMatrix& matrix : matrices) {
    if (matrix.level() != level || matrix.is_time()) continue;
    for (std::size_t from = 0; from < matrix.nodes().size(); ++from) {
      for (std::size_t to = 0; to < matrix.nodes().size(); ++to) {
        const PairCell* cell = matrix.at(from, to);
        if (cell == nullptr || !cell->value) continue;
        if (!slowest || *cell->value < slowest->value) slowest = Slowest{&matrix, from, to, *cell->value};
      }
    }
  }
  return slowest;
}

std::string slowest_pair(const std::vector<Check>& checks) {
  const auto matrices = pair_matrices(checks);
  for (const Level level : {Level::kNccl, Level::kRdma, Level::kTcp}) {
    const auto slowest = slowest_in(matrices, level);
    if (!slowest) continue;
    const auto& nodes = slowest->matrix->nodes();
    const std::string kind =
        level == Level::kNccl ? ""
                              : " (" + std::string(to_string(level)) + " " + printable(slowest->matrix->what()) + ")";
    return "; slowest pair " + nodes[slowest->from] + " -> " + nodes[slowest->to] + ", " + number_text(slowest->value) +
           " " + printable(slowest->matrix->unit()) + kind;
  }
  return "";
}

}  // namespace

std::string verdict_of(const VerifyReport& report) {
  std::size_t all = 0;
  std::size_t lost = 0;
  for (const NodeReport& node : report.run.nodes) {
    if (node.status == NodeStatus::kSkipped) continue;
    ++all;
    if (node.error) ++lost;
  }
  std::string text = lost > 0 ? std::to_string(all - lost) + " of " + counted(all, "node") : counted(all, "node");
  if (lost > 0) text += ", " + std::to_string(lost) + " not verified";
  text += ", " + join(findings_in(report.checks), ", ");
  return text + slowest_pair(report.checks) + (report.run.interrupted ? "; interrupted" : "");
}

}  // namespace sparkplan
