#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/node/node.h"

/// Reads small texts of a node and parses their formats, for the readers of facts.
namespace sparkplan {

/// The first line of a file without surrounding blanks; empty if the file cannot be read.
std::string first_line_of(const NodeReader& node, const std::string& path);

/// The text of a file; nothing if it is missing or cannot be read. In the latter case `unreadable` has the reason under
/// `field`.
std::optional<std::string> text_or_reason(const NodeReader& node, const std::string& path, const std::string& field,
                                          std::map<std::string, std::string>& unreadable,
                                          std::size_t most = std::size_t{1} << 20);

/// Its first line, as first_line_of().
std::string line_or_reason(const NodeReader& node, const std::string& path, const std::string& field,
                           std::map<std::string, std::string>& unreadable);

/// The names in a directory; empty if it is missing. If the directory cannot be read, the result is empty and
/// `unreadable` has the reason under `field`.
std::vector<std::string> names_or_reason(const NodeReader& node, const std::string& directory, const std::string& field,
                                         std::map<std::string, std::string>& unreadable);

/// The first run of digits as a number; nothing without digits, or for a number over kMostCount, which facts cannot
/// contain.
std::optional<std::int64_t> number_in_text(std::string_view text);

/// A key file of NetworkManager, systemd or GLib as "group.key" -> value, without comments.
std::map<std::string, std::string> key_file(std::string_view text);

/// KEY=value or export KEY="value" of shell files; nothing for any other line.
std::optional<std::pair<std::string, std::string>> assignment_in(std::string_view line);

}  // namespace sparkplan
