#include "engine/init/fabric_choice.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/core/ascii.h"
#include "engine/core/text.h"
#include "engine/core/tree.h"
#include "engine/init/bare_file.h"
#include "engine/init/fabric_candidates.h"
#include "engine/init/fabric_deciders.h"
#include "engine/init/fabric_found.h"
#include "engine/init/new_fabric.h"
#include "engine/load/fabric.h"
#include "engine/model/ipv4.h"

namespace sparkplan {
namespace {

constexpr int kOffsetOfIds = 10;
constexpr int kUsualMtu = 9000;
constexpr std::size_t kMostDevices = 64;  ///< In a file.
constexpr std::size_t kMostTold = 16;     ///< Interfaces of a machine in a comment: the file has a largest size.

/// True for a name that a file may have in `hcas`. A machine may report any text.
bool is_device_name(std::string_view name) {
  constexpr std::size_t kLongest = 63;
  return !name.empty() && name.size() <= kLongest && is_alphanumeric(name.front()) &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return is_alphanumeric(c) || c == '.' || c == '_' || c == '-'; });
}

/// Numbers the unmanaged members so that their found addresses would derive from their ids. Nothing if the addresses
/// allow no such ids.
std::optional<Members> numbered_by_address(const Members& members, const std::vector<FoundFabric>& found) {
  Members numbered = members;
  std::set<int> ids;
  for (std::size_t i = 0; i < found.size(); ++i) {
    Member& node = numbered.nodes[i];
    if (!node.managed() && !found[i].interfaces.empty()) {
      const auto address = parse_ipv4_interface(found[i].interfaces.front().address);
      if (!address) return std::nullopt;
      const auto host = static_cast<std::int64_t>(address->address.bits - address->network().base.bits);
      if (host <= kOffsetOfIds || host > kOffsetOfIds + largest_id(address->network())) return std::nullopt;
      node.id = static_cast<int>(host) - kOffsetOfIds;
    }
    if (!ids.insert(node.id).second) return std::nullopt;
  }
  return numbered;
}

class Choice {
 public:
  Choice(Members& members, const std::vector<FoundFabric>& found, const Registry& registry)
      : members_(members), found_(found), registry_(registry) {}

  FabricChoice run() {
    const bool any = std::any_of(found_.begin(), found_.end(), [](const auto& one) { return !one.interfaces.empty(); });
    if (any) {
      keep_what_is_there();
    } else if (std::ranges::none_of(found_, &FoundFabric::managed)) {
      propose_fabric(members_, registry_, result_);
      if (!result_.section.is_null()) result_.origin = FabricOrigin::kProposed;
      exclude_those_with_others();
    }
    if (!result_.section.is_null() && !finding_against_it().empty()) give_up(any);
    add_devices();
    add_others();
    return std::move(result_);
  }

 private:
  const Facts& facts(std::size_t i) const { return *members_.nodes[i].machine->facts; }
  bool was_read(std::size_t i) const { return members_.nodes[i].machine != nullptr; }
  std::size_t count() const { return members_.nodes.size(); }

  /// A machine's own `interfaces` stay as they are. If one of them is on the proposed port, it has no part in the
  /// fabric.
  void exclude_those_with_others() {
    if (result_.section.is_null()) return;
    for (std::size_t i = 0; i < count(); ++i) {
      const auto others = names_of_others(found_[i]);
      if (others.empty()) continue;
      const auto cluster = cluster_of(file_so_far(), registry_);
      const auto derived = cluster ? derived_interfaces(cluster->nodes[i], facts(i)) : std::nullopt;
      if (!derived || std::ranges::none_of(*derived, [&](const auto& one) { return others.contains(one.name); })) {
        continue;
      }
      const std::string& name = members_.nodes[i].name;
      result_.of_nodes[name] = Value();
      result_.why +=
          "\n" + name + " has no part in the fabric: sparkplan already manages an interface of the port there.";
    }
  }

  void keep_what_is_there() {
    if (!keep_by_topology(members_)) {
      auto numbered = numbered_by_address(members_, found_);
      if (numbered && keep_by_topology(*numbered)) {
        members_ = *std::move(numbered);
      } else {
        keep_word_by_word();
      }
    }
    for (std::size_t i = 0; i < count(); ++i) {
      if (found_[i].managed && found_[i].interfaces.empty()) result_.of_nodes[members_.nodes[i].name] = Value();
    }
    settle_ownership();
  }

  bool keep_by_topology(const Members& members) {
    for (const Value& section : fabric_candidates(members, found_)) {
      const auto cluster = cluster_with_fabric(members, section, registry_);
      if (!cluster || !gives_what_was_found(*cluster)) continue;
      result_.section = section;
      result_.why = "The fabric addresses already exist, and derive from the nodes' ids.";
      const bool slow = section.integer_or("mtu", kUsualMtu) < kUsualMtu;
      if (slow) result_.why += " The MTU also exists already; the fabric is designed for 9000.";
      result_.origin = FabricOrigin::kDerived;
      return true;
    }
    return false;
  }

  bool gives_what_was_found(const Cluster& cluster) const {
    for (std::size_t i = 0; i < count(); ++i) {
      if (found_[i].interfaces.empty()) continue;
      const auto interfaces = derived_interfaces(cluster.nodes[i], facts(i));
      if (!interfaces || (*interfaces != found_[i].interfaces && !only_adds_link_local(*interfaces, found_[i]))) {
        return false;
      }
    }
    return true;
  }

  /// With one network, the file gives half B a link-local address, which an unmanaged machine need not have yet.
  static bool only_adds_link_local(std::vector<FoundInterface> derived, const FoundFabric& found) {
    if (found.managed || derived.size() != found.interfaces.size()) return false;
    const bool addressed = has_an_address(derived);
    for (std::size_t i = 0; addressed && i < derived.size(); ++i) {
      if (found.interfaces[i].address.empty()) derived[i].link_local = found.interfaces[i].link_local;
    }
    return derived == found.interfaces;
  }

  static bool has_an_address(const std::vector<FoundInterface>& interfaces) {
    return std::any_of(interfaces.begin(), interfaces.end(), [](const auto& one) { return !one.address.empty(); });
  }

  void keep_word_by_word() {
    result_.origin = FabricOrigin::kListed;
    result_.section = Value::map({{"topology", topology_of_found()}});
    result_.why = "The fabric addresses already exist and derive from no id, so each node lists its own.";
    for (std::size_t i = 0; i < count(); ++i) {
      if (found_[i].interfaces.empty()) continue;
      Value interfaces = Value::list();
      for (const FoundInterface& one : found_[i].interfaces) {
        Value record = Value::map({{"name", one.name}});
        if (!one.address.empty()) record.set("address", one.address);
        if (one.link_local) record.set("link_local", "ipv4");
        const bool left_alone = found_[i].managed && one.address.empty() && !one.link_local;
        // Without this, it would take a link-local address beside the others.
        if (left_alone && has_an_address(found_[i].interfaces)) record.set("link_local", Value());
        interfaces.push_back(std::move(record.set("mtu", one.mtu ? Value(*one.mtu) : Value())));
      }
      result_.of_nodes[members_.nodes[i].name] = Value::map({{"interfaces", std::move(interfaces)}});
    }
    // The nodes may declare only a part of the fabric. The rest must not break the rules of the topology.
    if (!finding_against_it().empty()) result_.section = Value::map({{"topology", "custom"}});
  }

  /// load_cluster()'s first error for a file with this fabric; empty without an error.
  std::string finding_against_it() const { return first_error_of(file_so_far(), registry_); }

  Value file_so_far() const {
    Value file = bare_file_of(members_);
    file.set("fabric", result_.section);
    for (Value& node : *file.find("nodes")->list_items()) {
      const auto own = result_.of_nodes.find(node.text_or("name", ""));
      if (own != result_.of_nodes.end()) node.set("fabric", own->second);
    }
    return file;
  }

  /// A machine's manifest may have interfaces that no file may.
  void add_others() {
    if (std::ranges::all_of(found_, [](const FoundFabric& one) { return one.others.is_null(); })) return;
    const auto file_keeping = [&](const std::vector<bool>& kept) {
      Value file = file_so_far();
      auto& nodes = *file.find("nodes")->list_items();
      for (std::size_t i = 0; i < count(); ++i) {
        if (kept[i] && !found_[i].others.is_null()) nodes[i].set("interfaces", found_[i].others);
      }
      return file;
    };
    const auto kept = loadable_parts(count(), [&](const std::vector<bool>& tried) {
      return cluster_of(file_keeping(tried), registry_).has_value();
    });
    for (std::size_t i = 0; i < count(); ++i) {
      if (found_[i].others.is_null()) continue;
      const std::string& name = members_.nodes[i].name;
      if (kept[i]) {
        result_.others[name] = found_[i].others;
        continue;
      }
      std::vector<bool> with = kept;
      with[i] = true;
      result_.remarks.push_back(finding(Severity::kWarning, "init.not-written",
                                        "\"interfaces\" in the manifest of " + name + " is not valid in a file: " +
                                            first_error_of(file_keeping(with), registry_) +
                                            "; the file lacks it, and an apply would remove it",
                                        "find out how it came there; sparkplan never applies this"));
    }
  }

  /// Users run `init` to find such mistakes on the machines: the file omits the fabric and reports the mistake. The
  /// part that sparkplan already manages stays if it is sound without the rest.
  void give_up(bool something_is_there) {
    const std::string finding = finding_against_it();
    result_.why = (something_is_there ? "The existing configuration" : "The configuration derived from their ports") +
                  (" is not valid in a file: " + finding + ".");
    result_.remarks.push_back(no_fabric_remark(finding));
    for (std::size_t i = 0; i < count(); ++i) {
      const std::string& name = members_.nodes[i].name;
      const auto& interfaces = found_[i].interfaces;
      const auto end = std::min(interfaces.size(), kMostTold);
      for (std::size_t j = 0; j < end; ++j) result_.why += "\n" + told(name, interfaces[j]);
      if (interfaces.size() > kMostTold) result_.why += "\n" + name + " has more.";
    }
    result_.why += "\nCorrect that and run `sparkplan init` again, or write `fabric` by hand.";
    const bool kept = keep_managed_alone();
    result_.origin = FabricOrigin::kRefused;
    if (kept) return;
    result_.section = Value();
    result_.of_nodes.clear();
  }

  static std::string told(const std::string& node, const FoundInterface& one) {
    std::string text = node + " " + one.name + ": " + (one.address.empty() ? "no address" : one.address);
    if (one.link_local) text += ", link-local";
    if (one.mtu) text += ", MTU " + std::to_string(*one.mtu);
    return printable(text);
  }

  bool keep_managed_alone() {
    const auto is_kept = [](const FoundFabric& fabric) { return fabric.managed && !fabric.interfaces.empty(); };
    if (std::none_of(found_.begin(), found_.end(), is_kept)) return false;
    const std::string why = result_.why;
    keep_word_by_word();
    result_.section = Value::map({{"topology", "custom"}});
    for (std::size_t i = 0; i < count(); ++i) {
      if (!is_kept(found_[i])) result_.of_nodes[members_.nodes[i].name] = Value();
    }
    result_.why = why;
    settle_take_over();
    if (!finding_against_it().empty()) return false;
    result_.why += "\nThe fabric that sparkplan already manages stays.";
    return true;
  }

  const char* topology_of_found() const {
    std::set<std::size_t> sizes;
    std::set<std::string> networks;
    for (const FoundFabric& fabric : found_) {
      if (fabric.interfaces.empty()) return "custom";
      sizes.insert(fabric.interfaces.size());
      const auto address = parse_ipv4_interface(fabric.interfaces.front().address);
      networks.insert(address ? address->network().str() : "");
    }
    const bool one_network = networks.size() == 1 && !networks.contains("");
    if (count() == 2 && sizes == std::set<std::size_t>{4}) return "dual-cable";
    if (count() == 2 && *sizes.rbegin() <= 2) return "direct";
    return count() > 2 && one_network && *sizes.rbegin() <= 2 ? "switch" : "custom";
  }

  void settle_ownership() {
    for (const FoundFabric& fabric : found_) {
      if (!fabric.managed && !fabric.interfaces.empty()) {
        result_.section.set("adopt", "keep");
        result_.why +=
            "\nadopt: keep leaves these addresses to their current owner; take-over hands them to sparkplan.";
        return;
      }
    }
    settle_take_over();
  }

  /// It empties the definitions of others on all machines, so a single manifest does not decide it.
  void settle_take_over() {
    std::size_t managed = 0;
    std::vector<std::string> took_over;
    for (std::size_t i = 0; i < count(); ++i) {
      if (!found_[i].managed || found_[i].interfaces.empty()) continue;
      ++managed;
      if (found_[i].took_over) took_over.push_back(members_.nodes[i].name);
    }
    if (took_over.empty()) return;
    if (members_.decides_for_all(took_over.size(), managed)) {
      result_.section.set("adopt", "take-over");
    } else {
      result_.why += "\nOnly " + fold_names(took_over) +
                     " took the fabric over from other definitions: adopt: take-over would do so on all nodes.";
    }
  }

  /// RDMA devices in software belong to no PCI function, so only their addresses show their interface.
  void add_devices() {
    if (result_.section.is_null()) return;
    for (std::size_t i = 0; i < count(); ++i) {
      if (!was_read(i)) continue;
      std::vector<std::string> devices;
      const auto devices_on = devices_by_interface(facts(i));
      for (const LinkFacts* link : fabric_links(facts(i))) {
        const auto found = devices_on.find(link->name);
        if (!link->rdma_devices.empty() || found == devices_on.end()) continue;
        for (const std::string& device : found->second) {
          const bool known = std::find(devices.begin(), devices.end(), device) != devices.end();
          if (is_device_name(device) && !known && devices.size() < kMostDevices) devices.push_back(device);
        }
      }
      const auto own = result_.of_nodes.find(members_.nodes[i].name);
      const bool excluded = own != result_.of_nodes.end() && own->second.is_null();
      if (devices.empty() || found_[i].managed || excluded) continue;
      result_.of_nodes[members_.nodes[i].name].set("hcas", list_of_texts(devices));
    }
  }

  /// Interface -> the names of the RDMA devices with an address on it, in their order.
  static std::map<std::string_view, std::vector<std::string>> devices_by_interface(const Facts& facts) {
    std::map<std::string_view, std::vector<std::string>> devices;
    for (const RdmaDeviceFacts& device : facts.rdma_devices) {
      std::set<std::string_view> interfaces;
      for (const RdmaPortFacts& port : device.port_facts) {
        for (const RdmaGid& gid : port.gids) interfaces.insert(gid.interface);
      }
      for (const std::string_view interface : interfaces) devices[interface].push_back(device.name);
    }
    return devices;
  }

  Members& members_;
  const std::vector<FoundFabric>& found_;
  const Registry& registry_;
  FabricChoice result_;
};

}  // namespace

FabricChoice choose_fabric(Members& members, const std::vector<FoundFabric>& found, const Registry& registry) {
  const Members before = members;
  FabricChoice choice = Choice(members, found, registry).run();
  const ChoiceWithout choose_without = [&](const std::vector<std::size_t>& machines) {
    Members rest = before;
    std::vector<FoundFabric> found_on_rest = found;
    for (const std::size_t i : machines) {
      rest.nodes[i].machine = nullptr;
      found_on_rest[i] = {};
    }
    return Choice(rest, found_on_rest, registry).run();
  };
  tell_who_decides(members, found, choose_without, choice);
  return choice;
}

}  // namespace sparkplan
