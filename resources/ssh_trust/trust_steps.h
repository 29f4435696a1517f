#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/resource/resource_type.h"

namespace sparkplan::ssh_trust {

inline constexpr std::string_view kKeyKind = "ssh_key";
inline constexpr std::string_view kAuthorizedKeysKind = "authorized_keys";

/// Both are named by user, "~nvidia/.ssh/authorized_keys", because a home may move.
ArtifactId key_artifact(const std::string& user);
ArtifactId authorized_keys_artifact(const std::string& user);
/// The user in such a name.
std::string user_of(const ArtifactId& artifact);

/// Pure. ResourceType::steps() of this type. Each user's files in the home are one group, and the files of all users
/// are another.
std::vector<Step> trust_steps(const StepsInput& input, const TypeInfo& info);

}  // namespace sparkplan::ssh_trust
