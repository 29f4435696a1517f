#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/core/value.h"

namespace sparkplan {

/// How a change that may cut the node off stands. Exactly one of kCommitted and kRolledBack is ever
/// reached, whoever asks for it when.
enum class TransactionState : std::uint8_t {
  kBegun,           ///< Broke off before its timer ran: nothing was written.
  kArmed,           ///< On trial: undone by itself when the window ends.
  kCommitted,       ///< Confirmed.
  kRolledBack,      ///< Undone, or being undone.
  kRollbackFailed,  ///< Something could not be undone: somebody has to look.
};
/// "begun", "armed", "committed", "rolledback", "failed".
std::string_view to_string(TransactionState state);

/// What a node says of its latest such change, until a later run has taken note of it.
struct TransactionReport {
  std::string run;
  TransactionState state = TransactionState::kBegun;
  std::string who;                ///< Who tries it: LockHolder::describe().
  std::int64_t seconds_left = 0;  ///< Until it is undone; 0 unless armed.
  bool carried_out = false;       ///< All its steps are done.
  bool at_work = false;           ///< Somebody carries out, or undoes, its steps right now.
  bool undone = false;            ///< Of kRolledBack: everything is as it was.
  std::string reason;             ///< Of kRolledBack and kRollbackFailed.
  /// Of kRollbackFailed: what a person would have to type, one command each.
  std::vector<std::string> manual_commands;
};
inline constexpr std::size_t kMostManualCommands = 1000;

Value encode(const TransactionReport& report);
Result<TransactionReport> decode_transaction_report(const Value& value);

/// How the transaction stands. Reply: a TransactionReport, or null when there is none.
struct TransactionRequest {};

/// The node was reached anew and shows what was wanted: keep it. Needs the lock, and the run that began it.
/// Reply: a TransactionReport; its state may be kRolledBack, when the window had ended.
struct ConfirmRequest {
  std::string run;
};

/// Undo it now rather than at the end of the window. Reply: as ConfirmRequest.
struct RollBackRequest {
  std::string run;
  std::string reason;  ///< For the journal and whoever asks later.
};

/// The window ends that many seconds from now.
struct ExtendRequest {
  std::string run;
  std::int64_t seconds = 0;
};

/// Something to be reached from the node.
struct ProbeTarget {
  std::string address;        ///< IPv4.
  std::string interface;      ///< Leave through this one; empty: as routed.
  std::int64_t bytes = 0;     ///< Size of an ICMP echo request with its IP header, not to be fragmented.
  std::int64_t ssh_port = 0;  ///< Not 0: whether an SSH server greets there, instead of an echo.

  bool operator==(const ProbeTarget&) const = default;
};
struct ProbeRequest {
  std::vector<ProbeTarget> targets;
  std::int64_t patience_ms = 1000;  ///< Asked again and again for that long.
};
struct ProbeReply {
  std::vector<bool> answered;  ///< One for each target.
};
Value encode(const ProbeReply& reply);
Result<ProbeReply> decode_probe_reply(const Value& value);

Value encode_body(const TransactionRequest& request);
Value encode_body(const ConfirmRequest& request);
Value encode_body(const RollBackRequest& request);
Value encode_body(const ExtendRequest& request);
Value encode_body(const ProbeRequest& request);
Result<ProbeRequest> decode_probe_request(const Value& value);

}  // namespace sparkplan
