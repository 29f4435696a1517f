#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "engine/core/result.h"
#include "engine/core/value.h"

/// Takes over definitions of our interfaces in foreign files. A definition is emptied there, and its lines stay beside
/// it as comments. It is restored word for word when sparkplan no longer manages the interface.
namespace sparkplan::netplan {

/// The key of each definition that is to be emptied, below `ethernets`: an interface's name, or the name of a profile
/// for it ("NM-UUID"). To the name of the interface.
using KeysToEmpty = std::map<std::string, std::string>;

/// Pure. The text with empty definitions in place of those with these keys; all other bytes stay. Takes two parses,
/// whatever the number of keys.
/// Errors: kNotFound if one is missing; kUnsupported if one's own lines cannot be determined; and as parse_yaml(). Then
/// none is emptied.
Result<std::string> with_emptied(std::string_view text, const KeysToEmpty& keys);

/// Pure. The inverse, also after other edits of the file, in one pass over the text. Keys without an emptied definition
/// change nothing.
std::string with_restored(std::string_view text, const std::set<std::string>& keys);

/// Pure. The keys of the definitions that sparkplan has emptied in this text, with the interface of each.
std::map<std::string, std::string> emptied_in(std::string_view text);

/// Pure. Whether the file holds secrets, which must not leave the node.
bool holds_secrets(const Value& tree);

/// Pure. Why no definition is emptied in a file of this path; empty if one may be.
std::string why_not_emptied_at(std::string_view path);

/// Pure. Why sparkplan cannot empty a definition in this file: the file's text would travel to the controller. Empty if
/// it can.
std::string why_not_taken_over(const std::string& path, std::string_view text, const Value& tree,
                               const std::string& key);

}  // namespace sparkplan::netplan
