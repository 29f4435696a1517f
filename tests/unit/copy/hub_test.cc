// Models of a Hugging Face cache, and the removal of what a sync has brought.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "engine/copy/address.h"
#include "engine/copy/images/image_store.h"
#include "engine/copy/tree.h"
#include "tests/unit/agent/scratch.h"
#include "tests/unit/copy/programs.h"

namespace sparkplan {
namespace {

using namespace test;

const std::string kCommit = "0123456789012345678901234567890123456789";

/// A cache as the tools of the hub leave it, with a download that is not finished.
struct Cache {
  Cache() : source(folder.path() / "a/models--org--tiny"), copy(folder.path() / "b/models--org--tiny") {
    write_file(source / "blobs/aaaa", random_text(20 << 20, 1));
    write_file(source / "blobs/bbbb", "{}");
    write_file(source / "blobs/cccc.incomplete", random_text(1000, 2));
    write_file(source / "blobs/dddd.lock", "");
    write_file(source / "refs/main", kCommit);
    const auto snapshot = source / "snapshots" / kCommit;
    fs::create_directories(snapshot / "sub");
    fs::create_symlink("../../blobs/aaaa", snapshot / "model.safetensors");
    fs::create_symlink("../../../blobs/bbbb", snapshot / "sub/config.json");
    fs::create_symlink("../../blobs/bbbb", snapshot / "yarn.lock");
  }
  ~Cache() {
    forget_index_of(source);
    forget_index_of(copy);
  }
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;

  bool sync() const {
    Chain chain;
    chain.kind = CopyTreeKind::kHub;
    return chain.begin({source, copy}, false) && chain.run(kEnough);
  }

  ScratchDirectory folder;
  fs::path source;
  fs::path copy;
};

CopyPruned prune(const fs::path& tree, bool remove) {
  Program program;
  CopyOpen open = open_of(tree);
  open.existing = true;
  program.send(open);
  REQUIRE(program.await<CopyOpened>());
  program.send(CopyPrune{remove});
  const auto pruned = program.await<CopyPruned>();
  REQUIRE(pruned);
  return *pruned;
}

/// The bytes that arrive within ten seconds, at most `most` bytes; an empty text at the end of the stream.
std::string received(int descriptor, std::size_t most) {
  pollfd readable{descriptor, POLLIN, 0};
  REQUIRE(::poll(&readable, 1, 10'000) == 1);
  std::string bytes(most, '\0');
  const auto count = ::read(descriptor, bytes.data(), bytes.size());
  REQUIRE(count >= 0);
  bytes.resize(static_cast<std::size_t>(count));
  return bytes;
}

bool is_recorded(const fs::path& tree) {
  Program program;
  program.send(CopyListTrees{});
  const auto trees = program.await<CopyTrees>();
  REQUIRE(trees);
  return std::any_of(trees->trees.begin(), trees->trees.end(),
                     [&](const CopyTree& one) { return one.path == tree.string(); });
}

}  // namespace

TEST_CASE("copy hub: links stay links to blobs, and unfinished downloads and locks are left behind") {
  const Cache cache;
  REQUIRE(cache.sync());
  const auto snapshot = cache.copy / "snapshots" / kCommit;
  CHECK(fs::read_symlink(snapshot / "model.safetensors") == "../../blobs/aaaa");
  CHECK(fs::read_symlink(snapshot / "sub/config.json") == "../../../blobs/bbbb");
  CHECK(read_file(snapshot / "model.safetensors") == read_file(cache.source / "blobs/aaaa"));
  // A lock file of a project is content.
  CHECK(fs::is_symlink(snapshot / "yarn.lock"));
  CHECK(read_file(cache.copy / "refs/main") == kCommit);
  CHECK_FALSE(fs::exists(cache.copy / "blobs/cccc.incomplete"));
  CHECK_FALSE(fs::exists(cache.copy / "blobs/dddd.lock"));
}

TEST_CASE("copy hub: what newer tools of the hub keep in a cache is copied, and only unfinished blobs are not") {
  const Cache cache;
  const fs::path absent = fs::path(".no_exist") / kCommit / "adapter_config.json";
  write_file(cache.source / absent, "");
  write_file(cache.source / "refs/refs/pr/1", kCommit);
  write_file(cache.source / "trees" / (kCommit + ".json"), "[]");
  write_file(cache.source / "blobs" / (std::string(64, 'e') + ".0badcafe.incomplete"), "x");
  // The locks of all models are beside the models.
  write_file(cache.source.parent_path() / ".locks/models--org--tiny/aaaa.lock", "");
  REQUIRE(cache.sync());
  CHECK(fs::is_empty(cache.copy / absent));
  CHECK(read_file(cache.copy / "refs/refs/pr/1") == kCommit);
  CHECK(read_file(cache.copy / "trees" / (kCommit + ".json")) == "[]");
  CHECK_FALSE(fs::exists(cache.copy / "blobs" / (std::string(64, 'e') + ".0badcafe.incomplete")));
  CHECK_FALSE(fs::exists(cache.copy.parent_path() / ".locks"));
  const auto tree = copy::Tree::open(cache.source.string(), CopyTreeKind::kHub);
  REQUIRE(tree);
  const auto listed = tree->list();
  REQUIRE(listed);
  for (const auto& one : *listed) {
    INFO(one.entry.path);
    CHECK(one.entry.last == (one.entry.path.starts_with("refs/") && one.entry.kind == CopyKind::kFile));
  }
}

TEST_CASE("copy hub: links come after their blobs, and the name of a revision comes last") {
  const auto snapshot = fs::path("snapshots") / kCommit;
  const bool in_place_of_blob = GENERATE(true, false);
  const Cache cache;
  const fs::path obstacle = cache.copy / (in_place_of_blob ? "blobs/bbbb" : snapshot / "model.safetensors");
  {
    // The transfer fails at the obstacle, so that everything behind it is missing.
    Chain chain;
    chain.kind = CopyTreeKind::kHub;
    REQUIRE(chain.begin({cache.source, cache.copy}, false));
    write_file(obstacle, "own");
    CHECK_FALSE(chain.run(kEnough));
    REQUIRE(chain.failure);
    CHECK(chain.failure->code == ErrorCode::kRefused);
  }
  CHECK_FALSE(fs::exists(cache.copy / "refs/main"));
  CHECK(read_file(obstacle) == "own");
  for (const char* link : {"model.safetensors", "sub/config.json", "yarn.lock"}) {
    INFO(link);
    CHECK_FALSE(fs::is_symlink(cache.copy / snapshot / link));
  }
  fs::remove(obstacle);
  CHECK(cache.sync());
  CHECK(read_file(cache.copy / "refs/main") == kCommit);
  CHECK(read_file(cache.copy / snapshot / "model.safetensors") == read_file(cache.source / "blobs/aaaa"));
}

TEST_CASE("copy hub: a blob that the cache shares between models is refused, with the remedy") {
  const Cache cache;
  write_file(cache.folder.path() / "a/blobs/ee/eeee", "shared");
  fs::create_symlink("../../blobs/ee/eeee", cache.source / "blobs/eeee");
  const auto tree = copy::Tree::open(cache.source.string(), CopyTreeKind::kHub);
  REQUIRE(tree);
  const auto listed = tree->list();
  REQUIRE_FALSE(listed);
  CHECK(listed.error().code == ErrorCode::kRefused);
  CHECK(listed.error().hint.find("HF_HUB_DISABLE_SHARED_BLOBS") != std::string::npos);
}

TEST_CASE("copy prune: only files that a sync brought are removed") {
  const Cache cache;
  write_file(cache.copy / "own", "mine");
  write_file(cache.copy / "blobs/bbbb", "{}");  // Equal, but not brought.
  fs::last_write_time(cache.copy / "blobs/bbbb", fs::last_write_time(cache.source / "blobs/bbbb"));
  for (const fs::path& tree : {cache.source, cache.copy}) {
    Program reader;
    reader.send(open_of(tree, CopyTreeKind::kHub));
    REQUIRE(reader.await<CopyOpened>());
    reader.send(CopyLook{true, false, true, {}});
    REQUIRE(reader.await<CopyLooked>());
  }
  REQUIRE(cache.sync());
  CHECK(is_recorded(cache.copy));
  CHECK_FALSE(is_recorded(cache.source));

  const auto counted = prune(cache.copy, false);
  CHECK(counted.files == 5);  // A blob, the name in refs, three links.
  CHECK(counted.kept == std::vector<std::string>{"blobs/bbbb"});
  CHECK(fs::exists(cache.copy / "blobs/aaaa"));

  CHECK(prune(cache.copy, true).files == 5);
  CHECK_FALSE(fs::exists(cache.copy / "blobs/aaaa"));
  CHECK_FALSE(fs::exists(cache.copy / "snapshots"));
  CHECK_FALSE(fs::exists(cache.copy / "refs"));
  CHECK(read_file(cache.copy / "own") == "mine");
  CHECK(read_file(cache.copy / "blobs/bbbb") == "{}");
}

TEST_CASE("copy prune: a file that was changed since stays, and a directory that a sync made goes when it is empty") {
  const Cache cache;
  REQUIRE(cache.sync());
  write_file(cache.copy / "refs/main", "another");
  const auto pruned = prune(cache.copy, true);
  CHECK(pruned.kept == std::vector<std::string>{"refs/main"});
  CHECK(read_file(cache.copy / "refs/main") == "another");
  CHECK_FALSE(fs::exists(cache.copy / "blobs"));

  const auto forget = [&] {
    Program program;
    program.send(CopyForget{cache.copy.string()});
    REQUIRE(program.await<CopyForgotten>());
  };
  fs::remove_all(cache.copy / "refs");
  forget();
  CHECK_FALSE(fs::exists(cache.copy));
  CHECK(fs::exists(cache.copy.parent_path()));
  CHECK_FALSE(is_recorded(cache.copy));
  forget();  // Nothing is left to forget.
}

TEST_CASE("copy prune: the remains of an interrupted transfer of an image are counted, removed and forgotten") {
  const ScratchDirectory folder;
  const fs::path stage = folder.path() / ".local/state/sparkplan/images" / std::string(32, 'a');
  CopyOpen open = open_of(stage, CopyTreeKind::kImage);
  {
    Program program;
    program.send(open);
    REQUIRE(program.await<CopyOpened>());
  }
  const std::vector<fs::path> left{stage / kImageArchive, stage / "image.tar.part",
                                   stage / kPartialFolder / std::string(32, 'a')};
  write_file(left[0], random_text(1000, 1));
  write_file(left[1], random_text(500, 2));
  write_file(left[2], random_text(2000, 3));
  // Until then, a file system may count other blocks.
  const FileDescriptor written(::open(left[2].c_str(), O_RDONLY | O_CLOEXEC));
  REQUIRE(::fsync(written.get()) == 0);
  struct stat status {};
  REQUIRE(::fstat(written.get(), &status) == 0);
  const std::int64_t on_disk = status.st_blocks * 512;
  REQUIRE(on_disk > 0);
  CHECK(is_recorded(stage));
  open.existing = true;
  for (const bool remove : {false, true}) {
    open.write = remove;
    Program program;
    program.send(open);
    REQUIRE(program.await<CopyOpened>());
    program.send(CopyPrune{remove});
    const auto pruned = program.await<CopyPruned>();
    REQUIRE(pruned);
    CHECK(pruned->files == 3);
    CHECK(pruned->bytes == 1000 + 500 + on_disk);
    for (const fs::path& file : left) CHECK(fs::exists(file) != remove);
  }
  Program program;
  program.send(CopyForget{stage.string(), "", CopyTreeKind::kImage});
  REQUIRE(program.await<CopyForgotten>());
  CHECK_FALSE(fs::exists(stage));
  CHECK_FALSE(is_recorded(stage));
}

TEST_CASE("copy prune: only a directory of sparkplan counts as the directory of an archive") {
  const std::string name(32, 'a');
  CHECK(copy::is_path_of_stage("/var/lib/sparkplan/images/" + name));
  CHECK(copy::is_path_of_stage("/home/nvidia/.local/state/sparkplan/images/" + name));
  for (const std::string& path :
       {"/srv/images/" + name, "/var/lib/sparkplan/images/" + name + "/sub", std::string("/var/lib/sparkplan/images/a"),
        "/srv/var/lib/sparkplan/images/" + name, name, std::string()}) {
    INFO(path);
    CHECK_FALSE(copy::is_path_of_stage(path));
  }
}

TEST_CASE("copy relay: only the connection with the token is joined, and strangers do not shut it out") {
  const std::string token = random_text(kCopyTokenBytes, 1);
  auto relay = ChildProcess::start(SPARKPLAN_COPY_PROGRAM, {"--stdio"});
  REQUIRE(relay);
  const std::string join = std::string(kPreamble) + *encode_frame(encode(CopyCommand(CopyJoin{token})));
  REQUIRE(::write(relay->standard_input(), join.data(), join.size()) == static_cast<ssize_t>(join.size()));
  FrameReader reader;
  std::optional<CopyServing> serving;
  while (!serving) {
    const std::string bytes = received(relay->standard_output(), 4096);
    REQUIRE_FALSE(bytes.empty());
    reader.feed(bytes);
    for (auto message = reader.next(); message && *message; message = reader.next()) {
      const auto answer = decode<CopyAnswer>(**message);
      REQUIRE(answer);
      if (const auto* port = std::get_if<CopyServing>(&*answer)) serving = *port;
    }
  }
  const auto to = copy::socket_address("127.0.0.1", serving->port);
  REQUIRE(to);
  std::vector<FileDescriptor> strangers;
  const auto connect = [&] {
    FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(::connect(socket.get(), to->get(), to->size) == 0);
    return socket;
  };
  const auto send_all = [](const FileDescriptor& socket, const std::string& bytes) {
    REQUIRE(::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size()));
  };
  for (int i = 0; i < 100; ++i) strangers.push_back(connect());
  strangers.push_back(connect());
  send_all(strangers.back(), random_text(kCopyTokenBytes, 2));
  const auto socket = connect();
  send_all(socket, token + "request");
  std::string arrived;
  while (arrived.size() < token.size() + 7) {
    const std::string more = received(relay->standard_output(), 4096);
    REQUIRE_FALSE(more.empty());
    arrived += more;
  }
  CHECK(arrived == token + "request");
  REQUIRE(::write(relay->standard_input(), "chunk", 5) == 5);
  CHECK(received(socket.get(), 4096) == "chunk");
  relay->close_standard_input();
  CHECK(relay->wait(std::chrono::seconds(10)) == std::optional<int>(0));
}

}  // namespace sparkplan
