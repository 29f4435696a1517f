#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/init/cluster_draft.h"
#include "engine/load/load.h"

namespace sparkplan::test {

/// A DGX Spark called spark-0NUMBER at 10.0.0.1NUMBER. Its four fabric interfaces have no addresses and an MTU of 1500;
/// the ports in `cabled` have a peer.
InitMachine bare_spark(int number, const std::vector<int>& cabled = {1});

/// The machine's interface of that name.
LinkFacts& link_of(InitMachine& machine, const std::string& name);

/// Gives an interface of the machine exactly that address.
void set_address(InitMachine& machine, const std::string& interface, const std::string& address, int mtu = 9000);

/// A machine that could not be read.
InitMachine unreachable(const std::string& address);

/// The machines of a cluster.yaml after an apply, with the manifests from that apply.
std::vector<InitMachine> applied(const Cluster& cluster);

/// The desired resources of a node, by id, as JSON.
std::map<std::string, std::string> asked_of(const Cluster& cluster, const NodeSpec& node, const Facts& facts);

/// The draft that init makes for these machines.
Result<DraftedFile> attempt(const std::vector<InitMachine>& machines);
bool has_remark(const DraftedFile& draft, const std::string& code);

/// The file for these machines; the test fails without one.
std::string draft_of(const std::vector<InitMachine>& machines);
Cluster loaded(const std::string& text);

/// The file without the line breaks inside its comments.
std::string unwrapped(std::string text);

/// The messages of the remarks with this code, each on a line.
std::string remarks_of(const DraftedFile& draft, const std::string& code);

bool contains(const std::string& text, const std::string& part);

}  // namespace sparkplan::test
