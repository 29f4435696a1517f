#include "engine/process/own_user.h"

#include <pwd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
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

std::string own_home() {
  const char* home = std::getenv("HOME");
  if (home != nullptr && *home != '\0') return home;
  const auto user = own_user();
  return user ? user->home : "/";
}

std::string expand_home(const std::string& path) {
  return path == "~" || path.starts_with("~/") ? own_home() + path.substr(1) : path;
}

}  // namespace sparkplan
