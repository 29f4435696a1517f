// Real programs in a chain on loopback addresses. The test is their controller.
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <sstream>

#include "engine/copy/address.h"
#include "engine/core/file_descriptor.h"
#include "tests/unit/agent/scratch.h"
#include "tests/unit/copy/files.h"
#include "tests/unit/copy/programs.h"

namespace sparkplan {
namespace {

using namespace test;

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
    for (const fs::path& path : paths) forget_index_of(path);
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

  ScratchDirectory folder;
  std::vector<fs::path> paths;
};

/// A program that expects the first two files of a source.
Program& receiver_of_large(Chain& chain, const fs::path& tree, const std::string& sum_of_large = "") {
  Program& receiver = chain.programs.emplace_back();
  receiver.send(open_of(tree));
  REQUIRE(receiver.await<CopyOpened>());
  std::vector<CopyEntry> entries(2);
  for (CopyEntry& entry : entries) {
    test::give_to_this_user(entry);
  }
  entries[0].path = "empty";
  entries[1].path = "large";
  entries[1].size = 30 << 20;
  entries[1].sum = sum_of_large;
  receiver.send(CopyExpect{entries});
  receiver.send(CopyBegin{false, false});
  REQUIRE(receiver.await<CopyBegun>());
  return receiver;
}

/// The nice value of a child of this process. Source: proc(5), stat.
std::optional<int> nice_of_child(const std::string& name) {
  for (const auto& process : fs::directory_iterator("/proc")) {
    const std::string number = process.path().filename();
    if (number.find_first_not_of("0123456789") != std::string::npos) continue;
    std::istringstream fields(read_file(process.path() / "stat"));
    std::string words;
    std::getline(fields, words, ')');
    std::string state;
    int parent = 0;
    fields >> state >> parent;
    if (parent != ::getpid() || !words.ends_with("(" + name)) continue;
    constexpr int kBetween = 14;  // From the parent to the nice value.
    std::string word;
    for (int i = 0; i < kBetween; ++i) fields >> word;
    int nice = 0;
    if (fields >> nice) return nice;
  }
  return std::nullopt;
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

TEST_CASE("copy processes: of a large file with few changes, only the changed chunk is sent") {
  const Trees trees(2);
  const auto large = trees.paths[0] / "large";
  {
    Chain chain;
    REQUIRE(chain.begin(trees.paths, false));
    REQUIRE(chain.run(kEnough));
  }
  auto text = read_file(large);
  char& changed = text[static_cast<std::size_t>(kCopyChunk) + 5];
  changed = changed == 'a' ? 'b' : 'a';
  write_file(large, text);
  {
    // The source's digests have to be known before the receiver begins, as `sync` sees to it.
    Program source;
    source.send(open_of(trees.paths[0]));
    REQUIRE(source.await<CopyOpened>());
    source.send(CopyLook{true, false, false, {}});
    REQUIRE(source.await<CopyLooked>());
  }
  Chain again;
  REQUIRE(again.begin(trees.paths, true));
  CHECK(again.run(kEnough));
  CHECK(again.received > kCopyChunk);
  CHECK(again.received < kCopyChunk + 10'000);
  trees.check(true);
}

TEST_CASE("copy processes: an answer does not wait for the interval of the progress") {
  const Trees trees(1);
  Program program;
  program.send(open_of(trees.paths[0]));
  REQUIRE(program.await<CopyOpened>());
  constexpr int kLooks = 20;
  int quick = 0;
  for (int i = 0; i < kLooks; ++i) {
    const auto begun = Clock::now();
    program.send(CopyLook{false, false, false, {}});
    REQUIRE(program.await<CopyLooked>());
    if (Clock::now() - begun < std::chrono::milliseconds(40)) ++quick;
  }
  // Each one would take 50 ms. Some may be late for other reasons.
  CHECK(quick >= kLooks / 4);
}

TEST_CASE("copy processes: the program leaves the processor to the node's own work") {
  Program program;
  constexpr int kNice = 10;
  CHECK(nice_of_child("sparkplan-copy").value_or(0) >= kNice);
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
  receiver.send(open_of(trees.paths[1]));
  REQUIRE(receiver.await<CopyOpened>());
  // The receiver has other digests than those of the bytes that it will get: the controller's count.
  std::vector<CopyEntry> entries(4);
  for (CopyEntry& entry : entries) {
    test::give_to_this_user(entry);
  }
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

TEST_CASE("copy processes: content whose digests have another sum than the source lists gets no name") {
  const Trees trees(2);
  Chain chain;
  REQUIRE(chain.begin({trees.paths[0]}, false));
  receiver_of_large(chain, trees.paths[1], std::string(2 * kCopyDigestBytes, 'a'));
  chain.link(1);
  CHECK_FALSE(chain.run(kEnough));
  REQUIRE(chain.failure);
  CHECK(chain.failure->code == ErrorCode::kVerifyFailed);
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
  const FileDescriptor socket(::socket(to->family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
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
  std::vector<FileDescriptor> strangers;
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

TEST_CASE("copy: a listener pauses while no descriptor is left for a connection") {
  auto own = copy::socket_address("127.0.0.1", 0);
  REQUIRE(own);
  const FileDescriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  REQUIRE(::bind(listener.get(), own->get(), own->size) == 0);
  REQUIRE(::listen(listener.get(), 1) == 0);
  REQUIRE(::getsockname(listener.get(), own->get(), &own->size) == 0);
  const FileDescriptor peer(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  REQUIRE(::connect(peer.get(), own->get(), own->size) == 0);
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  // The two descriptors stay open.
  const rlimit none{0, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  copy::SocketAddress from;
  const auto begun = std::chrono::steady_clock::now();
  const FileDescriptor refused = copy::accept_from(listener, from);
  const auto paused = std::chrono::steady_clock::now() - begun;
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK_FALSE(refused.valid());
  CHECK(paused >= std::chrono::milliseconds(10));
  CHECK(copy::accept_from(listener, from).valid());
}

TEST_CASE("copy processes: a link that brings nothing can be dropped, and another one brings all") {
  const Trees trees(2);
  Chain chain;
  REQUIRE(chain.begin({trees.paths[0]}, false));
  Program& receiver = receiver_of_large(chain, trees.paths[1]);
  auto own = copy::socket_address(address(5), 0);
  REQUIRE(own);
  const FileDescriptor listener(::socket(own->family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
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

TEST_CASE("copy processes: a sender ends the connections of a link that it is to drop") {
  const Trees trees(1);
  Chain chain;
  REQUIRE(chain.begin({trees.paths[0]}, false));
  const std::string token = random_text(kCopyTokenBytes, 9);
  chain.programs[0].send(CopyServe{8, address(0), address(1), token, ""});
  const auto serving = chain.programs[0].await<CopyServing>();
  REQUIRE(serving);
  const auto to = copy::socket_address(address(0), serving->port);
  const auto from = copy::socket_address(address(1), 0);
  REQUIRE((to && from));
  const FileDescriptor socket(::socket(to->family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
  REQUIRE(::bind(socket.get(), from->get(), from->size) == 0);
  REQUIRE(::connect(socket.get(), to->get(), to->size) == 0);
  REQUIRE(::send(socket.get(), token.data(), token.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(token.size()));
  chain.programs[0].send(CopyDrop{8});
  pollfd ended{socket.get(), POLLIN, 0};
  REQUIRE(::poll(&ended, 1, 10'000) == 1);
  char nothing = 0;
  CHECK(::recv(socket.get(), &nothing, 1, 0) <= 0);
}

TEST_CASE("copy processes: a node may lose any number of links one after the other") {
  constexpr std::int64_t kLinks = 70;
  const Trees trees(2);
  Chain chain;
  REQUIRE(chain.begin({trees.paths[0]}, false));
  Program& receiver = receiver_of_large(chain, trees.paths[1]);
  const std::string tokens = random_text(kCopyTokenBytes, 9);
  for (std::int64_t link = 100; link < 100 + kLinks; ++link) {
    // From an address that this machine does not have (RFC 5737), no connection is made.
    receiver.send(CopyFetch{link, address(0), 1, "192.0.2.1", tokens, ""});
    const auto lost = receiver.await<CopyLinkLost>();
    REQUIRE(lost);
    CHECK(lost->link == link);
  }
  chain.link(1);
  CHECK(chain.run(kEnough));
}

}  // namespace sparkplan
