#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

/// Options and arguments from the command line: one type per command.
namespace sparkplan {

/// Options of every command.
struct GlobalOptions {
  std::string file;  ///< -f FILE: for commands that take a FILE.
  int verbosity = 0;
  bool quiet = false;
  bool no_color = false;
  std::string log_file;
  std::size_t workers = 16;
  std::chrono::milliseconds timeout{10'000};
  bool ask_become_pass = false;
};

struct SelectionOptions {
  std::vector<std::string> only;
  std::vector<std::string> exclude;
};

struct InitOptions {
  std::vector<std::string> hosts;  ///< [USER@]HOST[:PORT]
  bool discover = false;
  std::string output;  ///< Empty: the path that every command reads by default; "-": standard output.
};

struct ValidateOptions {
  std::string file;
  bool json = false;
};

struct PlanOptions {
  std::string file;
  std::string output;  ///< Where to save it; empty: nowhere.
  bool json = false;
  std::string format;  ///< "text", "json" or "markdown"; empty: text, or JSON with `json`.
  std::string report;  ///< Where to write an HTML page; empty: nowhere.
  bool detailed_exit_code = false;
  bool yes_prune = false;
  SelectionOptions selection;
};

/// The required signer of a saved plan.
struct SignerOptions {
  std::string identity;         ///< As in the file of allowed signers; empty: no signature is required.
  std::string allowed_signers;  ///< Empty: ~/.ssh/allowed_signers.

  bool wanted() const { return !identity.empty() || !allowed_signers.empty(); }
};

struct ShowOptions {
  std::string file;
  bool json = false;
  SignerOptions signer;
};

/// How disruptive changes are applied.
struct SafetyOptions {
  bool allow_management_change = false;
  bool no_safety_net = false;
  bool ignore_jobs = false;  ///< Also on nodes with a running job.
  std::chrono::milliseconds confirm_timeout{std::chrono::seconds(90)};
  std::size_t max_parallel = 0;  ///< 0: no limit.
};

struct ApplyCommandOptions {
  std::string file;  ///< A cluster.yaml or a saved plan.
  SignerOptions signer;
  bool json = false;
  bool yes = false;
  bool yes_prune = false;
  bool all_or_nothing = false;
  bool verify = false;  ///< Run all levels of `verify` afterwards.
  SafetyOptions safety;
  std::chrono::milliseconds lock_timeout{0};
  SelectionOptions selection;
};

struct VerifyCommandOptions {
  std::string file;
  std::string level;   ///< Empty: all.
  bool force = false;  ///< Also measure GPUs that programs use.
  std::string junit;   ///< Where to write JUnit XML; empty: nowhere.
  std::string report;  ///< Where to write an HTML page; empty: nowhere.
  bool history = false;
  std::string check;                            ///< With `history`: the id of a check; empty: all.
  std::optional<std::string> sizes = {};        ///< MIN:MAX[:FACTOR], of the level nccl.
  std::optional<std::string> collectives = {};  ///< "all", or names with commas.
  std::optional<std::string> ranks_per_node = {};
  std::optional<std::string> library = {};  ///< NCCL's file on the nodes.
  std::optional<std::string> image = {};    ///< Of a container with NCCL.
  bool json = false;

  bool has_nccl_flags() const { return sizes || collectives || ranks_per_node || library || image; }
  SelectionOptions selection;
};

struct TuneCommandOptions {
  std::string file;
  std::chrono::milliseconds budget{std::chrono::minutes(20)};
  bool force = false;  ///< Also measure nodes and GPUs that programs use.
  std::string output;  ///< Where to write the YAML fragment; empty: nowhere.
  std::string report;  ///< Where to write an HTML page; empty: nowhere.
  bool json = false;
  SelectionOptions selection;
};

struct DoctorCommandOptions {
  std::string file;
  bool json = false;
  std::string report;  ///< Where to write an HTML page; empty: nowhere.
  SelectionOptions selection;
};

struct ExecOptions {
  std::string file;
  std::vector<std::string> argv;
  std::string output_dir;  ///< Empty: the output is printed.
  std::chrono::milliseconds time_limit{0};
  bool json = false;
  SelectionOptions selection;
};

struct RunCommandOptions {
  std::string file;
  std::vector<std::string> argv;
  std::string ranks_per_node = "1";  ///< A number, or "gpus".
  std::string launcher = "none";
  std::vector<std::string> environment;  ///< NAME=VALUE
  std::string directory;
  std::string image;       ///< Empty: no container.
  std::string output_dir;  ///< Empty: the output is printed.
  int master_port = 29500;
  std::chrono::milliseconds time_limit{0};
  std::chrono::milliseconds grace{10'000};
  std::chrono::milliseconds watch{0};  ///< 0: the job is not watched.
  bool no_preflight = false;
  bool json = false;
  SelectionOptions selection;
};

struct DriftOptions {
  std::string file;
  bool json = false;
  bool syslog = false;
  bool pending = false;
  std::string textfile;
  std::chrono::milliseconds splay{0};
  SelectionOptions selection;
};

struct StatusOptions {
  std::string file;
  bool json = false;
};

struct FactsOptions {
  std::string node;
  std::string file;
  bool json = false;
};

struct ReleaseOptions {
  std::string node;
  std::string file;
  bool yes = false;
  bool forget = false;  ///< Do not contact it.
  SafetyOptions safety;
  std::chrono::milliseconds lock_timeout{0};
};

struct HistoryOptions {
  std::string node;  ///< Empty: all.
  std::string file;
  bool json = false;
};

struct RollbackOptions {
  std::vector<std::string> nodes;  ///< Empty: all nodes that took part in the last run.
  std::string file;
  bool yes = false;
  SafetyOptions safety;
  std::chrono::milliseconds lock_timeout{0};
};

struct UnlockOptions {
  std::string node;
  std::string file;
  bool yes = false;
};

struct ExportOptions {
  std::string file;
  std::string format;
  SelectionOptions selection;
};

struct SyncCommandOptions {
  std::string file;
  bool yes = false;
  bool dry_run = false;
  bool prune = false;
  bool encrypt = false;
  bool verify = false;
  bool json = false;
  std::string limit;  ///< A rate, for each node and direction; empty: none.
  SelectionOptions selection;
};

struct TrustOptions {
  std::string node;
  std::string file;
  bool yes = false;
};

}  // namespace sparkplan
