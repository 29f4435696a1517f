#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

/// The settings of NCCL that a run of `tune` tries. Everything here is pure.
namespace sparkplan {

/// Variables of NCCL by name.
using NcclVariables = std::map<std::string, std::string>;

/// Values of the same variables: NCCL can have one of them, or make its own choice.
struct TuneKnob {
  std::string name;  ///< "channels"
  std::vector<NcclVariables> values;
};

/// The nodes as a first run shows them.
struct TuneGround {
  std::string network;                  ///< As NcclTransport::network; empty without a network.
  int nodes = 0;                        ///< At least one.
  std::set<std::string> declared = {};  ///< Variables that cluster.yaml sets or derives, on any node.
};

struct TuneCandidates {
  std::vector<TuneKnob> knobs;        ///< The one with the largest effect first.
  std::vector<std::string> declared;  ///< Variables that are no candidates, because cluster.yaml has them.
};

/// The network that more than half of the nodes report, else the first node's: one node alone does not decide
/// about the candidates of three.
std::string network_of_most(const std::vector<std::string>& by_node);

/// A knob with a declared variable is left out: the file's value stays. NCCL_NVLS_ENABLE is never a candidate, and
/// neither is a value that allows LL128: where NCCL does not choose that protocol itself, it can corrupt data.
TuneCandidates tune_candidates(const TuneGround& ground);

/// "NCCL_PROTO=Simple NCCL_BUFFSIZE=8388608"; "NCCL's own choice" without a variable.
std::string variables_text(const NcclVariables& variables);

/// `variables` with one value of a knob, in place of any other value of that knob.
NcclVariables with_value(NcclVariables variables, const TuneKnob& knob, const NcclVariables& value);

}  // namespace sparkplan
