#include "engine/fleet/session/run_identity.h"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iterator>

#include "engine/process/own_user.h"

namespace sparkplan {
namespace {

ssize_t kernel_random(void* buffer, std::size_t size) { return ::getrandom(buffer, size, 0); }

std::string utc(const char* format) {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), format, &parts)};
}

}  // namespace

Result<std::string> random_hexadecimal(std::size_t digits, const RandomSource& source) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::array<unsigned char, 64> bytes{};
  ssize_t filled = -1;
  do {
    errno = 0;
    filled = source(bytes.data(), bytes.size());
  } while (filled < 0 && errno == EINTR);
  // After boot, getrandom(2) always returns all of up to 256 bytes.
  if (filled != std::ssize(bytes)) return failure(system_error("read random bytes", errno == 0 ? EIO : errno));
  std::string text;
  for (std::size_t i = 0; i < std::min(digits, bytes.size()); ++i) text += kDigits[bytes[i] & 15U];
  return text;
}

Result<std::string> new_run_id() {
  SPARK_TRY(const auto random, random_hexadecimal(5, kernel_random));
  // The first digits are the elapsed part of the second.
  const auto now = std::chrono::system_clock::now();
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch()).count() % 1'000'000;
  std::array<char, 8> fraction{};
  std::snprintf(fraction.data(), fraction.size(), "%03x", static_cast<unsigned>(micros * 4096 / 1'000'000));
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  const auto size = std::strftime(text.data(), text.size(), "%Y%m%dT%H%M%SZ", &parts);
  return std::string(text.data(), size) + "-" + fraction.data() + random;
}

Result<std::string> new_uuid() {
  SPARK_TRY(auto digits, random_hexadecimal(32, kernel_random));
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
  const auto user = own_user();
  return LockHolder{(user ? user->name : std::to_string(::getuid())) + "@" + host.data(), ::getpid(), operation,
                    utc("%Y-%m-%dT%H:%M:%SZ")};
}

}  // namespace sparkplan
