#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/core/result.h"
#include "engine/domain/fabric/fabric_interfaces.h"
#include "engine/model/facts.h"
#include "engine/node/node.h"
#include "resources/netplan/foreign_files.h"

/// Refusals of interfaces that other software or other definitions use, whatever cluster.yaml declares.
namespace sparkplan::netplan {

/// The links that carry our connection to the node. They are looked up once, for all interfaces: a node may report
/// thousands of links.
class OwnConnection {
 public:
  /// `address` is the node's address of that connection; empty: none.
  OwnConnection(std::string address, const std::vector<LinkFacts>& links);

  /// Why the interface must not be changed: it carries our connection, something built on it does, or that is unknown.
  /// Empty if it may be changed.
  std::string why_untouchable(const std::string& interface) const;

 private:
  std::string address_;
  bool is_remote_ = false;
  std::set<std::string> ends_;   ///< Links with the address.
  std::set<std::string> below_;  ///< These, and all that they are built on.
};

/// The warning for `adopt: keep`: how a foreign definition uses the interface.
Diagnostic left_to(const std::string& interface, const Definition& definition, const SourceRange& where);

/// The error for `adopt: refuse`: kRefused, with a hint how to resolve it.
Error refused_for(const std::string& interface, const Definition& definition);

/// As refused_for(), for a definition that should be taken over but cannot be.
Error not_taken_over(const std::string& interface, const Definition& definition);

/// Pure. Why an interface cannot be managed in its current state in the kernel: it is, or is part of, a bond or bridge,
/// or it is among `virtual_functions` (SR-IOV). kRefused; nothing if it can be managed.
std::optional<Error> why_unfit(const ObservedPort& port, const std::vector<LinkFacts>& links,
                               const std::vector<std::string>& virtual_functions);

/// The interfaces of a node that are virtual functions; empty for an image. Errors: as NodeReader::links() and
/// NodeReader::status(). Source: the kernel's Documentation/ABI/testing/sysfs-bus-pci, "physfn".
Result<std::vector<std::string>> virtual_functions_of(const NodeReader& node);

}  // namespace sparkplan::netplan
