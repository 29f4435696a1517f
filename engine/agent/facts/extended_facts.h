#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/facts.h"
#include "engine/node/node.h"

namespace sparkplan {

/// Everything of ExtendedFacts, of a node that is not live only what is kept in files. Takes up to some seconds and
/// starts programs, which change nothing; what could not be looked at is told, and never a reason to stop.
ExtendedFacts extended(const NodeReader& node, const std::vector<LinkFacts>& links);

/// The parts of it; each fills its own fields.
void read_files(const NodeReader& node, const std::vector<LinkFacts>& links, ExtendedFacts& facts);
void read_programs(const NodeReader& node, ExtendedFacts& facts);
void read_firewall(const NodeReader& node, ExtendedFacts& facts);
/// `process`: "/proc/1234", of the process that sshd has started for this run; empty when the run came another way.
void read_login(const NodeReader& node, const std::string& process, ExtendedFacts& facts);

/// Pure. NCCL takes a line as it is: no blanks trimmed, no quotes taken away; "#" in the first column is a comment.
/// Source: NCCL, src/misc/param.cc.
std::map<std::string, std::string> nccl_file_variables(std::string_view text);

/// What a program printed. Errors: kUnsupported: it ended with another status than 0; as of NodeReader::query().
Result<std::string> answer_of(const NodeReader& node, std::span<const std::string> argv);

/// As above; nothing when it is not there, or failed, which `unreadable` then tells under `field`.
std::optional<std::string> printed_by(const NodeReader& node, std::span<const std::string> argv,
                                      const std::string& field, ExtendedFacts& facts);

/// True of the variables that NCCL and what goes with it read, and of those that the loader reads.
bool concerns_nccl(std::string_view variable);

}  // namespace sparkplan
