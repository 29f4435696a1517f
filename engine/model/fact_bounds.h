#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "engine/model/fields.h"

/// The bounds of what a node reports about itself. They are far above any machine, and low enough to calculate with.
namespace sparkplan {

inline constexpr std::size_t kMostLinks = 2048;
inline constexpr std::size_t kMostLinkAddresses = 4096;  ///< Of one link.
inline constexpr std::size_t kMostRdmaDevices = 256;
inline constexpr std::size_t kMostRdmaPorts = 255;  ///< Of one device.
inline constexpr std::size_t kMostRdmaGids = 1024;  ///< Of one port.
/// Of all devices, and of all ports. Reports have a row for each, and JSON several fields.
inline constexpr std::size_t kMostRdmaPortsInAll = 4096;
inline constexpr std::size_t kMostRdmaGidsInAll = 16'384;
/// Of all chains of the packet filter.
inline constexpr std::size_t kMostVerdictsInAll = 16'384;
inline constexpr std::size_t kMostUnits = 256;
/// Of lists with a few entries, such as host keys.
inline constexpr std::size_t kMostOfFew = 256;
/// Of lists that grow with the machine's configuration: variables, files, modules, lines, rules.
inline constexpr std::size_t kMostOfMany = 4096;
/// Of lists that grow with the network and the number of links: routes, neighbours, parameters per link.
inline constexpr std::size_t kMostOfNetwork = 16'384;

/// Of all facts of a node as a Value, with their absent fields: 2048 links with all their fields take a sixth of it.
inline constexpr std::size_t kMostFactsMemory = std::size_t{32} << 20;
inline constexpr std::size_t kUnlimitedMemory = std::numeric_limits<std::size_t>::max();

/// A name, an address, a version. Longer texts are cut.
inline constexpr FieldRule kFactText = kShortText;
inline constexpr FieldRule kRequiredFactText = kRequired.cut_at(kLongestShortText);
/// A value that a person may have written: a path, an option, a variable. Longer texts are cut.
inline constexpr FieldRule kLongFactText = kOptional.cut_at(FieldRule::kLongestText);

/// Of all netplan files together.
inline constexpr std::size_t kLongestNetplanText = std::size_t{64} << 10;

inline constexpr std::int64_t kMostCount = std::int64_t{1} << 40;
inline constexpr FieldRule kCount = kOptional.within(0, kMostCount);
inline constexpr FieldRule kRequiredCount = kRequired.within(0, kMostCount);
inline constexpr FieldRule kBytes = kOptional.within(0, std::int64_t{1} << 50);

/// Drops the last items of the inner lists, so that all of them together have at most `left` items. `left` gets what
/// remains. Dropped and not refused, because an honest machine may have more.
template <class Outer, class Inner>
void keep_first(std::vector<Outer>& lists, std::vector<Inner> Outer::*inner, std::size_t& left) {
  for (Outer& one : lists) {
    std::vector<Inner>& items = one.*inner;
    if (items.size() > left) {
      items.erase(items.begin() + static_cast<std::ptrdiff_t>(left), items.end());
      items.shrink_to_fit();
    }
    left -= items.size();
  }
}

}  // namespace sparkplan
