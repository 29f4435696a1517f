#include "engine/agent/kernel/netlink.h"

#include <linux/if.h>
#include <linux/if_addr.h>
#include <netlink/netlink.h>
#include <netlink/route/addr.h>
#include <netlink/route/link.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <memory>
#include <set>

#include "engine/agent/kernel/kernel_file.h"
#include "engine/agent/kernel/netlink_socket.h"

namespace sparkplan {
namespace {

struct LinkDeleter {
  void operator()(rtnl_link* link) const { rtnl_link_put(link); }
};
struct AddressDeleter {
  void operator()(rtnl_addr* address) const { rtnl_addr_put(address); }
};
using Link = std::unique_ptr<rtnl_link, LinkDeleter>;

namespace fs = std::filesystem;

struct LinkRecord {
  LinkFacts facts;
  int master = 0;
  int lower = 0;
};
using LinksByIndex = std::map<int, LinkRecord>;

std::string text_or_empty(const char* text) { return text == nullptr ? "" : text; }

/// True for kinds that have a parent interface on the same machine. A veth names its peer in the same field.
bool sits_on_another(const std::string& kind) {
  return kind == "vlan" || kind == "macvlan" || kind == "ipvlan" || kind == "macsec";
}

void add_link(nl_object* object, void* into) {
  auto* link = reinterpret_cast<rtnl_link*>(object);
  const unsigned int flags = rtnl_link_get_flags(link);
  if ((flags & IFF_LOOPBACK) != 0) return;
  LinkRecord record;
  LinkFacts& facts = record.facts;
  facts.name = text_or_empty(rtnl_link_get_name(link));
  facts.mtu = static_cast<int>(rtnl_link_get_mtu(link));
  facts.up = (flags & IFF_UP) != 0;
  facts.carrier = (flags & (1U << 16)) != 0;  // IFF_LOWER_UP; net/if.h and linux/if.h conflict over it.
  nl_addr* hardware = rtnl_link_get_addr(link);
  if (hardware != nullptr && nl_addr_get_len(hardware) == 6) facts.mac = text_of(hardware);
  facts.kind = text_or_empty(rtnl_link_get_type(link));
  facts.port = text_or_empty(rtnl_link_get_phys_port_name(link));
  record.master = rtnl_link_get_master(link);
  if (sits_on_another(facts.kind)) record.lower = rtnl_link_get_link(link);
  static_cast<LinksByIndex*>(into)->emplace(rtnl_link_get_ifindex(link), std::move(record));
}

/// The kernel's "infinity". Source: include/net/addrconf.h, INFINITY_LIFE_TIME.
constexpr std::uint32_t kWithoutEnd = 0xFFFFFFFF;

/// An address of DHCP has an end. One of a router advertisement has none if the router says so. The kernel then leaves
/// it without IFA_F_PERMANENT. networkd and NetworkManager set IFA_F_NOPREFIXROUTE, because they manage the route to
/// the prefix. Source: Linux, net/ipv6/addrconf.c, addrconf_prefix_rcv_add_addr(); systemd,
/// src/network/networkd-ndisc.c.
bool is_acquired(rtnl_addr* address) {
  const unsigned int flags = rtnl_addr_get_flags(address);
  if ((flags & IFA_F_PERMANENT) == 0) return true;
  const unsigned int automatic = IFA_F_TEMPORARY | IFA_F_MANAGETEMPADDR | IFA_F_NOPREFIXROUTE;
  return rtnl_addr_get_family(address) == AF_INET6 && (flags & automatic) != 0;
}

void add_address(nl_object* object, void* into) {
  auto* address = reinterpret_cast<rtnl_addr*>(object);
  auto& links = *static_cast<LinksByIndex*>(into);
  const auto found = links.find(rtnl_addr_get_ifindex(address));
  nl_addr* local = rtnl_addr_get_local(address);
  if (found == links.end() || local == nullptr) return;
  auto text = text_of(local);
  // libnl omits the prefix if it covers the whole address.
  if (text.find('/') == std::string::npos) text += "/" + std::to_string(rtnl_addr_get_prefixlen(address));
  LinkFacts& facts = found->second.facts;
  if (is_acquired(address)) {
    const std::uint32_t seconds = rtnl_addr_get_valid_lifetime(address);
    facts.acquired[text] = seconds == kWithoutEnd ? std::nullopt : std::optional<std::int64_t>(seconds);
  }
  facts.addresses.push_back(std::move(text));
}

std::vector<std::string> names_in(const fs::path& directory) {
  std::vector<std::string> names;
  std::error_code not_there;
  for (const auto& entry : fs::directory_iterator(directory, not_there)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

/// netdev -> HCAs. A PCI function lists its HCAs; a software device (rxe) names its interface.
std::map<std::string, std::set<std::string>> rdma_devices_by_link() {
  std::map<std::string, std::set<std::string>> devices;
  const fs::path all = "/sys/class/infiniband";
  for (const auto& device : names_in(all)) {
    for (const auto& port : names_in(all / device / "ports")) {
      const auto link = kernel_line(all / device / "ports" / port / "gid_attrs/ndevs/0");
      if (!link.empty()) devices[link].insert(device);
    }
    const auto parent = kernel_line(all / device / "parent");
    if (!parent.empty()) devices[parent].insert(device);
  }
  return devices;
}

bool is_pci_function(const std::string& name) {
  return name.size() >= 12 && name.find(':') != std::string::npos && name.find('.') != std::string::npos;
}

/// Adds the facts in sysfs about the device of an interface; adds nothing for an interface without a device.
void add_device(LinkFacts& facts, const std::map<std::string, std::set<std::string>>& rdma_devices) {
  const fs::path device = fs::path("/sys/class/net") / facts.name / "device";
  std::error_code none;
  const auto function = fs::read_symlink(device, none).filename().string();
  std::set<std::string> hcas;
  if (const auto known = rdma_devices.find(facts.name); known != rdma_devices.end()) hcas = known->second;
  facts.rdma_devices.assign(hcas.begin(), hcas.end());
  // Without a known speed the kernel writes -1, or refuses to read the file.
  if (facts.carrier) {
    const std::string text = kernel_line(fs::path("/sys/class/net") / facts.name / "speed");
    int speed = 0;
    std::from_chars(text.data(), text.data() + text.size(), speed);
    if (speed > 0) facts.speed_mbps = speed;
  }
  if (none) return;
  if (is_pci_function(function)) facts.pci = function;
  const auto driver = fs::read_symlink(device / "driver", none);
  if (!none) facts.driver = driver.filename();
  for (auto& name : names_in(device / "infiniband")) hcas.insert(std::move(name));
  facts.rdma_devices.assign(hcas.begin(), hcas.end());
}

std::string name_at(const LinksByIndex& links, int index) {
  const auto found = links.find(index);
  return index == 0 || found == links.end() ? "" : found->second.facts.name;
}

/// The kernel adds and removes these addresses itself.
bool is_kernels_own(const std::string& address) { return address.rfind("fe80:", 0) == 0; }

/// `lifetime`: of an address that is added, in seconds.
Result<void> change_address(nl_sock* socket, int index, const std::string& text, bool add,
                            std::optional<std::int64_t> lifetime = std::nullopt) {
  SPARK_TRY(const NetlinkAddress local, parse_address(text, AF_UNSPEC));
  const std::unique_ptr<rtnl_addr, AddressDeleter> address(rtnl_addr_alloc());
  rtnl_addr_set_ifindex(address.get(), index);
  rtnl_addr_set_local(address.get(), local.get());
  rtnl_addr_set_prefixlen(address.get(), static_cast<int>(nl_addr_get_prefixlen(local.get())));
  if (lifetime) {
    // A preferred lifetime beyond the valid one is invalid.
    const auto seconds = static_cast<std::uint32_t>(std::clamp<std::int64_t>(*lifetime, 1, kWithoutEnd));
    rtnl_addr_set_valid_lifetime(address.get(), seconds);
    rtnl_addr_set_preferred_lifetime(address.get(), seconds);
  }
  const int code = add ? rtnl_addr_add(socket, address.get(), 0) : rtnl_addr_delete(socket, address.get(), 0);
  const bool there_already = add && code == -NLE_EXIST;
  const bool gone_already = !add && code == -NLE_NOADDR;
  if (code >= 0 || there_already || gone_already) return {};
  return netlink_failure((add ? "add " : "remove ") + text, code);
}

Result<void> change_link(nl_sock* socket, rtnl_link* link, const LinkState& state) {
  const Link wanted(rtnl_link_alloc());
  rtnl_link_set_mtu(wanted.get(), static_cast<unsigned int>(state.mtu));
  if (state.up) {
    rtnl_link_set_flags(wanted.get(), IFF_UP);
  } else {
    rtnl_link_unset_flags(wanted.get(), IFF_UP);
  }
  if (const int code = rtnl_link_change(socket, link, wanted.get(), 0); code < 0) {
    return netlink_failure("restore " + state.name, code);
  }
  return {};
}

}  // namespace

Result<std::vector<LinkFacts>> read_links() {
  SPARK_TRY(const NetlinkSocket socket, open_netlink());
  nl_cache* raw = nullptr;
  if (const int code = rtnl_link_alloc_cache(socket.get(), AF_UNSPEC, &raw); code < 0) {
    return netlink_failure("list the network interfaces", code);
  }
  const NetlinkCache links(raw);
  raw = nullptr;
  if (const int code = rtnl_addr_alloc_cache(socket.get(), &raw); code < 0) {
    return netlink_failure("list the addresses", code);
  }
  const NetlinkCache addresses(raw);
  LinksByIndex by_index;
  nl_cache_foreach(links.get(), add_link, &by_index);
  nl_cache_foreach(addresses.get(), add_address, &by_index);
  const auto rdma_devices = rdma_devices_by_link();
  std::vector<LinkFacts> result;
  for (const auto& [index, record] : by_index) {
    LinkFacts facts = record.facts;
    facts.master = name_at(by_index, record.master);
    facts.lower = name_at(by_index, record.lower);
    add_device(facts, rdma_devices);
    std::sort(facts.addresses.begin(), facts.addresses.end());
    result.push_back(std::move(facts));
  }
  std::sort(result.begin(), result.end(), [](const LinkFacts& a, const LinkFacts& b) { return a.name < b.name; });
  return result;
}

Result<void> write_link(const LinkState& state) {
  SPARK_TRY(const NetlinkSocket socket, open_netlink());
  rtnl_link* raw = nullptr;
  if (const int code = rtnl_link_get_kernel(socket.get(), 0, state.name.c_str(), &raw); code < 0) {
    if (code == -NLE_OBJ_NOTFOUND || code == -NLE_NODEV) {
      return failure(ErrorCode::kNotFound, "there is no interface " + state.name);
    }
    return netlink_failure("query " + state.name, code);
  }
  const Link link(raw);
  SPARK_TRY(const auto links, read_links());
  const auto now = std::find_if(links.begin(), links.end(), [&](const auto& one) { return one.name == state.name; });
  if (now == links.end()) return failure(ErrorCode::kNotFound, "there is no interface " + state.name);
  const int index = rtnl_link_get_ifindex(link.get());
  const auto contains = [](const std::vector<std::string>& list, const std::string& text) {
    return std::find(list.begin(), list.end(), text) != list.end();
  };
  for (const auto& address : now->addresses) {
    if (contains(state.addresses, address) || is_kernels_own(address) || now->acquired.contains(address)) continue;
    SPARK_CHECK(change_address(socket.get(), index, address, false));
  }
  SPARK_CHECK(change_link(socket.get(), link.get(), state));
  for (const auto& address : state.addresses) {
    if (contains(now->addresses, address) || is_kernels_own(address)) continue;
    const auto ends = state.lifetimes.find(address);
    const auto lifetime = ends == state.lifetimes.end() ? std::nullopt : std::optional(ends->second);
    SPARK_CHECK(change_address(socket.get(), index, address, true, lifetime));
  }
  return {};
}

}  // namespace sparkplan
