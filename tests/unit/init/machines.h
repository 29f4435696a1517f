#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/init/cluster_draft.h"
#include "engine/load/load.h"

namespace sparkplan::test {

/// A DGX Spark called spark-0NUMBER at 10.0.0.1NUMBER: its four fabric interfaces without addresses, at an MTU of
/// 1500, and those of the ports in `cabled` with a peer.
InitMachine bare_spark(int number, const std::vector<int>& cabled = {1});

/// The machine's interface of that name.
LinkFacts& link_of(InitMachine& machine, const std::string& name);

/// Gives an interface of the machine that address and no other.
void set_address(InitMachine& machine, const std::string& interface, const std::string& address, int mtu = 9000);

/// One that could not be read.
InitMachine unreachable(const std::string& address);

/// The machines of a cluster.yaml after it was applied: with the manifests that an apply writes there.
std::vector<InitMachine> applied(const Cluster& cluster);

/// Everything that a file asks for on a node, by id, as JSON.
std::map<std::string, std::string> asked_of(const Cluster& cluster, const NodeSpec& node, const Facts& facts);

/// What init makes of these machines.
Result<DraftedFile> attempt(const std::vector<InitMachine>& machines);
bool has_remark(const DraftedFile& draft, const std::string& code);

/// The file for these machines, which has to be there.
std::string draft_of(const std::vector<InitMachine>& machines);
Cluster loaded(const std::string& text);

bool contains(const std::string& text, const std::string& part);

}  // namespace sparkplan::test
