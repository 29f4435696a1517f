#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"

/// What `systemctl show` and `systemctl is-active` say, asked of systemd itself over the socket that systemctl uses:
/// the answer takes a fraction of a millisecond, the start of the program five. Whatever is not exactly as expected is
/// left to systemctl.
/// Source: D-Bus specification (SASL EXTERNAL); org.freedesktop.systemd1(5); systemctl(1).
namespace sparkplan {

inline constexpr std::string_view kSystemdSocket = "/run/systemd/private";

/// A question that can be asked without systemctl.
struct UnitQuestion {
  enum class Form : std::uint8_t { kShow, kIsActive };
  Form form = Form::kShow;
  bool quiet = false;                   ///< is-active --quiet
  std::vector<std::string> properties;  ///< "ActiveState", in the order in which they are printed.
  std::vector<std::string> units;
};

/// Pure. `argv` as such a question: `systemctl show [--no-pager] --property LIST -- UNIT...` with properties that are
/// plain values, or `systemctl is-active [--quiet] UNIT`. Nothing for all others.
std::optional<UnitQuestion> unit_question(std::span<const std::string> argv);

/// What systemctl would print, and its exit status.
struct UnitAnswer {
  std::string printed;
  int exit_status = 0;
};

/// Pure. Values by unit in the order asked for; those that systemd does not have are not in it.
UnitAnswer unit_answer(const UnitQuestion& question, const std::vector<std::map<std::string, std::string>>& units);

/// I/O. Errors: kNotFound (no systemd, or not ours to ask), kUnreachable (deadline), kInvalidInput.
Result<UnitAnswer> ask_systemd(const UnitQuestion& question, std::chrono::milliseconds deadline,
                               std::string_view socket_path = kSystemdSocket);

}  // namespace sparkplan
