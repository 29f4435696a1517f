#include "engine/agent/facts/extended_facts.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "engine/agent/kernel/netlink.h"
#include "engine/agent/node/ssh_session.h"
#include "engine/core/text.h"

namespace sparkplan {
namespace {

constexpr std::chrono::seconds kDeadline{10};

std::string first_words_of(const CommandOutput& output) {
  const auto text = trim(output.standard_error.empty() ? output.standard_output : output.standard_error);
  constexpr std::size_t kMost = 300;
  return "exit " + std::to_string(output.exit_status) + (text.empty() ? "" : ": " + std::string(text.substr(0, kMost)));
}

}  // namespace

Result<std::string> answer_of(const NodeReader& node, std::span<const std::string> argv) {
  SPARK_TRY(auto output, node.query(argv, kDeadline));
  if (output.exit_status == 0) return std::move(output.standard_output);
  return failure(ErrorCode::kUnsupported, argv.front() + ": " + first_words_of(output));
}

std::optional<std::string> printed_by(const NodeReader& node, std::span<const std::string> argv,
                                      const std::string& field, ExtendedFacts& facts) {
  auto answer = answer_of(node, argv);
  if (answer) return *std::move(answer);
  if (answer.error().code != ErrorCode::kNotFound) facts.unreadable[field] = answer.error().describe();
  return std::nullopt;
}

bool concerns_nccl(std::string_view variable) {
  constexpr std::array<std::string_view, 6> kPrefixes{"NCCL_", "UCX_", "OMPI_MCA_", "GLOO_", "TP_SOCKET_", "MN_IF_"};
  // No prefixes for these: VLLM_API_KEY is a secret.
  constexpr std::array<std::string_view, 6> kNames{"LD_PRELOAD",          "LD_LIBRARY_PATH",
                                                   "VLLM_HOST_IP",        "SGLANG_HOST_IP",
                                                   "RAY_NODE_IP_ADDRESS", "RAY_OVERRIDE_NODE_IP_ADDRESS"};
  if (std::find(kNames.begin(), kNames.end(), variable) != kNames.end()) return true;
  return std::any_of(kPrefixes.begin(), kPrefixes.end(), [&](auto prefix) { return variable.starts_with(prefix); });
}

ExtendedFacts extended(const NodeReader& node, const std::vector<LinkFacts>& links) {
  ExtendedFacts facts;
  if (node.live()) {
    read_login(node, ssh_session_process(), facts);
    read_programs(node, facts);
    read_firewall(node, facts);
    read_containers(node, facts);
    read_software(node, facts);
    if (auto neighbours = read_neighbours()) {
      facts.neighbours = std::move(*neighbours);
    } else {
      facts.unreadable["neighbours"] = neighbours.error().describe();
    }
  }
  read_files(node, links, facts);
  return facts;
}

}  // namespace sparkplan
