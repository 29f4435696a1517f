#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/fields.h"

namespace sparkplan {

/// The state of a disruptive change. It reaches exactly one of kCommitted and kRolledBack, regardless of the order and
/// the senders of the requests.
enum class TransactionState : std::uint8_t {
  kBegun,           ///< Ended before its timer was started: nothing was written.
  kArmed,           ///< On trial: the node undoes it when the window ends.
  kCommitted,       ///< Confirmed.
  kRolledBack,      ///< Undone, or being undone.
  kRollbackFailed,  ///< Some change could not be undone: an administrator has to repair it.
};
constexpr EnumNames<5> names_of(TransactionState /*state*/) {
  return {"begun", "armed", "committed", "rolledback", "failed"};
}

/// A node's latest disruptive change, until a later run removes it.
struct TransactionReport {
  std::string run;
  TransactionState state = TransactionState::kBegun;
  std::string who;                ///< LockHolder::describe() of the run.
  std::int64_t seconds_left = 0;  ///< The time until the node undoes it; 0 unless armed.
  bool carried_out = false;       ///< All its steps are done.
  bool at_work = false;           ///< Its steps are being carried out or undone now.
  bool undone = false;            ///< Of kRolledBack: the earlier state is restored.
  std::string reason;             ///< Of kRolledBack and kRollbackFailed.
  /// Of kRollbackFailed, for an administrator: the first command retries, the others are for a retry that fails.
  std::vector<std::string> manual_commands;
  /// Of kRolledBack: what is not as before, and why. Other software has changed it since, or other machines decide
  /// whether it can be restored.
  std::vector<std::string> not_restored;
};
/// ", except for PART; PART; and 2 more". Empty without parts.
std::string not_restored_words(const std::vector<std::string>& parts);

/// "run on the node, as root: RETRY; if that fails: COMMAND && COMMAND". Empty without commands.
std::string repair_words(const std::vector<std::string>& manual_commands);
inline constexpr std::size_t kMostManualCommands = 1000;

/// The state of the transaction; nothing without one.
struct TransactionRequest {
  static constexpr std::string_view kName = "transaction";
  using Reply = std::optional<TransactionReport>;
};

/// Keeps the change: the controller has reached the node over a new connection, and the node is in the planned state.
/// Needs the lock, and must come from the run that began the change. The state in the reply may be kRolledBack, if the
/// window had ended.
struct ConfirmRequest {
  static constexpr std::string_view kName = "confirm";
  using Reply = TransactionReport;
  std::string run;
};

/// Undoes the change now, before the end of the window.
struct RollBackRequest {
  static constexpr std::string_view kName = "roll_back";
  using Reply = TransactionReport;
  std::string run;
  std::string reason;  ///< For the journal and later reports.
};

/// Sets the end of the window to that many seconds from now.
struct ExtendRequest {
  static constexpr std::string_view kName = "extend";
  using Reply = TransactionReport;
  std::string run;
  std::int64_t seconds = 0;
};

/// An address that the node should reach.
struct ProbeTarget {
  std::string address;        ///< IPv4.
  std::string interface;      ///< The interface to send from; empty: as routed.
  std::int64_t bytes = 0;     ///< Size of an ICMP echo request with its IP header, with fragmentation forbidden.
  std::int64_t ssh_port = 0;  ///< Not 0: checks for the greeting of an SSH server on this port, instead of an echo
                              ///< reply.

  bool operator==(const ProbeTarget&) const = default;
};
struct ProbeReply {
  std::vector<bool> answered;  ///< One for each target.
};
struct ProbeRequest {
  static constexpr std::string_view kName = "probe";
  using Reply = ProbeReply;
  std::vector<ProbeTarget> targets;
  std::int64_t patience_ms = 1000;  ///< Probes are repeated for this time.
};

void list_fields(FieldVisitor& field, TransactionReport& report);
void list_fields(FieldVisitor& field, ConfirmRequest& request);
void list_fields(FieldVisitor& field, RollBackRequest& request);
void list_fields(FieldVisitor& field, ExtendRequest& request);
void list_fields(FieldVisitor& field, ProbeTarget& target);
void list_fields(FieldVisitor& field, ProbeReply& reply);
void list_fields(FieldVisitor& field, ProbeRequest& request);

}  // namespace sparkplan
