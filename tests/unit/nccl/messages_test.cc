// Messages between the controller and a rank keep their content on the way.
#include "engine/wire/nccl_messages.h"

#include "engine/core/json.h"
#include "tests/support/catch.h"

namespace sparkplan {
namespace {

/// As the receiver decodes it.
template <class Message>
Message sent(const Message& message, Result<Message> (*decode)(const Value&)) {
  const auto value = decode_json(encode_json(encode(message)));
  REQUIRE(value);
  auto decoded = decode(*value);
  REQUIRE(decoded);
  return *decoded;
}

RankCommand command_sent(const RankCommand& command) { return sent<RankCommand>(command, decode<RankCommand>); }
RankAnswer answer_sent(const RankAnswer& answer) { return sent<RankAnswer>(answer, decode<RankAnswer>); }

std::string unique_id() {
  std::string id;
  for (int i = 0; i < 128; ++i) id.push_back(static_cast<char>(i * 5));
  return id;
}

}  // namespace

TEST_CASE("commands survive the wire") {
  const auto prepare = std::get<PrepareRank>(command_sent(PrepareRank{3, "/opt/x", {{"NCCL_ALGO", "Ring"}}, true}));
  CHECK(prepare.device == 3);
  CHECK(prepare.library == "/opt/x");
  CHECK(prepare.environment == std::map<std::string, std::string>{{"NCCL_ALGO", "Ring"}});
  CHECK(prepare.make_id);
  const auto join = std::get<JoinRank>(command_sent(JoinRank{1, 2, unique_id()}));
  CHECK(join.rank == 1);
  CHECK(join.ranks == 2);
  CHECK(join.id == unique_id());
  const auto run = std::get<RunCollective>(
      command_sent(RunCollective{Collective::kAllToAll, 1 << 20, 1, 2, false, 9, true, true, 5}));
  CHECK(run.collective == Collective::kAllToAll);
  CHECK(run.bytes == 1 << 20);
  CHECK(run.warm_up == 1);
  CHECK(run.iterations == 2);
  CHECK_FALSE(run.check);
  CHECK(run.pattern == 9);
  CHECK(run.in_place);
  CHECK(run.host_clock);
  CHECK(run.batches == 5);
  CHECK(std::holds_alternative<EndRank>(command_sent(EndRank{})));
}

TEST_CASE("answers survive the wire") {
  const NcclTransport transport{"IB", {"rocep1s0f1"}, 4, 1, 2, true, {"a warning"}};
  const auto prepared = std::get<PreparedRank>(
      answer_sent(PreparedRank{22809, "/l", 13000, "GB10", 1 << 30, true, unique_id(), {"X"}, 8}));
  CHECK(prepared.gpus == 8);
  CHECK(prepared.nccl_version == 22809);
  CHECK(prepared.id == unique_id());
  CHECK(prepared.memory_free_bytes == 1 << 30);
  CHECK(prepared.unified_memory);
  CHECK(prepared.other_conf_lines == std::vector<std::string>{"X"});
  CHECK(std::get<JoinedRank>(answer_sent(JoinedRank{transport})).transport == transport);
  const auto result = std::get<CollectiveResult>(answer_sent(CollectiveResult{1024, 0.25, 3, "element 1", transport}));
  CHECK(result.bytes == 1024);
  CHECK(result.seconds == 0.25);
  CHECK(result.wrong == 3);
  CHECK(result.first_wrong == "element 1");
  const Error error{ErrorCode::kFailed, "no", {}, std::nullopt, "try"};
  const auto failure = std::get<RankFailure>(answer_sent(RankFailure{RankFault::kPeer, error, transport}));
  CHECK(failure.fault == RankFault::kPeer);
  CHECK(failure.error == error);
  CHECK(failure.transport == transport);
}

TEST_CASE("every fault has a unique name") {
  for (const auto fault :
       {RankFault::kNoDriver, RankFault::kNoGpu, RankFault::kNoLibrary, RankFault::kNotNccl, RankFault::kLibraryTooOld,
        RankFault::kMemory, RankFault::kCuda, RankFault::kNccl, RankFault::kPeer, RankFault::kProtocol}) {
    CHECK(value_named<RankFault>(to_string(fault)) == fault);
  }
}

TEST_CASE("an invalid message is refused") {
  for (const std::string text :
       {"{}", "[]", R"({"command": "dance"})", R"({"command": "join", "rank": 0, "ranks": 2})",
        R"({"command": "join", "rank": 0, "ranks": 2, "id": "*"})", R"({"command": "run", "collective": "x"})",
        R"({"command": "run", "collective": "all_reduce", "bytes": "many"})"}) {
    INFO(text);
    const auto value = decode_json(text);
    REQUIRE(value);
    CHECK_FALSE(decode<RankCommand>(*value));
    CHECK_FALSE(decode<RankAnswer>(*value));
  }
}

TEST_CASE("the time of an operation is a number of seconds that a rank can have waited") {
  const auto accepted = [](const std::string& seconds) {
    const auto value = decode_json(R"({"answer": "result", "bytes": 8, "seconds": )" + seconds + "}");
    return value && decode<RankAnswer>(*value).has_value();
  };
  CHECK(accepted("0.000008"));
  CHECK(accepted("120"));
  CHECK_FALSE(accepted("-1"));
  CHECK_FALSE(accepted("3601"));
  CHECK_FALSE(accepted("1e300"));
}

TEST_CASE("a rank's number of GPUs and its free memory are bounded") {
  const auto answer = [](const std::string& fields) {
    const auto value = decode_json(R"({"answer": "prepared", )" + fields + "}");
    REQUIRE(value);
    return decode<RankAnswer>(*value).has_value();
  };
  CHECK(answer(R"("gpus": 64, "memory_free_bytes": 0)"));
  CHECK_FALSE(answer(R"("gpus": 0)"));
  CHECK_FALSE(answer(R"("gpus": 65)"));
  CHECK_FALSE(answer(R"("memory_free_bytes": -1)"));
}

TEST_CASE("versions are printed as NCCL prints them") {
  CHECK(nccl_version_text(22809) == "2.28.9");
  CHECK(nccl_version_text(21005) == "2.10.5");
  CHECK(nccl_version_text(2708) == "2.7.8");
}

}  // namespace sparkplan
