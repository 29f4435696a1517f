#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "engine/core/result.h"

namespace sparkplan {

/// The source of some output.
struct OutputSource {
  std::size_t node = 0;  ///< The place in the list of nodes.
  int rank = 0;
  bool error = false;  ///< Standard error.

  bool operator<(const OutputSource& other) const {
    return std::tie(node, rank, error) < std::tie(other.node, other.rank, other.error);
  }
};

/// Takes the output of all ranks, from one thread at a time.
class JobOutput {
 public:
  virtual ~JobOutput() = default;
  /// Errors: those of the system calls. The run then ends.
  virtual Result<void> take(const OutputSource& source, std::string_view bytes) = 0;
  /// No more output comes. Errors: as take().
  virtual Result<void> finish() { return {}; }
};

/// Cuts a stream into lines. A carriage return also ends a line, so that progress bars become lines. A longer line is
/// cut into pieces of kLongestLine.
class LineSplitter {
 public:
  static constexpr std::size_t kLongestLine = 8192;
  using Take = std::function<void(std::string_view line)>;

  void feed(std::string_view bytes, const Take& take);
  /// The beginning of a line whose end is missing.
  std::string_view unfinished() const { return line_; }
  /// Passes on a last line without an end.
  void finish(const Take& take);

 private:
  void put(std::string_view bytes, const Take& take);

  std::string line_;
  bool after_return_ = false;
};

/// Lines with a prefix, such as "spark-01: ", safe for a terminal.
class PrefixedLines final : public JobOutput {
 public:
  using Prefix = std::function<std::string(const OutputSource& source)>;
  /// Prints whole lines; `error`: to standard error.
  using Print = std::function<void(std::string_view lines, bool error)>;

  PrefixedLines(Prefix prefix, Print print) : prefix_(std::move(prefix)), print_(std::move(print)) {}
  Result<void> take(const OutputSource& source, std::string_view bytes) override;
  Result<void> finish() override;

 private:
  Prefix prefix_;
  Print print_;
  std::map<OutputSource, LineSplitter> streams_;
};

/// A node decides how much it prints, and the disk belongs to others as well.
struct OutputRoom {
  std::int64_t kept_free = std::int64_t{256} << 20;  ///< So many bytes of the file system stay free, ...
  std::int64_t unchecked = std::int64_t{64} << 20;   ///< ... once a run has written more than so many.
};

/// One file for the bytes of each stream.
class OutputFiles final : public JobOutput {
 public:
  /// The name of a stream's file in the folder: "spark-01.out".
  using Name = std::function<std::string(const OutputSource& source)>;

  /// Makes the folder if it is missing. Errors: those of the system calls.
  static Result<OutputFiles> in(const std::string& folder, Name name, const OutputRoom& room = {});
  OutputFiles(OutputFiles&& other) noexcept = default;
  OutputFiles& operator=(OutputFiles&&) = delete;
  ~OutputFiles() override;

  /// Makes the file of a stream that may stay empty. Errors: as take().
  Result<void> make(const OutputSource& source);
  /// Errors: also kFailed (too little space would stay free).
  Result<void> take(const OutputSource& source, std::string_view bytes) override;

 private:
  OutputFiles(std::string folder, Name name, const OutputRoom& room)
      : folder_(std::move(folder)), name_(std::move(name)), room_(room) {}
  Result<int> file_of(const OutputSource& source);
  Result<void> check_room(int file) const;

  std::string folder_;
  Name name_;
  OutputRoom room_;
  std::int64_t written_ = 0;
  std::map<OutputSource, int> files_;
};

/// The end of the output of each rank, both streams in the order of their arrival. The ranks of a node share
/// kMostOfNode, so that a node does not get memory for each rank.
class OutputTails final : public JobOutput {
 public:
  static constexpr std::size_t kLongestTail = std::size_t{256} << 10;
  /// Of all tails of a node together. While the output arrives, twice as much is held.
  static constexpr std::size_t kMostOfNode = std::size_t{4} << 20;
  struct Tail {
    std::string text;
    bool is_cut = false;
  };

  Result<void> take(const OutputSource& source, std::string_view bytes) override;
  /// The tail of a rank; empty if it printed nothing.
  Tail tail_of(std::size_t node, int rank) const;
  /// As tail_of(), without a copy. The rank has no tail afterwards.
  Tail move_tail_of(std::size_t node, int rank);

 private:
  using Key = std::pair<std::size_t, int>;
  /// The longest tail of a rank of that node.
  std::size_t longest_of(std::size_t node) const;
  Tail& tail_for(const OutputSource& source);

  std::map<Key, Tail> tails_;
  std::map<std::size_t, std::size_t> ranks_;  ///< By node: how many ranks have printed something.
};

}  // namespace sparkplan
