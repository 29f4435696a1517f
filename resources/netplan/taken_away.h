#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/core/value.h"
#include "engine/domain/fabric/fabric_interfaces.h"
#include "engine/model/facts.h"
#include "engine/node/node.h"
#include "resources/netplan/foreign_files.h"
#include "resources/netplan/netplan_file.h"

/// The addresses, routes and name servers that an interface loses when sparkplan takes it over.
namespace sparkplan::netplan {

/// Pure. The entries of a definition in a netplan file: "address 10.6.6.6/24", "route default via 10.6.6.1",
/// "DNS 1.1.1.1", "DNS search lan". Source: netplan(5).
std::vector<std::string> entries_in(const Value& definition);

/// Pure. The same for settings of NetworkManager, "ipv4.address1" to its value. Source: nm-settings-keyfile(5).
std::vector<std::string> entries_in(const std::map<std::string, std::string>& settings);

/// {interface: ["DNS 1.1.1.1", ...]}: the name servers and search domains that systemd-resolved has of each interface.
/// Its state files are private, so missing or other ones mean none. Errors: as NodeReader::links().
/// Source: systemd, src/resolve/resolved-link.c, link_save_user().
Result<Value> name_servers_of(const NodeReader& node);

/// The state of an interface before a take-over.
struct BeforeTakeOver {
  std::vector<Definition> definitions;    ///< Of the interface, in foreign files.
  bool is_ours = false;                   ///< Our file has a definition of it.
  std::vector<std::string> name_servers;  ///< As name_servers_of() has them for it.
};

/// Pure. A warning that names every entry that goes when sparkplan gives the interface the settings of `stanza`, and
/// the files that have them. Nothing if nothing goes, or if `stanza` leaves the addresses alone.
std::optional<Diagnostic> what_goes(const ObservedPort& port, const Stanza& stanza, const BeforeTakeOver& before,
                                    const Facts& own);

}  // namespace sparkplan::netplan
