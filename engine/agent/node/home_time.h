#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <string>

#include "engine/core/result.h"
#include "engine/node/node.h"

namespace sparkplan {

/// For the accesses of separate processes in one look. The controller waits 60 s for the facts.
inline constexpr std::chrono::seconds kTimeOfAllHomes{20};

/// Shares out the time in which a look waits for homes, so that no user and no server leaves other homes without time.
/// Each home may take an eighth of what the other homes have left, and a hundredth of the whole in any case. So all
/// homes take the whole at most, and a hundredth of it for each home. Reads no clock.
class HomeTime {
 public:
  explicit HomeTime(std::chrono::milliseconds whole = kTimeOfAllHomes) : whole_(whole) {}

  /// For the next access to the home. Not above zero once the home has taken its share.
  std::chrono::milliseconds left_for(const std::filesystem::path& home) const;
  /// False for so short a time that a busy server could need more.
  bool shows_silence(std::chrono::milliseconds waited) const { return waited >= whole_ / 16; }
  /// For a look at a home itself, after an access that showed silence.
  std::chrono::milliseconds for_home_itself() const { return whole_ / 20; }
  void add(const UserPath& path, std::chrono::milliseconds took);

  /// The error of a home that has taken its share. It names the other homes that have taken most of the time.
  Error used_up(const UserPath& path) const;

 private:
  struct Taken {
    std::chrono::milliseconds time{0};
    std::string served_by;
  };
  std::chrono::milliseconds taken_by(const std::filesystem::path& home) const;

  std::chrono::milliseconds whole_;
  std::chrono::milliseconds taken_by_all_{0};
  std::map<std::filesystem::path, Taken> taken_;
};

}  // namespace sparkplan
