// AgentClient: RDMA measurements.
#include "engine/remote/agent_client.h"

namespace sparkplan {

Result<RdmaEndpoint> AgentClient::rdma_open(const RdmaOpenRequest& request) {
  SPARK_TRY(const auto body, call(request));
  return decode_rdma_endpoint(body);
}

Result<void> AgentClient::rdma_connect(const RdmaConnectRequest& request) {
  return call(request).map([](const Value&) {});
}

Result<RdmaWriteReply> AgentClient::rdma_write(const RdmaWriteRequest& request) {
  SPARK_TRY(const auto body, call(request));
  SPARK_TRY(auto reply, decode_rdma_write_reply(body));
  if (reply.results.size() == request.sessions.size()) return reply;
  return failure(ErrorCode::kFailed, "the agent reported on " + std::to_string(reply.results.size()) + " of " +
                                         std::to_string(request.sessions.size()) + " RDMA sessions");
}

Result<RdmaLatencyReply> AgentClient::rdma_latency(const RdmaLatencyRequest& request) {
  SPARK_TRY(const auto body, call(request));
  return decode_rdma_latency_reply(body);
}

Result<RdmaCountersReply> AgentClient::rdma_counters(const RdmaCountersRequest& request) {
  SPARK_TRY(const auto body, call(request));
  return decode_rdma_counters_reply(body);
}

Result<void> AgentClient::rdma_close(const RdmaCloseRequest& request) {
  return call(request).map([](const Value&) {});
}

}  // namespace sparkplan
