// The messages between the controller and the process starter.
#include "engine/wire/job_messages.h"

#include "tests/support/catch.h"

namespace sparkplan {
namespace {

StartJob sample() {
  StartJob start;
  start.id = "20260301T120000Z-4f9a1c07";
  start.ranks.push_back({3, {"python3", "train.py"}, {{"RANK", "3"}}});
  start.time_limit_ms = 1000;
  start.secrets = {"HF_TOKEN"};
  start.who = "anna@laptop";
  start.command = "python3 train.py";
  return start;
}

bool is_accepted(const StartJob& start) { return decode<JobCommand>(encode(JobCommand(start))).has_value(); }

}  // namespace

TEST_CASE("a job arrives as it was sent") {
  const auto arrived = decode<JobCommand>(encode(JobCommand(sample())));
  REQUIRE(arrived);
  const auto& start = std::get<StartJob>(*arrived);
  CHECK(start.id == sample().id);
  REQUIRE(start.ranks.size() == 1);
  CHECK(start.ranks[0].argv == sample().ranks[0].argv);
  CHECK(start.ranks[0].environment == sample().ranks[0].environment);
  CHECK(start.time_limit_ms == 1000);
  CHECK(start.secrets == sample().secrets);
  CHECK(start.who == "anna@laptop");
  CHECK(start.command == "python3 train.py");
}

TEST_CASE("output of any bytes arrives unchanged, up to its bound") {
  RankOutput output{1, true, std::string(kJobOutputPiece, '\0')};
  output.bytes[7] = '\xff';
  const auto arrived = decode<JobAnswer>(encode(JobAnswer(output)));
  REQUIRE(arrived);
  CHECK(std::get<RankOutput>(*arrived).bytes == output.bytes);
  output.bytes.resize(kJobOutputPiece * 2);
  CHECK_FALSE(decode<JobAnswer>(encode(JobAnswer(output))));
}

TEST_CASE("input of any bytes arrives unchanged, up to its bound") {
  RankInput input{1, std::string(kJobOutputPiece, '\0')};
  input.bytes[7] = '\xff';
  const auto arrived = decode<JobCommand>(encode(JobCommand(input)));
  REQUIRE(arrived);
  CHECK(std::get<RankInput>(*arrived).bytes == input.bytes);
  input.bytes.resize(kJobOutputPiece * 2);
  CHECK_FALSE(decode<JobCommand>(encode(JobCommand(input))));
}

TEST_CASE("a job that execve() would misread is refused") {
  CHECK(is_accepted(sample()));
  const auto refused = [](auto spoil) {
    StartJob start = sample();
    spoil(start);
    return !is_accepted(start);
  };
  CHECK(refused([](StartJob& start) { start.ranks[0].argv.clear(); }));
  CHECK(refused([](StartJob& start) { start.ranks[0].argv[0] = ""; }));
  CHECK(refused([](StartJob& start) { start.ranks[0].argv[1] = std::string("a\0b", 3); }));
  CHECK(refused([](StartJob& start) { start.ranks[0].environment["A=B"] = "x"; }));
  CHECK(refused([](StartJob& start) { start.ranks[0].environment["A"] = std::string("a\0b", 3); }));
  CHECK(refused([](StartJob& start) { start.ranks[0].environment[""] = "x"; }));
  CHECK(refused([](StartJob& start) { start.id = "../../etc"; }));
  CHECK(refused([](StartJob& start) { start.id = ""; }));
  CHECK(refused([](StartJob& start) { start.ranks[0].rank = -1; }));
  CHECK(refused([](StartJob& start) { start.grace_ms = -1; }));
  for (const char* const name : {"", "A/B", "..", "1A", "A=B", "A B"}) {
    CHECK(refused([&](StartJob& start) { start.secrets = {name}; }));
  }
}

TEST_CASE("what a node shows of a job arrives within bounds, and nothing more") {
  JobSeen seen;
  seen.ranks.push_back({2, {{42, "python3", "S", "futex_wait_queue", 1500}}, {}});
  seen.ranks[0].sockets.push_back({SeenSocketState::kClosedByPeer, "10.0.0.1:1", "10.0.0.2:2"});
  const auto accepted = [](const JobSeen& one) { return decode<JobAnswer>(encode(JobAnswer(one))); };
  const auto arrived = accepted(seen);
  REQUIRE(arrived);
  const auto& rank = std::get<JobSeen>(*arrived).ranks.at(0);
  CHECK(rank.processes.at(0).waits_in == "futex_wait_queue");
  CHECK(rank.sockets.at(0) == seen.ranks[0].sockets[0]);
  seen.ranks[0].processes[0].name = std::string(10'000, 'x');
  const auto cut = accepted(seen);
  REQUIRE(cut);
  CHECK(std::get<JobSeen>(*cut).ranks[0].processes[0].name.size() < 100);
  seen.ranks[0].processes.resize(kMostSeenProcesses + 1, seen.ranks[0].processes[0]);
  CHECK_FALSE(accepted(seen));
  seen.ranks[0].processes.resize(1);
  seen.ranks[0].processes[0].pid = 0;
  CHECK_FALSE(accepted(seen));
  CHECK(std::holds_alternative<LookAtJob>(*decode<JobCommand>(encode(JobCommand(LookAtJob{})))));
}

TEST_CASE("an engine is docker, podman or none") {
  StartJob start = sample();
  for (const std::string name : {"", "docker", "podman"}) {
    start.containers.engine = name;
    CHECK(is_accepted(start));
  }
  start.containers.engine = "/bin/sh";
  CHECK_FALSE(is_accepted(start));
}

TEST_CASE("an end that no process can have is refused") {
  const auto accepted = [](std::optional<int> exit_code, std::optional<int> signal) {
    RankEnded ended;
    ended.exit_code = exit_code;
    ended.signal = signal;
    return decode<JobAnswer>(encode(JobAnswer(ended))).has_value();
  };
  CHECK(accepted(255, {}));
  CHECK(accepted({}, 9));
  CHECK_FALSE(accepted(256, {}));
  CHECK_FALSE(accepted(-1, {}));
  CHECK_FALSE(accepted({}, 0));
}

}  // namespace sparkplan
