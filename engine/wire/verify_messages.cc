#include "engine/wire/verify_messages.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "engine/core/bounded_text.h"

namespace sparkplan {
namespace {

constexpr std::int64_t kMaxPort = 65'535;
constexpr std::int64_t kMaxPacket = 65'535;
constexpr std::int64_t kMaxPatience = 30'000;
constexpr std::int64_t kMaxStreams = 64;
constexpr std::size_t kMaxSizes = 256;
constexpr std::size_t kTokenLength = 32;

constexpr std::array<std::pair<TcpOutcome, std::string_view>, 5> kOutcomeNames{{{TcpOutcome::kDone, "done"},
                                                                                {TcpOutcome::kRefused, "refused"},
                                                                                {TcpOutcome::kDropped, "dropped"},
                                                                                {TcpOutcome::kNoRoute, "no_route"},
                                                                                {TcpOutcome::kBroken, "broken"}}};

tl::unexpected<Error> malformed(std::string_view what) {
  return failure(ErrorCode::kInvalidInput, "malformed message: " + std::string(what));
}

bool within(std::int64_t number, std::int64_t least, std::int64_t most) { return number >= least && number <= most; }

Value encode_way_end(const WayEnd& end) { return Value::map({{"address", end.address}, {"interface", end.interface}}); }

Result<WayEnd> decode_way_end(const Value* value) {
  if (value == nullptr || !value->is_map()) return malformed("an end of a way");
  return WayEnd{value->text_or("address", ""), value->text_or("interface", "")};
}

Value encode_sizes(const std::vector<std::int64_t>& sizes) {
  Value::List items(sizes.begin(), sizes.end());
  return Value(std::move(items));
}

Result<std::vector<std::int64_t>> decode_sizes(const Value* value) {
  if (value == nullptr || value->list_items() == nullptr) return malformed("sizes");
  std::vector<std::int64_t> sizes;
  for (const auto& item : *value->list_items()) {
    if (item.integer() == nullptr || !within(*item.integer(), 0, kMaxPacket)) return malformed("a size");
    sizes.push_back(*item.integer());
  }
  if (sizes.size() > kMaxSizes) return malformed("too many sizes");
  return sizes;
}

/// A whole number is one, too.
std::optional<double> number_in(const Value& value) {
  if (value.real() != nullptr) return *value.real();
  if (value.integer() != nullptr) return static_cast<double>(*value.integer());
  return std::nullopt;
}

}  // namespace

std::string_view to_string(TcpOutcome outcome) { return kOutcomeNames[static_cast<std::size_t>(outcome)].second; }

Value encode_body(const OpenEarRequest& request) {
  return Value::map(
      {{"request", "open_ear"}, {"at", encode_way_end(request.at)}, {"peer", request.peer}, {"token", request.token}});
}

Result<OpenEarRequest> decode_open_ear_request(const Value& value) {
  OpenEarRequest request;
  SPARK_TRY(request.at, decode_way_end(value.find("at")));
  request.peer = value.text_or("peer", "");
  request.token = value.text_or("token", "");
  if (request.token.size() != kTokenLength) return malformed("token");
  return request;
}

Value encode(const OpenEarReply& reply) {
  return Value::map({{"port", reply.port}, {"datagram_port", reply.datagram_port}});
}

Result<OpenEarReply> decode_open_ear_reply(const Value& value) {
  OpenEarReply reply{value.integer_or("port", 0), value.integer_or("datagram_port", 0)};
  if (!within(reply.port, 1, kMaxPort) || !within(reply.datagram_port, 1, kMaxPort)) return malformed("ports");
  return reply;
}

Value encode_body(const CloseEarRequest& request) {
  return Value::map(
      {{"request", "close_ear"}, {"awaited", encode_sizes(request.awaited)}, {"patience_ms", request.patience_ms}});
}

Result<CloseEarRequest> decode_close_ear_request(const Value& value) {
  CloseEarRequest request;
  SPARK_TRY(request.awaited, decode_sizes(value.find("awaited")));
  request.patience_ms = value.integer_or("patience_ms", 0);
  if (!within(request.patience_ms, 0, kMaxPatience)) return malformed("patience_ms");
  return request;
}

Value encode(const CloseEarReply& reply) { return Value::map({{"heard", encode_sizes(reply.heard)}}); }

Result<CloseEarReply> decode_close_ear_reply(const Value& value) {
  CloseEarReply reply;
  SPARK_TRY(reply.heard, decode_sizes(value.find("heard")));
  return reply;
}

Value encode_body(const SendDatagramsRequest& request) {
  return Value::map({{"request", "send_datagrams"},
                     {"from", encode_way_end(request.from)},
                     {"address", request.address},
                     {"port", request.port},
                     {"token", request.token},
                     {"sizes", encode_sizes(request.sizes)}});
}

Result<SendDatagramsRequest> decode_send_datagrams_request(const Value& value) {
  SendDatagramsRequest request;
  SPARK_TRY(request.from, decode_way_end(value.find("from")));
  request.address = value.text_or("address", "");
  request.port = value.integer_or("port", 0);
  request.token = value.text_or("token", "");
  SPARK_TRY(request.sizes, decode_sizes(value.find("sizes")));
  if (request.token.size() != kTokenLength || !within(request.port, 1, kMaxPort)) return malformed("datagrams");
  return request;
}

Value encode_body(const MeasureTcpRequest& request) {
  return Value::map({{"request", "measure_tcp"},
                     {"from", encode_way_end(request.from)},
                     {"address", request.address},
                     {"port", request.port},
                     {"token", request.token},
                     {"streams", request.streams},
                     {"duration_ms", request.duration_ms}});
}

Result<MeasureTcpRequest> decode_measure_tcp_request(const Value& value) {
  MeasureTcpRequest request;
  SPARK_TRY(request.from, decode_way_end(value.find("from")));
  request.address = value.text_or("address", "");
  request.port = value.integer_or("port", 0);
  request.token = value.text_or("token", "");
  request.streams = value.integer_or("streams", 0);
  request.duration_ms = value.integer_or("duration_ms", 0);
  const bool sane = request.token.size() == kTokenLength && within(request.port, 1, kMaxPort) &&
                    within(request.streams, 1, kMaxStreams) && within(request.duration_ms, 1, kMaxPatience);
  if (!sane) return malformed("measure_tcp");
  return request;
}

Value encode(const MeasureTcpReply& reply) {
  return Value::map({{"outcome", to_string(reply.outcome)},
                     {"reason", reply.reason},
                     {"bytes", reply.bytes},
                     {"nanoseconds", reply.nanoseconds}});
}

Result<MeasureTcpReply> decode_measure_tcp_reply(const Value& value) {
  const auto name = value.text_or("outcome", "");
  const auto* known =
      std::find_if(kOutcomeNames.begin(), kOutcomeNames.end(), [&](const auto& entry) { return entry.second == name; });
  if (known == kOutcomeNames.end()) return malformed("outcome");
  return MeasureTcpReply{known->first, cut_text(value.text_or("reason", ""), kLongestErrorMessage),
                         value.integer_or("bytes", 0), value.integer_or("nanoseconds", 0)};
}

Value encode_body(const SshLoginRequest& request) {
  Value targets{Value::List{}};
  for (const auto& target : request.targets) {
    targets.push_back(Value::map({{"host", target.host}, {"port", target.port}}));
  }
  return Value::map({{"request", "ssh_login"}, {"user", request.user}, {"targets", std::move(targets)}});
}

Result<SshLoginRequest> decode_ssh_login_request(const Value& value) {
  const auto* targets = value.find("targets");
  if (targets == nullptr || targets->list_items() == nullptr) return malformed("targets");
  SshLoginRequest request{value.text_or("user", ""), {}};
  for (const auto& one : *targets->list_items()) {
    SshLoginRequest::Target target{one.text_or("host", ""), one.integer_or("port", 0)};
    if (target.host.empty() || !within(target.port, 1, kMaxPort)) return malformed("a target");
    request.targets.push_back(std::move(target));
  }
  return request;
}

Value encode(const SshLoginReply& reply) {
  Value logins{Value::List{}};
  for (const auto& login : reply.logins) {
    logins.push_back(Value::map({{"succeeded", login.succeeded}, {"complaint", login.complaint}}));
  }
  return Value::map({{"logins", std::move(logins)}});
}

Result<SshLoginReply> decode_ssh_login_reply(const Value& value) {
  const auto* logins = value.find("logins");
  if (logins == nullptr || logins->list_items() == nullptr) return malformed("logins");
  SshLoginReply reply;
  for (const auto& one : *logins->list_items()) {
    reply.logins.push_back(
        {one.boolean_or("succeeded", false), cut_text(one.text_or("complaint", ""), kLongestErrorMessage)});
  }
  return reply;
}

Value encode_body(const MeasurementsRequest& request) {
  Value values = Value::map();
  for (const auto& [id, value] : request.values) values.set(id, value);
  return Value::map({{"request", "measurements"}, {"values", std::move(values)}});
}

Result<MeasurementsRequest> decode_measurements_request(const Value& value) {
  const auto* values = value.find("values");
  if (values == nullptr || !values->is_map()) return malformed("values");
  MeasurementsRequest request;
  for (const auto& [id, one, where] : *values->entries()) {
    const auto number = number_in(one);
    if (!number) return malformed("a value is no number");
    request.values.emplace(id, *number);
  }
  return request;
}

Value encode(const MeasurementsReply& reply) {
  Value earlier = Value::map();
  for (const auto& [id, values] : reply.earlier) {
    Value::List items(values.begin(), values.end());
    earlier.set(id, Value(std::move(items)));
  }
  return Value::map({{"earlier", std::move(earlier)}, {"set_aside", reply.set_aside}});
}

Result<MeasurementsReply> decode_measurements_reply(const Value& value) {
  const auto* earlier = value.find("earlier");
  if (earlier == nullptr || !earlier->is_map()) return malformed("earlier");
  MeasurementsReply reply;
  reply.set_aside = value.text_or("set_aside", "");
  for (const auto& [id, values, where] : *earlier->entries()) {
    if (values.list_items() == nullptr) return malformed("earlier");
    for (const auto& one : *values.list_items()) {
      const auto number = number_in(one);
      if (!number) return malformed("a value is no number");
      reply.earlier[id].push_back(*number);
    }
  }
  return reply;
}

}  // namespace sparkplan
