#include "engine/wire/trial_messages.h"

#include <algorithm>

#include "engine/wire/apply_messages.h"

namespace sparkplan {
namespace {

/// All addresses of all other nodes.
constexpr std::size_t kMostTrialTargets = 65'536;

}  // namespace

std::string not_restored_words(const std::vector<std::string>& parts) {
  constexpr std::size_t kMostShown = 5;
  std::string words;
  for (std::size_t i = 0; i < std::min(parts.size(), kMostShown); ++i)
    words += (i == 0 ? ", except for " : "; ") + parts[i];
  if (parts.size() > kMostShown) words += "; and " + std::to_string(parts.size() - kMostShown) + " more";
  return words;
}

std::string repair_words(const std::vector<std::string>& manual_commands) {
  std::string words;
  for (std::size_t i = 0; i < manual_commands.size(); ++i) {
    words += i == 0 ? "run on the node, as root: " : i == 1 ? "; if that fails: " : " && ";
    words += manual_commands[i];
  }
  return words;
}

void list_fields(FieldVisitor& field, TransactionReport& report) {
  field("run", report.run, kShortText);
  field("state", report.state, kRequired);
  field("who", report.who, kShortText);
  field("seconds_left", report.seconds_left);
  field("carried_out", report.carried_out);
  field("at_work", report.at_work);
  field("undone", report.undone);
  field("reason", report.reason, kMessageText);
  // Refused, not cut: half a command would be worse than none.
  field("manual_commands", report.manual_commands,
        kOptional.no_longer_than(kLongestErrorMessage).at_most(kMostManualCommands));
  field("not_restored", report.not_restored, kOptional.cut_at(kLongestNotRestored).at_most(kMostNotRestored));
}

void list_fields(FieldVisitor& field, ConfirmRequest& request) { field("run", request.run); }

void list_fields(FieldVisitor& field, RollBackRequest& request) {
  field("run", request.run);
  field("reason", request.reason, kMessageText);
}

void list_fields(FieldVisitor& field, ExtendRequest& request) {
  field("run", request.run);
  field("seconds", request.seconds);
}

void list_fields(FieldVisitor& field, ProbeTarget& target) {
  constexpr std::int64_t kMostBytes = 65'535;
  constexpr std::int64_t kMostPort = 65'535;
  field("address", target.address);
  field("interface", target.interface);
  field("bytes", target.bytes, kOptional.within(0, kMostBytes));
  field("ssh_port", target.ssh_port, kOptional.within(0, kMostPort));
}

void list_fields(FieldVisitor& field, ProbeReply& reply) {
  field("answered", reply.answered, kRequired.at_most(kMostTrialTargets));
}

void list_fields(FieldVisitor& field, ProbeRequest& request) {
  constexpr std::int64_t kLongestPatience = 30'000;
  field("targets", request.targets, kRequired.at_most(kMostTrialTargets));
  field("patience_ms", request.patience_ms, kOptional.within(0, kLongestPatience));
}

}  // namespace sparkplan
