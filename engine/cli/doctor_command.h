#pragma once

#include <string>

#include "engine/cli/commands.h"
#include "engine/cli/terminal/console.h"

namespace sparkplan {

struct DoctorCommandOptions {
  std::string file;
  bool json = false;
  std::string report;  ///< Where to write an HTML page; empty: nowhere.
  SelectionOptions selection;
};
Result<ExitCode> run_doctor(const DoctorCommandOptions& options, const GlobalOptions& global, Console& console);

}  // namespace sparkplan
