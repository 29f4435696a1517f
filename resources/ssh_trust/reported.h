#pragma once

#include "engine/resource/resource_type.h"

namespace sparkplan::ssh_trust {

/// What a node may say of a user's trust, of keys and blocks in his home, and export to the others.
ReportedShapes reported_trust();

}  // namespace sparkplan::ssh_trust
