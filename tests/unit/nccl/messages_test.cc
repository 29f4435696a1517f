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
  const auto prepare =
      std::get<PrepareRank>(command_sent(PrepareRank{3, "/opt/x", {{"NCCL_ALGO", "Ring"}}, true, true}));
  CHECK(prepare.device == 3);
  CHECK(prepare.library == "/opt/x");
  CHECK(prepare.environment == std::map<std::string, std::string>{{"NCCL_ALGO", "Ring"}});
  CHECK(prepare.make_id);
  CHECK(prepare.in_image);
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
      answer_sent(PreparedRank{22809, "/l", 13000, "GB10", 1 << 30, true, unique_id(), {"X"}, 8, "/p"}));
  CHECK(prepared.python_library == "/p");
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

TEST_CASE("a unique id of NCCL has its size and is not blank") {
  const auto accepts = [](const std::string& id) {
    PreparedRank prepared;
    prepared.id = id;
    const auto value = decode_json(encode_json(encode(RankAnswer(prepared))));
    REQUIRE(value);
    return decode<RankAnswer>(*value).has_value();
  };
  CHECK(accepts(""));  // Of a rank that was not asked for one.
  CHECK(accepts(unique_id()));
  CHECK_FALSE(accepts(unique_id().substr(1)));
  CHECK_FALSE(accepts(unique_id() + "x"));
  CHECK_FALSE(accepts(std::string(128, '\0')));
  CHECK_FALSE(accepts(std::string(1 << 20, 'x')));
}

TEST_CASE("the measurement of GPUs survives the wire") {
  const auto command = std::get<MeasureGpus>(command_sent(MeasureGpus{5000, true}));
  CHECK(command.load_ms == 5000);
  CHECK(command.force);
  GpuReport gpu;
  gpu.name = "NVIDIA GB10";
  gpu.bus = "000f:01:00.0";
  gpu.highest_mhz = 3003;
  gpu.power_limit_watts = 140.5;
  gpu.slowdown_celsius = 97;
  gpu.ecc_corrected = 1;
  gpu.ecc_uncorrected = 0;
  gpu.processes = {{7, "python3"}};
  gpu.processes_unknown = true;
  gpu.load = GpuLoad{50, 2400, 85.5, 70, 80, 0, kClockPowerCap, 28.5, 218.25, 1 << 28, 2};
  GpuReport bare;
  bare.trouble = GpuTrouble{GpuFault::kHangs, {ErrorCode::kFailed, "no", {}, std::nullopt, ""}};
  const auto answer = std::get<MeasuredGpus>(answer_sent(MeasuredGpus{"580.95.05", 13'000, "no NVML", {gpu, bare}}));
  CHECK(answer.driver == "580.95.05");
  CHECK(answer.cuda_version == 13'000);
  CHECK(answer.nvml_missing == "no NVML");
  REQUIRE(answer.gpus.size() == 2);
  const auto& arrived = answer.gpus[0];
  CHECK(arrived.name == gpu.name);
  CHECK(arrived.bus == gpu.bus);
  CHECK(arrived.highest_mhz == 3003);
  CHECK(arrived.power_limit_watts == 140.5);
  CHECK(arrived.slowdown_celsius == 97);
  CHECK(arrived.ecc_corrected == 1);
  CHECK(arrived.ecc_uncorrected == 0);
  CHECK(arrived.processes == gpu.processes);
  CHECK(arrived.processes_unknown);
  CHECK_FALSE(answer.gpus[1].processes_unknown);
  CHECK(arrived.load == gpu.load);
  CHECK_FALSE(arrived.trouble);
  CHECK_FALSE(answer.gpus[1].highest_mhz);
  CHECK_FALSE(answer.gpus[1].load);
  REQUIRE(answer.gpus[1].trouble);
  CHECK(answer.gpus[1].trouble->fault == GpuFault::kHangs);
  CHECK(answer.gpus[1].trouble->error.message == "no");
}

TEST_CASE("numbers that no GPU can have are refused") {
  const auto accepts = [](const std::string& load) {
    const auto text = R"({"answer": "gpus", "gpus": [{"name": "a", "load": {)" + load + "}}]}";
    const auto value = decode_json(text);
    REQUIRE(value);
    return decode<RankAnswer>(*value).has_value();
  };
  CHECK(accepts(R"("clock_mhz": 2400, "power_watts": 85.5, "teraflops": 28, "copy_gigabytes": 218)"));
  for (const std::string load :
       {R"("clock_mhz": -1)", R"("clock_mhz": 1000000)", R"("power_watts": -5)", R"("power_watts": 1e300)",
        R"("celsius": 100000)", R"("state": 99)", R"("teraflops": -1)", R"("copy_gigabytes": 1e12)", R"("wrong": -1)",
        R"("samples": "many")"}) {
    INFO(load);
    CHECK_FALSE(accepts(load));
  }
  Value list{Value::List{}};
  for (int i = 0; i < 65; ++i) list.push_back(Value::map({{"name", "a"}}));
  CHECK_FALSE(decode<RankAnswer>(Value::map({{"answer", "gpus"}, {"gpus", std::move(list)}})));
  const auto is_load = [](std::int64_t load_ms) {
    return decode<RankCommand>(Value::map({{"command", "measure_gpus"}, {"load_ms", load_ms}})).has_value();
  };
  CHECK(is_load(0));
  CHECK_FALSE(is_load(-1));
  CHECK_FALSE(is_load(10'000'000));
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
  // No measurement, and an infinite bandwidth.
  CHECK_FALSE(accepted("0"));
  CHECK_FALSE(accepted("1e-310"));
  CHECK_FALSE(accepted("3601"));
  CHECK_FALSE(accepted("1e300"));
}

TEST_CASE("a rank's numbers of channels are those of a machine, so that their sums are") {
  const auto accepted = [](const std::string& channels) {
    const auto value = decode_json(R"({"answer": "joined", "transport": {)" + channels + "}}");
    REQUIRE(value);
    return decode<RankAnswer>(*value).has_value();
  };
  CHECK(accepted(R"("channels_ib": 4, "channels_socket": 0, "channels_local": 2)"));
  for (const std::string name : {"channels_ib", "channels_socket", "channels_local"}) {
    CHECK_FALSE(accepted('"' + name + R"(": 2147483647)"));
    CHECK_FALSE(accepted('"' + name + R"(": -1)"));
  }
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
