#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/core/result.h"
#include "engine/domain/fabric/fabric_interfaces.h"
#include "engine/model/facts.h"
#include "engine/node/node.h"
#include "resources/netplan/foreign_files.h"

/// Interfaces that are no fabric interfaces, whatever cluster.yaml says: what else uses them.
namespace sparkplan::netplan {

/// Pure. Why the interface must not be touched: it carries the connection that we speak through
/// (`connection` is the node's end of it; empty: none), or something that is built on it does, or that
/// cannot be told. Empty when it may be touched.
std::string why_untouchable(const std::string& interface, const std::string& connection,
                            const std::vector<LinkFacts>& links);

/// What a definition of somebody else's does with an interface of ours, by `adopt: keep`: a warning.
Diagnostic left_to(const std::string& interface, const Definition& definition, const SourceRange& where);

/// The same by `adopt: refuse`: kRefused, with what to do about it.
Error refused_for(const std::string& interface, const Definition& definition);

/// The same of one that cannot be taken over, where it is to be.
Error not_taken_over(const std::string& interface, const Definition& definition);

/// Pure. Why an interface cannot be had as the kernel has it: it is, or is part of, a bond or bridge, or
/// is a virtual function (SR-IOV) as `virtual_functions` has them. kRefused; nothing when it can.
std::optional<Error> why_unfit(const ObservedPort& port, const std::vector<LinkFacts>& links,
                               const std::vector<std::string>& virtual_functions);

/// The interfaces of a node that are virtual functions; of an image, none. Errors: as NodeReader::links()
/// and NodeReader::status(). Source: the kernel's Documentation/ABI/testing/sysfs-bus-pci, "physfn".
Result<std::vector<std::string>> virtual_functions_of(const NodeReader& node);

}  // namespace sparkplan::netplan
