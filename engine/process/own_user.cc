#include "engine/process/own_user.h"

#include <pwd.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

namespace sparkplan {

std::optional<OwnUser> own_user() {
  constexpr std::size_t kMostBytes = std::size_t{1} << 20;
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> texts(1024);
  while (::getpwuid_r(::getuid(), &entry, texts.data(), texts.size(), &found) == ERANGE && texts.size() < kMostBytes) {
    texts.resize(texts.size() * 4);
  }
  if (found == nullptr) return std::nullopt;
  return OwnUser{found->pw_name, found->pw_dir};
}

}  // namespace sparkplan
