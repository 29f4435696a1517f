// Real programs in a chain on loopback addresses. The test is their controller.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "engine/copy/accounts.h"
#include "engine/copy/address.h"
#include "engine/copy/digest_index.h"
#include "engine/core/digest.h"
#include "engine/process/child_process.h"
#include "engine/wire/copy_messages.h"
#include "engine/wire/frame.h"
#include "tests/support/catch.h"
#include "tests/unit/agent/scratch.h"

namespace sparkplan {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kStreams = 4;

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

std::string random_text(std::size_t size, unsigned seed) {
  std::mt19937_64 numbers(seed);
  std::string text(size, '\0');
  for (char& byte : text) byte = static_cast<char>(numbers());
  return text;
}

void write_file(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string address(std::size_t place) { return "127.0.0." + std::to_string(place + 1); }

/// A chain of programs; the first has the content.
struct Chain {
  std::deque<Program> programs;
  std::optional<Error> failure;
  std::int64_t received = 0;

  bool begin(const std::vector<fs::path>& trees, bool replace) {
    std::vector<CopyEntry> entries;
    for (std::size_t i = 0; i < trees.size(); ++i) {
      Program& program = programs.emplace_back();
      program.send(CopyOpen{trees[i].string(), "", true, 0});
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

/// Sources and receivers of a case. Their indexes are found by path, and each case has new paths.
struct Trees {
  explicit Trees(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) paths.push_back(folder.path() / ("tree-" + std::to_string(i)));
    write_file(paths[0] / "large", random_text(30 << 20, 1));
    write_file(paths[0] / "sub/a\nb", random_text(9 << 20, 2));
    for (unsigned i = 0; i < 20; ++i) write_file(paths[0] / "small" / std::to_string(i), random_text(1000 + i, i));
    write_file(paths[0] / "empty", "");
    fs::create_symlink("../large", paths[0] / "sub/link");
  }

  ~Trees() {
    for (const fs::path& path : paths) {
      fs::remove(fs::path(copy::state_directory()) / (sha256(path.string()).substr(0, 32) + ".index"));
    }
  }
  Trees(const Trees&) = delete;
  Trees& operator=(const Trees&) = delete;

  /// Every file with a final name has the source's content. With `all`, none is missing.
  void check(bool all) const {
    for (std::size_t i = 1; i < paths.size(); ++i) {
      for (const auto& entry : fs::recursive_directory_iterator(paths[0])) {
        const auto copy = paths[i] / fs::relative(entry.path(), paths[0]);
        INFO(copy.string());
        if (all) CHECK(fs::exists(fs::symlink_status(copy)));
        if (entry.is_symlink() || !entry.is_regular_file() || !fs::exists(copy)) continue;
        CHECK(read_file(copy) == read_file(entry.path()));
      }
      if (all) CHECK_FALSE(fs::exists(paths[i] / kPartialFolder));
    }
  }

  test::ScratchDirectory folder;
  std::vector<fs::path> paths;
};

constexpr std::chrono::milliseconds kEnough{60'000};

/// A program that expects the first two files of a source.
Program& receiver_of_large(Chain& chain, const fs::path& tree) {
  Program& receiver = chain.programs.emplace_back();
  receiver.send(CopyOpen{tree.string(), "", true, 0});
  REQUIRE(receiver.await<CopyOpened>());
  std::vector<CopyEntry> entries(2);
  for (CopyEntry& entry : entries) {
    entry.mode = 0600;
    entry.user = copy::user_name(::geteuid());
    entry.group = copy::group_name(::getegid());
  }
  entries[0].path = "empty";
  entries[1].path = "large";
  entries[1].size = 30 << 20;
  receiver.send(CopyExpect{entries});
  receiver.send(CopyBegin{false, false});
  REQUIRE(receiver.await<CopyBegun>());
  return receiver;
}

}  // namespace

TEST_CASE("copy processes: a chain of four brings every file, and a second run sends nothing") {
  const Trees trees(4);
  {
    Chain chain;
    REQUIRE(chain.begin(trees.paths, false));
    CHECK(chain.run(kEnough));
  }
  trees.check(true);
  Chain again;
  REQUIRE(again.begin(trees.paths, false));
  CHECK(again.run(kEnough));
  CHECK(again.received == 0);
}

TEST_CASE("copy processes: kills at random points tear nothing, and the last run completes") {
  const Trees trees(3);
  std::mt19937 numbers(42);
  for (int kill = 0; kill < 8; ++kill) {
    Chain chain;
    if (chain.begin(trees.paths, false)) (void)chain.run(std::chrono::milliseconds(numbers() % 120));
    chain.programs[numbers() % chain.programs.size()].kill();
    chain.programs.clear();
    trees.check(false);
  }
  Chain last;
  const bool has_begun = last.begin(trees.paths, false);
  INFO((last.failure ? last.failure->describe() : ""));
  REQUIRE(has_begun);
  CHECK(last.run(kEnough));
  trees.check(true);
}

TEST_CASE("copy processes: a file with other content is replaced only with consent") {
  const Trees trees(2);
  write_file(trees.paths[1] / "large", "mine");
  {
    Chain chain;
    CHECK_FALSE(chain.begin(trees.paths, false));
    REQUIRE(chain.failure);
    CHECK(chain.failure->code == ErrorCode::kRefused);
  }
  CHECK(read_file(trees.paths[1] / "large") == "mine");
  Chain chain;
  REQUIRE(chain.begin(trees.paths, true));
  CHECK(chain.run(kEnough));
  trees.check(true);
}

TEST_CASE("copy processes: a source that changes while it is read ends the transfer") {
  const Trees trees(2);
  Chain chain;
  REQUIRE(chain.begin({trees.paths[0]}, false));
  write_file(trees.paths[0] / "large", "shorter");
  receiver_of_large(chain, trees.paths[1]);
  chain.link(1);
  CHECK_FALSE(chain.run(kEnough));
  CHECK_FALSE(fs::exists(trees.paths[1] / "large"));
}

TEST_CASE("copy processes: a forged chunk is not written") {
  const Trees trees(2);
  Chain chain;
  REQUIRE(chain.begin({trees.paths[0]}, false));
  Program& receiver = chain.programs.emplace_back();
  receiver.send(CopyOpen{trees.paths[1].string(), "", true, 0});
  REQUIRE(receiver.await<CopyOpened>());
  // The receiver has other digests than those of the bytes that it will get: the controller's count.
  std::vector<CopyEntry> entries(4);
  entries[0].path = "empty";
  entries[1].path = "large";
  entries[1].size = 30 << 20;
  entries[1].digests = std::string(4 * kCopyDigestBytes, 'x');
  entries[2].path = "small";
  entries[2].kind = CopyKind::kDirectory;
  entries[3].path = "small/0";
  receiver.send(CopyExpect{entries});
  receiver.send(CopyBegin{false, false});
  REQUIRE(receiver.await<CopyBegun>());
  chain.link(1);
  const auto lost = receiver.await<CopyLinkLost>();
  REQUIRE(lost);
  CHECK(lost->error.code == ErrorCode::kVerifyFailed);
  CHECK_FALSE(fs::exists(trees.paths[1] / "large"));
}

TEST_CASE("copy processes: a connection without a token receives nothing") {
  const Trees trees(1);
  Chain chain;
  REQUIRE(chain.begin(trees.paths, false));
  chain.programs[0].send(CopyServe{1, address(0), address(0), random_text(kCopyTokenBytes, 1), ""});
  const auto serving = chain.programs[0].await<CopyServing>();
  REQUIRE(serving);
  const auto to = copy::socket_address(address(0), serving->port);
  REQUIRE(to);
  const copy::FileDescriptor socket(::socket(to->family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
  REQUIRE(::connect(socket.get(), to->get(), to->size) == 0);
  const std::string wrong = random_text(kCopyTokenBytes, 2) + std::string(8, '\0');
  REQUIRE(::send(socket.get(), wrong.data(), wrong.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(wrong.size()));
  char byte = 0;
  pollfd readable{socket.get(), POLLIN, 0};
  REQUIRE(::poll(&readable, 1, 10'000) == 1);
  CHECK(::recv(socket.get(), &byte, 1, 0) <= 0);
}

TEST_CASE("copy processes: many connections without a token do not shut out the real ones") {
  const Trees trees(2);
  Chain chain;
  REQUIRE(chain.begin({trees.paths[0]}, false));
  Program& receiver = receiver_of_large(chain, trees.paths[1]);
  const std::string tokens = random_text(kCopyTokenBytes * kStreams, 1);
  chain.programs[0].send(CopyServe{1, address(0), address(1), tokens, ""});
  const auto serving = chain.programs[0].await<CopyServing>();
  REQUIRE(serving);
  std::vector<copy::FileDescriptor> strangers;
  const auto to = copy::socket_address(address(0), serving->port);
  const auto from = copy::socket_address(address(1), 0);
  REQUIRE(to);
  REQUIRE(from);
  for (int i = 0; i < 100; ++i) {
    auto& socket = strangers.emplace_back(::socket(to->family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(::bind(socket.get(), from->get(), from->size) == 0);
    REQUIRE(::connect(socket.get(), to->get(), to->size) == 0);
  }
  receiver.send(CopyFetch{1, address(0), serving->port, address(1), tokens, ""});
  CHECK(chain.run(kEnough));
}

TEST_CASE("copy processes: a link that brings nothing can be dropped, and another one brings all") {
  const Trees trees(2);
  Chain chain;
  REQUIRE(chain.begin({trees.paths[0]}, false));
  Program& receiver = receiver_of_large(chain, trees.paths[1]);
  auto own = copy::socket_address(address(5), 0);
  REQUIRE(own);
  const copy::FileDescriptor listener(::socket(own->family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
  REQUIRE(::bind(listener.get(), own->get(), own->size) == 0);
  REQUIRE(::listen(listener.get(), 16) == 0);
  REQUIRE(::getsockname(listener.get(), own->get(), &own->size) == 0);
  const std::string tokens = random_text(kCopyTokenBytes * kStreams, 9);
  receiver.send(CopyFetch{7, address(5), copy::port_of(*own), address(1), tokens, ""});
  pollfd waiting{listener.get(), POLLIN, 0};
  REQUIRE(::poll(&waiting, 1, 10'000) == 1);
  chain.programs[0].send(CopyServe{8, address(0), address(1), tokens, ""});
  const auto serving = chain.programs[0].await<CopyServing>();
  REQUIRE(serving);
  receiver.send(CopyDrop{7});
  receiver.send(CopyFetch{8, address(0), serving->port, address(1), tokens, ""});
  CHECK(chain.run(kEnough));
  const bool equal = read_file(trees.paths[1] / "large") == read_file(trees.paths[0] / "large");
  CHECK(equal);
}

}  // namespace sparkplan
