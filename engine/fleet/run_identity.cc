#include "engine/fleet/run_identity.h"

#include <pwd.h>
#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <ctime>
#include <fstream>

namespace sparkplan {
namespace {

std::string random_hexadecimal(std::size_t digits) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::array<unsigned char, 64> bytes{};
  // For at most 256 bytes getrandom(2) cannot fall short once the system is up.
  if (::getrandom(bytes.data(), bytes.size(), 0) < 0) bytes.fill(static_cast<unsigned char>(::getpid()));
  std::string text;
  for (std::size_t i = 0; i < digits; ++i) text += kDigits[bytes[i % bytes.size()] & 15U];
  return text;
}

std::string utc(const char* format) {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), format, &parts)};
}

}  // namespace

std::string new_run_id() { return utc("%Y%m%dT%H%M%SZ") + "-" + random_hexadecimal(6); }

std::string new_uuid() {
  auto digits = random_hexadecimal(32);
  digits[12] = '4';
  digits[16] = "89ab"[static_cast<unsigned char>(digits[16]) & 3U];
  return digits.substr(0, 8) + "-" + digits.substr(8, 4) + "-" + digits.substr(12, 4) + "-" + digits.substr(16, 4) +
         "-" + digits.substr(20);
}

bool is_this_machine(const std::string& machine_id) {
  std::ifstream file("/etc/machine-id");
  std::string own;
  return static_cast<bool>(std::getline(file, own)) && !own.empty() && own == machine_id;
}

LockHolder this_controller(const std::string& operation) {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  const passwd* entry = ::getpwuid(::getuid());
  const std::string user = entry != nullptr ? entry->pw_name : std::to_string(::getuid());
  return LockHolder{user + "@" + host.data(), ::getpid(), operation, utc("%Y-%m-%dT%H:%M:%SZ")};
}

}  // namespace sparkplan
