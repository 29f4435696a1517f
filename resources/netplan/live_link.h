#pragma once

#include <string>
#include <string_view>

#include "engine/core/ids.h"
#include "engine/model/facts.h"
#include "engine/model/resource.h"
#include "engine/node/node.h"
#include "resources/netplan/netplan_file.h"

namespace sparkplan::netplan {

inline constexpr std::string_view kLinkKind = "link";

/// What NetworkManager had up on the interface before its profile was ours: {uuid, name}.
inline constexpr std::string_view kProfileBefore = "profile";

/// The interface as the kernel has it, as an artifact: {mtu, up, addresses, link_local}. Addresses of
/// 169.254.0.0/16 are taken at random, so only that there is one counts; fe80:: ones are the kernel's.
/// Without a carrier networkd gives no addresses, and NetworkManager neither those nor an MTU: they are
/// named as not applicable then. Where netplan hands it to NetworkManager, with the profile of somebody
/// else's that is up on it.
ArtifactId link_artifact(const std::string& interface);
Observation observe_link(const std::string& interface, const NodeReader& node);
Value encode_link_state(const LinkFacts& link);

/// What the interface is to show once `stanza` holds; what the stanza leaves alone stays as it is.
Observation link_state_wanted(const Stanza& stanza, const Value& now);

/// Makes the interface be `after`. What our file asks for is done by the renderer, for this interface
/// and its siblings in that file alone: networkd or NetworkManager gets the files that netplan generates
/// for them, reads them and configures the interface anew. Anything else (a state from before) is put
/// back by NetworkManager where the profile of that time is still there, and through netlink once that
/// is done; unless another netplan file configures the interface by now: then that holds.
/// Returns when the kernel shows it.
/// Errors: kVerifyFailed when it does not within 10 s, kFailed with the tool's or the kernel's reason.
Result<void> activate_link(const std::string& interface, const Observation& after, Node& node);

}  // namespace sparkplan::netplan
