#pragma once

#include <dlfcn.h>

#include <cstring>
#include <string>

#include "engine/core/result.h"

namespace sparkplan {

/// The loader's last error message.
inline std::string loader_complaint() {
  const char* complaint = ::dlerror();
  return complaint == nullptr ? "no reason given" : complaint;
}

/// A loaded library, for looking up functions. It is never unloaded.
struct SharedLibrary {
  void* handle = nullptr;
  std::string name;  ///< For messages.

  /// Errors: kUnsupported when the library lacks the function.
  template <class Function>
  Result<void> find(const char* symbol, Function& into) const {
    void* found = ::dlsym(handle, symbol);
    if (found == nullptr) return failure(ErrorCode::kUnsupported, name + " has no " + symbol);
    static_assert(sizeof found == sizeof into);
    std::memcpy(&into, &found, sizeof found);
    return {};
  }
};

}  // namespace sparkplan
