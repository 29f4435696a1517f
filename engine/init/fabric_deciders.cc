#include "engine/init/fabric_deciders.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "engine/core/text.h"
#include "engine/init/yaml_writer.h"
#include "engine/model/ipv4.h"

namespace sparkplan {
namespace {

using Positions = std::vector<std::size_t>;
using FitsWithout = std::function<bool(const Positions& machines)>;

enum class Search : std::uint8_t { kFirst, kLast };

/// The first or the last machine without which alone `fits` is true; nothing without one.
std::optional<std::size_t> decider_among(Positions machines, const FitsWithout& fits, Search search) {
  // Without all of them, there may be no addresses at all: that proves nothing about one.
  if (machines.empty() || (machines.size() == 1 && !fits(machines))) return std::nullopt;
  while (machines.size() > 1) {
    const auto middle = machines.begin() + static_cast<std::ptrdiff_t>(machines.size() / 2);
    Positions half(machines.begin(), middle);
    Positions other(middle, machines.end());
    if (search == Search::kLast) std::swap(half, other);
    if (!fits(half)) {
      if (!fits(other)) return std::nullopt;
      std::swap(half, other);
    }
    machines = std::move(half);
  }
  return machines.front();
}

/// A section as a reader compares it: without the networks, and without the owner of the addresses.
Value shape_of(Value section) {
  section.erase("subnets");
  section.erase("adopt");
  return section;
}

class Deciders {
 public:
  Deciders(const Members& members, const std::vector<FoundFabric>& found, const ChoiceWithout& choose,
           FabricChoice& choice)
      : members_(members), found_(found), choose_(choose), choice_(choice) {
    for (std::size_t i = 0; i < found_.size(); ++i) {
      if (members_.nodes[i].machine == nullptr) continue;
      read_.push_back(i);
      if (!found_[i].interfaces.empty()) with_.push_back(i);
      if (found_[i].interfaces.empty() && !found_[i].managed) without_.push_back(i);
    }
  }

  void tell() {
    if (choice_.origin == FabricOrigin::kDerived) tell_who_gives_theirs();
    if (choice_.origin == FabricOrigin::kListed) tell_who_gives_none();
    if (choice_.origin == FabricOrigin::kRefused) tell_who_spoils_it();
  }

 private:
  std::string names(const Positions& machines) const {
    std::vector<std::string> list;
    for (const std::size_t i : machines) list.push_back(members_.nodes[i].name);
    return fold_names(list);
  }

  bool few_decide() const {
    return !without_.empty() && !members_.decides_for_all(with_.size(), with_.size() + without_.size());
  }

  void warn(const std::string& message, const std::string& hint) {
    choice_.remarks.push_back(finding(Severity::kWarning, "init.unsupported-fabric", message, hint));
  }

  std::string only_they() const {
    return "only " + names(with_) + (with_.size() == 1 ? " has" : " have") + " fabric addresses";
  }

  /// Machines without addresses get some of the networks that exist. One machine could name any network, also one that
  /// the others reach through their gateway, and any port.
  void tell_who_gives_theirs() {
    if (!few_decide()) return;
    std::set<std::string> networks;
    for (const std::size_t i : with_) {
      for (const FoundInterface& one : found_[i].interfaces) {
        if (const auto address = parse_ipv4_interface(one.address)) networks.insert(address->network().str());
      }
    }
    const Value own = shape_of(choice_.section);
    std::string message = only_they() + ": the file gives " + names(without_);
    message += networks.empty() ? std::string(" link-local addresses")
                                : " addresses of the same networks, " +
                                      join(std::vector<std::string>(networks.begin(), networks.end()), ", ");
    message += ", with " + yaml_flow(own);
    if (with_.size() == 1) {
      const Value other = shape_of(choose_(with_).section);
      if (other.is_map() && !(other == own))
        message += "; without " + names(with_) + ", it would be " + yaml_flow(other);
    }
    warn(message, networks.empty() ? "check the cables and the MTU, or change `fabric`"
                                   : "check that these networks are for the fabric alone, or write other `subnets`");
  }

  /// Where the addresses fit no topology, each machine keeps its own ones. Those without addresses get none.
  void tell_who_gives_none() {
    if (without_.empty()) return;
    const auto deciders = deciders_among(with_, [&](const Positions& machines) {
      const FabricOrigin origin = choose_(machines).origin;
      return origin == FabricOrigin::kDerived || origin == FabricOrigin::kProposed;
    });
    const std::string none = " fit no topology: the file gives " + names(without_) + " no fabric";
    if (!deciders.empty()) {
      warn("the fabric addresses of " + names(deciders) + none + "; without " + one_of(deciders) + ", " +
               yaml_flow(shape_of(choose_({deciders.front()}).section)) + " would fit",
           "check the addresses and the MTU there, or write `fabric` by hand");
    } else if (few_decide()) {
      warn(only_they() + ", and these" + none, "write `fabric` by hand if the others have cables, too");
    }
  }

  void tell_who_spoils_it() {
    const auto deciders = deciders_among(with_.empty() ? read_ : with_, [&](const Positions& machines) {
      const FabricChoice other = choose_(machines);
      return !other.section.is_null() && other.origin != FabricOrigin::kRefused;
    });
    const auto remark = std::ranges::find(choice_.remarks, "init.no-fabric", &Diagnostic::code);
    if (deciders.empty() || remark == choice_.remarks.end()) return;
    remark->message += "; without " + one_of(deciders) + ", the file would have one";
  }

  std::string one_of(const Positions& deciders) const {
    return (deciders.size() > 1 ? "one of " : "") + names(deciders);
  }

  /// The first and the last of the machines without which alone `fits` is true. Two machines may claim one address.
  static Positions deciders_among(const Positions& machines, const FitsWithout& fits) {
    const auto first = decider_among(machines, fits, Search::kFirst);
    if (!first) return {};
    const auto last = decider_among(machines, fits, Search::kLast);
    return last && *last != *first ? Positions{*first, *last} : Positions{*first};
  }

  const Members& members_;
  const std::vector<FoundFabric>& found_;
  const ChoiceWithout& choose_;
  FabricChoice& choice_;
  Positions read_;
  Positions with_;     ///< Machines with fabric addresses, also according to their manifest.
  Positions without_;  ///< Machines that get some, unless the file lists each machine's own ones.
};

}  // namespace

void tell_who_decides(const Members& members, const std::vector<FoundFabric>& found, const ChoiceWithout& choose,
                      FabricChoice& choice) {
  Deciders(members, found, choose, choice).tell();
}

}  // namespace sparkplan
