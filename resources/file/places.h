#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/core/result.h"
#include "engine/node/node.h"
#include "engine/resource/resource_type.h"

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
/// Errors: kRefused, naming the directory, also for a link, and for one in which all users or a group's members could
/// place one; as NodeReader::status().
Result<bool> check_directories(const std::string& path, const NodeReader& node);

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

/// As restart_logind(), but returns as soon as the restart has begun. Errors: as Node::start().
Result<ActivationEnd> begin_restart_of_logind(Node& node);

}  // namespace sparkplan::file
