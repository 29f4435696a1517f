#include "engine/core/result.h"

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace sparkplan {
namespace {

// EBUSY is not mapped to kBusy on purpose: a device in use is not a lock that --lock-timeout waits for.
ErrorCode code_of(int error_number) {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
    case ENODEV:
      return ErrorCode::kNotFound;
    case EACCES:
    case EPERM:
      return ErrorCode::kPermissionDenied;
    case ETIMEDOUT:
    case ECONNREFUSED:
    case ECONNRESET:
    case ECONNABORTED:
    case EHOSTUNREACH:
    case EHOSTDOWN:
    case ENETUNREACH:
    case ENETDOWN:
    case EPIPE:
      return ErrorCode::kUnreachable;
    case EWOULDBLOCK:
      return ErrorCode::kBusy;
    case ENOSYS:
    case EOPNOTSUPP:
    case EPROTONOSUPPORT:
    case EAFNOSUPPORT:
      return ErrorCode::kUnsupported;
    default:
      return ErrorCode::kFailed;
  }
}

}  // namespace

Error Error::within(std::string outer) && {
  // Not insert(): at -O2 g++ 12 reports a null pointer inside it (-Wnull-dereference).
  context.push_back(std::move(outer));
  std::rotate(context.begin(), context.end() - 1, context.end());
  return std::move(*this);
}

std::string Error::describe() const {
  std::string text;
  // Two layers may add the same place, or the last one may be part of the message.
  for (std::size_t i = 0; i < context.size(); ++i) {
    const bool is_last = i + 1 == context.size();
    const bool repeated = is_last ? message.starts_with(context[i] + ": ") : context[i + 1] == context[i];
    if (!repeated) text += context[i] + ": ";
  }
  text += message;
  if (!sys_errno) return text;
  const std::string reason = std::generic_category().message(*sys_errno);
  return message.ends_with(": " + reason) ? text : text + ": " + reason;
}

Error system_error(std::string message, int error_number) {
  return Error{code_of(error_number), std::move(message), {}, error_number, {}};
}

}  // namespace sparkplan
