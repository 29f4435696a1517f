#include "engine/wire/measure_messages.h"

#include <algorithm>
#include <limits>
#include <string>

#include "engine/wire/facts_messages.h"

namespace sparkplan {
namespace {

constexpr std::int64_t kMostPort = 65'535;
constexpr std::int64_t kLongestPatience = 30'000;
constexpr std::int64_t kMostStreams = 64;
constexpr std::size_t kMostInterfaces = 256;
constexpr std::size_t kMostProbes = 65'536;
constexpr std::size_t kMostSenders = 4096;
/// All names and ports of all other nodes.
constexpr std::size_t kMostTargets = 65'536;
/// All checks of a node with all other nodes; also the earlier values of one check.
constexpr std::size_t kMostMeasurements = 65'536;
/// The values of one check, or the runs, that a node stores.
constexpr std::size_t kMostStoredValues = 1024;
constexpr std::size_t kMostVersions = 16;
constexpr std::int64_t kMostRuns = std::numeric_limits<std::int64_t>::max();
/// Of one node in one run of `verify`.
constexpr std::int64_t kMostChecks = 1'000'000;
/// The longest name of a node or of an interface.
constexpr std::size_t kLongestNodeName = 255;

constexpr FieldRule kPort = kRequired.within(1, kMostPort);
constexpr ListRule kPacketSizes = kRequired.within(0, 65'535).at_most(256);
constexpr std::string_view kNameRequirement = "expected one line of 1 to 255 bytes";

bool is_name(const std::string& text) {
  return !text.empty() && text.size() <= kLongestNodeName && text.find('\n') == std::string::npos;
}

void list_name(FieldVisitor& field, std::string_view key, std::string& name) {
  field(key, name, kRequired);
  field.check(key, is_name(name), kNameRequirement);
}

void list_token(FieldVisitor& field, std::string& token) {
  constexpr std::size_t kTokenBytes = 32;
  field("token", token, kRequired);
  field.check("token", token.size() == kTokenBytes, "expected 32 bytes");
}

}  // namespace

void list_fields(FieldVisitor& field, TrafficEndpoint& end) {
  field("address", end.address);
  field("interface", end.interface);
}

void list_fields(FieldVisitor& field, OpenReceiverReply& reply) {
  field("port", reply.port, kPort);
  field("datagram_port", reply.datagram_port, kPort);
}

void list_fields(FieldVisitor& field, OpenReceiverRequest& request) {
  field("at", request.at, kRequired);
  field("peer", request.peer);
  list_token(field, request.token);
}

void list_fields(FieldVisitor& field, CloseReceiverReply& reply) { field("heard", reply.received, kPacketSizes); }

void list_fields(FieldVisitor& field, CloseReceiverRequest& request) {
  field("awaited", request.awaited, kPacketSizes);
  field("patience_ms", request.patience_ms, kOptional.within(0, kLongestPatience));
}

void list_fields(FieldVisitor& field, SendDatagramsRequest& request) {
  field("from", request.from, kRequired);
  field("address", request.address);
  field("port", request.port, kPort);
  list_token(field, request.token);
  field("sizes", request.sizes, kPacketSizes);
}

void list_fields(FieldVisitor& field, MeasureTcpReply& reply) {
  field("outcome", reply.outcome, kRequired);
  field("reason", reply.reason, kMessageText);
  field("bytes", reply.bytes);
  field("nanoseconds", reply.nanoseconds);
}

void list_fields(FieldVisitor& field, MeasureTcpRequest& request) {
  field("from", request.from, kRequired);
  field("address", request.address);
  field("port", request.port, kPort);
  list_token(field, request.token);
  field("streams", request.streams, kRequired.within(1, kMostStreams));
  field("duration_ms", request.duration_ms, kRequired.within(1, kLongestPatience));
}

void list_fields(FieldVisitor& field, StartLinkProbeRequest& request) {
  field("interfaces", request.interfaces, kRequired.at_most(kMostInterfaces));
  field.check("interfaces", std::all_of(request.interfaces.begin(), request.interfaces.end(), is_name),
              kNameRequirement);
  list_token(field, request.token);
}

void list_fields(FieldVisitor& field, SendLinkProbesRequest& request) { list_name(field, "node", request.node); }

void list_fields(FieldVisitor& field, ReadLinkProbesRequest& request) {
  field("senders", request.senders,
        kOptional.no_longer_than(kDigestLength).unless(request.senders.empty()).at_most(kMostSenders));
}

void list_fields(FieldVisitor& field, ReceivedProbe& probe) {
  list_name(field, "at", probe.at);
  list_name(field, "node", probe.node);
  list_name(field, "interface", probe.interface);
}

void list_fields(FieldVisitor& field, ReadLinkProbesReply& reply) {
  field("calls", reply.received, kRequired.at_most(kMostProbes));
  field("mute", reply.send_errors, kOptional.at_most(kMostInterfaces));
  const bool are_names = std::all_of(reply.send_errors.begin(), reply.send_errors.end(),
                                     [](const auto& entry) { return is_name(entry.first); });
  field.check("mute", are_names, kNameRequirement);
  field("overrun", reply.overrun, kOptional.at_most(kMostInterfaces));
  field.check("overrun", std::all_of(reply.overrun.begin(), reply.overrun.end(), is_name), kNameRequirement);
}

void list_fields(FieldVisitor& field, SshLoginReply::Login& login) {
  field("succeeded", login.succeeded);
  field("complaint", login.complaint, kMessageText);
}

void list_fields(FieldVisitor& field, SshLoginReply& reply) {
  field("logins", reply.logins, kRequired.at_most(kMostTargets));
}

void list_fields(FieldVisitor& field, SshLoginRequest::Target& target) {
  field("host", target.host, kRequired);
  field.check("host", !target.host.empty(), "expected a name or an address");
  field("port", target.port, kPort);
}

void list_fields(FieldVisitor& field, SshLoginRequest& request) {
  field("user", request.user);
  field("targets", request.targets, kRequired.at_most(kMostTargets));
}

void list_fields(FieldVisitor& field, VerifySummary& summary) {
  field("time", summary.time, kShortText);
  field("level", summary.level, kShortText);
  field("passed", summary.passed, kOptional.within(0, kMostChecks));
  field("warned", summary.warned, kOptional.within(0, kMostChecks));
  field("failed", summary.failed, kOptional.within(0, kMostChecks));
}

void list_fields(FieldVisitor& field, MeasurementsReply& reply) {
  field("earlier", reply.earlier, kRequired.at_most(kMostMeasurements));
  field("set_aside", reply.set_aside);
}

void list_fields(FieldVisitor& field, MeasurementsRequest& request) {
  field("values", request.values, kRequired.at_most(kMostMeasurements));
  field("summary", request.summary);
  field("run", request.run, kShortText);
  field("versions", request.versions, kShortText.at_most(kMostVersions));
}

void list_fields(FieldVisitor& field, MeasuredRun& run) {
  field("number", run.number, kRequired.within(1, kMostRuns));
  field("run", run.run, kShortText);
  field("versions", run.versions, kShortText.at_most(kMostVersions));
}

void list_fields(FieldVisitor& field, StoredValues& stored) {
  field("values", stored.values, kRequired.at_most(kMostStoredValues));
  field("runs", stored.runs, kRequired.within(0, kMostRuns).at_most(kMostStoredValues));
}

void list_fields(FieldVisitor& field, MeasurementHistoryReply& reply) {
  field("runs", reply.runs, kRequired.at_most(kMostStoredValues));
  field("checks", reply.checks, kRequired.at_most(kMostRepliedChecks));
  if (!field.reading()) return;
  std::size_t values = 0;
  for (const auto& [id, stored] : reply.checks) values += stored.values.size();
  field.check("checks", values <= kMostRepliedValues,
              "expected at most " + std::to_string(kMostRepliedValues) + " values of all checks");
}

void list_fields(FieldVisitor& field, ReadStorageReply& reply) {
  field("complaint", reply.complaint, kMessageText);
  field("unmeasured", reply.unmeasured, kMessageText);
  field("what", reply.what, kMessageText);
  field("bytes", reply.bytes);
  field("nanoseconds", reply.nanoseconds);
  field("direct", reply.direct);
}

void list_fields(FieldVisitor& field, ReadStorageRequest& request) {
  field("target", request.target, kRequired);
  field.check("target", request.target.starts_with('/'), "expected an absolute path");
}

void list_fields(FieldVisitor& field, GpuError& error) {
  field("xid", error.xid, kRequired.within(0, kMostXid));
  field("line", error.line, kShortText);
}

void list_fields(FieldVisitor& field, GpuErrorsReply& reply) {
  field("count", reply.count, kRequired.within(0, std::numeric_limits<std::int64_t>::max()));
  field("errors", reply.errors, kRequired.at_most(kMostGpuErrors));
  field("since_boot", reply.since_boot);
}

}  // namespace sparkplan
