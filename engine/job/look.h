#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/job/process_tree.h"
#include "engine/job/rank_process.h"
#include "engine/wire/job_messages.h"

/// The states of a job's processes. Only reads. Source: proc(5), Documentation/networking/proc_net_tcp.rst.
namespace sparkplan::job {

/// The connections without a working peer in the text of /proc/net/tcp or tcp6, by the inode of their socket. Pure.
std::map<std::string, SeenSocket> lonely_sockets(std::string_view table);

/// The processes and sockets of each rank that runs, and of the other processes with the mark `id`. All lists are
/// bounded. `containers`: the first process of each rank's container, which is not below the engine's client.
JobSeen look_at_job(const std::string& id, const std::vector<RankProcess>& ranks,
                    const std::map<int, pid_t>& containers);

}  // namespace sparkplan::job
