#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/fields.h"

namespace sparkplan {

/// The state of a disruptive change. Exactly one of kCommitted and kRolledBack is ever reached, whoever requests
/// which and when.
enum class TransactionState : std::uint8_t {
  kBegun,           ///< Ended before its timer ran: nothing was written.
  kArmed,           ///< On trial: undone by itself when the window ends.
  kCommitted,       ///< Confirmed.
  kRolledBack,      ///< Undone, or being undone.
  kRollbackFailed,  ///< Something could not be undone: a person has to repair it.
};
/// "begun", "armed", "committed", "rolledback", "failed".
std::span<const std::string_view> names_of(TransactionState state);

/// A node's latest disruptive change, until a later run removes it.
struct TransactionReport {
  std::string run;
  TransactionState state = TransactionState::kBegun;
  std::string who;                ///< LockHolder::describe() of the run.
  std::int64_t seconds_left = 0;  ///< Until it is undone; 0 unless armed.
  bool carried_out = false;       ///< All its steps are done.
  bool at_work = false;           ///< Its steps are being carried out, or undone, right now.
  bool undone = false;            ///< Of kRolledBack: everything is as it was.
  std::string reason;             ///< Of kRolledBack and kRollbackFailed.
  /// Of kRollbackFailed: what a person would have to type, one command each.
  std::vector<std::string> manual_commands;
};
inline constexpr std::size_t kMostManualCommands = 1000;

/// The state of the transaction; nothing when there is none.
struct TransactionRequest {
  static constexpr std::string_view kName = "transaction";
  using Reply = std::optional<TransactionReport>;
};

/// Keeps the change: the node was reached over a new connection and shows what was planned. Needs the lock, and the
/// run that began it. The state in the reply may be kRolledBack, when the window had ended.
struct ConfirmRequest {
  static constexpr std::string_view kName = "confirm";
  using Reply = TransactionReport;
  std::string run;
};

/// Undoes it now rather than at the end of the window.
struct RollBackRequest {
  static constexpr std::string_view kName = "roll_back";
  using Reply = TransactionReport;
  std::string run;
  std::string reason;  ///< For the journal and later reports.
};

/// The window ends that many seconds from now.
struct ExtendRequest {
  static constexpr std::string_view kName = "extend";
  using Reply = TransactionReport;
  std::string run;
  std::int64_t seconds = 0;
};

/// An address to be reached from the node.
struct ProbeTarget {
  std::string address;        ///< IPv4.
  std::string interface;      ///< Leave through this one; empty: as routed.
  std::int64_t bytes = 0;     ///< Size of an ICMP echo request with its IP header, not to be fragmented.
  std::int64_t ssh_port = 0;  ///< Not 0: whether an SSH server greets there, instead of an echo.

  bool operator==(const ProbeTarget&) const = default;
};
struct ProbeReply {
  std::vector<bool> answered;  ///< One for each target.
};
struct ProbeRequest {
  static constexpr std::string_view kName = "probe";
  using Reply = ProbeReply;
  std::vector<ProbeTarget> targets;
  std::int64_t patience_ms = 1000;  ///< Repeated for that long.
};

void list_fields(FieldVisitor& field, TransactionReport& report);
inline void list_fields(FieldVisitor& /*field*/, TransactionRequest& /*request*/) {}
void list_fields(FieldVisitor& field, ConfirmRequest& request);
void list_fields(FieldVisitor& field, RollBackRequest& request);
void list_fields(FieldVisitor& field, ExtendRequest& request);
void list_fields(FieldVisitor& field, ProbeTarget& target);
void list_fields(FieldVisitor& field, ProbeReply& reply);
void list_fields(FieldVisitor& field, ProbeRequest& request);

}  // namespace sparkplan
