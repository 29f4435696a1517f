#include "engine/agent/measure/measurements.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <optional>
#include <string>

#include "engine/agent/kernel/file_descriptor.h"
#include "engine/core/text.h"

namespace sparkplan {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kLog = "/dev/kmsg";
constexpr std::string_view kMark = "NVRM: Xid (PCI:";
constexpr std::string_view kEndOfPlace = "): ";
constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kHexadecimalDigits = "0123456789abcdefABCDEF";
constexpr std::chrono::seconds kDeadline{3};
/// The lowest three bits of a record's first number are its level, the others its facility; 0 is the kernel.
constexpr std::int64_t kLevels = 8;

std::optional<std::int64_t> number_at(std::string_view text) {
  std::int64_t number = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), number).ec != std::errc()) return std::nullopt;
  return number;
}

/// The second number of a record. It counts from 0 at the boot.
std::optional<std::int64_t> sequence_of(std::string_view record) {
  const auto comma = record.find(',');
  return comma == std::string_view::npos ? std::nullopt : number_at(record.substr(comma + 1));
}

bool consists_of(std::string_view text, std::string_view characters) {
  return !text.empty() && text.find_first_not_of(characters) == std::string_view::npos;
}

/// "0000:01:00"
bool is_pci_address(std::string_view text) {
  const auto parts = split(text, ':');
  return parts.size() == 3 &&
         std::ranges::all_of(parts, [](std::string_view part) { return consists_of(part, kHexadecimalDigits); });
}

/// A part of a GPU: "GPU-I:05", "GPU-CI:00".
bool is_instance(std::string_view text) {
  const auto colon = text.find(':');
  const auto kind = text.substr(0, colon);
  return colon != std::string_view::npos && (kind == "GPU-I" || kind == "GPU-CI") &&
         consists_of(text.substr(colon + 1), kDigits);
}

/// The number of an Xid, if the whole beginning of the message has the driver's form. Many messages of the kernel begin
/// with the name of a process, which its user chooses. Such a name has at most 15 bytes, so it cannot have that form.
std::optional<std::int64_t> xid_of(std::string_view message) {
  if (!message.starts_with(kMark)) return std::nullopt;
  message.remove_prefix(kMark.size());
  const auto end = message.find(kEndOfPlace);
  if (end == std::string_view::npos) return std::nullopt;
  const auto place = split(message.substr(0, end), ' ');
  if (!is_pci_address(place.front()) || !std::all_of(place.begin() + 1, place.end(), is_instance)) return std::nullopt;
  message.remove_prefix(end + kEndOfPlace.size());
  const auto comma = message.find(',');
  if (comma == std::string_view::npos || !consists_of(message.substr(0, comma), kDigits)) return std::nullopt;
  return number_at(message);
}

}  // namespace

void note_record(std::string_view record, GpuErrorsReply& into) {
  const auto facility = number_at(record);
  const auto begin = record.find(';');
  if (!facility || *facility < 0 || *facility >= kLevels || begin == std::string_view::npos) return;
  auto message = record.substr(begin + 1);
  message = message.substr(0, message.find('\n'));
  const auto number = xid_of(message);
  if (!number || *number > kMostXid) return;
  ++into.count;
  // The newest ones stay.
  if (into.errors.size() == kMostGpuErrors) into.errors.erase(into.errors.begin());
  into.errors.push_back({*number, printable(message)});
}

Result<GpuErrorsReply> gpu_errors_in_kernel_log() {
  const FileDescriptor log(::open(kLog, O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (log.get() < 0) return failure(system_error(std::string("open ") + kLog, errno));
  GpuErrorsReply reply;
  std::array<char, 16'384> buffer{};
  bool is_first = true;
  const auto deadline = Clock::now() + kDeadline;
  while (Clock::now() < deadline) {
    const auto length = ::read(log.get(), buffer.data(), buffer.size());
    if (length > 0) {
      const std::string_view record(buffer.data(), static_cast<std::size_t>(length));
      if (is_first) reply.since_boot = sequence_of(record) == 0;
      is_first = false;
      note_record(record, reply);
    } else if (length == 0 || errno == EAGAIN) {
      return reply;
    } else if (errno == EPIPE) {
      reply.since_boot = false;  // The kernel has overwritten records that were not read yet.
    } else if (errno != EINTR) {
      return failure(system_error(std::string("read ") + kLog, errno));
    }
  }
  return failure(ErrorCode::kFailed, std::string(kLog) + " does not end");
}

}  // namespace sparkplan
