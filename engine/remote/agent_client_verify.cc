// AgentClient: what `verify` asks.
#include "engine/remote/agent_client.h"

namespace sparkplan {
namespace {

/// One login that nobody answers.
constexpr std::chrono::seconds kLongestLogin{30};
/// What a server that is gone keeps waiting.
constexpr std::chrono::seconds kLongestRead{140};

}  // namespace

Result<OpenEarReply> AgentClient::open_ear(const OpenEarRequest& request) {
  SPARK_TRY(const auto body, call(request));
  return decode_open_ear_reply(body);
}

Result<CloseEarReply> AgentClient::close_ear(const CloseEarRequest& request) {
  SPARK_TRY(const auto body, call(request));
  return decode_close_ear_reply(body);
}

Result<void> AgentClient::send_datagrams(const SendDatagramsRequest& request) {
  return call(request).map([](const Value&) {});
}

Result<void> AgentClient::listen_to_cables(const ListenToCablesRequest& request) {
  return call(request).map([](const Value&) {});
}

Result<void> AgentClient::call_into_cables(const CallIntoCablesRequest& request) {
  return call(request).map([](const Value&) {});
}

Result<HearCablesReply> AgentClient::hear_cables() {
  SPARK_TRY(const auto body, call(HearCablesRequest{}));
  return decode_hear_cables_reply(body);
}

Result<MeasureTcpReply> AgentClient::measure_tcp(const MeasureTcpRequest& request) {
  SPARK_TRY(const auto body, call(request));
  return decode_measure_tcp_reply(body);
}

Result<ReadStorageReply> AgentClient::read_storage(const ReadStorageRequest& request) {
  SPARK_TRY(const auto body, call(request, options_.reply_timeout + kLongestRead));
  return decode_read_storage_reply(body);
}

Result<SshLoginReply> AgentClient::ssh_login(const SshLoginRequest& request) {
  const auto patience = options_.reply_timeout + kLongestLogin * request.targets.size();
  SPARK_TRY(const auto body, call(request, patience));
  SPARK_TRY(auto reply, decode_ssh_login_reply(body));
  if (reply.logins.size() == request.targets.size()) return reply;
  return failure(ErrorCode::kFailed, "the agent reported on " + std::to_string(reply.logins.size()) + " of " +
                                         std::to_string(request.targets.size()) + " logins");
}

Result<MeasurementsReply> AgentClient::measurements(const MeasurementsRequest& request) {
  SPARK_TRY(const auto body, call(request));
  return decode_measurements_reply(body);
}

}  // namespace sparkplan
