#pragma once

namespace sparkplan {

/// The whole program: parses the command line, runs one command, returns the exit code.
int run_application(int argc, char** argv);

}  // namespace sparkplan
