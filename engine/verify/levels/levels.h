#pragma once

#include <vector>

#include "engine/verify/verify_context.h"

namespace sparkplan {

/// Runs context.options.levels, lowest first, and stores the checks in context.checks. A stop ends the run after the
/// current check.
void run_levels(VerifyContext& context);

/// Each half of each node's fabric: existence, state, carrier, declared MTU and address, and no other master.
std::vector<Check> verify_links(VerifyContext& context);
/// Part of level link: each half's cable, found by frames from node to node. Changes nothing, and no plan is based on
/// it.
std::vector<Check> verify_cables(VerifyContext& context);
/// Each half of each pair, both directions: does a small packet arrive, and one of the declared MTU unfragmented?
std::vector<Check> verify_mtu(VerifyContext& context);
/// Every node to every node as each user of ssh_trust, with strict host key checking and without a prompt.
std::vector<Check> verify_ssh(VerifyContext& context);
/// Each half of each pair, both directions: TCP throughput from agent to agent.
std::vector<Check> verify_tcp(VerifyContext& context);
/// Each half of each pair, both directions, and both halves at once: RDMA write bandwidth, latency, byte counters.
std::vector<Check> verify_rdma(VerifyContext& context);
/// Each node's GPUs under load: clock, reasons of a low one, power, temperature, calculation, memory, errors; and
/// whether the nodes are alike. Changes no setting.
std::vector<Check> verify_gpu(VerifyContext& context);
/// Every pair of nodes with a GPU, then all of them: bandwidth of NCCL's collectives.
std::vector<Check> verify_nccl(VerifyContext& context);
/// Declared storage: is it mounted from the declared source, can it be read, and how fast.
std::vector<Check> verify_storage(VerifyContext& context);

}  // namespace sparkplan
