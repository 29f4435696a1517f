#pragma once

#include <string>

#include "engine/core/result.h"
#include "engine/remote/config/ssh_config.h"
#include "engine/remote/config/ssh_way.h"

namespace sparkplan {

/// Where the files are.
struct SshConfigPlaces {
  std::string home;  ///< Of the user; ".ssh/config" is below it.
  std::string system = "/etc/ssh";
};

/// Reads ~/.ssh/config and /etc/ssh/ssh_config, with all files that they include. Missing files are left out. Includes
/// of a file are read whether or not its block applies. At most 256 files, 16 levels, 1 MiB in all.
/// Errors: kPermissionDenied for a file that another user may write, as OpenSSH refuses it; kInvalidInput for a file
/// that includes itself, is too long or has a syntax error; kFailed. Source: OpenSSH 9.6, read_config_file_depth().
Result<SshConfig> read_ssh_config(const SshConfigPlaces& places);

/// The user who runs this program, with $HOME as the home; "root" and "/" without an account.
LocalUser local_user();

}  // namespace sparkplan
