#pragma once

#include <map>
#include <string>
#include <string_view>

#include "engine/core/result.h"
#include "engine/core/value.h"

/// Takes over definitions of our interfaces in foreign files. A definition is emptied there, and its lines stay beside
/// it as comments. It is restored word for word when sparkplan no longer manages the interface.
namespace sparkplan::netplan {

/// Pure. The text with an empty definition in place of the one with that key below `ethernets`; all other bytes stay.
/// The key is the interface's name, or the name of a profile for it ("NM-UUID").
/// Errors: kNotFound without such a definition; kUnsupported if its own lines cannot be determined; kInvalidInput for a
/// text that is not YAML.
Result<std::string> with_emptied(std::string_view text, const std::string& key, const std::string& interface);

/// Pure. The inverse, also after other edits of the file. A text in which no definition of that key is emptied stays
/// unchanged.
std::string with_restored(std::string_view text, const std::string& key);

/// Pure. The keys of the definitions that sparkplan has emptied in this text, with the interface of each.
std::map<std::string, std::string> emptied_in(std::string_view text);

/// Pure. Whether the file holds secrets, which must not leave the node.
bool holds_secrets(const Value& tree);

/// Pure. Why sparkplan cannot empty a definition in this file: the file's text would travel to the controller. Empty if
/// it can.
std::string why_not_taken_over(const std::string& path, std::string_view text, const Value& tree,
                               const std::string& key);

}  // namespace sparkplan::netplan
