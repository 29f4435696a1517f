#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/wire/job_messages.h"

/// NCCL's own report of a job, at the status port of its ranks (RAS). From NCCL 2.24 on.
/// Source: NCCL, docs/userguide/source/troubleshooting/ras.rst.
namespace sparkplan {

/// The command that asks the ranks of a node, with the number `rank`. `environment` has the variables of a
/// rank: NCCL_RAS_ADDR moves the port. The command fails where no rank listens.
RankSpec nccl_status_question(int rank, const std::map<std::string, std::string>& environment);

/// The faults in an answer, such as "DEAD: 1 job process is considered dead; Process 42 on node ...". At most four,
/// safe for a terminal. Empty: none, or no answer of NCCL. Pure.
std::vector<std::string> nccl_faults_in(std::string_view answer);

}  // namespace sparkplan
