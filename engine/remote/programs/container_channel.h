#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "engine/core/result.h"
#include "engine/remote/programs/job_client.h"
#include "engine/remote/transport/transport.h"
#include "engine/wire/job_messages.h"

namespace sparkplan {

/// The standard streams of a carried program in a container on a node. The process starter passes them on, and removes
/// the container at the end: of the program, of this object, of the connection or of this process.
class ContainerChannel final : public Channel {
 public:
  /// `job` has one rank, with an input: the client of the engine. `image` is for messages.
  /// Errors: those of JobClient::send().
  static Result<std::unique_ptr<ContainerChannel>> start(JobClient client, const StartJob& job, std::string image);

  /// Errors: as Channel; kNotFound only when the container is known to be removed. A failure of the program is reported
  /// once, by container_end_error().
  Result<std::size_t> read_some(std::string& into, std::chrono::milliseconds patience) override;
  Result<void> write_all(std::string_view bytes, std::chrono::milliseconds deadline) override;
  /// Ends the program and its container.
  void close_input() override;
  std::optional<int> exit_status() override;
  const std::string& standard_error() const override { return standard_error_; }

 private:
  using Clock = std::chrono::steady_clock;

  ContainerChannel(JobClient client, int rank, std::string image)
      : client_(std::move(client)), rank_(rank), image_(std::move(image)), heard_(Clock::now()), spoke_(heard_) {}

  Result<std::size_t> take(JobAnswer answer, std::string& into);
  Result<std::size_t> take_output(const RankOutput& output, std::string& into);
  Error end_error(const JobFinished& finished);
  Result<void> keep_alive();

  JobClient client_;
  int rank_;
  std::string image_;
  std::string standard_error_;
  std::size_t error_bytes_ = 0;
  Clock::time_point heard_;
  Clock::time_point spoke_;
  std::optional<Clock::time_point> unsent_since_;  ///< The starter takes no more messages.
  std::optional<RankEnded> ended_;
  bool stopped_ = false;         ///< This side has ended the program.
  std::optional<Error> at_end_;  ///< The result of further reads.
};

/// Pure. Why a program in a container of `image` has ended: no C library that it runs with, or the engine's or its own
/// last words, the end of `complaint`. Errors: kUnsupported for the C library, else kFailed.
Error container_end_error(const std::string& image, const RankEnded& ended, const std::string& complaint);

}  // namespace sparkplan
