#include "engine/remote/programs/container_channel.h"

#include <algorithm>
#include <utility>

#include "engine/core/bounded_text.h"
#include "engine/remote/programs/installation.h"

namespace sparkplan {
namespace {

/// For a message of a few bytes, which any sshd takes at once. A caller reads from up to 64 ranks in turn, and the
/// process starters of the others wait for kLongestJobSilence.
constexpr std::chrono::milliseconds kKeepPatience{200};
/// After the first message that could not be sent, so long others may arrive.
constexpr std::chrono::seconds kLastMessages{10};

/// True if the loader that the program needs is missing in the image. docker and its init program end with 126 or 127;
/// podman's init program ends with 1. Sources: docker-run(1), podman-run(1), "Exit status"; catatonit.c.
bool cannot_execute(int status, std::string_view complaint) {
  constexpr int kNotExecutable = 126;
  constexpr int kNotFoundInImage = 127;
  return status == kNotExecutable || status == kNotFoundInImage ||
         complaint.find("failed to exec pid1") != std::string_view::npos;
}

Error old_image(const std::string& message) {
  return make_error(
      ErrorCode::kUnsupported,
      message + ": the program for the NCCL test needs glibc " + std::string(kOldestGlibc) + " or newer in the image",
      "use an image of Ubuntu 22.04, Debian 12 or newer");
}

}  // namespace

Error container_end_error(const std::string& image, const RankEnded& ended, const std::string& complaint) {
  const std::string words = complaint.empty() ? "" : ": " + end_of_output(complaint);
  if (ended.ending == RankEnding::kNotStarted) {
    return make_error(ErrorCode::kFailed, "the container engine of the node could not be started");
  }
  if (lacks_glibc(complaint)) return old_image("the C library of image " + image + " is too old");
  const int status = ended.exit_code.value_or(-1);
  if (cannot_execute(status, complaint)) {
    return old_image("image " + image + " cannot start the program" + words);
  }
  const std::string how =
      ended.signal ? "by signal " + std::to_string(*ended.signal) : "with status " + std::to_string(status);
  return make_error(ErrorCode::kFailed, "the container of image " + image + " ended " + how + words,
                    "`sparkplan run --image " + image + " -- true` shows whether its containers start");
}

Result<std::unique_ptr<ContainerChannel>> ContainerChannel::start(JobClient client, const StartJob& job,
                                                                  std::string image) {
  SPARK_CHECK(client.send(job));
  const int rank = job.ranks.empty() ? 0 : job.ranks.front().rank;
  return std::unique_ptr<ContainerChannel>(new ContainerChannel(std::move(client), rank, std::move(image)));
}

Result<std::size_t> ContainerChannel::read_some(std::string& into, std::chrono::milliseconds patience) {
  if (at_end_) return failure(*at_end_);
  const auto unsent = keep_alive();
  auto answer = client_.receive(patience);
  if (!answer) {
    at_end_ = std::move(answer).error();
    return failure(*at_end_);
  }
  const auto now = Clock::now();
  if (!unsent && !unsent_since_) unsent_since_ = now;
  const bool is_deaf = unsent_since_ && now - *unsent_since_ > kLastMessages;
  if (*answer && !is_deaf) {
    heard_ = now;
    return take(*std::move(*answer), into);
  }
  // A starter that has finished cannot be written to, and its last messages may still arrive.
  if (!unsent) at_end_ = unsent.error();
  if (is_deaf && !at_end_) at_end_ = make_error(ErrorCode::kUnreachable, "the node accepts no more input");
  if (now - heard_ > std::chrono::milliseconds(kLongestJobSilence)) {
    at_end_ = make_error(ErrorCode::kUnreachable,
                         "the node has sent nothing for " + std::to_string(kLongestJobSilence / 1000) + " s");
  }
  if (at_end_) return failure(*at_end_);
  return std::size_t{0};
}

Result<std::size_t> ContainerChannel::take(JobAnswer answer, std::string& into) {
  if (const auto* output = std::get_if<RankOutput>(&answer)) return take_output(*output, into);
  if (const auto* ended = std::get_if<RankEnded>(&answer)) {
    if (ended->rank == rank_) ended_ = *ended;
    return std::size_t{0};
  }
  if (auto* failed = std::get_if<JobFailure>(&answer)) {
    at_end_ = bounded(std::move(failed->error));
    return failure(*at_end_);
  }
  const auto* finished = std::get_if<JobFinished>(&answer);
  if (finished == nullptr) return std::size_t{0};
  return failure(end_error(*finished));
}

Result<std::size_t> ContainerChannel::take_output(const RankOutput& output, std::string& into) {
  if (output.rank != rank_) return std::size_t{0};
  if (!output.error) {
    into += output.bytes;
    return output.bytes.size();
  }
  error_bytes_ += output.bytes.size();
  if (error_bytes_ > kStandardErrorFlood) {
    at_end_ = make_error(ErrorCode::kFailed, "the container printed more than " +
                                                 std::to_string(kStandardErrorFlood >> 20U) + " MiB on standard error");
    return failure(*at_end_);
  }
  const auto room = kMaxStandardError - std::min(kMaxStandardError, standard_error_.size());
  standard_error_.append(output.bytes, 0, room);
  return std::size_t{0};
}

/// The last message has arrived.
Error ContainerChannel::end_error(const JobFinished& finished) {
  if (!finished.left.empty() || !finished.containers_left.empty()) {
    const std::string what = finished.containers_left.empty() ? "a process" : finished.containers_left.front();
    at_end_ = make_error(ErrorCode::kUnreachable, "not everything could be ended: " + shown_text(what));
    return *at_end_;
  }
  at_end_ = make_error(ErrorCode::kNotFound, "end of stream");
  const bool failed = ended_ && ended_->exit_code != 0;
  return failed && !stopped_ ? container_end_error(image_, *ended_, standard_error_) : *at_end_;
}

Result<void> ContainerChannel::keep_alive() {
  const auto now = Clock::now();
  if (now - spoke_ < std::chrono::milliseconds(kJobHeartbeat)) return {};
  spoke_ = now;
  return client_.send(KeepJob{}, kKeepPatience);
}

Result<void> ContainerChannel::write_all(std::string_view bytes, std::chrono::milliseconds deadline) {
  const auto end = Clock::now() + deadline;
  while (!bytes.empty()) {
    const auto piece = bytes.substr(0, kJobOutputPiece);
    spoke_ = Clock::now();
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - spoke_);
    SPARK_CHECK(client_.send(RankInput{rank_, std::string(piece)}, std::max(left, std::chrono::milliseconds(0))));
    bytes.remove_prefix(piece.size());
  }
  return {};
}

void ContainerChannel::close_input() {
  if (std::exchange(stopped_, true)) return;
  spoke_ = Clock::now();
  // A starter that has ended needs no stop.
  (void)client_.send(StopJob{});
}

std::optional<int> ContainerChannel::exit_status() { return ended_ ? ended_->exit_code : std::nullopt; }

}  // namespace sparkplan
