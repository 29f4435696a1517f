#pragma once

#include <string>

#include "engine/cli/commands/commands.h"
#include "engine/cli/terminal/console.h"

namespace sparkplan {

struct DoctorCommandOptions {
  std::string file;
  bool json = false;
  SelectionOptions selection;
};
Result<ExitCode> run_doctor(const DoctorCommandOptions& options, const GlobalOptions& global, Console& console);

}  // namespace sparkplan
