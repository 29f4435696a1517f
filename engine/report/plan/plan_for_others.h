#pragma once

#include <string_view>

#include "engine/model/cluster.h"
#include "engine/plan/report.h"

namespace sparkplan {

/// Pure. The report for people other than the user: in a page, in a pull request. Values of a setting whose name says
/// that it is secret are hidden. So are lines of files that contain such a name, and files with a private key. A hidden
/// value that differs from the one it replaces is "(hidden, changed)". Errors, findings, notes and reasons that quote a
/// hidden value of five characters or more hide it, too: values of `cluster` everywhere, and values that a node reports
/// in the messages about this node. So no node blanks the messages about others. The name of a node is never hidden.
/// With more than 8 MiB of hidden texts of a node, the messages about it are hidden as a whole.
/// Values of secrets are digests already, and are never shown.
Report for_others(Report report, const Cluster& cluster);

/// Pure. True for "HF_TOKEN", "api_key", "ApiKey", "password", "wpa-psk", "HTTP_AUTH". False for "authorized_keys".
bool names_a_secret(std::string_view name);

}  // namespace sparkplan
