#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/model/manifest.h"

namespace sparkplan {

/// A roster that several nodes have.
struct SharedRoster {
  std::shared_ptr<const Roster> roster;
  std::string digest;  ///< Empty for a roster that is not offered.
};

/// Keeps equal rosters once. Each of a thousand manifests lists a thousand members. All functions may be called from
/// several threads.
class SharedRosters {
 public:
  /// `roster` as it is kept. Only the first kMostKept different ones are: a hostile node may send a new one with every
  /// reply.
  SharedRoster share(Roster roster);
  /// The kept roster with that digest, for a node that has named the digest only; null without one.
  std::shared_ptr<const Roster> find(const std::string& digest);
  /// The digests to offer to the next node: of the rosters that most nodes have, at most kMostOfferedRosters.
  std::vector<std::string> offers() const;

 private:
  static constexpr std::size_t kMostKept = 8;
  struct Kept {
    SharedRoster shared;
    std::size_t nodes = 0;  ///< Replies with it.
  };
  mutable std::mutex mutex_;
  std::vector<Kept> kept_;
};

}  // namespace sparkplan
