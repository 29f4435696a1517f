#include "engine/wire/window_messages.h"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/core/bounded_text.h"

namespace sparkplan {
namespace {

constexpr std::array<std::pair<TransactionState, std::string_view>, 5> kStateNames{{
    {TransactionState::kBegun, "begun"},
    {TransactionState::kArmed, "armed"},
    {TransactionState::kCommitted, "committed"},
    {TransactionState::kRolledBack, "rolledback"},
    {TransactionState::kRollbackFailed, "failed"},
}};

tl::unexpected<Error> malformed(std::string_view what) {
  return failure(ErrorCode::kInvalidInput, "malformed message: " + std::string(what));
}

}  // namespace

std::string_view to_string(TransactionState state) {
  for (const auto& [value, name] : kStateNames) {
    if (value == state) return name;
  }
  return "begun";
}

Value encode(const TransactionReport& report) {
  Value::List commands;
  for (const auto& command : report.manual_commands) commands.emplace_back(command);
  return Value::map({{"run", report.run},
                     {"state", to_string(report.state)},
                     {"who", report.who},
                     {"seconds_left", report.seconds_left},
                     {"carried_out", report.carried_out},
                     {"at_work", report.at_work},
                     {"undone", report.undone},
                     {"reason", report.reason},
                     {"manual_commands", Value(std::move(commands))}});
}

Result<TransactionReport> decode_transaction_report(const Value& value) {
  if (!value.is_map()) return malformed("transaction");
  TransactionReport report;
  report.run = cut_text(value.text_or("run", ""), kLongestShortText);
  const auto name = value.text_or("state", "");
  const auto* known =
      std::find_if(kStateNames.begin(), kStateNames.end(), [&](const auto& entry) { return entry.second == name; });
  if (known == kStateNames.end()) return malformed("state of a transaction");
  report.state = known->first;
  report.who = cut_text(value.text_or("who", ""), kLongestShortText);
  report.seconds_left = value.integer_or("seconds_left", 0);
  report.carried_out = value.boolean_or("carried_out", false);
  report.at_work = value.boolean_or("at_work", false);
  report.undone = value.boolean_or("undone", false);
  report.reason = cut_text(value.text_or("reason", ""), kLongestErrorMessage);
  if (const auto* commands = value.find("manual_commands"); commands != nullptr && commands->list_items() != nullptr) {
    for (const auto& command : *commands->list_items()) {
      if (command.string() == nullptr) return malformed("a command is no text");
      // Half a command would be worse than none.
      if (command.string()->size() > kLongestErrorMessage) return malformed("a command is too long");
      if (report.manual_commands.size() == kMostManualCommands) return malformed("too many commands");
      report.manual_commands.push_back(*command.string());
    }
  }
  return report;
}

Value encode(const ProbeReply& reply) {
  Value::List answered;
  for (const bool one : reply.answered) answered.emplace_back(one);
  return Value::map({{"answered", Value(std::move(answered))}});
}

Result<ProbeReply> decode_probe_reply(const Value& value) {
  const auto* answered = value.find("answered");
  if (answered == nullptr || answered->list_items() == nullptr) return malformed("probe");
  ProbeReply reply;
  for (const auto& one : *answered->list_items()) {
    if (one.boolean() == nullptr) return malformed("probe");
    reply.answered.push_back(*one.boolean());
  }
  return reply;
}

Value encode_body(const TransactionRequest&) { return Value::map({{"request", "transaction"}}); }
Value encode_body(const ConfirmRequest& request) { return Value::map({{"request", "confirm"}, {"run", request.run}}); }
Value encode_body(const RollBackRequest& request) {
  return Value::map({{"request", "roll_back"}, {"run", request.run}, {"reason", request.reason}});
}
Value encode_body(const ExtendRequest& request) {
  return Value::map({{"request", "extend"}, {"run", request.run}, {"seconds", request.seconds}});
}
Value encode_body(const ProbeRequest& request) {
  Value::List targets;
  for (const auto& target : request.targets) {
    targets.push_back(Value::map({{"address", target.address},
                                  {"interface", target.interface},
                                  {"bytes", target.bytes},
                                  {"ssh_port", target.ssh_port}}));
  }
  return Value::map(
      {{"request", "probe"}, {"targets", Value(std::move(targets))}, {"patience_ms", request.patience_ms}});
}

Result<ProbeRequest> decode_probe_request(const Value& value) {
  const auto* targets = value.find("targets");
  if (targets == nullptr || targets->list_items() == nullptr) return malformed("targets");
  ProbeRequest request{{}, value.integer_or("patience_ms", 1000)};
  constexpr std::int64_t kMaxPatience = 30'000;
  constexpr std::int64_t kMaxPacket = 65'535;
  if (request.patience_ms < 0 || request.patience_ms > kMaxPatience) return malformed("patience_ms");
  for (const auto& one : *targets->list_items()) {
    if (!one.is_map()) return malformed("a target is no map");
    ProbeTarget target{one.text_or("address", ""), one.text_or("interface", ""), one.integer_or("bytes", 0),
                       one.integer_or("ssh_port", 0)};
    if (target.bytes < 0 || target.bytes > kMaxPacket) return malformed("bytes");
    if (target.ssh_port < 0 || target.ssh_port > kMaxPacket) return malformed("ssh_port");
    request.targets.push_back(std::move(target));
  }
  return request;
}

}  // namespace sparkplan
