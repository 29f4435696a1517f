#pragma once

// Real copy programs. A test is their controller.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "engine/copy/digest_index.h"
#include "engine/core/digest.h"
#include "engine/process/child_process.h"
#include "engine/wire/copy_messages.h"
#include "engine/wire/frame.h"
#include "tests/support/catch.h"
#include "tests/unit/copy/files.h"

namespace sparkplan::test {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

inline constexpr std::size_t kStreams = 4;
inline constexpr std::chrono::milliseconds kEnough{60'000};

/// One sparkplan-copy, as its controller sees it.
class Program {
 public:
  Program() : child_(*ChildProcess::start(SPARKPLAN_COPY_PROGRAM, {"--stdio"})) {
    write(std::string(kPreamble));
    REQUIRE(await<CopyHello>());
  }

  void send(const CopyCommand& command) { write(*encode_frame(encode(command))); }
  void kill() { child_.kill(); }

  /// The next answer; nothing if none arrives at once, or the program has ended.
  std::optional<CopyAnswer> answer() {
    auto message = reader_.next();
    REQUIRE(message);
    if (!*message) {
      pollfd readable{child_.standard_output(), POLLIN, 0};
      if (::poll(&readable, 1, 2) <= 0) return std::nullopt;
      std::string bytes(1 << 16, '\0');
      const auto count = ::read(child_.standard_output(), bytes.data(), bytes.size());
      ended_ = ended_ || count <= 0;
      if (count <= 0) return std::nullopt;
      reader_.feed({bytes.data(), static_cast<std::size_t>(count)});
      message = reader_.next();
      REQUIRE(message);
    }
    if (!*message) return std::nullopt;
    auto decoded = decode<CopyAnswer>(**message);
    REQUIRE(decoded);
    return *decoded;
  }

  /// Nothing if the program fails or ends; `failure` has its error then.
  template <class Answer>
  std::optional<Answer> await(std::vector<CopyEntry>* entries = nullptr) {
    const auto end = Clock::now() + std::chrono::seconds(60);
    while (Clock::now() < end && !ended_) {
      const auto got = answer();
      if (!got) continue;
      if (const auto* wanted = std::get_if<Answer>(&*got)) return *wanted;
      if (const auto* failed = std::get_if<CopyFailure>(&*got)) {
        failure = failed->error;
        return std::nullopt;
      }
      if (const auto* done = std::get_if<CopyComplete>(&*got)) complete = *done;
      const auto* part = std::get_if<CopyEntries>(&*got);
      if (part != nullptr && entries != nullptr) {
        entries->insert(entries->end(), part->entries.begin(), part->entries.end());
      }
    }
    return std::nullopt;
  }

  std::optional<Error> failure;
  std::optional<CopyComplete> complete;  ///< It may arrive before the answer that is awaited.
  bool ended() const { return ended_; }

 private:
  void write(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto count = ::write(child_.standard_input(), bytes.data(), bytes.size());
      if (count < 0) return;  // It has ended; the next read shows that.
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
  }

  ChildProcess child_;
  FrameReader reader_;
  bool ended_ = false;
};

inline std::string random_text(std::size_t size, unsigned seed) {
  std::mt19937_64 numbers(seed);
  std::string text(size, '\0');
  for (char& byte : text) byte = static_cast<char>(numbers());
  return text;
}

inline std::string address(std::size_t place) { return "127.0.0." + std::to_string(place + 1); }

inline CopyOpen open_of(const fs::path& tree, CopyTreeKind kind = CopyTreeKind::kDirectory) {
  CopyOpen open;
  open.path = tree.string();
  open.kind = kind;
  open.write = true;
  return open;
}

inline void forget_index_of(const fs::path& tree) {
  fs::remove(fs::path(copy::state_directory()) / (sha256(tree.string()).substr(0, 32) + ".index"));
}

/// A chain of programs; the first has the content.
struct Chain {
  CopyTreeKind kind = CopyTreeKind::kDirectory;
  std::deque<Program> programs;
  std::optional<Error> failure;
  std::int64_t received = 0;

  bool begin(const std::vector<fs::path>& trees, bool replace) {
    std::vector<CopyEntry> entries;
    for (std::size_t i = 0; i < trees.size(); ++i) {
      Program& program = programs.emplace_back();
      program.send(open_of(trees[i], kind));
      REQUIRE(program.await<CopyOpened>());
      if (i == 0) {
        program.send(CopyLook{false, false, true, {}});
        REQUIRE(program.await<CopyLooked>(&entries));
      }
      program.send(CopyExpect{entries});
      program.send(CopyBegin{i == 0, replace});
      if (!program.await<CopyBegun>()) {
        failure = program.failure;
        return false;
      }
    }
    for (std::size_t i = 1; i < trees.size(); ++i) link(i);
    return true;
  }

  void link(std::size_t to) {
    const std::string tokens = random_text(kCopyTokenBytes * kStreams, static_cast<unsigned>(to));
    programs[to - 1].send(CopyServe{1, address(to - 1), address(to), tokens, ""});
    const auto serving = programs[to - 1].await<CopyServing>();
    REQUIRE(serving);
    programs[to].send(CopyFetch{1, address(to - 1), serving->port, address(to), tokens, ""});
  }

  /// True if all receivers are complete within `time`.
  bool run(std::chrono::milliseconds time) {
    const auto all_complete = [&] {
      return std::all_of(std::next(programs.begin()), programs.end(),
                         [](const Program& one) { return !!one.complete; });
    };
    const auto end = Clock::now() + time;
    while (Clock::now() < end && !all_complete() && !failure) {
      for (Program& program : programs) {
        const auto answer = program.answer();
        if (!answer) continue;
        if (const auto* digests = std::get_if<CopyDigests>(&*answer)) {
          for (std::size_t i = 1; i < programs.size(); ++i) programs[i].send(*digests);
        } else if (const auto* done = std::get_if<CopyComplete>(&*answer)) {
          program.complete = *done;
        } else if (const auto* failed = std::get_if<CopyFailure>(&*answer)) {
          failure = failed->error;
        }
      }
    }
    for (const Program& program : programs) received += program.complete ? program.complete->received_bytes : 0;
    return all_complete();
  }
};

}  // namespace sparkplan::test
