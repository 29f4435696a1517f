#pragma once

#include <optional>
#include <string>

#include "engine/core/result.h"
#include "engine/node/node.h"

namespace sparkplan::file {

/// Why a file is not to be written somewhere, and where else its content belongs.
struct Objection {
  std::string code;  ///< "file.place"
  std::string message;
  std::string hint;
};

/// Pure. What can be said against a path without looking at a node: it is spelled in a roundabout way, made
/// anew by others, or an error there locks everybody out.
std::optional<Objection> objection_to(const std::string& path);

/// I/O, read-only. That each directory on the way to the file is one, and root's: whoever else owns it could
/// put a link into the way. True when the last one is there.
/// Errors: kRefused, naming the directory; as NodeReader::status().
Result<bool> check_directories(const std::string& path, const NodeReader& node);

}  // namespace sparkplan::file
