#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "engine/core/result.h"
#include "engine/model/cluster.h"
#include "engine/remote/config/ssh_config.h"
#include "engine/remote/keys/secret.h"
#include "engine/remote/keys/unlocked_keys.h"
#include "engine/remote/transport/recorded_host_keys.h"
#include "engine/remote/transport/unread_bytes.h"

namespace sparkplan {

/// The programs that a connection can start. No others exist, so that no text from a file or a node can become part of
/// a command line.
enum class RemoteProgram : std::uint8_t {
  kAgent,          ///< The installed agent, speaking frames on its standard streams.
  kInstaller,      ///< Receives an agent on standard input and installs it.
  kNcclRank,       ///< The installed sparkplan-nccl, speaking frames on its standard streams.
  kNcclInstaller,  ///< As kInstaller, for that program.
  kJob,            ///< The installed sparkplan-job, speaking frames on its standard streams.
  kJobInstaller,   ///< As kInstaller, for that program.
  kCopy,           ///< The installed sparkplan-copy, speaking frames on its standard streams.
  kCopyInstaller,  ///< As kInstaller, for that program.
  kKeyInstaller,   ///< Appends a line of standard input to the login user's authorized_keys.
};

/// The way in which a started program becomes root.
enum class Elevation : std::uint8_t {
  kNone,          ///< Runs as the login user.
  kSudo,          ///< sudo -n: never prompts.
  kSudoPassword,  ///< sudo -S with kSudoPrompt: the password is the first line of standard input.
};

/// The prompt of sudo under kSudoPassword.
inline constexpr std::string_view kSudoPrompt = "SPARKPLAN-PASSWORD:";

/// The exit status of kAgent, kNcclRank, kJob and kCopy when the node lacks the program.
inline constexpr int kNoAgentStatus = 127;

/// The stored part of a program's standard error, and the size from which the program counts as flooding us.
inline constexpr std::size_t kMaxStandardError = std::size_t{64} << 10;
inline constexpr std::size_t kStandardErrorFlood = std::size_t{4} << 20;

/// The standard streams of one running remote program. Used from one thread at a time.
class Channel {
 public:
  virtual ~Channel() = default;

  /// Appends to `into` the bytes that arrive within `patience`. 0: none arrived, or only standard error, which is
  /// collected separately. Errors: kNotFound at the end of the stream, kUnreachable, kFailed when the program floods
  /// us.
  virtual Result<std::size_t> read_some(std::string& into, std::chrono::milliseconds patience) = 0;
  /// Errors: kUnreachable, also when the peer takes no bytes until `deadline`; kFailed when the program floods us;
  /// kInterrupted, as ConnectOptions::stop_ends_writes says.
  virtual Result<void> write_all(std::string_view bytes, std::chrono::milliseconds deadline) = 0;
  virtual void close_input() = 0;
  /// After the end of the stream: the exit status. Nothing if the peer did not send it.
  virtual std::optional<int> exit_status() = 0;
  /// The first kMaxStandardError bytes of the standard error received so far.
  virtual const std::string& standard_error() const = 0;
};

/// A connection to one node. Used from one thread at a time.
class Connection {
 public:
  virtual ~Connection() = default;
  /// Errors: kUnreachable, kFailed.
  virtual Result<std::unique_ptr<Channel>> start(RemoteProgram program, Elevation elevation) = 0;
  /// "SHA256:..." of the node's host key; empty for a local node.
  virtual std::string host_key() const = 0;
  /// The login user, who may come from ~/.ssh/config; empty for a local node.
  virtual std::string user() const { return {}; }
  /// The IP address of the node at the other end of this connection, as getpeername(2) has it. Empty: not known,
  /// because a jump host lies between, or the node is local.
  virtual std::string peer_address() const { return {}; }
  /// The key was unknown until this run recorded it (`host_keys: accept-new`): no password is sent over it.
  virtual bool host_key_is_new() const { return false; }
};

struct ConnectOptions {
  std::chrono::milliseconds timeout{10'000};
  std::stop_token stop;
  Secret password = {};  ///< Tried if no key is accepted and the host key was known before. Empty: no password login.
  std::shared_ptr<const SshConfig> config = {};  ///< The user's ssh configuration; null: none.
  std::shared_ptr<UnlockedKeys> keys = {};       ///< For keys with a passphrase; null: they are not used.
  /// Never null. Copies of these options share it, and so do all connections of a run.
  std::shared_ptr<UnreadOfNodes> unread = std::make_shared<UnreadOfNodes>();
  /// Never null. Copies of these options share it, as they share `unread`.
  std::shared_ptr<RecordedHostKeys> recorded = std::make_shared<RecordedHostKeys>();
  /// A channel fails if more bytes arrive while the node has so many unread ones, over all of its connections.
  std::size_t most_unread = kMostUnreadOfNode;
  bool stop_ends_writes = false;  ///< `stop` also ends a write_all() over SSH, with kInterrupted.
};

/// Part of the error of a machine that accepts none of the user's keys: a password may work.
inline constexpr std::string_view kNoKeyAccepted = "accepts none of our keys";

/// Connects over SSH, on the way that cluster.yaml and the ssh configuration describe: host keys checked (pin, else
/// known_hosts, else refused), public key authentication, and the password if `options` has one. Asks for the
/// passphrase of a key that the server accepts, unless `options.keys` has had a connection to the node. Errors name the
/// settings of the configuration that were ignored. Errors: kUntrusted, kPermissionDenied, kUnreachable, kInterrupted,
/// kInvalidInput.
Result<std::unique_ptr<Connection>> connect_ssh(const NodeSpec& node, const ConnectOptions& options);

/// A local child process per program, from this build's image for the machine's architecture. The agent works below
/// node.root.
/// Errors: kUnreachable (no such directory), kUnsupported ("/", or no agent for this machine), kFailed.
Result<std::unique_ptr<Connection>> connect_local(const NodeSpec& node, const ConnectOptions& options);

/// Connects over node.transport.
Result<std::unique_ptr<Connection>> connect(const NodeSpec& node, const ConnectOptions& options);

}  // namespace sparkplan
