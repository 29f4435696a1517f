#include "engine/remote/ssh/ssh_channel.h"

#include <libssh/callbacks.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <deque>
#include <utility>

namespace sparkplan {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPauseInWriting{20};
/// The most output of a program that libssh holds. It grants a peer a window of 1.3 MB, but accepts more.
constexpr std::size_t kMostInLibssh = std::size_t{4} << 20;
/// During a write no more output is read while so much is unread. With one more window, libssh then has less than
/// kMostInLibssh.
constexpr std::size_t kMostHeld = std::size_t{5} << 19;
constexpr std::size_t kPieceRead = 32768;

class SshChannel final : public Channel {
 public:
  SshChannel(std::shared_ptr<const SshConnectionParts> way, ssh::ChannelPointer channel)
      : way_(std::move(way)),
        session_(way_->session.get()),
        watch_(*way_->session.get_deleter().watch),
        channel_(std::move(channel)) {
    callbacks_.userdata = this;
    callbacks_.channel_data_function = take_data;
    ssh_callbacks_init(&callbacks_);
    ssh_set_channel_callbacks(channel_.get(), &callbacks_);
    const ssh::ConfirmationListener listener(watch_);
    take_early_errors();
  }
  SshChannel(const SshChannel&) = delete;
  SshChannel& operator=(const SshChannel&) = delete;
  ~SshChannel() override {
    ssh_remove_channel_callbacks(channel_.get(), &callbacks_);
    way_->unread->change(counted_, 0);
  }

  Result<std::size_t> read_some(std::string& into, std::chrono::milliseconds patience) override {
    const ssh::ConfirmationListener listener(watch_);
    const auto end = Clock::now() + patience;
    const auto said_before = error_bytes_;
    SPARK_CHECK(check_flood());
    if (!arrived_.empty()) return take_arrived(into);
    while (true) {
      SPARK_TRY(const auto count, read_now(into));
      // New text on standard error is returned at once, as callers may wait for it.
      if (count > 0 || error_bytes_ != said_before || Clock::now() >= end) return count;
      wait_until(end);
    }
  }

  Result<void> write_all(std::string_view bytes, std::chrono::milliseconds deadline) override {
    const ssh::ConfirmationListener listener(watch_);
    const auto end = Clock::now() + deadline;
    while (true) {
      const bool connected = ssh_is_connected(session_) != 0;
      // Bytes that libssh has accepted but the kernel has not are not written yet.
      // In a flood of output they may not end, as each read adds a packet: the reads that follow send them.
      const bool holds_much = arrived_.size() + in_libssh_ > kMostHeld;
      const bool pending = has_unsent();
      const bool unsent = pending && !holds_much;
      const bool closed = ssh_channel_is_closed(channel_.get()) != 0;
      // A short program may have read all of it, answered and ended by now. Then libssh may still hold packets of its
      // own, and the read that follows reports the end.
      const bool ended = closed || ssh_channel_is_eof(channel_.get()) != 0;
      if (connected && bytes.empty() && (!unsent || ended)) return {};
      if (!connected || closed) return failure(broken("write"));
      std::size_t written = 0;
      if (!unsent) {
        SPARK_TRY(written, write_now(bytes));
        bytes.remove_prefix(written);
      }
      if (written > 0) continue;
      if (way_->write_stop.stop_requested()) return failure(ErrorCode::kInterrupted, "stopped");
      if (Clock::now() >= end) return failure(ErrorCode::kUnreachable, "the node accepts no more input");
      SPARK_CHECK(holds_much ? send_unsent() : make_way());
      // A change in the unsent bytes is used at once. All other waits are short: poll() does not report bytes that
      // libssh has already read from the socket.
      if (pending && !has_unsent()) continue;
      wait_until(std::min(end, Clock::now() + kPauseInWriting));
    }
  }

  void close_input() override {
    const ssh::ConfirmationListener listener(watch_);
    ssh_channel_send_eof(channel_.get());
  }

  std::optional<int> exit_status() override {
    const ssh::ConfirmationListener listener(watch_);
    // The status is a separate packet and may come after the end of the stream.
    const auto end = Clock::now() + std::chrono::seconds(2);
    const auto settled = [this] {
      return ssh_channel_get_exit_status(channel_.get()) != -1 || ssh_channel_is_closed(channel_.get()) != 0;
    };
    while (!settled() && Clock::now() < end) {
      std::string rest;
      if (const auto read = read_now(rest); !read && read.error().code != ErrorCode::kNotFound) break;
      // The bytes just read may have contained the status.
      if (!settled()) wait_until(end);
    }
    const int status = ssh_channel_get_exit_status(channel_.get());
    return status == -1 ? std::nullopt : std::optional<int>(status);
  }

  const std::string& standard_error() const override { return standard_error_; }

 private:
  /// Reads the bytes that libssh holds or can read from the socket without waiting. 0: none.
  Result<std::size_t> read_now(std::string& into) {
    std::array<char, kPieceRead> buffer{};
    const int count = ssh_channel_read_timeout(channel_.get(), buffer.data(), buffer.size(), 0, 0);
    if (count > 0) (void)count_unread(in_libssh_ - std::min(in_libssh_, static_cast<std::size_t>(count)));
    SPARK_CHECK(check_flood());
    if (count > 0) {
      watch_.payload += static_cast<std::size_t>(count);
      into.append(buffer.data(), static_cast<std::size_t>(count));
      return static_cast<std::size_t>(count);
    }
    if (count == SSH_ERROR) return failure(broken("read"));
    if (ssh_channel_is_eof(channel_.get()) != 0 || ssh_channel_is_closed(channel_.get()) != 0) {
      return failure(ErrorCode::kNotFound, "end of stream");
    }
    if (ssh_is_connected(session_) == 0) return failure(broken("read"));
    return std::size_t{0};
  }

  /// Lets libssh handle packets in both directions: it sends its pending bytes and receives window updates. It handles
  /// none while it holds unread standard output. So that output is read here, for the next read_some().
  Result<void> make_way() {
    std::string piece;
    const auto read = read_now(piece);
    arrived_.insert(arrived_.end(), piece.begin(), piece.end());
    (void)count_unread(in_libssh_);
    // After the end of the stream libssh handles no packets, so it would not send its pending bytes either.
    if (!read && read.error().code == ErrorCode::kNotFound) return failure(broken("write: the program has ended"));
    if (!read) return failure(read.error());
    if (ssh_channel_poll_timeout(channel_.get(), 0, 0) == SSH_ERROR) return failure(broken("write"));
    return check_flood();
  }

  /// Lets libssh send its pending bytes, and reads no more output. Each read grants the peer more of its window, by one
  /// more packet to send: a peer with much output could so keep a write waiting, and be taken for a flood.
  Result<void> send_unsent() {
    // Unlike a look for output, a look for standard error handles packets while libssh holds output.
    if (ssh_channel_poll_timeout(channel_.get(), 0, 1) == SSH_ERROR) return failure(broken("write"));
    return check_flood();
  }

  /// A piece of what has arrived during a write. The rest stays here, where it counts: a caller that decodes one
  /// message at a time would keep it.
  std::size_t take_arrived(std::string& into) {
    const auto count = std::min(arrived_.size(), kPieceRead);
    const auto end = arrived_.begin() + static_cast<std::ptrdiff_t>(count);
    into.append(arrived_.begin(), end);
    arrived_.erase(arrived_.begin(), end);
    (void)count_unread(in_libssh_);
    return count;
  }

  /// Counts what is held here, and `in_libssh` bytes of output that libssh holds. False if the node has sent too much
  /// over all of its connections: the channel has failed then, and keeps nothing.
  bool count_unread(std::size_t in_libssh) {
    in_libssh_ = in_libssh;
    const auto before = counted_;
    if (recount() <= way_->most_unread || counted_ <= before) return true;
    over_limit_ = true;
    arrived_.clear();
    recount();
    return false;
  }

  std::size_t recount() {
    const auto before = std::exchange(counted_, in_libssh_ + arrived_.size());
    return way_->unread->change(before, counted_);
  }

  Result<std::size_t> write_now(std::string_view bytes) {
    const int written = ssh::write_some(channel_.get(), bytes, watch_);
    if (written < 0) return failure(broken("write"));
    return static_cast<std::size_t>(written);
  }

  bool has_unsent() const { return watch_.has_unsent(session_); }

  void wait_until(Clock::time_point end) const {
    // Input that waits for a key exchange is no reason to wake up when the socket takes bytes.
    const bool pending = (ssh_get_poll_flags(session_) & SSH_WRITE_PENDING) != 0;
    const short events = pending ? POLLIN | POLLOUT : POLLIN;
    pollfd waiting{ssh_get_fd(session_), events, 0};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
    ::poll(&waiting, 1, static_cast<int>(std::max<std::int64_t>(left, 0)));
  }

  /// Takes the standard error that arrived before the callback was set. Until it is read, libssh does not report the
  /// end of the stream and handles no packets.
  void take_early_errors() {
    std::array<char, kPieceRead> buffer{};
    while (true) {
      const int count = ssh_channel_read_timeout(channel_.get(), buffer.data(), buffer.size(), 1, 0);
      if (count <= 0) return;
      take_data(session_, channel_.get(), buffer.data(), static_cast<std::uint32_t>(count), 1, this);
    }
  }

  /// Called by libssh for each packet, with all unread bytes. Returns the number of bytes taken: none of standard
  /// output, which read_some() reads, and all of standard error, even if no caller reads it.
  static int take_data(ssh_session /*session*/, ssh_channel /*channel*/, void* data, std::uint32_t size, int is_error,
                       void* self) {
    auto& channel = *static_cast<SshChannel*>(self);
    ++channel.watch_.data_packets;
    if (is_error != 0) {
      channel.error_bytes_ += size;
      channel.watch_.payload += size;
      const auto room = kMaxStandardError - channel.standard_error_.size();
      channel.standard_error_.append(static_cast<const char*>(data), std::min<std::size_t>(room, size));
      return static_cast<int>(size);
    }
    if (size > kMostInLibssh) {
      channel.too_much_ = true;
    } else if (channel.count_unread(size)) {
      return 0;
    }
    (void)channel.count_unread(0);
    return static_cast<int>(size);
  }

  Result<void> check_flood() const {
    if (over_limit_) return failure(ErrorCode::kFailed, "the node sends data without a request");
    if (too_much_) return failure(ErrorCode::kFailed, "the node sends more than the connection allows");
    if (error_bytes_ > kStandardErrorFlood) {
      return failure(ErrorCode::kFailed, "the node printed more than " + std::to_string(kStandardErrorFlood >> 20U) +
                                             " MiB on standard error");
    }
    if (!watch_.floods(session_)) return {};
    if (watch_.confirms_wrongly) return failure(broken("read"));
    return failure(ErrorCode::kFailed, "the node sends unrequested packets");
  }

  Error broken(const std::string& what) const {
    const std::string reason = ssh::reason_of(way_->session);
    return make_error(ErrorCode::kUnreachable,
                      "the connection broke (" + what + (reason.empty() ? "" : ": " + reason) + ")");
  }

  std::shared_ptr<const SshConnectionParts> way_;  // Outlives the channel, even if the connection is destroyed first.
  ssh_session session_;
  ssh::SessionWatch& watch_;
  ssh::ChannelPointer channel_;
  ssh_channel_callbacks_struct callbacks_{};
  std::deque<char> arrived_;   ///< Arrived during a write. A deque gives memory back as it is read.
  std::size_t in_libssh_ = 0;  ///< Output that has arrived and that libssh holds.
  std::size_t counted_ = 0;    ///< This channel's part of the node's unread bytes.
  bool over_limit_ = false;    ///< The node's unread bytes were too many.
  std::string standard_error_;
  std::uint64_t error_bytes_ = 0;
  bool too_much_ = false;
};

}  // namespace

std::unique_ptr<Channel> ssh_channel_over(std::shared_ptr<const SshConnectionParts> way, ssh::ChannelPointer channel) {
  return std::make_unique<SshChannel>(std::move(way), std::move(channel));
}

}  // namespace sparkplan
