#pragma once

#include "engine/report/exit_code.h"

namespace sparkplan {

/// The whole program: parses the command line, runs one command, returns the exit code.
ExitCode run_application(int argc, char** argv);

}  // namespace sparkplan
