#pragma once

#include <cstddef>
#include <string>

#include "engine/model/cluster.h"
#include "engine/plan/report.h"

namespace sparkplan {

/// The most characters of a comment on a pull request: GitHub takes 65,536.
inline constexpr std::size_t kMostMarkdownCharacters = 65'000;

/// Pure. A plan as GitHub's Markdown: a heading, a summary table, problems, and the changes of each type folded. The
/// verdict and texts of nodes and of the file are in code elements, escaped: they cannot become markup, links or
/// mentions. for_others() has hidden secrets. What does not fit is left out, and the last line says how much. Each node
/// has an equal share of the space before the rest of any node is shown.
std::string to_markdown(const Report& report, const Cluster& cluster, std::size_t most = kMostMarkdownCharacters);

}  // namespace sparkplan
