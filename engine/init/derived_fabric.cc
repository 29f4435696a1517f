#include "engine/init/derived_fabric.h"

#include <utility>

#include "engine/core/diagnostic.h"
#include "engine/domain/fabric/fabric_interfaces.h"
#include "engine/init/bare_file.h"

namespace sparkplan {

std::optional<Cluster> cluster_with_fabric(const Members& members, const Value& section, const Registry& registry) {
  Value file = bare_file_of(members);
  file.set("fabric", section);
  return cluster_of(file, registry);
}

std::optional<std::vector<FoundInterface>> derived_interfaces(const NodeSpec& node, const Facts& facts) {
  const FabricInterfaces fabric = fabric_interfaces(node, facts, "");
  if (!fabric.diagnostics.empty()) return std::nullopt;
  std::vector<FoundInterface> interfaces;
  for (const ObservedPort& one : fabric.interfaces) {
    FoundInterface interface { one.interface, "", one.link_local, one.mtu };
    if (!one.address.empty()) interface.address = one.address_text();
    interfaces.push_back(std::move(interface));
  }
  return interfaces;
}

Diagnostic no_fabric_remark(const std::string& why) {
  return finding(Severity::kWarning, "init.no-fabric", "the fabric of these machines is omitted: " + why,
                 "correct the addresses on the machines, then run init again; the file lists them as comments");
}

}  // namespace sparkplan
