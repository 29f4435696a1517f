// The record of a job in a command line.
#include "engine/wire/job_record.h"

#include "engine/core/digest.h"
#include "engine/core/text.h"
#include "engine/model/fields.h"
#include "tests/support/catch.h"

namespace sparkplan {
namespace {

const JobRecord kRecord{"20260301T120000Z-4f9a1c07", "anna@laptop", "python3 train.py --lr 0.1"};

/// As /proc/PID/cmdline shows it: the room is filled with NUL.
std::string command_line(std::string room) {
  room.resize(kJobRecordRoom, '\0');
  return std::string("sparkplan-job\0--stdio\0", 22) + room + '\0';
}

}  // namespace

TEST_CASE("a record in a command line is read as it was written") {
  CHECK(job_record_in(command_line(text_of(kRecord))) == kRecord);
  const JobRecord odd{"a", "", " \xff\n'\"$(id)"};
  CHECK(job_record_in(command_line(text_of(odd))) == odd);
}

TEST_CASE("long texts and texts with NUL fit into the room") {
  const JobRecord long_one{std::string(5000, 'i'), std::string(5000, 'w'), std::string(50'000, 'c')};
  const auto text = text_of(long_one);
  CHECK(text.size() < kJobRecordRoom);
  const auto read = job_record_in(command_line(text));
  REQUIRE(read);
  CHECK(read->command.size() <= kLongestJobCommand);
  const JobRecord cut{"id", std::string("a\0b", 3), std::string("c\0job", 5)};
  CHECK(job_record_in(command_line(text_of(cut))) == JobRecord{"id", "a", cut.command});
}

TEST_CASE("pkill -f with a word of the command does not find the process starter") {
  CHECK(text_of(kRecord).find("train.py") == std::string::npos);
}

TEST_CASE("an id that could be taken for other words is not shown") {
  const std::string id = "4f9a of root (process 812) since 2026-03-01T12:00:00Z: train";
  const auto nul = std::string(1, '\0');
  const auto record = job_record_in(command_line("job" + nul + id + nul + "me" + nul + base64_encode("train") + nul));
  REQUIRE(record);
  CHECK(record->id == "?");
  auto job = Value::map({{"id", id}, {"user", "mallory"}, {"pid", std::int64_t{999}}});
  CHECK(decode<RunningJob>(job)->id == "?");
}

TEST_CASE("command lines without a record have none") {
  CHECK_FALSE(job_record_in(""));
  CHECK_FALSE(job_record_in(command_line(std::string(kJobRecordRoom, ' '))));
  CHECK_FALSE(job_record_in(command_line(std::string("job\0", 4))));
  CHECK_FALSE(job_record_in(std::string("sh\0-c\0job\0id\0who\0command\0", 25)));
  CHECK_FALSE(job_record_in(std::string("sparkplan-job\0--stdio\0job\0id", 28)));
  CHECK_FALSE(job_record_in(command_line(std::string("job\0id\0who\0%%%\0", 15))));
}

TEST_CASE("the texts of a job are cut and made safe for a terminal when they are read") {
  RunningJob job{
      "id\x1b[2J", "nvidia", 42, "2026-03-01T12:00:00Z", "anna", "line\n! spark-01: " + std::string(9000, 'x')};
  const auto read = decode<RunningJob>(encode(job));
  REQUIRE(read);
  CHECK(printable(read->id) == read->id);
  CHECK(printable(read->command) == read->command);
  CHECK(read->command.find('\n') == std::string::npos);
  CHECK(read->command.size() <= kLongestJobCommand);
  CHECK(read->pid == 42);
}

TEST_CASE("a job that is passed on stays the same") {
  const std::string controls(kLongestJobOwner, '\x1b');
  const RunningJob job{"j1", controls, 42, controls, controls, std::string(kLongestJobCommand, '\x1b')};
  const auto read = decode<RunningJob>(encode(job));
  REQUIRE(read);
  CHECK(read->who.size() <= kLongestJobOwner);
  CHECK(decode<RunningJob>(encode(*read)) == *read);
}

TEST_CASE("a refusal names the first job, counts the others and says the way past") {
  const RunningJob job{"j1", "nvidia", 42, "2026-03-01T12:00:00Z", "", "train"};
  const auto error = busy_with({job, job, job});
  CHECK(error.code == ErrorCode::kBusy);
  CHECK(error.message ==
        "disruptive changes are refused while a job runs: job j1 of nvidia (process 42) since "
        "2026-03-01T12:00:00Z: train, and 2 more");
  CHECK(error.hint.find("--ignore-jobs") != std::string::npos);
}

}  // namespace sparkplan
