#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "engine/job/rank_process.h"
#include "engine/wire/frame.h"
#include "engine/wire/job_messages.h"

namespace sparkplan::job {

/// Deadlines, which the tests shorten.
struct JobLimits {
  std::chrono::milliseconds silence{kLongestJobSilence};
  std::chrono::milliseconds heartbeat{kJobHeartbeat};
  /// The grace when the controller is lost: nothing may be left 5 s later.
  std::chrono::milliseconds lost_grace{1500};
  std::chrono::milliseconds sweep{2000};
  /// For the removal of containers, before and after the sweep. Both together are shorter than the silence.
  std::chrono::milliseconds containers{5000};
};

/// Starts the ranks of one job, passes their output on and ends all of their processes. One thread, which never waits
/// for the controller: a rank whose output is not fetched waits in write().
class JobServer {
 public:
  /// Makes `input` and `output` non-blocking.
  JobServer(int input, int output, JobLimits limits = {});
  JobServer(const JobServer&) = delete;
  JobServer& operator=(const JobServer&) = delete;
  ~JobServer();

  /// Greets and serves one job to its end. Returns the exit status of the program.
  int serve(const JobHello& hello);

 private:
  using Clock = std::chrono::steady_clock;

  void send(const JobAnswer& answer);
  void wait_for_events();
  void write_pending();
  void read_commands();
  void take(const JobCommand& command);
  void start(StartJob job);
  void fail(Error error);
  void lose_controller();
  void check_clocks();
  void reap();
  void note_end(RankProcess& rank, int status);
  void read_output(RankProcess& rank, int& stream, bool error);
  void take_input(const RankInput& input);
  /// The engine of containers may take a while. Output and signs of life go on meanwhile.
  void begin_look();
  void read_look();
  void end_look();
  void begin_end(RankEnding why, std::chrono::milliseconds grace);
  void kill_late_ranks(Clock::time_point now);
  void kill_all();
  bool all_ended() const;
  bool has_room() const;
  bool output_is_open() const;
  void finish();

  int input_;
  int output_;
  int signals_ = -1;  ///< Readable when a child has ended, or when this program is asked to end.
  JobLimits limits_;
  FrameReader reader_;
  std::string pending_;  ///< Frames that the controller has not fetched yet; bounded by has_room().
  std::optional<StartJob> job_;
  std::vector<RankProcess> ranks_;
  std::optional<RankEnding> ending_;                ///< Why this program ends the ranks.
  std::optional<Clock::time_point> kill_at_;        ///< The end of the grace.
  std::optional<Clock::time_point> finish_before_;  ///< The controller has to fetch the last message until then.
  int look_ = -1;  ///< The answer of the engine to a look under way; see ask_for_processes().
  std::string look_text_;
  Clock::time_point look_before_;  ///< Then the look is answered without the rest.
  std::vector<pid_t> left_;
  std::vector<std::string> containers_left_;
  Clock::time_point heard_;
  Clock::time_point spoke_;
  Clock::time_point started_;
  bool lost_ = false;
  bool swept_ = false;
  bool finished_ = false;
  bool failed_ = false;
};

}  // namespace sparkplan::job
