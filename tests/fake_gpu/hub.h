#pragma once

#include <cstddef>
#include <string>
#include <vector>

/// Exchanges data between the ranks of the fake NCCL.
namespace sparkplan::test {

using Blobs = std::vector<std::string>;  ///< One for each rank.

/// False when the other end is closed.
bool write_all(int socket, const void* data, std::size_t size);
bool write_blobs(int socket, const Blobs& blobs);
bool read_blobs(int socket, std::size_t count, Blobs& blobs);

/// Sends each rank the other ranks' data for it, round after round, until one rank closes its connection.
void run_hub(int listener);

}  // namespace sparkplan::test
