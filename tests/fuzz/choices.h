#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sparkplan::fuzz {

/// An input as a sequence of decisions. After the last byte, every further decision is the first option, so an empty
/// input changes nothing.
class Choices {
 public:
  explicit Choices(std::string_view bytes) : rest_(bytes) {}
  Choices(const std::uint8_t* data, std::size_t size)
      : rest_(reinterpret_cast<const char*>(data), size) {}  // NOLINT: libFuzzer's own type of bytes

  bool empty() const { return rest_.empty(); }

  std::uint8_t byte() {
    if (rest_.empty()) return 0;
    const auto first = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return first;
  }

  /// From 0 to `limit` - 1; 0 for a limit of 0.
  std::size_t below(std::size_t limit) {
    if (limit < 2) return 0;
    std::size_t number = byte();
    if (limit > 256) number = (number << 8U) | byte();
    return number % limit;
  }

  /// Reads one byte as a length, then as many of these bytes as remain.
  std::string_view text() {
    const std::size_t size = std::min<std::size_t>(byte(), rest_.size());
    const auto taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

  /// Reads to the next newline and consumes it; without a newline, reads all remaining bytes.
  std::string_view line() {
    const auto end = std::min(rest_.find('\n'), rest_.size());
    const auto taken = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    return taken;
  }

  std::string_view rest() const { return rest_; }

  /// Divides the remaining bytes among `count` consumers: the n-th consumer receives every count-th byte. For parts
  /// that decide at the same time on their own threads.
  std::string share(std::size_t n, std::size_t count) const {
    std::string mine;
    for (std::size_t i = n; i < rest_.size(); i += count) mine += rest_[i];
    return mine;
  }

 private:
  std::string_view rest_;
};

}  // namespace sparkplan::fuzz
