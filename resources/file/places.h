#pragma once

#include <optional>
#include <string>

#include "engine/core/result.h"
#include "engine/node/node.h"

namespace sparkplan::file {

/// Why sparkplan refuses to write a file, and where its content belongs.
struct Objection {
  std::string code;  ///< "file.place"
  std::string message;
  std::string hint;
};

/// Pure. An objection that needs no node: the path is not normalized, other programs recreate it, or an error there
/// locks users out. Nothing if the path is allowed.
std::optional<Objection> objection_to(const std::string& path);

/// I/O, read-only. Checks every existing directory on the path: root must own it, because any other owner could place a
/// link there. True if the last one exists.
/// Errors: kRefused, naming the directory, also for a link and for one that all users can write; as
/// NodeReader::status().
Result<bool> check_directories(const std::string& path, const NodeReader& node);

}  // namespace sparkplan::file
