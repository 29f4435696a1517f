#include "engine/remote/authorized_key.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "engine/core/text.h"
#include "engine/process/own_user.h"
#include "engine/remote/programs/installation.h"

namespace sparkplan {
namespace {

constexpr std::chrono::seconds kPatience{20};
constexpr std::size_t kLongestKey = 16384;

/// One line of printable characters: no other text may be added to authorized_keys.
bool is_key_line(const std::string& text) {
  const bool known_type = text.starts_with("ssh-") || text.starts_with("ecdsa-") || text.starts_with("sk-");
  return known_type && text.size() < kLongestKey && printable(text) == text;
}

}  // namespace

Result<std::string> own_public_key() {
  for (const char* name : {"id_ed25519", "id_ecdsa", "id_rsa"}) {
    const auto pair = expand_home(std::string("~/.ssh/") + name);
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(pair, ignored)) continue;
    std::ifstream file(pair + ".pub", std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const std::string line(trim(text));
    if (is_key_line(line)) return line;
  }
  return failure(ErrorCode::kNotFound, "there is no key pair in ~/.ssh", "make one with `ssh-keygen -t ed25519`");
}

Result<void> authorize_key(Connection& connection, const std::string& public_key) {
  SPARK_TRY(const auto channel, connection.start(RemoteProgram::kKeyInstaller, Elevation::kNone));
  const auto end = std::chrono::steady_clock::now() + kPatience;
  SPARK_CHECK(channel->write_all(public_key + "\n", kPatience));
  channel->close_input();
  while (std::chrono::steady_clock::now() < end) {
    std::string output;  // The program prints no output.
    auto read = channel->read_some(output, kStopPatience);
    if (read) continue;
    if (read.error().code != ErrorCode::kNotFound) return failure(std::move(read).error());
    if (channel->exit_status() == 0) return {};
    return failure(ErrorCode::kFailed, "put the key into authorized_keys: " + end_of_output(channel->standard_error()));
  }
  return failure(ErrorCode::kUnreachable, "put the key into authorized_keys: no answer in time");
}

}  // namespace sparkplan
