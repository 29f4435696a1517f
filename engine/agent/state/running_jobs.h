#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/wire/job_record.h"

namespace sparkplan {

/// The jobs on this machine, by process id. A job is a process that shows a record. Its executable is the file
/// `starter`, by path, device and inode, or an earlier build that this file has replaced. The kernel attests
/// executable, user and start time; the record is what the starter's user wrote. At most kMostRunningJobs, by
/// fair_share() of the users. If an owner's process starters do not show their memory within a second, one of them is a
/// job without an id, whose command says so. Only root sees the jobs of other users. Source: proc(5).
std::vector<RunningJob> running_jobs(const std::string& starter = std::string(kJobStarterFile));

/// I/O, read-only. The user for whom the job of a process counts: "1001". A user may have the numbers of thousands of
/// other users in a namespace, and choose the login of a process without one. So a process in a namespace counts for
/// the user who has made it: "namespace of 1001". Empty for a process that has ended.
std::string owner_of_job(std::int64_t pid);

/// Pure. The places in `owners` of at most `most` things, in their order. Each owner gets one before any gets another
/// one, and so no owner keeps the first of another one out by many.
std::vector<std::size_t> fair_share(const std::vector<std::string>& owners, std::size_t most);

/// Pure. The name of a user in the text of /etc/passwd; "uid 1234" without an entry.
std::string user_named(std::string_view passwd, std::string_view uid);

}  // namespace sparkplan
