#pragma once

#include <string>
#include <vector>

#include "engine/cli/input/options.h"
#include "engine/cli/terminal/console.h"
#include "engine/core/result.h"
#include "engine/report/exit_code.h"

namespace sparkplan {

/// Each returns the exit code that docs/commands.md defines, or the error that ends the program. The caller prints the
/// error and exits with kUsage. `console` outlives the call.
Result<ExitCode> run_init(const InitOptions& options, const GlobalOptions& global, Console& console);
Result<ExitCode> run_validate(const ValidateOptions& options, const GlobalOptions& global, Console& console);
Result<ExitCode> run_plan(const PlanOptions& options, const GlobalOptions& global, Console& console);
/// "text", "json", "markdown": the values of its --format.
std::vector<std::string> plan_formats();
Result<ExitCode> run_show(const ShowOptions& options, Console& console);
Result<ExitCode> run_history(const HistoryOptions& options, const GlobalOptions& global, Console& console);
Result<ExitCode> run_rollback(const RollbackOptions& options, const GlobalOptions& global, Console& console);
Result<ExitCode> run_unlock(const UnlockOptions& options, const GlobalOptions& global, Console& console);
Result<ExitCode> run_apply(const ApplyCommandOptions& options, const GlobalOptions& global, Console& console);
Result<ExitCode> run_drift(const DriftOptions& options, const GlobalOptions& global, Console& console);
Result<ExitCode> run_verify(const VerifyCommandOptions& options, const GlobalOptions& global, Console& console);
Result<ExitCode> run_tune(const TuneCommandOptions& options, const GlobalOptions& global, Console& console);
Result<ExitCode> run_doctor(const DoctorCommandOptions& options, const GlobalOptions& global, Console& console);
Result<ExitCode> run_exec(const ExecOptions& options, const GlobalOptions& global, Console& console);
Result<ExitCode> run_job_command(const RunCommandOptions& options, const GlobalOptions& global, Console& console);
Result<ExitCode> run_status(const StatusOptions& options, const GlobalOptions& global, Console& console);
Result<ExitCode> run_facts(const FactsOptions& options, const GlobalOptions& global, Console& console);
Result<ExitCode> run_trust(const TrustOptions& options, const GlobalOptions& global, Console& console);
Result<ExitCode> run_release(const ReleaseOptions& options, const GlobalOptions& global, Console& console);
Result<ExitCode> run_export(const ExportOptions& options, Console& console);
Result<ExitCode> run_sync(const SyncCommandOptions& options, const GlobalOptions& global, Console& console);
Result<ExitCode> run_completion(const std::string& shell, Console& console);
Result<ExitCode> run_schema(Console& console);
Result<ExitCode> run_types(Console& console);
Result<ExitCode> run_version(Console& console);
Result<ExitCode> run_help(const std::string& command, Console& console);

/// The version of the program and the builds of the agents that it carries: lines, without the last newline.
std::string version_text();

}  // namespace sparkplan
