#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

#include "engine/core/result.h"
#include "engine/model/cluster.h"
#include "engine/remote/secret.h"

namespace sparkplan {

/// The programs that a connection can start. There are no others, so that no text from a file or a
/// node can ever become part of a command line.
enum class RemoteProgram : std::uint8_t {
  kAgent,          ///< The installed agent, speaking frames on its standard streams.
  kInstaller,      ///< Receives an agent on standard input and puts it in place.
  kNcclRank,       ///< The installed sparkplan-nccl, speaking frames on its standard streams.
  kNcclInstaller,  ///< As kInstaller, for that program.
  kKeyInstaller,   ///< Appends a line of standard input to the login user's authorized_keys.
};

/// How a started program gets root's rights.
enum class Elevation : std::uint8_t {
  kNone,          ///< Runs as the login user.
  kSudo,          ///< sudo -n: never asks.
  kSudoPassword,  ///< sudo -S with kSudoPrompt: the password is the first line of standard input.
};

/// What sudo prints when it wants a password under kSudoPassword.
inline constexpr std::string_view kSudoPrompt = "SPARKPLAN-PASSWORD:";

/// The exit status of kAgent and kNcclRank when there is no such program on the node.
inline constexpr int kNoAgentStatus = 127;

/// What is kept of a program's standard error, and how much of it makes the program one that floods us.
inline constexpr std::size_t kMaxStandardError = std::size_t{64} << 10;
inline constexpr std::size_t kStandardErrorFlood = std::size_t{4} << 20;

/// The standard streams of one running remote program. Used from one thread at a time.
class Channel {
 public:
  virtual ~Channel() = default;

  /// Appends to `into` what arrives within `patience`; 0 when nothing did, or only standard error, which is
  /// collected meanwhile. Errors: kNotFound at the end of the stream, kUnreachable, kFailed when the program floods us.
  virtual Result<std::size_t> read_some(std::string& into, std::chrono::milliseconds patience) = 0;
  /// Errors: kUnreachable, also when the peer takes nothing until `deadline`.
  virtual Result<void> write_all(std::string_view bytes, std::chrono::milliseconds deadline) = 0;
  virtual void close_input() = 0;
  /// After the end of the stream: how the program ended. Nothing when the peer never said.
  virtual std::optional<int> exit_status() = 0;
  /// The first kMaxStandardError bytes of what came on standard error so far.
  virtual const std::string& standard_error() const = 0;
};

/// A way to one node. Used from one thread at a time.
class Connection {
 public:
  virtual ~Connection() = default;
  /// Errors: kUnreachable, kFailed.
  virtual Result<std::unique_ptr<Channel>> start(RemoteProgram program, Elevation elevation) = 0;
  /// "SHA256:..." of the node's host key; empty for a local node.
  virtual std::string host_key() const = 0;
  /// The key was unknown until this connection recorded it (`host_keys: accept-new`): no password goes over it.
  virtual bool host_key_is_new() const { return false; }
};

struct ConnectOptions {
  std::chrono::milliseconds timeout{10'000};
  std::stop_token stop;
  Secret password = {};  ///< Tried where no key is accepted and the host key was known; empty: it is not.
};

/// Part of the error of a machine that lets nobody in by the keys we have: a password may do.
inline constexpr std::string_view kNoKeyAccepted = "accepts none of our keys";

/// Connects over SSH: host key checked (pin, else known_hosts, else refused), public key authentication, and
/// the password where there is one.
/// Errors: kUntrusted, kPermissionDenied, kUnreachable, kInterrupted, kInvalidInput.
Result<std::unique_ptr<Connection>> connect_ssh(const NodeSpec& node, const ConnectOptions& options);

/// A local child per program: this build's own for the machine's architecture. The agent works below
/// node.root.
/// Errors: kUnreachable (no such directory), kUnsupported ("/", or no agent for this machine), kFailed.
Result<std::unique_ptr<Connection>> connect_local(const NodeSpec& node, const ConnectOptions& options);

/// By node.transport.
Result<std::unique_ptr<Connection>> connect(const NodeSpec& node, const ConnectOptions& options);

}  // namespace sparkplan
