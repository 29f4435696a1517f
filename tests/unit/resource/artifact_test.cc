#include "engine/resource/artifact.h"

#include "tests/support/catch.h"
#include "tests/support/fake_node.h"

namespace sparkplan {
namespace {

using test::FakeNode;

class NoArtifacts final : public ResourceType {
 public:
  NoArtifacts() : ResourceType({"plain", "plain", Phase::kFiles, "", "", {}}) {}
  Desired desired(const ClusterView&, const Value&, const Facts&) const override { return {}; }
  ObservedType observe(const ObserveRequest&, const NodeReader&) const override { return {}; }
  std::vector<Step> steps(const StepsInput&) const override { return {}; }
};

const NoArtifacts kType;
const ArtifactId kFile = file_artifact("/etc/x.conf");
const ArtifactId kBlock = block_artifact("/etc/hosts");

const Error* error_of(const Observation& observation) { return std::get_if<Error>(&observation); }

}  // namespace

TEST_CASE("files and blocks are handled by the engine, and all other artifacts by their type") {
  CHECK(is_text_artifact(kFile));
  CHECK(is_text_artifact(kBlock));
  CHECK_FALSE(is_text_artifact({"kernel_parameter", "vm/swappiness"}));
  CHECK(kFile.str() == "file:/etc/x.conf");
  CHECK(kBlock.str() == "block:/etc/hosts");
}

TEST_CASE("a file's content and attributes survive encoding") {
  const FileContent content{std::string("a\0\xff\n", 4), 04755, 1000, 4};
  const Result<FileContent> back = decode_file_content(encode(content));
  REQUIRE(back);
  CHECK(*back == content);
  CHECK(encode(content).text_or("mode", "") == "4755");
}

TEST_CASE("a file value with a missing or impossible field is refused") {
  const Value good = encode(FileContent{"x", 0644, 0, 0});
  for (const char* field : {"content", "mode", "uid", "gid"}) {
    INFO(field);
    Value value = good;
    value.erase(field);
    CHECK_FALSE(decode_file_content(value));
    value.set(field, Value(true));
    CHECK_FALSE(decode_file_content(value));
  }
  for (const char* mode : {"", "9", "0o644", "77777", "-1", "644 "}) {
    INFO(mode);
    Value value = good;
    value.set("mode", mode);
    CHECK_FALSE(decode_file_content(value));
  }
  Value value = good;
  value.set("uid", -1);
  CHECK_FALSE(decode_file_content(value));
}

TEST_CASE("a missing file is absent, and so is a block in it") {
  const FakeNode node;
  CHECK(std::holds_alternative<Absent>(read_artifact(kFile, kType, node)));
  CHECK(std::holds_alternative<Absent>(read_artifact(kBlock, kType, node)));
}

TEST_CASE("a file is read with its mode and owner") {
  FakeNode node;
  node.add_file("/etc/x.conf", "x\n", 0600, 7, 8);
  const Observation file = read_artifact(kFile, kType, node);
  CHECK(content_of(file) == "x\n");
  CHECK(same_state(file, Present{encode(FileContent{"x\n", 0600, 7, 8}), {}}));
  CHECK_FALSE(same_state(file, file_present("x\n", 0600)));
}

TEST_CASE("a link or directory at a file's path is refused, not followed") {
  FakeNode node;
  node.add_file("/srv/real", "x\n");
  node.add_symlink("/etc/x.conf", "/srv/real");
  node.add_directory("/etc/hosts");
  const Observation file = read_artifact(kFile, kType, node);
  REQUIRE(error_of(file));
  CHECK(error_of(file)->code == ErrorCode::kRefused);
  const Observation block = read_artifact(kBlock, kType, node);
  REQUIRE(error_of(block));
  CHECK(error_of(block)->code == ErrorCode::kRefused);
  CHECK_FALSE(apply_artifact(kBlock, block_present("x\n"), kType, node));
}

TEST_CASE("an unreadable file is an error, not absent") {
  FakeNode node;
  node.add_file("/etc/x.conf", "x\n");
  for (int n = 1; n <= 2; ++n) {
    node.fail_read(n, Error{ErrorCode::kPermissionDenied, "no", {}, {}, {}});
    const Observation file = read_artifact(kFile, kType, node);
    REQUIRE(error_of(file));
    CHECK(error_of(file)->code == ErrorCode::kPermissionDenied);
  }
}

TEST_CASE("a file that disappears between two calls is absent") {
  FakeNode node;
  node.add_file("/etc/x.conf", "x\n");
  node.fail_read(2, Error{ErrorCode::kNotFound, "gone", {}, {}, {}});
  CHECK(std::holds_alternative<Absent>(read_artifact(kFile, kType, node)));
}

TEST_CASE("a block keeps mode, owner and all other bytes of its file") {
  FakeNode node;
  node.add_file("/etc/hosts", "a\r\nb", 0640, 3, 4);
  const FakeNode::Snapshot before = node.snapshot();
  REQUIRE(apply_artifact(kBlock, block_present("x\n"), kType, node));
  CHECK(content_of(read_artifact(kBlock, kType, node)) == "x\n");
  CHECK(node.snapshot().at("/etc/hosts").starts_with("file 0640 3:4\na\r\nb\n# BEGIN sparkplan"));
  REQUIRE(apply_artifact(kBlock, Absent{}, kType, node));
  CHECK(node.snapshot() == before);
}

TEST_CASE("a block in a missing file creates it with mode 0644, and its removal deletes the file") {
  FakeNode node;
  REQUIRE(apply_artifact(kBlock, block_present("x\n"), kType, node));
  CHECK(node.snapshot().at("/etc/hosts").starts_with("file 0644 0:0\n# BEGIN sparkplan"));
  REQUIRE(apply_artifact(kBlock, Absent{}, kType, node));
  CHECK(node.snapshot().empty());
}

TEST_CASE("an unchanged block is not written again") {
  FakeNode node;
  REQUIRE(apply_artifact(kBlock, block_present("x\n"), kType, node));
  node.clear_log();
  REQUIRE(apply_artifact(kBlock, block_present("x\n"), kType, node));
  CHECK(node.log().empty());
  node.erase("/etc/hosts");
  REQUIRE(apply_artifact(kBlock, Absent{}, kType, node));
  CHECK(node.log().empty());
}

TEST_CASE("a damaged block is neither read nor written") {
  FakeNode node;
  node.add_file("/etc/hosts", "# BEGIN sparkplan\n");
  const Observation block = read_artifact(kBlock, kType, node);
  REQUIRE(error_of(block));
  CHECK(error_of(block)->describe().starts_with("/etc/hosts: line 1: "));
  CHECK_FALSE(apply_artifact(kBlock, block_present("x\n"), kType, node));
  CHECK_FALSE(apply_artifact(kBlock, Absent{}, kType, node));
  CHECK(node.log().empty());
}

TEST_CASE("an artifact can become absent or a known value, and nothing else") {
  FakeNode node;
  const std::vector<Observation> impossible{NotApplicable{"an image"}, Error{ErrorCode::kFailed, "x", {}, {}, {}},
                                            Present{Value::map({{"content", Value::Unknown{"later", "node"}}}), {}},
                                            Present{Value(), {}}};
  for (const Observation& after : impossible) {
    CHECK_FALSE(apply_artifact(kFile, after, kType, node));
    CHECK_FALSE(apply_artifact(kBlock, after, kType, node));
  }
  CHECK(node.log().empty());
}

TEST_CASE("an artifact of a kind that the type lacks is reported as a bug") {
  FakeNode node;
  const ArtifactId odd{"link", "enp1s0"};
  const Observation read = read_artifact(odd, kType, node);
  REQUIRE(error_of(read));
  CHECK(error_of(read)->code == ErrorCode::kBug);
  CHECK(apply_artifact(odd, Absent{}, kType, node).error().code == ErrorCode::kBug);
}

TEST_CASE("same_state() compares kind and value, and errors and unknowns are never the same") {
  const Error error{ErrorCode::kFailed, "x", {}, {}, {}};
  const Observation unknown = Present{Value(Value::Unknown{"later", "node"}), {}};
  CHECK(same_state(Absent{}, Absent{}));
  CHECK(same_state(block_present(""), block_present("")));
  CHECK(same_state(NotApplicable{"a"}, NotApplicable{"a"}));
  CHECK(same_state(Present{Value(0), {{"running", "an image"}}}, Present{Value(0), {}}));
  CHECK_FALSE(same_state(block_present(""), Absent{}));
  CHECK_FALSE(same_state(Present{Value(), {}}, Absent{}));
  CHECK_FALSE(same_state(Present{Value(0), {}}, Present{Value(false), {}}));
  CHECK_FALSE(same_state(error, error));
  CHECK_FALSE(same_state(unknown, unknown));
}

TEST_CASE("digests distinguish absent, null and empty, and ignore the order of keys") {
  CHECK(digest(Observation(Absent{})) != digest(Observation(Present{Value(), {}})));
  CHECK(digest(block_present("")) != digest(Observation(Absent{})));
  CHECK(digest(block_present("a")) == digest(block_present("a")));
  const Value one = Value::map({{"a", 1}, {"b", 2}});
  const Value two = Value::map({{"b", 2}, {"a", 1}});
  CHECK(digest(Observation(Present{one, {}})) == digest(Observation(Present{two, {}})));
}

TEST_CASE("a file or block above the size limit for reading is not written") {
  FakeNode node;
  const auto code_of = [&](const ArtifactId& artifact, const Observation& after) {
    const Result<void> applied = apply_artifact(artifact, after, kType, node);
    return applied ? std::string() : std::string(to_string(applied.error().code));
  };
  CHECK(code_of(kFile, file_present(std::string(kLargestTextFile + 1, 'x'), 0644)) == "refused");
  CHECK(code_of(kBlock, block_present(std::string(kLargestBlock + 1, 'x'))) == "refused");
  CHECK(node.log().empty());
  CHECK(code_of(kFile, file_present(std::string(kLargestTextFile, 'x'), 0644)).empty());
  CHECK(code_of(kBlock, block_present(std::string(kLargestBlock - 1, 'x') + "\n")).empty());
  CHECK(error_of(read_artifact(kFile, kType, node)) == nullptr);
  CHECK(error_of(read_artifact(kBlock, kType, node)) == nullptr);
}

TEST_CASE("a block is changed in a large file, and removed from a file that is full") {
  FakeNode node;
  const std::string large(std::size_t{64} << 20, '#');
  node.add_file(kBlock.name, large + "\n");
  REQUIRE(apply_artifact(kBlock, block_present("a\nb\n"), kType, node));
  CHECK(content_of(read_artifact(kBlock, kType, node)) == "a\nb\n");
  REQUIRE(apply_artifact(kBlock, Absent{}, kType, node));
  CHECK(*node.text_of(kBlock.name) == large + "\n");

  const std::string full(kLargestFileWithBlock - 150, '#');
  node.add_file(kBlock.name, full + "\n");
  REQUIRE(apply_artifact(kBlock, block_present("a\nb\n"), kType, node));
  const Result<void> grown = apply_artifact(kBlock, block_present(std::string(300, 'x')), kType, node);
  REQUIRE_FALSE(grown);
  CHECK(grown.error().code == ErrorCode::kRefused);
  CHECK(content_of(read_artifact(kBlock, kType, node)) == "a\nb\n");
  REQUIRE(apply_artifact(kBlock, block_present("b\n"), kType, node));
  REQUIRE(apply_artifact(kBlock, Absent{}, kType, node));
  CHECK(node.text_of(kBlock.name)->size() == full.size() + 1);
}

TEST_CASE("a block above the size limit is an error, and can be removed") {
  FakeNode node;
  node.add_file(kBlock.name, "# BEGIN sparkplan\n" + std::string(kLargestBlock + 1, 'x') + "\n# END sparkplan\n");
  const Observation seen = read_artifact(kBlock, kType, node);
  REQUIRE(error_of(seen) != nullptr);
  CHECK(error_of(seen)->code == ErrorCode::kRefused);
  REQUIRE(apply_artifact(kBlock, Absent{}, kType, node));
  CHECK_FALSE(node.text_of(kBlock.name));
}

}  // namespace sparkplan
