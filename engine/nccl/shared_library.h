#pragma once

#include <dlfcn.h>

#include <cstring>
#include <string>

#include "engine/core/result.h"

namespace sparkplan {

/// What the loader said last.
inline std::string loader_complaint() {
  const char* complaint = ::dlerror();
  return complaint == nullptr ? "no reason given" : complaint;
}

/// A loaded library, to take functions from. It is never unloaded.
struct SharedLibrary {
  void* handle = nullptr;
  std::string name;  ///< For messages.

  /// Errors: kUnsupported when there is no such function.
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
