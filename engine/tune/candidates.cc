#include "engine/tune/candidates.h"

#include <algorithm>
#include <utility>

#include "engine/core/text.h"

namespace sparkplan {
namespace {

constexpr std::string_view kRdma = "IB";
constexpr std::string_view kSockets = "Socket";
constexpr int kFewestForAlgorithms = 3;

/// Source: NCCL, src/transport/net_socket.cc: at most 16 threads, and 64 sockets in all. Except in two clouds, NCCL has
/// no helper thread and no further socket.
TuneKnob sockets_knob() {
  TuneKnob knob{"sockets", {}};
  for (const auto& [threads, sockets] : {std::pair("1", "2"), std::pair("2", "1"), std::pair("4", "1"),
                                         std::pair("2", "4"), std::pair("4", "4"), std::pair("2", "8")}) {
    knob.values.push_back({{"NCCL_SOCKET_NTHREADS", threads}, {"NCCL_NSOCKS_PERTHREAD", sockets}});
  }
  return knob;
}

TuneKnob queue_pairs_knob() {
  constexpr const char* kQueuePairs = "NCCL_IB_QPS_PER_CONNECTION";
  constexpr const char* kSplit = "NCCL_IB_SPLIT_DATA_ON_QPS";
  return {"queue pairs",
          {{{kQueuePairs, "2"}, {kSplit, "0"}},
           {{kQueuePairs, "4"}, {kSplit, "0"}},
           {{kQueuePairs, "2"}, {kSplit, "1"}},
           {{kQueuePairs, "4"}, {kSplit, "1"}}}};
}

std::vector<TuneKnob> all_knobs(const TuneGround& ground) {
  std::vector<TuneKnob> knobs;
  if (ground.network == kSockets) knobs.push_back(sockets_knob());
  if (ground.network == kRdma) knobs.push_back(queue_pairs_knob());
  knobs.push_back({"channels",
                   {{{"NCCL_MAX_NCHANNELS", "4"}},
                    {{"NCCL_MAX_NCHANNELS", "8"}},
                    {{"NCCL_MAX_NCHANNELS", "16"}},
                    {{"NCCL_MIN_NCHANNELS", "8"}},
                    {{"NCCL_MIN_NCHANNELS", "16"}}}});
  knobs.push_back({"protocol", {{{"NCCL_PROTO", "Simple"}}, {{"NCCL_PROTO", "LL,Simple"}}, {{"NCCL_PROTO", "LL"}}}});
  knobs.push_back({"buffers", {{{"NCCL_BUFFSIZE", "2097152"}}, {{"NCCL_BUFFSIZE", "8388608"}}}});
  // With two nodes, a ring and a tree are the same way.
  if (ground.nodes >= kFewestForAlgorithms) knobs.push_back({"algorithm", {{{"NCCL_ALGO", "Ring"}}}});
  knobs.push_back({"affinity", {{{"NCCL_IGNORE_CPU_AFFINITY", "1"}}}});
  return knobs;
}

}  // namespace

TuneCandidates tune_candidates(const TuneGround& ground) {
  TuneCandidates candidates;
  std::set<std::string> left_out;
  for (TuneKnob& knob : all_knobs(ground)) {
    bool free = true;
    for (const NcclVariables& value : knob.values) {
      for (const auto& variable : value) {
        if (!ground.declared.contains(variable.first)) continue;
        left_out.insert(variable.first);
        free = false;
      }
    }
    if (free) candidates.knobs.push_back(std::move(knob));
  }
  candidates.declared.assign(left_out.begin(), left_out.end());
  return candidates;
}

std::string network_of_most(const std::vector<std::string>& by_node) {
  for (const std::string& network : by_node) {
    const auto count = std::count(by_node.begin(), by_node.end(), network);
    if (static_cast<std::size_t>(count) * 2 > by_node.size()) return network;
  }
  return by_node.empty() ? "" : by_node.front();
}

std::string variables_text(const NcclVariables& variables) {
  std::vector<std::string> words;
  for (const auto& [name, value] : variables) words.push_back(name + "=" + value);
  return words.empty() ? "NCCL's own choice" : join(words, " ");
}

NcclVariables with_value(NcclVariables variables, const TuneKnob& knob, const NcclVariables& value) {
  for (const NcclVariables& other : knob.values) {
    for (const auto& variable : other) variables.erase(variable.first);
  }
  for (const auto& [name, text] : value) variables[name] = text;
  return variables;
}

}  // namespace sparkplan
