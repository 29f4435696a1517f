#pragma once

#include <optional>
#include <string>
#include <string_view>

/// Readers of files that a user passes to sparkplan: what fuzz_file begins with, without what works behind it.
namespace sparkplan::fuzz {

/// The text of a cluster.yaml, up to its tree.
void read_cluster_yaml(std::string_view text);

/// A saved plan; its digest is made to match.
void read_saved_plan(std::string_view text);

/// The saved plan with the digest that it needs, because the author of a forged plan can compute it. Nothing for a text
/// that is no saved plan.
std::optional<std::string> sealed_plan(std::string_view text);

}  // namespace sparkplan::fuzz
