#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sparkplan::test {

/// The value of $NAME in `shell` after it has read `file_text` `times` times. The shell starts with only `environment`
/// ("NAME=value"). The test fails when the shell prints an error.
std::string seen_by_shell(const std::string& shell, std::string_view file_text, const std::string& name,
                          const std::vector<std::string>& environment = {}, int times = 1);

}  // namespace sparkplan::test
