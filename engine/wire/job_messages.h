#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/core/result.h"
#include "engine/model/fields.h"
#include "engine/wire/build_id.h"
#include "engine/wire/job_record.h"

/// The messages between the controller and a process starter (program sparkplan-job), as frames. The starter greets
/// first. It ends its ranks when its input ends, or when no message arrives for kLongestJobSilence.
namespace sparkplan {

/// Milliseconds without a message after which each side considers the other one lost. Both send one each second.
inline constexpr std::int64_t kLongestJobSilence = 20'000;
inline constexpr std::int64_t kJobHeartbeat = 1'000;

/// The variable that marks all processes of a job.
inline constexpr std::string_view kJobVariable = "SPARKPLAN_JOB";

/// The most output or input in one message.
inline constexpr std::size_t kJobOutputPiece = std::size_t{48} << 10;

/// The starter's first message, sent without a request.
struct JobHello : ProgramHello {
  static constexpr std::string_view kName = "hello";
};

/// One process to start.
struct RankSpec {
  int rank = 0;
  std::vector<std::string> argv;                   ///< A name without '/' is searched in PATH.
  std::map<std::string, std::string> environment;  ///< Added to the login environment.
  bool input = false;                              ///< It reads what RankInput brings; else /dev/null.
};

/// The containers of a job: those with the label sparkplan.job=ID. Neither engine ends them with its client.
struct JobContainers {
  std::string engine;  ///< "docker" or "podman"; empty: the job has none.
};

/// Starts all ranks of this node. Sent once.
struct StartJob {
  static constexpr std::string_view kName = "start";
  std::string id;                  ///< Letters, digits and '-'. The value of kJobVariable.
  std::vector<RankSpec> ranks;     ///< Empty: nothing is started.
  std::string directory;           ///< The working directory; empty: the user's home.
  std::int64_t time_limit_ms = 0;  ///< 0: none.
  std::int64_t grace_ms = 10'000;  ///< Between SIGTERM and SIGKILL.
  bool together = false;           ///< The failure of one rank ends the others.
  std::string who = {};            ///< For JobRecord.
  std::string command = {};        ///< For JobRecord. Empty: the job is not shown to other runs.
  JobContainers containers = {};   ///< Removed at the end of the job.
  bool hold = false;               ///< Other programs start processes of the job here: it lasts until StopJob.
  /// Secret variables of `profile_env`. Their values never leave the node: the starter reads those of the login user.
  std::vector<std::string> secrets = {};
};

/// Nothing to do: the controller is alive.
struct KeepJob {
  static constexpr std::string_view kName = "keep";
};

/// Ends all ranks: SIGTERM, then SIGKILL after the grace.
struct StopJob {
  static constexpr std::string_view kName = "stop";
};

/// Asks what the processes of the job are doing: JobSeen. Nothing is stopped or changed.
struct LookAtJob {
  static constexpr std::string_view kName = "look";
};

/// Standard input for a rank with RankSpec::input. Bytes for a rank that has ended are dropped.
struct RankInput {
  static constexpr std::string_view kName = "input";
  int rank = 0;
  std::string bytes;  ///< At most kJobOutputPiece.
};
/// A rank that leaves more input unread than this fails the job.
inline constexpr std::size_t kMostUnreadInput = std::size_t{1} << 20;

struct RankStarted {
  static constexpr std::string_view kName = "started";
  int rank = 0;
  std::int64_t pid = 0;
};

struct RankOutput {
  static constexpr std::string_view kName = "output";
  int rank = 0;
  bool error = false;  ///< Of standard error.
  std::string bytes;   ///< At most kJobOutputPiece.
};

/// Why a rank ended.
enum class RankEnding : std::uint8_t {
  kExited,      ///< By itself, with an exit code or by a signal.
  kNotStarted,  ///< The command does not exist or cannot be executed; `errno_value` says why.
  kStopped,     ///< The starter ended it: a stop, the failure of another rank, or a lost controller.
  kTimeLimit,   ///< The starter ended it at the time limit.
};
constexpr EnumNames<4> names_of(RankEnding /*ending*/) { return {"exited", "not_started", "stopped", "time_limit"}; }

struct RankEnded {
  static constexpr std::string_view kName = "ended";
  int rank = 0;
  RankEnding ending = RankEnding::kExited;
  std::optional<int> exit_code;
  std::optional<int> signal;
  int errno_value = 0;
  std::string failed_step;  ///< Of kNotStarted: "execute", "change to the directory".
  std::int64_t duration_ms = 0;
};

/// No message for a second: the starter is alive.
struct JobAlive {
  static constexpr std::string_view kName = "alive";
};

/// A process of a job. Source: proc(5).
struct SeenProcess {
  std::int64_t pid = 0;
  std::string name;         ///< /proc/PID/comm
  std::string state;        ///< One letter: "S", "D", "T".
  std::string waits_in;     ///< /proc/PID/wchan; empty: it runs, or the kernel does not say.
  std::int64_t cpu_ms = 0;  ///< Processor time since its start.
};

/// Why a socket is a sign of a missing peer.
enum class SeenSocketState : std::uint8_t {
  kNoAnswer,        ///< The peer does not answer a connection request.
  kUnacknowledged,  ///< The peer does not acknowledge data, which is sent again.
  kClosedByPeer,    ///< The peer has closed the connection.
};
constexpr EnumNames<3> names_of(SeenSocketState /*state*/) { return {"no_answer", "unacknowledged", "closed_by_peer"}; }

/// A TCP connection of a job without a working peer.
struct SeenSocket {
  SeenSocketState state = SeenSocketState::kNoAnswer;
  std::string local;  ///< "192.168.100.11:43210", "[fe80::1]:29500"
  std::string remote;

  bool operator==(const SeenSocket&) const = default;
};

/// The processes of one rank, its own one first.
struct SeenRank {
  int rank = 0;  ///< -1: processes of the job that this starter has not started, such as those of mpirun.
  std::vector<SeenProcess> processes;
  std::vector<SeenSocket> sockets;
};
inline constexpr std::size_t kMostSeenProcesses = 32;  ///< Of one rank.
inline constexpr std::size_t kMostSeenSockets = 32;    ///< Of one rank.

/// The answer to LookAtJob. Ranks that have ended are left out.
struct JobSeen {
  static constexpr std::string_view kName = "seen";
  std::vector<SeenRank> ranks;
};

/// The last message: all ranks have ended, and all of their output was sent.
struct JobFinished {
  static constexpr std::string_view kName = "finished";
  std::vector<std::int64_t> left;            ///< Processes of the job that SIGKILL did not end, such as those of root.
  std::vector<std::string> containers_left;  ///< Their ids, or why they could not be read or removed.
};

/// The starter cannot do what was asked, and has ended.
struct JobFailure {
  static constexpr std::string_view kName = "failure";
  Error error;
};

using JobCommand = std::variant<StartJob, KeepJob, StopJob, LookAtJob, RankInput>;
using JobAnswer =
    std::variant<JobHello, RankStarted, RankOutput, RankEnded, JobAlive, JobSeen, JobFinished, JobFailure>;

void list_fields(FieldVisitor& field, RankSpec& rank);
void list_fields(FieldVisitor& field, StartJob& command);
void list_fields(FieldVisitor& field, RankInput& command);
void list_fields(FieldVisitor& field, RankStarted& answer);
void list_fields(FieldVisitor& field, RankOutput& answer);
void list_fields(FieldVisitor& field, RankEnded& answer);
void list_fields(FieldVisitor& field, SeenProcess& process);
void list_fields(FieldVisitor& field, SeenSocket& socket);
void list_fields(FieldVisitor& field, SeenRank& rank);
void list_fields(FieldVisitor& field, JobSeen& answer);
void list_fields(FieldVisitor& field, JobFinished& answer);
void list_fields(FieldVisitor& field, JobFailure& answer);
void list_fields(FieldVisitor& field, JobCommand& command);
void list_fields(FieldVisitor& field, JobAnswer& answer);

}  // namespace sparkplan
