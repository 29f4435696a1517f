#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sparkplan::test {

/// What `shell` finds in $NAME after it has read `file_text` as often as `times` says, started with
/// `environment` ("NAME=value") and nothing else. Fails the test when the shell complains.
std::string seen_by_shell(const std::string& shell, std::string_view file_text, const std::string& name,
                          const std::vector<std::string>& environment = {}, int times = 1);

}  // namespace sparkplan::test
