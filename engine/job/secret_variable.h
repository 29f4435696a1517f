#pragma once

#include <optional>
#include <string>

#include "engine/model/secret_place.h"

namespace sparkplan::job {

/// The value of a secret variable of `user`, as a login shell of that user reads it: without newlines at its end.
/// Nothing: there is no such file of this process's user, or no variable can hold its content. A process that has read
/// one writes no core dump until its next execve().
std::optional<std::string> secret_variable(const std::string& user, const std::string& name,
                                           const std::string& directory = std::string(kSecretVariables));

}  // namespace sparkplan::job
