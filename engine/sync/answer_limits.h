#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/core/result.h"
#include "engine/remote/programs/copy_client.h"
#include "engine/wire/copy_messages.h"

/// Bounds of what a node may send, and of the time that it may take.
namespace sparkplan {

/// How long a node may keep its controller waiting for one answer.
struct AnswerPatience {
  std::chrono::milliseconds silence{60'000};  ///< Without a message.
  /// For the whole answer; while files are read, without a byte or a name more.
  std::chrono::milliseconds total{300'000};
  /// Between the controller's signs of life. The program ends if it gets none for two minutes.
  std::chrono::milliseconds alive{10'000};
};

/// One total for several answers of a node: no number of them prolongs it.
class SharedPatience {
 public:
  using Clock = std::chrono::steady_clock;

  explicit SharedPatience(const AnswerPatience& patience, Clock::time_point now = Clock::now())
      : patience_(patience), end_(now + patience.total) {}
  /// For the next answer: what is left of the total.
  AnswerPatience left(Clock::time_point now = Clock::now()) const;
  bool is_over(Clock::time_point now = Clock::now()) const { return now >= end_; }

 private:
  AnswerPatience patience_;
  Clock::time_point end_;
};

/// The deadline of one answer. Messages that bring nothing new extend it only up to the total.
class AnswerClock {
 public:
  using Clock = std::chrono::steady_clock;

  /// `bytes`: what the node reads for the answer, at 20 MB/s or more; 0: it reads nothing.
  AnswerClock(const AnswerPatience& patience, std::int64_t bytes, Clock::time_point now);
  void note(const CopyAnswer& answer, Clock::time_point now);
  bool is_over(Clock::time_point now) const;

 private:
  AnswerPatience patience_;
  Clock::time_point end_;
  Clock::time_point last_message_;
  Clock::time_point last_advance_;
  std::int64_t read_bytes_ = 0;
};

/// The parts of a node's listing, within the bounds of a tree and without digests of chunks.
class ListingParts {
 public:
  ListingParts() = default;
  /// Uses the memory of an earlier listing, whose entries it drops. The C library may keep what is freed for another
  /// thread.
  explicit ListingParts(std::vector<CopyEntry> earlier) : entries_(std::move(earlier)) { entries_.clear(); }
  void add(CopyEntries part);
  /// By path. Errors: kFailed (over a bound, a name twice, a name without its directory).
  Result<std::vector<CopyEntry>> take();

 private:
  bool too_large_ = false;
  std::int64_t chunks_ = 0;
  std::size_t name_bytes_ = 0;
  std::vector<CopyEntry> entries_;
};

/// Pure. Drops the last names of a list that a node reports for one directory, as it may report a thousand of these.
/// 8 KiB stay: a hundred names of usual length.
void keep_few_names(std::vector<std::string>& names);

/// Pure. Gives the digests in a part of a second listing to the entries that they belong to. `entries` are sorted by
/// path.
void take_digests_of(CopyEntries part, std::vector<CopyEntry>& entries);

/// Pure. Checks the source's entries and its directory before a transfer: else receivers would fail under their own
/// names. `owner`: of all entries; empty: each belongs to its own user. Root reads whatever the mode. Errors: kFailed
/// (digests of another sum), kUnsupported (the owner could not read a file or directory).
Result<void> check_to_send(const std::vector<CopyEntry>& entries, const std::string& owner,
                           const std::optional<CopyRoot>& root = std::nullopt);

/// The answers of a transfer that bring nothing new: a node has an allowance, and more with the time.
class AnswerBudget {
 public:
  using Clock = std::chrono::steady_clock;

  explicit AnswerBudget(Clock::time_point now) : since_(now) {}
  /// False if the node floods us.
  bool take(Clock::time_point now);

 private:
  Clock::time_point since_;
  std::int64_t taken_ = 0;
};

/// The chunks of a transfer whose digests are known. A digest counts once.
class KnownChunks {
 public:
  /// `entries` live as long as this object.
  explicit KnownChunks(const std::vector<CopyEntry>& entries);
  /// The records that are new, as in CopyDigests. Errors: kFailed (a digest of no chunk, or of zeros), kVerifyFailed
  /// (the digests of a file, now that all are known, have another sum than its entry).
  Result<std::string> only_new(const std::string& records);
  bool all() const { return unknown_ == 0; }

 private:
  /// Of a file with a listed sum, from its first record to its last one.
  struct Late {
    std::string digests;
    std::int64_t unknown = 0;
  };
  Result<void> check_sum(std::size_t file, std::size_t chunk, std::string_view digest);

  const std::vector<CopyEntry>& entries_;
  std::vector<std::vector<bool>> known_;
  /// By file. For all chunks of a tree together: 16 MB.
  std::map<std::size_t, Late> late_;
  std::int64_t unknown_ = 0;
};

/// The answer to a command. `other` takes all other answers meanwhile. Errors: those of CopyClient::receive();
/// kUnreachable after the deadline.
template <class Answer, class Other>
Result<Answer> await(CopyClient& client, const AnswerPatience& patience, std::int64_t bytes, Other other) {
  constexpr std::chrono::milliseconds kGlance{200};
  using Clock = std::chrono::steady_clock;
  AnswerClock clock(patience, bytes, Clock::now());
  auto next_alive = Clock::now() + patience.alive;
  while (!clock.is_over(Clock::now())) {
    if (Clock::now() >= next_alive) {
      // If the program has ended, the next read has the reason.
      (void)client.send(CopyAlive{});
      next_alive = Clock::now() + patience.alive;
    }
    SPARK_TRY(auto answer, client.receive(kGlance));
    if (!answer) continue;
    clock.note(*answer, Clock::now());
    if (auto* wanted = std::get_if<Answer>(&*answer)) return std::move(*wanted);
    other(*answer);
  }
  return failure(ErrorCode::kUnreachable, "sparkplan-copy did not answer in time");
}

/// As above, for an answer that needs no other one.
template <class Answer>
Result<Answer> await(CopyClient& client, const AnswerPatience& patience) {
  return await<Answer>(client, patience, 0, [](CopyAnswer&) {});
}

}  // namespace sparkplan
