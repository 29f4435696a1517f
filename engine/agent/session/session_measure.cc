// AgentSession: measurements of `verify`, except those over RDMA.
#include "engine/agent/facts/facts_reader.h"
#include "engine/agent/measure/measurements.h"
#include "engine/agent/measure/traffic_receiver.h"
#include "engine/agent/session/session.h"
#include "engine/agent/state/measurement_history.h"

namespace sparkplan {

Result<void> AgentSession::check_measurable() const {
  if (node_.live()) return {};
  return failure(ErrorCode::kUnsupported, "a directory tree runs nothing that could be measured");
}

Result<OpenReceiverReply> AgentSession::handle(const OpenReceiverRequest& request) {
  SPARK_CHECK(check_measurable());
  receiver_.reset();
  SPARK_TRY(receiver_, TrafficReceiver::open(request));
  return receiver_->ports();
}

Result<CloseReceiverReply> AgentSession::handle(const CloseReceiverRequest& request) {
  if (!receiver_) return failure(ErrorCode::kBug, "there is no receiver to be closed");
  auto reply = receiver_->await(request);
  receiver_.reset();
  return reply;
}

Result<void> AgentSession::handle(const SendDatagramsRequest& request) const {
  SPARK_CHECK(check_measurable());
  return send_datagrams(request);
}

Result<MeasureTcpReply> AgentSession::handle(const MeasureTcpRequest& request) const {
  SPARK_CHECK(check_measurable());
  return measure_tcp(request, stop_asked_);
}

Result<void> AgentSession::handle(const StartLinkProbeRequest& request) {
  SPARK_CHECK(check_measurable());
  link_probe_.reset();
  SPARK_TRY(auto opened, LinkProbe::open(request));
  link_probe_.emplace(std::move(opened));
  return {};
}

Result<void> AgentSession::handle(const SendLinkProbesRequest& request) {
  SPARK_CHECK(check_measurable());
  if (!link_probe_) return failure(ErrorCode::kBug, "no link probe was started");
  probed_as_ = request.node;
  link_probe_->send(probed_as_);
  return {};
}

Result<ReadLinkProbesReply> AgentSession::handle(const ReadLinkProbesRequest& request) {
  SPARK_CHECK(check_measurable());
  if (!link_probe_) return failure(ErrorCode::kBug, "no link probe was started");
  auto reply = link_probe_->read(probed_as_, request.senders);
  link_probe_.reset();
  return reply;
}

Result<SshLoginReply> AgentSession::handle(const SshLoginRequest& request) const {
  SPARK_CHECK(check_measurable());
  return try_logins(request, node_, stop_asked_);
}

Result<ReadStorageReply> AgentSession::handle(const ReadStorageRequest& request) const {
  SPARK_CHECK(check_measurable());
  return read_storage(request, node_);
}

Result<GpuErrorsReply> AgentSession::handle(const GpuErrorsRequest& /*request*/) const {
  SPARK_CHECK(check_measurable());
  return gpu_errors_in_kernel_log();
}

Result<MeasurementsReply> AgentSession::handle(const MeasurementsRequest& request) {
  return keep_measurements(request, node_);
}

Result<MeasurementHistoryReply> AgentSession::handle(const MeasurementHistoryRequest& /*request*/) const {
  return measurement_history(node_);
}

}  // namespace sparkplan
