#pragma once

#include <chrono>
#include <filesystem>
#include <stop_token>
#include <string>

#include "engine/core/result.h"
#include "engine/core/value.h"
#include "engine/remote/keys/secret.h"

namespace sparkplan {

/// How the source of a secret is read.
struct SecretPlace {
  std::filesystem::path directory;  ///< Of cluster.yaml: relative files, and the working directory of commands.
  std::chrono::milliseconds deadline{60'000};  ///< Of a command; it is killed then.
  std::stop_token stop = {};
};

struct ReadSecret {
  Secret value;
  std::string warning;  ///< "other users can read hf.token"; empty: none.
};

/// I/O. The value behind a reference, read once into locked memory: the output of a command, an environment variable,
/// or a file. Of a command and a file, one newline at the end is dropped. Errors: the source cannot be read, is empty,
/// or is larger than kMostSecretBytes; a command fails (with its standard error, never with its output) or passes its
/// deadline. The error never contains the value.
Result<ReadSecret> read_secret(const Value& reference, const SecretPlace& place);

}  // namespace sparkplan
