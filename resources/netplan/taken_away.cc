#include "resources/netplan/taken_away.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "engine/core/diagnostic.h"
#include "engine/core/text.h"
#include "engine/core/tree.h"
#include "engine/model/address.h"

namespace sparkplan::netplan {
namespace {

/// Longer than any address, route or domain. A longer text is no entry, and need not travel to the controller.
constexpr std::size_t kLongestEntry = 300;
constexpr std::size_t kMostEntries = 1000;
/// The most files that one warning names.
constexpr std::size_t kMostNamedSources = 16;

/// The entries in their order, each once.
class Entries {
 public:
  void add(std::string entry) {
    if (entry.size() > kLongestEntry || list_.size() == kMostEntries || !known_.insert(entry).second) return;
    list_.push_back(std::move(entry));
  }
  void add_address(std::string_view address) { add("address " + std::string(address)); }
  void add_route(std::string_view to, std::string_view via) {
    const bool is_default = to == "0.0.0.0/0" || to == "::/0" || to == "default";
    add("route " + (is_default ? "default" : std::string(to)) + (via.empty() ? "" : " via " + std::string(via)));
  }
  void add_name_servers(const std::vector<std::string>& servers, const std::vector<std::string>& domains) {
    for (const std::string& server : servers) add("DNS " + server);
    for (const std::string& domain : domains) add("DNS search " + domain);
  }
  std::vector<std::string> take() { return std::move(list_); }

 private:
  std::vector<std::string> list_;
  std::set<std::string> known_;
};

/// The words of a text between these separators, without empty ones.
std::vector<std::string> words_of(std::string_view text, std::string_view separators) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const auto end = std::min(text.find_first_of(separators), text.size());
    const std::string_view word = trim(text.substr(0, end));
    if (!word.empty()) words.emplace_back(word);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

bool is_numbered(std::string_view key, std::string_view name) {
  return key.starts_with(name) && key.substr(name.size()).find_first_not_of("0123456789") == std::string_view::npos;
}

void add_settings(const std::map<std::string, std::string>& settings, Entries& entries) {
  for (const auto& [key, value] : settings) {
    for (const std::string family : {"ipv4.", "ipv6."}) {
      const auto words = words_of(value, ",");
      if (is_numbered(key, family + "address") && !words.empty()) {
        entries.add_address(words[0]);
        if (words.size() > 1) entries.add_route("default", words[1]);
      }
      if (is_numbered(key, family + "route") && !words.empty()) {
        entries.add_route(words[0], words.size() > 1 ? words[1] : "");
      }
      if (key == family + "gateway") entries.add_route("default", value);
      if (key == family + "dns") entries.add_name_servers(words_of(value, ";,"), {});
      if (key == family + "dns-search") entries.add_name_servers({}, words_of(value, ";,"));
    }
  }
}

/// An address may be a map of itself to its options.
std::vector<std::string> addresses_in(const Value* list) {
  std::vector<std::string> addresses = texts_in(list);
  for (const Value& one : items_of(list)) {
    for (const MapEntry& entry : entries_of(one)) addresses.push_back(entry.key);
  }
  return addresses;
}

/// The lines NAME=VALUE of a state file.
std::map<std::string, std::string> lines_in(std::string_view text) {
  std::map<std::string, std::string> lines;
  for (const std::string_view line : split_lines(text)) {
    const auto equals = line.find('=');
    if (equals != std::string_view::npos) lines.emplace(line.substr(0, equals), line.substr(equals + 1));
  }
  return lines;
}

bool is_link_local(std::string_view address) { return address.starts_with("fe80:") || address.starts_with("169.254."); }

void add_live_routes(const std::string& interface, const Facts& own, Entries& entries) {
  for (const RouteFacts& route : own.host.routes) {
    // The kernel's own routes go with the addresses. Those that routers advertise change by themselves.
    if (route.interface != interface || route.protocol == "kernel" || route.protocol == "ra") continue;
    if (route.stands_for == 1) {
      entries.add_route(route.destination, route.gateway);
    } else {
      entries.add(std::to_string(route.stands_for) + " routes to parts of " + route.destination);
    }
  }
}

}  // namespace

std::vector<std::string> entries_in(const Value& definition) {
  Entries entries;
  for (const std::string& address : addresses_in(definition.find("addresses"))) entries.add_address(address);
  for (const char* const key : {"gateway4", "gateway6"}) {
    if (const std::string via = definition.text_or(key, ""); !via.empty()) entries.add_route("default", via);
  }
  for (const Value& route : items_of(definition.find("routes"))) {
    entries.add_route(route.text_or("to", ""), route.text_or("via", ""));
  }
  if (const Value* servers = definition.find("nameservers")) {
    entries.add_name_servers(texts_in(servers->find("addresses")), texts_in(servers->find("search")));
  }
  const Value* settings = find_below(definition, "networkmanager", "passthrough");
  std::map<std::string, std::string> by_key;
  for (const MapEntry& entry : entries_of(settings)) {
    if (entry.value.string() != nullptr) by_key.emplace(entry.key, *entry.value.string());
  }
  add_settings(by_key, entries);
  return entries.take();
}

std::vector<std::string> entries_in(const std::map<std::string, std::string>& settings) {
  Entries entries;
  add_settings(settings, entries);
  return entries.take();
}

Result<Value> name_servers_of(const NodeReader& node) {
  Value found = Value::map();
  if (!node.live()) return found;
  SPARK_TRY(const auto links, node.links());
  for (const LinkFacts& link : links) {
    const auto index = node.read_file("/sys/class/net/" + link.name + "/ifindex");
    if (!index) continue;
    const auto state = node.read_file("/run/systemd/resolve/netif/" + std::string(trim(*index)));
    if (!state) continue;
    const auto lines = lines_in(*state);
    const auto words = [&](const char* key) {
      const auto line = lines.find(key);
      return line == lines.end() ? std::vector<std::string>() : words_of(line->second, " ");
    };
    Entries entries;
    entries.add_name_servers(words("SERVERS"), words("DOMAINS"));
    const auto list = entries.take();
    if (!list.empty()) found.set(link.name, list_of_texts(list));
  }
  return found;
}

std::optional<Diagnostic> what_goes(const ObservedPort& port, const Stanza& stanza, const BeforeTakeOver& before,
                                    const Facts& own) {
  if (!stanza.manages_addresses()) return std::nullopt;
  Entries entries;
  std::vector<std::string> sources;
  std::size_t count = 0;  // Of the sources, all that a node lists.
  bool competes = false;
  for (const Definition& one : before.definitions) {
    if (before.is_ours && gives_way(one)) continue;  // Its profile is inactive by now.
    competes = true;
    if (!one.entries.empty() && ++count <= kMostNamedSources) sources.push_back(one.source);
    for (const std::string& entry : one.entries) entries.add(entry);
  }
  if (competes && port.link != nullptr) {
    for (const std::string& address : port.link->addresses) {
      // Where no file sets an IPv6 address, most often a router advertised it, and it may change at any moment.
      if (!is_link_local(address) && !is_version_6(address)) entries.add_address(address);
    }
  }
  if (!before.is_ours) {
    add_live_routes(port.interface, own, entries);
    for (const std::string& entry : before.name_servers) entries.add(entry);
  }
  auto gone = entries.take();
  Entries ours;
  for (const std::string& address : stanza.addresses) ours.add_address(address);
  for (const Route& route : stanza.routes) ours.add_route(route.to, route.via);
  const auto kept = ours.take();
  std::erase_if(gone, [&](const std::string& one) { return std::ranges::find(kept, one) != kept.end(); });
  if (gone.empty()) return std::nullopt;
  if (count > sources.size()) sources.push_back(std::to_string(count - sources.size()) + " more");
  return finding(
      Severity::kWarning, "fabric.take-over",
      port.interface + " loses " + join(gone, ", ") + (sources.empty() ? "" : " (" + join(sources, ", ") + ")"),
      "declare in cluster.yaml what is still needed, or leave the interface out", port.where);
}

}  // namespace sparkplan::netplan
