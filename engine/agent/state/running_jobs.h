#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/wire/job_record.h"

namespace sparkplan {

/// The jobs on this machine, by process id. A job is a process that shows a record. Its executable is the file
/// `starter`, by path, device and inode, or an earlier build that this file has replaced. The kernel attests
/// executable, user and start time; the record is what the starter's user wrote. At most kMostRunningJobs. Only root
/// sees the jobs of other users. Source: proc(5).
std::vector<RunningJob> running_jobs(const std::string& starter = std::string(kJobStarterFile));

/// Pure. The name of a user in the text of /etc/passwd; "uid 1234" without an entry.
std::string user_named(std::string_view passwd, std::string_view uid);

}  // namespace sparkplan
