#pragma once

#include <libssh/libssh.h>

#include <memory>

namespace sparkplan::ssh {

/// Frees a key of libssh.
struct KeyDeleter {
  void operator()(ssh_key key) const { ssh_key_free(key); }
};
/// A key of libssh, freed with the pointer.
using KeyPointer = std::unique_ptr<ssh_key_struct, KeyDeleter>;

}  // namespace sparkplan::ssh
