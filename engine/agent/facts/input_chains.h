#pragma once

#include <string_view>
#include <vector>

#include "engine/model/extended_facts.h"

/// How a packet filter handles a new TCP connection over IPv4 from another node to a port that the kernel chose. Only
/// the listing is read, and it is not evaluated: policies, and rules with at most an interface and a network. `verify
/// --level tcp` measures the rest. Everything in this header is pure.
namespace sparkplan {

/// The chains at hook input in the output of `nft list ruleset`. Source: nft(8).
std::vector<InputChainFacts> nft_input_chains(std::string_view ruleset);
/// Like nft_input_chains(), for the output of `iptables-save`. Source: iptables-save(8).
std::vector<InputChainFacts> iptables_input_chains(std::string_view rules);

}  // namespace sparkplan
