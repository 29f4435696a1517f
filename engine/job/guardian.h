#pragma once

#include <string>

namespace sparkplan::job {

/// Splits this process in two. The parent, the guardian, never returns: it waits for the child, ends all processes that
/// the child has left, and exits with the child's status. The child returns from this call and starts the ranks. So no
/// rank remains if SIGKILL ends the child.
void start_guardian();

/// Tells the guardian the id of the job, and the engine of its containers, if it has any. With the id it also finds
/// processes that a service manager has adopted.
void name_job_to_guardian(const std::string& id, const std::string& container_engine);

}  // namespace sparkplan::job
