#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"
#include "engine/core/value.h"

/// What somebody else's file says of an interface that is ours from now on: it is emptied there, with what it said
/// kept beside it as remarks, and comes back word for word when the interface is no longer ours.
namespace sparkplan::netplan {

/// Pure. The text with an empty definition in place of what it says below `ethernets` of `interface`; everything
/// else stays byte for byte.
/// Errors: kNotFound when there is no such definition; kUnsupported when it cannot be told which lines are its own.
Result<std::string> with_emptied(std::string_view text, const std::string& interface);

/// Pure. The inverse, whatever else has become of the file since. A text in which nothing of `interface` is emptied
/// stays as it is.
std::string with_restored(std::string_view text, const std::string& interface);

/// Pure. The interfaces whose definitions are emptied in this text, by us.
std::set<std::string> emptied_in(std::string_view text);

/// Pure. Does the file hold what should not leave the node?
bool holds_secrets(const Value& tree);

/// Pure. Why a definition in this file cannot be emptied by us, whose text would travel to the controller. Empty
/// when it can.
std::string why_not_taken_over(const std::string& path, std::string_view text, const Value& tree,
                               const std::string& interface);

}  // namespace sparkplan::netplan
