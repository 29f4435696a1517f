#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"
#include "engine/node/node.h"

/// Calls of nmcli(1) for the profiles that netplan generates. They change one interface at a time, never the whole
/// service.
namespace sparkplan::netplan {

/// A connection profile of NetworkManager.
struct Profile {
  std::string uuid;
  std::string name;  ///< "Wired connection 1"
  std::string file;  ///< Empty if it has none.

  bool operator==(const Profile&) const = default;
};

/// Pure. The words of a line of `nmcli --terse`, in which a backslash escapes a colon inside a word.
std::vector<std::string> terse_words(std::string_view line);

/// The foreign profile that is active on the interface. The profile that netplan generates for it does not count, nor a
/// profile that NetworkManager only reads from the kernel. Nothing if NetworkManager does not run.
/// Errors: kFailed with nmcli's message.
Result<std::optional<Profile>> other_profile_on(const std::string& interface, const NodeReader& node);

/// Why NetworkManager cannot configure `interface`, which netplan assigns to it. Nothing if it runs.
std::optional<Error> why_no_network_manager(const std::string& interface, const NodeReader& node);

/// Makes NetworkManager load these files again. It drops and deactivates the profiles of missing files. Other profiles
/// stay unchanged. If NetworkManager does not run, it reads the files when it starts.
/// Errors: kFailed with nmcli's message.
Result<void> load_profiles(const std::vector<std::string>& files, Node& node);

/// Activates the profile that netplan has generated for the interface, again if it is already active.
/// Errors: kNotFound if NetworkManager does not know it or the interface; with nmcli's message kVerifyFailed if the
/// profile did not become active, and kFailed otherwise.
Result<void> bring_up_generated(const std::string& interface, Node& node);

/// Begins to activate that profile, and waits for it for 5 s at most. Whether it becomes active is no failure: that may
/// depend on a carrier, on a DHCP server, or on the neighbours' addresses. Errors: kNotFound if NetworkManager does not
/// know it or the interface; kFailed with nmcli's message.
Result<void> begin_generated(const std::string& interface, Node& node);

/// Deactivates the profile that netplan has generated for the interface, if it is active there. NetworkManager then
/// activates another one if it has one. Errors: kFailed with nmcli's message.
Result<void> take_down_generated(const std::string& interface, Node& node);

/// As begin_generated(), for an earlier profile, and without waiting. A missing one is no failure either.
/// Errors: kFailed with nmcli's message.
Result<void> bring_up_again(const std::string& uuid, const std::string& interface, Node& node);

/// Deactivates the active profile of the interface. NetworkManager then activates none automatically until an explicit
/// activation or the next boot. Errors: kFailed with nmcli's message.
Result<void> leave_alone(const std::string& interface, Node& node);

/// The path of the profile that netplan generates for the interface.
std::string generated_for_network_manager(const std::string& interface);

}  // namespace sparkplan::netplan
