#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "engine/core/named_enum.h"

namespace sparkplan {

/// How the caller should react to a failure. Codes are grouped by reaction, not by origin: add one only when some
/// caller has to react differently to it.
enum class ErrorCode : std::uint8_t {
  kInvalidInput,      ///< The user's file or argument is wrong. Never retried.
  kNotFound,          ///< The named object is absent. Often not a fault.
  kPermissionDenied,  ///< EACCES, EPERM, or sudo refused.
  kUnreachable,       ///< No answer before the deadline, or the connection broke.
  kUntrusted,         ///< A host key is unknown, changed or revoked. Never retried.
  kBusy,              ///< Another run holds a lock. Retried with --lock-timeout.
  kStalePlan,         ///< The node changed after the plan was made: plan again.
  kVerifyFailed,      ///< Applied, yet the node does not show the desired state.
  kRefused,           ///< A safety rule refused it: a flag or a decision is needed.
  kUnsupported,       ///< This kernel, release or format version cannot do it.
  kInterrupted,       ///< The user stopped the run.
  kFailed,            ///< The operation was tried and failed (ENOSPC, EINVAL from the kernel...).
  kBug,               ///< A broken invariant of sparkplan itself.
};

/// The code's stable names on the wire and in JSON.
constexpr EnumNames<13> names_of(ErrorCode /*code*/) {
  return {"invalid_input", "not_found", "permission_denied", "unreachable", "untrusted", "busy", "stale_plan",
          "verify_failed", "refused",   "unsupported",       "interrupted", "failed",    "bug"};
}

/// Why an operation failed. Plain data: the agent sends it to the controller.
struct [[nodiscard]] Error {
  ErrorCode code = ErrorCode::kBug;
  std::string message;               ///< One clause, no final period: "write /proc/sys/vm/swappiness".
  std::vector<std::string> context;  ///< Outermost first: {"node spark-03", "sysctl vm.swappiness"}.
  std::optional<int> sys_errno;      ///< errno of the failing system call, if one failed.
  std::string hint;                  ///< The user's remedy; may be empty.

  bool operator==(const Error&) const = default;

  /// Adds one outer level of context.
  Error within(std::string outer) &&;

  /// "node spark-03: sysctl vm.swappiness: write ...: Invalid argument". Without the hint. A place or a reason that
  /// would follow itself is there once.
  std::string describe() const;
};

/// An Error without a place and an errno.
inline Error make_error(ErrorCode code, std::string message, std::string hint = {}) {
  return Error{code, std::move(message), {}, std::nullopt, std::move(hint)};
}

/// An Error that carries errno; call it directly after the failing system call.
Error system_error(std::string message, int error_number);

template <class T>
using Result = tl::expected<T, Error>;

/// Shorthand for returning a failure: `return failure(ErrorCode::kNotFound, "...")`.
inline tl::unexpected<Error> failure(ErrorCode code, std::string message, std::string hint = {}) {
  return tl::unexpected<Error>(make_error(code, std::move(message), std::move(hint)));
}
inline tl::unexpected<Error> failure(Error error) { return tl::unexpected<Error>(std::move(error)); }

/// Nothing in place of kNotFound: the absence of a file or a program is often no fault.
template <class T>
Result<std::optional<T>> if_there(Result<T> result) {
  if (result) return std::optional<T>(std::move(*result));
  if (result.error().code == ErrorCode::kNotFound) return std::optional<T>();
  return failure(std::move(result).error());
}

/// As if_there(), with an empty value in place of kNotFound.
template <class T>
Result<T> or_empty(Result<T> result) {
  if (!result && result.error().code == ErrorCode::kNotFound) return T();
  return result;
}

}  // namespace sparkplan

#define SPARK_CONCAT_(a, b) a##b
#define SPARK_CONCAT(a, b) SPARK_CONCAT_(a, b)

/// Evaluates a Result<T>; returns its Error from the enclosing function, or binds the value:
/// `SPARK_TRY(auto text, read_file(path));`
#define SPARK_TRY(declaration, expression) SPARK_TRY_(SPARK_CONCAT(spark_result_, __LINE__), declaration, expression)
#define SPARK_TRY_(name, declaration, expression)                                \
  auto name = (expression);                                                      \
  if (!name) return tl::unexpected<::sparkplan::Error>(std::move(name).error()); \
  declaration = std::move(*name)

/// SPARK_TRY for a Result whose value is not needed.
#define SPARK_CHECK(expression)                                                   \
  do {                                                                            \
    if (auto spark_result = (expression); !spark_result)                          \
      return tl::unexpected<::sparkplan::Error>(std::move(spark_result).error()); \
  } while (false)
