#pragma once

#include "engine/wire/job_record.h"

/// The job's record in the command line of this process, where root finds it in /proc/PID/cmdline.
namespace sparkplan::job {

/// Starts this program again, with one more argument of kJobRecordRoom blanks. Returns only if that fails: the job is
/// then not shown.
void start_again_with_room(char** argv);

/// `room` is that argument, and stays valid. Restores the name of the process, which the second start has changed.
void take_room(char* room);

/// Overwrites the room. Does nothing without one.
void show_record(const JobRecord& record);

/// Blanks the room, in a child that works for this process: the job is shown once.
void hide_record();

}  // namespace sparkplan::job
