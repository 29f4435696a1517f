#pragma once

#include <string_view>
#include <vector>

#include "engine/model/extended_facts.h"

/// What a packet filter does with a new TCP connection over IPv4 from another node to a port that the kernel has
/// chosen, as far as its listing shows that without evaluating it: policies, and rules that name at most an interface
/// and a network. `verify --level tcp` measures the rest. Everything in this header is pure.
namespace sparkplan {

/// The chains at hook input in what `nft list ruleset` prints. Source: nft(8).
std::vector<InputChainFacts> nft_input_chains(std::string_view ruleset);
/// The same of `iptables-save`. Source: iptables-save(8).
std::vector<InputChainFacts> iptables_input_chains(std::string_view rules);

}  // namespace sparkplan
