#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "engine/core/value.h"

namespace sparkplan {

/// The keys of `fabric` that hold for each of its ports. A new key is a field and a line of read() here; its schema is
/// in resources/netplan/schema.json.
struct PortSettings {
  std::optional<int> mtu;   ///< Nothing: not managed.
  bool link_local = false;  ///< `link_local: ipv4`, instead of an address or beside it.

  /// Takes the keys that `written` has: the section `fabric`, or the record of one interface. A key with null drops the
  /// earlier value; an absent key keeps it.
  void read(const Value& written) {
    if (written.find("mtu") != nullptr) mtu = positive(written.integer_or("mtu", 0));
    if (written.find("link_local") != nullptr) link_local = written.text_or("link_local", "") == "ipv4";
  }

 private:
  static std::optional<int> positive(std::int64_t number) {
    return number > 0 && std::in_range<int>(number) ? std::optional(static_cast<int>(number)) : std::nullopt;
  }
};

}  // namespace sparkplan
