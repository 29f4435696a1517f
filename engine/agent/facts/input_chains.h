#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/model/extended_facts.h"

/// How a packet filter handles a new TCP connection over IPv4 from another node to a port that the kernel chose, on
/// this node or on one behind it. The listing is not evaluated as a whole: policies count, and rules with at most an
/// interface and a network. `verify --level tcp` measures the rest. Everything in this header is pure.
namespace sparkplan {

/// The packets that a chain sees: those for this node, or those from one of its interfaces to another.
enum class Hook : std::uint8_t { kInput, kForward };

/// The chains at that hook in the output of `nft list ruleset`. Source: nft(8).
std::vector<InputChainFacts> nft_chains(std::string_view ruleset, Hook hook = Hook::kInput);
/// Like nft_chains(), for the output of `iptables-save`. Source: iptables-save(8).
std::vector<InputChainFacts> iptables_chains(std::string_view rules, Hook hook = Hook::kInput);

}  // namespace sparkplan
