#include "resources/netplan/refusals.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "engine/core/diagnostic.h"

namespace sparkplan::netplan {
namespace {

/// Kinds of kernel interfaces that are made of other interfaces.
constexpr std::array<std::string_view, 3> kControllers{"bond", "bridge", "team"};

bool is_controller(const std::string& kind) { return std::ranges::find(kControllers, kind) != kControllers.end(); }

Error refused(std::string message, std::string hint) {
  return make_error(ErrorCode::kRefused, std::move(message), std::move(hint));
}

bool is_member(const std::string& interface, const Definition& definition) {
  const auto& members = definition.members;
  return std::ranges::find(members, interface) != members.end();
}

/// "/etc/netplan/40-cx7.yaml:5 defines enp1s0f1np1 too"
std::string what_it_does(const std::string& interface, const Definition& definition) {
  const std::string& source = definition.source;
  if (is_member(interface, definition)) return source + " defines " + interface + " too, as part of " + definition.id;
  if (definition.set_name == interface) return source + " renames an interface to " + interface;
  if (!definition.set_name.empty()) return source + " renames " + interface + " to " + definition.set_name;
  if (definition.parent == interface) {
    return source + " makes " + definition.id + " a virtual function (SR-IOV) of " + interface;
  }
  if (definition.has_virtual_functions) {
    return source + " defines " + interface + " too, with virtual functions (SR-IOV)";
  }
  if (definition.section != kProfiles) return source + " defines " + interface + " too";
  const std::string profile = source + ", NetworkManager's \"" + definition.id + "\", ";
  return profile + (gives_way(definition) ? "is for " + interface : "would take " + interface + " at boot");
}

/// The refusal, with the consequence of the definition and a hint.
Error consequence(const std::string& interface, const Definition& definition, const std::string& what) {
  if (is_member(interface, definition)) {
    return refused(what + ", and a part of a bond or bridge cannot be a fabric interface",
                   "RDMA uses each half separately: take " + interface + " out of " + definition.id);
  }
  if (!definition.set_name.empty()) {
    return refused(what + ", and sparkplan does not configure interfaces that netplan renames",
                   "remove `set-name` from that file, or name another interface");
  }
  if (definition.parent == interface || definition.has_virtual_functions) {
    return refused(what + ", and sparkplan does not configure those", "remove the virtual functions from that file");
  }
  if (!definition.is_profile) {
    return refused(what + ", and netplan would merge the two",
                   "set `fabric: {adopt: take-over}` to empty that definition, or `fabric: {adopt: keep}` to keep it");
  }
  return refused(what + ", and NetworkManager activates one profile per interface",
                 "disable that profile with `nmcli connection delete` or `nmcli connection modify ... "
                 "connection.autoconnect no`, or set `fabric: {adopt: take-over}` to replace it, or "
                 "`fabric: {adopt: keep}` to keep it");
}

}  // namespace

Diagnostic left_to(const std::string& interface, const Definition& definition, const SourceRange& where) {
  return finding(Severity::kWarning, "fabric.foreign-definition",
                 what_it_does(interface, definition) + ", and `adopt: keep` leaves it to that file", {}, where);
}

Error refused_for(const std::string& interface, const Definition& definition) {
  return consequence(interface, definition, what_it_does(interface, definition));
}

Error not_taken_over(const std::string& interface, const Definition& definition) {
  Error error = refused_for(interface, definition);
  error.message += ", and cannot be taken over: " + definition.why_not_taken_over;
  error.hint = "remove it there by hand, or keep it with `fabric: {adopt: keep}`";
  return error;
}

OwnConnection::OwnConnection(std::string address, const std::vector<LinkFacts>& links)
    : address_(std::move(address)),
      is_remote_(!address_.empty() && !address_.starts_with("127.") && address_ != "::1") {
  if (!is_remote_) return;
  ends_ = links_with_address(address_, links);
  below_ = links_below(ends_, links);
}

std::string OwnConnection::why_untouchable(const std::string& interface) const {
  if (!is_remote_) return "";
  if (ends_.empty()) return "may carry our connection: no interface has its address, " + address_;
  if (ends_.contains(interface)) return "carries sparkplan's connection to the node";
  return below_.contains(interface) ? "is part of the link that carries our connection" : "";
}

std::optional<Error> why_unfit(const ObservedPort& port, const std::vector<LinkFacts>& links,
                               const std::vector<std::string>& virtual_functions) {
  const std::string& name = port.interface;
  const std::string other = "name the fabric's interfaces under `fabric: {interfaces: [...]}` of this node";
  if (std::ranges::find(virtual_functions, name) != virtual_functions.end()) {
    return refused(name + " is a virtual function (SR-IOV), and the fabric is made of whole ports", other);
  }
  if (port.link == nullptr) return std::nullopt;
  if (is_controller(port.link->kind)) {
    return refused(name + " is a " + port.link->kind + ", and the fabric is made of whole ports", other);
  }
  const std::string& master = port.link->master;
  if (master.empty()) return std::nullopt;
  const auto controller = std::ranges::find(links, master, &LinkFacts::name);
  const std::string kind = controller == links.end() || controller->kind.empty() ? "" : controller->kind + " ";
  return refused(name + " is part of the " + kind + master + ", so it cannot be a fabric interface",
                 "RDMA uses each half separately: take " + name + " out of " + master);
}

Result<std::vector<std::string>> virtual_functions_of(const NodeReader& node) {
  std::vector<std::string> names;
  if (!node.live()) return names;
  SPARK_TRY(const auto links, node.links());
  for (const LinkFacts& link : links) {
    SPARK_TRY(const bool has_parent, node.is_there("/sys/class/net/" + link.name + "/device/physfn"));
    if (has_parent) names.push_back(link.name);
  }
  return names;
}

}  // namespace sparkplan::netplan
