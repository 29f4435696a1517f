#include "engine/wire/job_messages.h"

#include <algorithm>
#include <limits>

#include "engine/core/ascii.h"
#include "engine/model/resource.h"
#include "engine/wire/job_record.h"

namespace sparkplan {
namespace {

constexpr std::size_t kMostArguments = 16'384;
constexpr std::size_t kMostVariables = 4096;
constexpr std::size_t kMostRanks = 256;
constexpr std::size_t kMostLeft = 256;
/// The most that the kernel accepts in one argument is 128 KiB.
constexpr std::size_t kLongestArgument = std::size_t{128} << 10;
constexpr std::size_t kLongestName = 255;
constexpr std::size_t kLongestSeenText = 80;
/// Base64 takes four bytes for three.
constexpr std::size_t kLongestPiece = kJobOutputPiece / 3 * 4 + 4;
constexpr std::int64_t kLongest = std::int64_t{366} * 24 * 3600 * 1000;
constexpr std::int64_t kMostRank = 1 << 20;

bool is_engine(const std::string& name) { return name.empty() || name == "docker" || name == "podman"; }

/// Also the name of a file: no "/" and no "." can be in it.
bool is_variable(const std::string& name) {
  return !name.empty() && !is_digit(name.front()) &&
         std::all_of(name.begin(), name.end(), [](char c) { return is_alphanumeric(c) || c == '_'; });
}

/// execve() takes texts that end at the first NUL.
bool has_nul(const std::string& text) { return text.find('\0') != std::string::npos; }

bool can_be_executed(const RankSpec& rank) {
  if (rank.argv.empty() || rank.argv.front().empty()) return false;
  if (std::any_of(rank.argv.begin(), rank.argv.end(), has_nul)) return false;
  return std::none_of(rank.environment.begin(), rank.environment.end(), [](const auto& entry) {
    return entry.first.empty() || has_nul(entry.first) || has_nul(entry.second) ||
           entry.first.find('=') != std::string::npos;
  });
}

}  // namespace

void list_fields(FieldVisitor& field, RankSpec& rank) {
  field("rank", rank.rank, kRequired.within(0, kMostRank));
  field("argv", rank.argv, kRequired.no_longer_than(kLongestArgument).at_most(kMostArguments));
  field("environment", rank.environment, kOptional.no_longer_than(kLongestArgument).at_most(kMostVariables));
  field("input", rank.input);
  if (field.reading()) field.check("argv", can_be_executed(rank), "expected texts that execve() takes");
}

void list_fields(FieldVisitor& field, StartJob& command) {
  field("id", command.id, kRequired);
  if (field.reading()) field.check("id", is_job_id(command.id), "expected the id of a job");
  field("ranks", command.ranks, kRequired.at_most(kMostRanks));
  field("directory", command.directory);
  field("time_limit_ms", command.time_limit_ms, kOptional.within(0, kLongest));
  field("grace_ms", command.grace_ms, kOptional.within(0, kLongest));
  field("together", command.together);
  field("hold", command.hold);
  field("secrets", command.secrets, kOptional.no_longer_than(kLongestName).at_most(kMostVariables));
  if (field.reading()) {
    const bool are_names = std::all_of(command.secrets.begin(), command.secrets.end(), is_variable);
    field.check("secrets", are_names, "expected names of variables");
  }
  field("container_engine", command.containers.engine, kShortText);
  if (field.reading()) field.check("container_engine", is_engine(command.containers.engine), "expected an engine");
  field("who", command.who, kShortText);
  // "command" is the name of the message itself.
  field("shown_command", command.command, kMessageText);
}

void list_fields(FieldVisitor& field, RankInput& command) {
  field("rank", command.rank, kRequired.within(0, kMostRank));
  field.base64("bytes", command.bytes, kRequired.no_longer_than(kLongestPiece));
}

void list_fields(FieldVisitor& field, RankStarted& answer) {
  field("rank", answer.rank, kRequired.within(0, kMostRank));
  field("pid", answer.pid, kRequired.within(1, std::numeric_limits<std::int32_t>::max()));
}

void list_fields(FieldVisitor& field, RankOutput& answer) {
  field("rank", answer.rank, kRequired.within(0, kMostRank));
  field("error", answer.error);
  field.base64("bytes", answer.bytes, kRequired.no_longer_than(kLongestPiece));
}

void list_fields(FieldVisitor& field, RankEnded& answer) {
  field("rank", answer.rank, kRequired.within(0, kMostRank));
  field("ending", answer.ending, kRequired);
  field("exit_code", answer.exit_code, kOptional.within(0, 255));
  field("signal", answer.signal, kOptional.within(1, 64));
  field("errno", answer.errno_value, kOptional.within(0, 4095));
  field("failed_step", answer.failed_step, kShortText);
  field("duration_ms", answer.duration_ms, kOptional.within(0, std::numeric_limits<std::int64_t>::max()));
}

void list_fields(FieldVisitor& field, SeenProcess& process) {
  field("pid", process.pid, kRequired.within(1, std::numeric_limits<std::int32_t>::max()));
  field("name", process.name, kOptional.cut_at(kLongestSeenText));
  field("state", process.state, kOptional.cut_at(kLongestSeenText));
  field("waits_in", process.waits_in, kOptional.cut_at(kLongestSeenText));
  field("cpu_ms", process.cpu_ms, kOptional.within(0, std::numeric_limits<std::int64_t>::max()));
}

void list_fields(FieldVisitor& field, SeenSocket& socket) {
  field("state", socket.state, kRequired);
  field("local", socket.local, kOptional.cut_at(kLongestSeenText));
  field("remote", socket.remote, kOptional.cut_at(kLongestSeenText));
}

void list_fields(FieldVisitor& field, SeenRank& rank) {
  field("rank", rank.rank, kRequired.within(-1, kMostRank));
  field("processes", rank.processes, kOptional.at_most(kMostSeenProcesses));
  field("sockets", rank.sockets, kOptional.at_most(kMostSeenSockets));
}

void list_fields(FieldVisitor& field, JobSeen& answer) {
  field("ranks", answer.ranks, kOptional.at_most(kMostRanks + 1));
}

void list_fields(FieldVisitor& field, JobFinished& answer) {
  field("left", answer.left, kOptional.within(1, std::numeric_limits<std::int32_t>::max()).at_most(kMostLeft));
  field("containers_left", answer.containers_left, kShortText.at_most(kMostLeft));
}

void list_fields(FieldVisitor& field, JobFailure& answer) { field("error", answer.error, kRequired); }

void list_fields(FieldVisitor& field, JobCommand& command) { field.tagged("command", command); }

void list_fields(FieldVisitor& field, JobAnswer& answer) { field.tagged("answer", answer); }

}  // namespace sparkplan
