#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"
#include "engine/core/value.h"

/// What somebody else's file says of an interface that is ours from now on: it is emptied there, with what it said
/// kept beside it as remarks, and comes back word for word when the interface is no longer ours.
namespace sparkplan::netplan {

/// Pure. The text with an empty definition in place of the one below `ethernets` with that key; everything else stays
/// byte for byte. The key is the interface's name, or that of a profile for it ("NM-UUID").
/// Errors: kNotFound when there is no such definition; kUnsupported when it cannot be told which lines are its own.
Result<std::string> with_emptied(std::string_view text, const std::string& key, const std::string& interface);

/// Pure. The inverse, whatever else has become of the file since. A text in which nothing of that key is emptied
/// stays as it is.
std::string with_restored(std::string_view text, const std::string& key);

/// Pure. The keys of the definitions that are emptied in this text, by us, and the interface that each is emptied for.
std::map<std::string, std::string> emptied_in(std::string_view text);

/// Pure. Does the file hold what should not leave the node?
bool holds_secrets(const Value& tree);

/// Pure. Why a definition in this file cannot be emptied by us, whose text would travel to the controller. Empty
/// when it can.
std::string why_not_taken_over(const std::string& path, std::string_view text, const Value& tree,
                               const std::string& key);

}  // namespace sparkplan::netplan
