#pragma once

#include <vector>

#include "engine/core/result.h"
#include "engine/node/node.h"
#include "resources/sysctl/sysctl.h"

namespace sparkplan::sysctl {

/// I/O, read-only. The sysctl.d files that are applied after ours, in that order: by file name
/// across all directories, a name in /etc hiding the same name in /run, that one /usr/local/lib,
/// /usr/lib and /lib; an empty file, a link to /dev/null or to nothing, and a
/// directory hide without adding anything.
/// /etc/sysctl.conf counts where a link to it stands (99-sysctl.conf on Debian 12), because
/// systemd-sysctl does not read it otherwise. Source: sysctl.d(5).
/// Errors: kPermissionDenied and others: what cannot be read might override us.
Result<std::vector<ConfigFile>> later_config_files(const NodeReader& node);

}  // namespace sparkplan::sysctl
