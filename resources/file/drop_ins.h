#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/node/node.h"

/// Drop-ins below /etc: their folder may have to be made, and one of logind takes effect only after a restart.
namespace sparkplan::file {

/// The unit that reads the drop-ins of `is_of_logind()`.
inline constexpr std::string_view kLogind = "systemd-logind.service";

/// Pure. The folder of `path` if sparkplan makes it for the file, and removes it after the last file: one below /etc
/// whose name ends in ".d". Empty for any other.
std::string own_folder(const std::string& path);

/// Pure. True for a file that only logind reads, and only when it starts.
bool is_of_logind(const std::string& path);

/// I/O, read-only. True if logind runs there. Errors: as NodeReader::is_there().
Result<bool> logind_runs(const NodeReader& node);

/// I/O, read-only. True if logind has started since the file was last written. Nothing if logind does not run there.
/// Errors: as NodeReader::status().
Result<std::optional<bool>> logind_has_read(const std::string& path, const NodeReader& node);

/// Restarts logind. Logins, sessions and their processes go on. Errors: as Node::run(); kFailed with systemctl's
/// reason.
Result<void> restart_logind(Node& node);

}  // namespace sparkplan::file
