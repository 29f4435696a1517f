#include "resources/netplan/interfaces.h"

#include <cstdint>
#include <limits>

#include "resources/netplan/adoption.h"
#include "resources/netplan/live_link.h"

namespace sparkplan::netplan {
namespace {

constexpr std::int64_t kLargestInt = std::numeric_limits<int>::max();
constexpr std::int64_t kSmallestInt = std::numeric_limits<int>::min();
/// An interface is defined in one file, or in a few by mistake. The controller parses a file again for each.
constexpr std::size_t kMostSources = 64;
constexpr std::size_t kMostAddresses = 1000;
/// The limit of interfaces and of shared files: each shared file is compared with all interfaces.
constexpr std::size_t kMostInterfaces = 1000;

Shape word() { return Shape::text(Shape::kMostLineBytes); }

/// Fields of a stanza, and of the kernel's state.
std::vector<ShapeField> link_fields() {
  return {{"mtu", Shape::integer(0, kLargestInt)},
          {"addresses", Shape::texts(kMostAddresses)},
          {"link_local", Shape::boolean()},
          {"up", Shape::boolean()},
          {"routes", Shape::texts(kMostAddresses)},
          {"fabric", Shape::boolean()},
          {"renderer", word()}};
}

Shape definition() {
  return Shape::map({{"source", word(), true},
                     {"section", word()},
                     {"id", word()},
                     {"has_match", Shape::boolean()},
                     {"match_name", word()},
                     {"match_mac", word()},
                     {"match_driver", word()},
                     {"members", Shape::texts()},
                     {"set_name", word()},
                     {"parent", word()},
                     {"has_virtual_functions", Shape::boolean()},
                     {"is_profile", Shape::boolean()},
                     {"starts_by_itself", Shape::boolean()},
                     {"priority", Shape::integer(kSmallestInt, kLargestInt)},
                     {"generated", Shape::boolean()},
                     {"why_not_taken_over", Shape::text()},
                     {"entries", Shape::texts()}});
}

}  // namespace

ReportedShapes reported_interfaces() {
  ReportedShapes reported;
  auto resource = link_fields();
  resource.push_back({"persistent", Shape::map(link_fields())});
  resource.push_back({kAlsoDefinedIn, Shape::texts(kMostSources)});
  reported.resource = Shape::map(std::move(resource));
  auto link = link_fields();
  link.push_back({kProfileBefore, Shape::map({{"name", word()}, {"uuid", word()}})});
  reported.artifacts = {{std::string(kLinkKind), Shape::map(std::move(link))}};
  reported.most = kMostInterfaces;
  const Shape unreadable = Shape::list(Shape::map({{"source", word()}, {"message", Shape::text()}}));
  reported.exported = Shape::map({{"definitions", Shape::list(definition())},
                                  {"unreadable", unreadable},
                                  {"unread_profiles", unreadable},
                                  {"renderer", word()},
                                  {"virtual_functions", Shape::texts()},
                                  {"name_servers", Shape::map_of(Shape::texts())},
                                  {"configured", Shape::texts()}});
  return reported;
}

}  // namespace sparkplan::netplan
