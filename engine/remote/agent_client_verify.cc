// AgentClient: what `verify` asks.
#include "engine/remote/agent_client.h"

namespace sparkplan {
Result<OpenEarReply> AgentClient::open_ear(const OpenEarRequest& request) {
  return ask(request, decode_open_ear_reply);
}

Result<CloseEarReply> AgentClient::close_ear(const CloseEarRequest& request) {
  return ask(request, decode_close_ear_reply);
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

Result<HearCablesReply> AgentClient::hear_cables() { return ask(HearCablesRequest{}, decode_hear_cables_reply); }

Result<MeasureTcpReply> AgentClient::measure_tcp(const MeasureTcpRequest& request) {
  return ask(request, decode_measure_tcp_reply);
}

Result<ReadStorageReply> AgentClient::read_storage(const ReadStorageRequest& request) {
  return ask(request, decode_read_storage_reply);
}

Result<SshLoginReply> AgentClient::ssh_login(const SshLoginRequest& request) {
  SPARK_TRY(auto reply, ask(request, decode_ssh_login_reply));
  if (reply.logins.size() == request.targets.size()) return reply;
  return failure(ErrorCode::kFailed, "the agent reported on " + std::to_string(reply.logins.size()) + " of " +
                                         std::to_string(request.targets.size()) + " logins");
}

Result<MeasurementsReply> AgentClient::measurements(const MeasurementsRequest& request) {
  return ask(request, decode_measurements_reply);
}

}  // namespace sparkplan
