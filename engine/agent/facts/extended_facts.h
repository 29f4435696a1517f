#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/facts.h"
#include "engine/node/node.h"

namespace sparkplan {

/// All of ExtendedFacts; for a node that is not live only the contents of files. Takes up to some seconds and starts
/// programs that change nothing. It has no errors: ExtendedFacts::unreadable lists what failed.
ExtendedFacts extended(const NodeReader& node, const std::vector<LinkFacts>& links);

/// Parts of extended(); each fills its own fields.
void read_files(const NodeReader& node, const std::vector<LinkFacts>& links, ExtendedFacts& facts);
void read_programs(const NodeReader& node, ExtendedFacts& facts);
void read_firewall(const NodeReader& node, ExtendedFacts& facts);
/// Docker, CDI and the GPU; needs `facts.login`.
void read_containers(const NodeReader& node, ExtendedFacts& facts);
/// Memory in use, kernels and packages.
void read_software(const NodeReader& node, ExtendedFacts& facts);
/// Pure. Adds a file in /dev/shm, within the bounds of the facts.
void count_shared_file(std::int64_t size, SharedMemoryFacts& memory);
/// `process`: "/proc/1234", the process that sshd started for this run; empty without sshd.
void read_login(const NodeReader& node, const std::string& process, ExtendedFacts& facts);

/// Adds the file's variables, or the reason why `text` is an error.
void read_nccl_file(const std::string& name, const Result<std::string>& text, ExtendedFacts& facts);

/// Pure. NCCL takes a line as it is: no blanks trimmed, no quotes removed; "#" in the first column is a comment.
/// Source: NCCL, src/misc/param.cc.
std::map<std::string, std::string> nccl_file_variables(std::string_view text);

/// The output of a program. Errors: kUnsupported for an exit status other than 0; those of NodeReader::query().
Result<std::string> answer_of(const NodeReader& node, std::span<const std::string> argv);

/// Like answer_of(); nothing without the program. Also nothing if it failed: `unreadable` then has the reason under
/// `field`.
std::optional<std::string> printed_by(const NodeReader& node, std::span<const std::string> argv,
                                      const std::string& field, ExtendedFacts& facts);

/// True for variables of NCCL, of related libraries such as UCX, of the loader, and for the addresses of launchers.
bool concerns_nccl(std::string_view variable);

/// The packets that a chain sees: those for this node, or those from one of its interfaces to another.
enum class Hook : std::uint8_t { kInput, kForward };

/// Pure. How a packet filter handles a new TCP connection over IPv4 from another node: the chains at that hook in the
/// output of `nft list ruleset`. The port is one that the kernel chose, on this node or on one behind it. The listing
/// is not evaluated as a whole: policies count, and rules with at most an interface and a network. `verify --level tcp`
/// measures the rest. Source: nft(8).
std::vector<InputChainFacts> nft_chains(std::string_view ruleset, Hook hook = Hook::kInput);
/// Like nft_chains(), for the output of `iptables-save`. Source: iptables-save(8).
std::vector<InputChainFacts> iptables_chains(std::string_view rules, Hook hook = Hook::kInput);

}  // namespace sparkplan
