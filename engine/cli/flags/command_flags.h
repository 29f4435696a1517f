#pragma once

#include "engine/cli/flags/command_line.h"

namespace sparkplan {

/// Each adds one command of that name, with its arguments, flags and help. `line` outlives `app`.
void add_init(CLI::App& app, CommandLine& line);
void add_validate(CLI::App& app, CommandLine& line);
void add_plan(CLI::App& app, CommandLine& line);
void add_show(CLI::App& app, CommandLine& line);
void add_apply(CLI::App& app, CommandLine& line);
void add_drift(CLI::App& app, CommandLine& line);
void add_verify(CLI::App& app, CommandLine& line);
void add_tune(CLI::App& app, CommandLine& line);
void add_doctor(CLI::App& app, CommandLine& line);
void add_sync(CLI::App& app, CommandLine& line);
void add_history(CLI::App& app, CommandLine& line);
void add_rollback(CLI::App& app, CommandLine& line);
void add_unlock(CLI::App& app, CommandLine& line);
void add_release(CLI::App& app, CommandLine& line);
void add_trust(CLI::App& app, CommandLine& line);
void add_status(CLI::App& app, CommandLine& line);
void add_facts(CLI::App& app, CommandLine& line);
void add_export(CLI::App& app, CommandLine& line);
void add_completion(CLI::App& app, CommandLine& line);
void add_help(CLI::App& app, CommandLine& line);
void add_schema(CLI::App& app, CommandLine& line);
void add_types(CLI::App& app, CommandLine& line);
void add_version(CLI::App& app, CommandLine& line);
void add_exec(CLI::App& app, CommandLine& line);
void add_run(CLI::App& app, CommandLine& line);

}  // namespace sparkplan
