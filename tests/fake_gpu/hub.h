#pragma once

#include <cstddef>
#include <string>
#include <vector>

/// How the ranks of the fake NCCL get each other's data.
namespace sparkplan::test {

using Blobs = std::vector<std::string>;  ///< One for each rank.

/// False when the other end is gone.
bool write_all(int socket, const void* data, std::size_t size);
bool write_blobs(int socket, const Blobs& blobs);
bool read_blobs(int socket, std::size_t count, Blobs& blobs);

/// Hands each rank what the others have for it, round after round, until one is gone.
void run_hub(int listener);

}  // namespace sparkplan::test
