// The text of `facts`.
#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <utility>

#include "engine/core/bounded_text.h"
#include "engine/core/text.h"
#include "engine/report/nodes/facts_report.h"
#include "engine/report/text/text_table.h"

namespace sparkplan {
namespace {

constexpr std::size_t kFactsIndent = 2;
constexpr std::size_t kLongestErrors = 1000;
/// The cells of all tables of a node. Their broken and indented lines take several times as much. An honest machine has
/// a tenth of this limit.
constexpr std::size_t kMostCellBytes = std::size_t{2} << 20;
constexpr std::size_t kCellBytes = 16;  ///< Of each cell beside its text.

/// "200 Gb/s", "100 Mb/s"
std::string speed_text(const std::optional<int>& mbps) {
  if (!mbps) return "";
  if (*mbps >= 1000 && *mbps % 1000 == 0) return fmt::format("{} Gb/s", *mbps / 1000);
  return *mbps >= 1000 ? fmt::format("{:.1f} Gb/s", *mbps / 1000.0) : fmt::format("{} Mb/s", *mbps);
}

/// "x4, 32.0 GT/s PCIe"; with what the slot can do, if that is more.
std::string pcie_text(const std::optional<PcieLink>& pcie) {
  if (!pcie || pcie->width == 0) return "";
  std::string text = fmt::format("x{}", pcie->width);
  if (pcie->max_width > pcie->width) text += fmt::format(" of x{}", pcie->max_width);
  if (pcie->speed.empty()) return text;
  text += ", " + printable(pcie->speed);
  return pcie->max_speed.empty() || pcie->max_speed == pcie->speed ? text : text + " of " + printable(pcie->max_speed);
}

std::string state_text(const LinkFacts& link) {
  if (!link.up) return "down";
  return link.carrier ? "up" : "no peer";
}

TextTable links_table(const Facts& facts) {
  TextTable table{{"LINK", "STATE", "SPEED", "MTU", "KIND", "PART OF", "BY", "MAC", "ADDRESSES"}, {}};
  for (const LinkFacts& link : facts.links) {
    const std::string& part_of = link.master.empty() ? link.lower : link.master;
    table.add({printable(link.name), state_text(link), speed_text(link.speed_mbps), std::to_string(link.mtu),
               printable(link.kind), printable(part_of), printable(link.managed_by), printable(link.mac),
               printable(join(link.addresses, ", "))});
  }
  return table;
}

TextTable devices_table(const Facts& facts) {
  TextTable table{{"ADAPTER", "PORT", "DRIVER", "PCI", "LINK OF PCI", "RDMA"}, {}};
  for (const LinkFacts& link : facts.links) {
    if (link.pci.empty()) continue;
    table.add({printable(link.name), printable(link.port), printable(link.driver), printable(link.pci),
               pcie_text(link.pcie), printable(join(link.rdma_devices, ", "))});
  }
  return table;
}

const RdmaFirmwareFacts* firmware_of(const Facts& facts, const std::string& device) {
  if (!facts.extended) return nullptr;
  const auto& all = facts.extended->rdma_firmware;
  const auto found = std::ranges::find_if(all, [&](const RdmaFirmwareFacts& one) { return one.device == device; });
  return found == all.end() ? nullptr : &*found;
}

/// The counters that are not zero: "symbol_error 3"; "none". Cut, because each port of a device has a copy.
std::string errors_text(const RdmaFirmwareFacts* firmware) {
  if (firmware == nullptr) return "";
  std::vector<std::string> counted;
  for (const auto& [name, count] : firmware->errors) {
    if (count != 0) counted.push_back(printable(name) + " " + std::to_string(count));
  }
  return counted.empty() ? "none" : cut_text(join(counted, ", "), kLongestErrors);
}

TextTable rdma_table(const Facts& facts) {
  TextTable table{{"RDMA DEVICE", "PORT", "STATE", "RATE", "MTU", "FIRMWARE", "ERRORS"}, {}};
  for (const RdmaDeviceFacts& device : facts.rdma_devices) {
    const RdmaFirmwareFacts* firmware = firmware_of(facts, device.name);
    const std::string version = firmware == nullptr ? "" : printable(firmware->firmware);
    const std::string errors = errors_text(firmware);
    for (const RdmaPortFacts& port : device.port_facts) {
      table.add({printable(device.name), std::to_string(port.number), printable(port.state), printable(port.rate),
                 port.active_mtu ? std::to_string(*port.active_mtu) : "", version, errors});
    }
    if (device.port_facts.empty()) table.add({printable(device.name), "", "", "", "", version, errors});
  }
  return table;
}

TextTable gids_table(const Facts& facts) {
  TextTable table{{"GIDS OF", "INDEX", "TYPE", "INTERFACE", "GID"}, {}};
  for (const RdmaDeviceFacts& device : facts.rdma_devices) {
    for (const RdmaPortFacts& port : device.port_facts) {
      for (const RdmaGid& gid : port.gids) {
        table.add({printable(device.name), std::to_string(gid.index), printable(gid.type), printable(gid.interface),
                   printable(gid.gid)});
      }
    }
  }
  return table;
}

TextTable routes_table(const Facts& facts) {
  TextTable table{{"ROUTE TO", "OVER", "GATEWAY", "METRIC", "BY", "TABLE", "STATE"}, {}};
  for (const RouteFacts& route : facts.host.routes) {
    constexpr int kMainTable = 254;
    std::string state = route.link_down ? "no peer" : "";
    if (route.stands_for > 1) state += (state.empty() ? "" : ", ") + fmt::format("{} routes", route.stands_for);
    table.add({printable(route.destination), printable(route.interface), printable(route.gateway),
               route.metric == 0 ? "" : std::to_string(route.metric), printable(route.protocol),
               route.table == kMainTable ? "" : std::to_string(route.table), state});
  }
  return table;
}

TextTable profiles_table(const Facts& facts) {
  TextTable table{{"PROFILE", "TYPE", "INTERFACE", "IPV4", "ORIGIN", "FILE"}, {}};
  for (const NetworkProfile& profile : facts.host.network_profiles) {
    const auto origin = names_of(profile.origin)[static_cast<std::size_t>(profile.origin)];
    table.add({printable(profile.id), printable(profile.type), printable(profile.interface), printable(profile.method),
               std::string(origin), printable(profile.file)});
  }
  return table;
}

TextTable netplan_table(const Facts& facts) {
  TextTable table{{"NETPLAN FILE", "MODE"}, {}};
  for (const NetplanFileFacts& file : facts.host.netplan_files) {
    table.add({printable(file.path), fmt::format("{:04o}", file.mode)});
  }
  return table;
}

TextTable neighbours_table(const ExtendedFacts& facts) {
  TextTable table{{"NEIGHBOUR", "OVER", "MAC", "STATE"}, {}};
  for (const NeighbourFacts& one : facts.neighbours) {
    table.add({printable(one.address), printable(one.interface), printable(one.mac), printable(one.state)});
  }
  return table;
}

TextTable units_table(const ExtendedFacts& facts) {
  TextTable table{{"UNIT", "STATE", "AT BOOT", "MEMLOCK"}, {}};
  for (const UnitFacts& unit : facts.units) {
    table.add({printable(unit.name), printable(unit.active), printable(unit.enabled), printable(unit.locked_memory)});
  }
  return table;
}

TextTable input_table(const ExtendedFacts& facts) {
  TextTable table{{"INPUT CHAIN", "OVER", "FROM", "VERDICT", "RULE"}, {}};
  if (!facts.firewall) return table;
  for (const InputChainFacts& chain : facts.firewall->input_chains) {
    for (const InputVerdictFacts& verdict : chain.verdicts) {
      table.add({printable(chain.name), verdict.interface.empty() ? "any" : printable(verdict.interface),
                 verdict.from.empty() ? "any" : printable(verdict.from), printable(verdict.verdict),
                 printable(verdict.rule)});
    }
  }
  return table;
}

TextTable nvme_table(const ExtendedFacts& facts) {
  TextTable table{{"NVME", "TRANSPORT", "STATE", "ADDRESS", "SUBSYSTEM"}, {}};
  for (const NvmeControllerFacts& one : facts.nvme) {
    table.add({printable(one.name), printable(one.transport), printable(one.state), printable(one.address),
               printable(one.subsystem)});
  }
  return table;
}

TextTable fstab_table(const ExtendedFacts& facts) {
  TextTable table{{"MOUNT", "TYPE", "DEVICE", "OPTIONS"}, {}};
  for (const FstabFacts& line : facts.fstab) {
    table.add({printable(line.target), printable(line.type), printable(line.device), printable(line.options)});
  }
  return table;
}

TextTable pairs_table(std::string title, const std::map<std::string, std::string>& pairs) {
  TextTable table{{std::move(title), "VALUE"}, {}};
  for (const auto& [name, value] : pairs) table.add({printable(name), printable(value)});
  return table;
}

TextTable words_table(std::string title, const std::vector<std::string>& words) {
  TextTable table{{std::move(title)}, {}};
  if (!words.empty()) table.add({printable(join(words, " "))});
  return table;
}

std::vector<TextTable> tables_of(const ExtendedFacts& facts) {
  std::vector<TextTable> tables{neighbours_table(facts), nvme_table(facts), fstab_table(facts), units_table(facts),
                                input_table(facts)};
  tables.push_back(words_table("KERNEL MODULES", facts.kernel_modules));
  tables.push_back(words_table("MODULES AT BOOT", facts.modules_at_boot));
  tables.push_back(words_table("OWN NAME IN /etc/hosts", facts.own_name_addresses));
  tables.push_back(pairs_table("KERNEL PARAMETER", facts.sysctl));
  tables.push_back(pairs_table("SSHD", facts.sshd));
  tables.push_back(pairs_table("LOGIN VARIABLE", facts.login.environment));
  tables.push_back(pairs_table("PROFILE VARIABLE", facts.nccl_profile));
  for (const NcclFileFacts& file : facts.nccl_files)
    tables.push_back(pairs_table(printable(file.file), file.variables));
  return tables;
}

/// Drops the rows behind `left` bytes, and says so. `left` gets what remains.
void keep_first_rows(TextTable& table, std::size_t& left) {
  for (std::size_t at = 0; at < table.rows.size(); ++at) {
    std::size_t bytes = 0;
    for (const TextCell& cell : table.rows[at].cells) bytes += kCellBytes + cell.text.size();
    if (bytes <= left) {
      left -= bytes;
      continue;
    }
    left = 0;
    table.rows.erase(table.rows.begin() + static_cast<std::ptrdiff_t>(at), table.rows.end());
    table.rows.shrink_to_fit();
    table.add({"..."});
    table.rows.back().notes.push_back("The table is cut. Everything: sparkplan facts --json");
    return;
  }
}

/// Labels and texts, without a header.
std::string overview_text(const std::vector<FactLine>& lines, const TextStyle& style) {
  TextTable table;
  for (const FactLine& line : lines)
    table.rows.push_back({{{line.label, Colour::kDim}, {line.text, Colour::kNone}}, {}});
  return table_text(table, kFactsIndent, style);
}

std::map<std::string, std::string> unreadable_in(const Facts& facts) {
  auto all = facts.host.unreadable;
  if (facts.extended) all.insert(facts.extended->unreadable.begin(), facts.extended->unreadable.end());
  return all;
}

/// "login, locked memory" for login.locked_memory.
std::string words_of_fact(const std::string& field) {
  std::string words;
  for (const char byte : field) {
    if (byte == '.')
      words += ", ";
    else
      words += byte == '_' ? ' ' : byte;
  }
  return words;
}

TextTable unreadable_table(const Facts& facts) {
  TextTable table{{"UNREADABLE", "REASON"}, {}};
  for (const auto& [field, reason] : unreadable_in(facts)) {
    table.add({printable(words_of_fact(field)), printable(reason)});
  }
  return table;
}

/// A value of a fact, and the nodes that have it.
struct SameValue {
  std::string text;
  std::vector<std::string> nodes;
};

void add(const std::string& text, std::string node, std::vector<SameValue>& values) {
  const auto same = std::find_if(values.begin(), values.end(), [&](const SameValue& one) { return one.text == text; });
  if (same == values.end()) {
    values.push_back({text, {std::move(node)}});
  } else {
    same->nodes.push_back(std::move(node));
  }
}

}  // namespace

std::string facts_text(const NodeFacts& node, const TextStyle& style) {
  const Facts& facts = *node.facts;
  std::string text = paint(printable(node.name), Colour::kBold, style) + "\n";
  text += overview_text(facts_overview(facts), style);
  std::vector<TextTable> tables{links_table(facts),  devices_table(facts),  rdma_table(facts),   gids_table(facts),
                                routes_table(facts), profiles_table(facts), netplan_table(facts)};
  if (facts.extended) {
    auto more = tables_of(*facts.extended);
    std::move(more.begin(), more.end(), std::back_inserter(tables));
  }
  tables.push_back(unreadable_table(facts));
  std::size_t left = kMostCellBytes;
  for (TextTable& table : tables) keep_first_rows(table, left);
  for (const TextTable& table : tables) {
    const std::string rows = table_text(table, kFactsIndent, style);
    if (!rows.empty()) text += "\n" + rows;
  }
  if (!facts.extended) return text;
  if (!facts.extended->netplan_error.empty()) {
    text += "\n" + overview_text({{"netplan", printable(facts.extended->netplan_error)}}, style);
  }
  if (!facts.extended->netplan_merged.empty()) {
    text += "\n  " + paint("NETPLAN, ALL FILES MERGED", Colour::kDim, style) + "\n";
    for (const auto line : split_lines(facts.extended->netplan_merged)) text += "  " + printable(line) + "\n";
  }
  return text;
}

std::string facts_comparison(const std::vector<NodeFacts>& nodes, const TextStyle& style) {
  std::vector<std::string> labels;  // In the order of their first appearance.
  std::vector<std::map<std::string, std::string>> texts(nodes.size());
  for (std::size_t at = 0; at < nodes.size(); ++at) {
    for (FactLine& line : facts_overview(*nodes[at].facts)) {
      if (line.differs_always) continue;
      if (std::find(labels.begin(), labels.end(), line.label) == labels.end()) labels.push_back(line.label);
      texts[at][line.label] = std::move(line.text);
    }
  }
  TextTable table{{"FACT", "NODES", "VALUE"}, {}};
  for (const std::string& label : labels) {
    std::vector<SameValue> values;
    for (std::size_t at = 0; at < nodes.size(); ++at) add(texts[at][label], printable(nodes[at].name), values);
    const Colour colour = values.size() > 1 ? Colour::kYellow : Colour::kNone;
    for (const SameValue& one : values) {
      table.rows.push_back({{{label, Colour::kNone}, {fold_names(one.nodes), colour}, {one.text, Colour::kNone}}, {}});
    }
  }
  return table_text(table, 0, style);
}

}  // namespace sparkplan
