#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"
#include "engine/node/node.h"

/// NetworkManager, spoken to through nmcli(1): the profiles that netplan generates for it, one interface
/// at a time, and never the service as a whole.
namespace sparkplan::netplan {

/// A profile of NetworkManager's.
struct Profile {
  std::string uuid;
  std::string name;  ///< "Wired connection 1"
  std::string file;  ///< Empty where it has none.

  bool operator==(const Profile&) const = default;
};

/// The words of a line of `nmcli --terse`, in which a backslash stands before a colon that is none
/// between words. Pure.
std::vector<std::string> terse_words(std::string_view line);

/// The profile that is up on the interface, when it is somebody else's: not the one that netplan
/// generates for it, nor what NetworkManager only reads from the kernel. Nothing where NetworkManager
/// does not run. Errors: kFailed with nmcli's words.
Result<std::optional<Profile>> other_profile_on(const std::string& interface, const NodeReader& node);

/// Why NetworkManager cannot configure anything on this node, as an error about `interface`, which
/// netplan hands to it. Nothing when it runs.
std::optional<Error> why_no_network_manager(const std::string& interface, const NodeReader& node);

/// Has NetworkManager read these files again, or forget the profiles of those that are gone, which takes
/// them down. Other profiles stay as they are. Where it does not run, it reads them when it starts.
/// Errors: kFailed with nmcli's words.
Result<void> load_profiles(const std::vector<std::string>& files, Node& node);

/// Brings up the profile that netplan has generated for the interface, anew if it is up already.
/// Errors: kNotFound when NetworkManager does not know it or the interface; kFailed with nmcli's words.
Result<void> bring_up_generated(const std::string& interface, Node& node);

/// Brings up a profile from before, without waiting for it: a DHCP server may not answer. One that is
/// gone by now is none to bring up. Errors: kFailed with nmcli's words.
Result<void> bring_up_again(const std::string& uuid, const std::string& interface, Node& node);

/// Keeps NetworkManager from bringing up anything on the interface by itself until somebody asks for it
/// or the next boot, and takes down what it has brought up. Errors: kFailed with nmcli's words.
Result<void> leave_alone(const std::string& interface, Node& node);

/// Where NetworkManager finds the profile that netplan generates.
std::string generated_for_network_manager(const std::string& interface);

}  // namespace sparkplan::netplan
