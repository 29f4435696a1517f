#include "engine/wire/nccl_messages.h"

#include <array>
#include <cmath>
#include <utility>

#include "engine/core/bounded_text.h"
#include "engine/core/digest.h"
#include "engine/model/field_reader.h"
#include "engine/model/resource.h"

namespace sparkplan {
namespace {

constexpr std::array<std::pair<RankFault, std::string_view>, 10> kFaultNames{{
    {RankFault::kNoDriver, "no_driver"},
    {RankFault::kNoGpu, "no_gpu"},
    {RankFault::kNoLibrary, "no_library"},
    {RankFault::kNotNccl, "not_nccl"},
    {RankFault::kLibraryTooOld, "library_too_old"},
    {RankFault::kMemory, "memory"},
    {RankFault::kCuda, "cuda"},
    {RankFault::kNccl, "nccl"},
    {RankFault::kPeer, "peer"},
    {RankFault::kProtocol, "protocol"},
}};

Value encode_texts(const std::vector<std::string>& texts) {
  return encode_list(texts, [](const std::string& text) { return Value(text); });
}

Value encode_transport(const NcclTransport& transport) {
  return Value::map({{"network", transport.network},
                     {"devices", encode_texts(transport.devices)},
                     {"channels_ib", transport.channels_ib},
                     {"channels_socket", transport.channels_socket},
                     {"channels_local", transport.channels_local},
                     {"gpu_direct", transport.gpu_direct},
                     {"warnings", encode_texts(transport.warnings)}});
}

Result<NcclTransport> decode_transport(const Value& value) {
  FieldReader fields(value);
  NcclTransport transport;
  transport.network = cut_text(fields.text("network"), kLongestShortText);
  transport.devices = fields.list<std::string>("devices", decode_text);
  transport.channels_ib = fields.integer("channels_ib", 0);
  transport.channels_socket = fields.integer("channels_socket", 0);
  transport.channels_local = fields.integer("channels_local", 0);
  transport.gpu_direct = fields.boolean("gpu_direct", false);
  transport.warnings = fields.list<std::string>("warnings", decode_text);
  SPARK_CHECK(std::move(fields).check());
  return transport;
}

Result<Collective> decode_collective(const Value& value) {
  SPARK_TRY(const auto name, decode_text(value));
  if (const auto collective = collective_from(name)) return *collective;
  return failure(ErrorCode::kInvalidInput, "there is no collective " + name);
}

Result<RankFault> decode_fault(const Value& value) {
  SPARK_TRY(const auto name, decode_text(value));
  if (const auto fault = rank_fault_from(name)) return *fault;
  return failure(ErrorCode::kInvalidInput, "there is no fault " + name);
}

Result<std::string> decode_bytes(const Value& value) {
  SPARK_TRY(const auto text, decode_text(value));
  if (auto bytes = base64_decode(text)) return std::move(*bytes);
  return failure(ErrorCode::kInvalidInput, "that is no base64");
}

Result<double> decode_seconds(const Value& value) {
  if (const auto* seconds = value.real()) return *seconds;
  if (const auto* seconds = value.integer()) return static_cast<double>(*seconds);
  return failure(FieldReader::wrong_kind("number", value));
}

Value encode_body(const PrepareRank& command) {
  Value environment = Value::map();
  for (const auto& [name, value] : command.environment) environment.set(name, value);
  return Value::map({{"command", "prepare"},
                     {"device", command.device},
                     {"library", command.library},
                     {"environment", std::move(environment)},
                     {"make_id", command.make_id}});
}
Value encode_body(const JoinRank& command) {
  return Value::map(
      {{"command", "join"}, {"rank", command.rank}, {"ranks", command.ranks}, {"id", base64_encode(command.id)}});
}
Value encode_body(const RunCollective& command) {
  return Value::map({{"command", "run"},
                     {"collective", to_string(command.collective)},
                     {"bytes", command.bytes},
                     {"warm_up", command.warm_up},
                     {"iterations", command.iterations},
                     {"check", command.check},
                     {"pattern", command.pattern}});
}
Value encode_body(const EndRank&) { return Value::map({{"command", "end"}}); }

Value encode_body(const RankHello& answer) {
  return Value::map({{"answer", "hello"}, {"build", answer.build}, {"architecture", answer.architecture}});
}
Value encode_body(const PreparedRank& answer) {
  return Value::map({{"answer", "prepared"},
                     {"nccl_version", answer.nccl_version},
                     {"library", answer.library},
                     {"driver_version", answer.driver_version},
                     {"gpu", answer.gpu},
                     {"memory_free_bytes", answer.memory_free_bytes},
                     {"unified_memory", answer.unified_memory},
                     {"id", base64_encode(answer.id)},
                     {"other_conf_lines", encode_texts(answer.other_conf_lines)}});
}
Value encode_body(const JoinedRank& answer) {
  return Value::map({{"answer", "joined"}, {"transport", encode_transport(answer.transport)}});
}
Value encode_body(const CollectiveResult& answer) {
  return Value::map({{"answer", "result"},
                     {"bytes", answer.bytes},
                     {"seconds", answer.seconds},
                     {"wrong", answer.wrong},
                     {"first_wrong", answer.first_wrong},
                     {"transport", encode_transport(answer.transport)}});
}
Value encode_body(const RankFailure& answer) {
  return Value::map({{"answer", "failure"},
                     {"fault", to_string(answer.fault)},
                     {"error", encode(answer.error)},
                     {"transport", encode_transport(answer.transport)}});
}

Result<RankCommand> decode_prepare(FieldReader fields) {
  PrepareRank command;
  command.device = fields.integer("device", 0);
  command.library = fields.text("library");
  command.environment = fields.map<std::string, std::string>("environment", same_key, decode_text);
  command.make_id = fields.boolean("make_id", false);
  SPARK_CHECK(std::move(fields).check());
  return command;
}

Result<RankCommand> decode_join(FieldReader fields) {
  JoinRank command;
  command.rank = fields.require("rank").integer("rank", 0);
  command.ranks = fields.require("ranks").integer("ranks", 0);
  command.id = fields.require("id").object<std::string>("id", "", decode_bytes);
  SPARK_CHECK(std::move(fields).check());
  return command;
}

Result<RankCommand> decode_run(FieldReader fields) {
  RunCollective command;
  command.collective = fields.require("collective").object("collective", Collective::kAllReduce, decode_collective);
  command.bytes = fields.require("bytes").integer<std::int64_t>("bytes", 0);
  command.warm_up = fields.integer("warm_up", command.warm_up);
  command.iterations = fields.integer("iterations", command.iterations);
  command.check = fields.boolean("check", true);
  command.pattern = fields.integer<std::int64_t>("pattern", 0);
  SPARK_CHECK(std::move(fields).check());
  return command;
}

Result<RankAnswer> decode_prepared(FieldReader fields) {
  PreparedRank answer;
  answer.nccl_version = fields.integer("nccl_version", 0);
  answer.library = fields.text("library");
  answer.driver_version = fields.integer("driver_version", 0);
  answer.gpu = cut_text(fields.text("gpu"), kLongestShortText);
  answer.memory_free_bytes = fields.integer<std::int64_t>("memory_free_bytes", 0);
  answer.unified_memory = fields.boolean("unified_memory", false);
  answer.id = fields.object<std::string>("id", "", decode_bytes);
  answer.other_conf_lines = fields.list<std::string>("other_conf_lines", decode_text);
  SPARK_CHECK(std::move(fields).check());
  return answer;
}

Result<RankAnswer> decode_result(FieldReader fields) {
  CollectiveResult answer;
  answer.bytes = fields.require("bytes").integer<std::int64_t>("bytes", 0);
  answer.seconds = fields.require("seconds").object<double>("seconds", 0, decode_seconds);
  answer.wrong = fields.integer<std::int64_t>("wrong", 0);
  answer.first_wrong = cut_text(fields.text("first_wrong"), kLongestErrorMessage);
  answer.transport = fields.object<NcclTransport>("transport", {}, decode_transport);
  SPARK_CHECK(std::move(fields).check());
  if (answer.bytes <= 0 || answer.wrong < 0 || !std::isfinite(answer.seconds) || answer.seconds < 0) {
    return failure(ErrorCode::kInvalidInput, "a result that cannot be");
  }
  return answer;
}

Result<RankAnswer> decode_failure(FieldReader fields) {
  RankFailure answer;
  answer.fault = fields.require("fault").object("fault", RankFault::kProtocol, decode_fault);
  answer.error = fields.require("error").object<Error>("error", {}, decode_error);
  answer.transport = fields.object<NcclTransport>("transport", {}, decode_transport);
  SPARK_CHECK(std::move(fields).check());
  return answer;
}

}  // namespace

std::string_view to_string(RankFault fault) {
  for (const auto& [value, name] : kFaultNames) {
    if (value == fault) return name;
  }
  return "protocol";
}

std::optional<RankFault> rank_fault_from(std::string_view name) {
  for (const auto& [value, known] : kFaultNames) {
    if (known == name) return value;
  }
  return std::nullopt;
}

std::string nccl_version_text(int version) {
  // Two digits per part came with 2.9.
  const bool wide = version >= 10000;
  const int major = version / (wide ? 10000 : 1000);
  const int minor = version / 100 % (wide ? 100 : 10);
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(version % 100);
}

Value encode(const RankCommand& command) {
  return std::visit([](const auto& one) { return encode_body(one); }, command);
}
Value encode(const RankAnswer& answer) {
  return std::visit([](const auto& one) { return encode_body(one); }, answer);
}

Result<RankCommand> decode_rank_command(const Value& value) {
  const auto name = value.text_or("command", "");
  if (name == "prepare") return decode_prepare(FieldReader(value));
  if (name == "join") return decode_join(FieldReader(value));
  if (name == "run") return decode_run(FieldReader(value));
  if (name == "end") return EndRank{};
  return failure(ErrorCode::kInvalidInput, "malformed message: there is no command " + name);
}

Result<RankAnswer> decode_rank_answer(const Value& value) {
  const auto name = value.text_or("answer", "");
  if (name == "hello")
    return RankHello{cut_text(value.text_or("build", ""), kLongestShortText),
                     cut_text(value.text_or("architecture", ""), kLongestShortText)};
  if (name == "prepared") return decode_prepared(FieldReader(value));
  if (name == "result") return decode_result(FieldReader(value));
  if (name == "failure") return decode_failure(FieldReader(value));
  if (name == "joined") {
    FieldReader fields(value);
    JoinedRank answer{fields.object<NcclTransport>("transport", {}, decode_transport)};
    SPARK_CHECK(std::move(fields).check());
    return answer;
  }
  return failure(ErrorCode::kInvalidInput, "malformed message: there is no answer " + name);
}

}  // namespace sparkplan
