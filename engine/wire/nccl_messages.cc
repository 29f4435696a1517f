#include "engine/wire/nccl_messages.h"

#include <algorithm>
#include <limits>

#include "engine/model/resource.h"

namespace sparkplan {
namespace {

constexpr std::size_t kMostRankVariables = 4096;
/// The most that the kernel accepts in one argument is 128 KiB.
constexpr std::size_t kLongestVariable = std::size_t{128} << 10;
constexpr std::size_t kMostDevices = 256;
constexpr double kLongestSeconds = 3600;  // The controller waits for minutes.
/// No operation is as short. A time of zero would be no measurement, and almost zero an infinite bandwidth.
constexpr double kShortestSeconds = 1e-9;
constexpr FieldRule kChannels = kOptional.within(0, 1'000'000);

}  // namespace

std::string nccl_version_text(int version) {
  // Two digits per part since 2.9.
  const bool wide = version >= 10000;
  const int major = version / (wide ? 10000 : 1000);
  const int minor = version / 100 % (wide ? 100 : 10);
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(version % 100);
}

bool is_unique_id(std::string_view bytes) {
  return bytes.size() == kUniqueIdBytes && std::ranges::any_of(bytes, [](char byte) { return byte != 0; });
}

void list_fields(FieldVisitor& field, PrepareRank& command) {
  field("device", command.device);
  field("library", command.library);
  field("environment", command.environment, kOptional.no_longer_than(kLongestVariable).at_most(kMostRankVariables));
  field("make_id", command.make_id);
  field("in_image", command.in_image);
}

void list_fields(FieldVisitor& field, PreparedRank& answer) {
  field("nccl_version", answer.nccl_version);
  field("library", answer.library, kMessageText);
  field("driver_version", answer.driver_version);
  field("gpu", answer.gpu, kShortText);
  field("memory_free_bytes", answer.memory_free_bytes, kOptional.within(0, std::numeric_limits<std::int64_t>::max()));
  field("unified_memory", answer.unified_memory);
  field.base64("id", answer.id);
  field.check("id", answer.id.empty() || is_unique_id(answer.id), "expected a unique id of NCCL");
  field("other_conf_lines", answer.other_conf_lines, kMessageText.at_most(kMostRankVariables));
  field("gpus", answer.gpus, kOptional.within(1, kMostGpus));
  field("python_library", answer.python_library, kMessageText);
}

void list_fields(FieldVisitor& field, JoinRank& command) {
  field("rank", command.rank, kRequired);
  field("ranks", command.ranks, kRequired);
  field.base64("id", command.id, kRequired);
}

void list_fields(FieldVisitor& field, NcclTransport& transport) {
  field("network", transport.network, kShortText);
  field("devices", transport.devices, kShortText.at_most(kMostDevices));
  field("channels_ib", transport.channels_ib, kChannels);
  field("channels_socket", transport.channels_socket, kChannels);
  field("channels_local", transport.channels_local, kChannels);
  field("gpu_direct", transport.gpu_direct);
  field("warnings", transport.warnings, kMessageText.at_most(kMostDevices));
}

void list_fields(FieldVisitor& field, JoinedRank& answer) { field("transport", answer.transport); }

void list_fields(FieldVisitor& field, RunCollective& command) {
  field("collective", command.collective, kRequired);
  field("bytes", command.bytes, kRequired);
  field("warm_up", command.warm_up);
  field("iterations", command.iterations);
  field("check", command.check);
  field("pattern", command.pattern);
  field("in_place", command.in_place);
  field("host_clock", command.host_clock);
  field("batches", command.batches);
}

void list_fields(FieldVisitor& field, CollectiveResult& answer) {
  constexpr std::int64_t kUnbounded = std::numeric_limits<std::int64_t>::max();
  field("bytes", answer.bytes, kRequired.within(1, kUnbounded));
  field("seconds", answer.seconds, kRequired);
  field.check("seconds", answer.seconds >= kShortestSeconds && answer.seconds <= kLongestSeconds, "expected a time");
  field("wrong", answer.wrong, kOptional.within(0, kUnbounded));
  field("first_wrong", answer.first_wrong, kMessageText);
  field("transport", answer.transport);
}

void list_fields(FieldVisitor& field, RankFailure& answer) {
  field("fault", answer.fault, kRequired);
  field("error", answer.error, kRequired);
  field("transport", answer.transport);
}

void list_fields(FieldVisitor& field, RankCommand& command) { field.tagged("command", command); }

void list_fields(FieldVisitor& field, RankAnswer& answer) { field.tagged("answer", answer); }

}  // namespace sparkplan
