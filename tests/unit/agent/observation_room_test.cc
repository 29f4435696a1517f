// What the agent reports if all observations together have no room in a reply.
#include "engine/agent/session/observation_room.h"

#include <string>
#include <utility>
#include <vector>

#include "engine/model/fields.h"
#include "engine/resource/artifact.h"
#include "tests/support/catch.h"

namespace sparkplan {
namespace {

/// Files as the type `file` reports them: each as a resource and as an artifact.
ObservedState files_of(const std::vector<std::string>& texts) {
  ObservedState observed;
  ObservedType& files = observed.types["file"];
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::string path = "/etc/app/" + std::to_string(i) + ".conf";
    files.resources[path] = file_present(texts[i], 0644);
    files.artifacts[file_artifact(path)] = file_present(texts[i], 0644);
  }
  return observed;
}

const Error* error_of(const Observation& observation) { return std::get_if<Error>(&observation); }

}  // namespace

TEST_CASE("observation: what has room is reported unchanged") {
  const std::string text(std::size_t{1} << 20, 'x');
  auto observed = files_of({text, text, "small"});
  const Value before = encode(observed);
  keep_within(observed, kObserveReply);
  CHECK(encode(observed) == before);
  REQUIRE(encode_frame(encode(observed), kObserveReply));
}

TEST_CASE("observation: of files that have no room together, the largest is an error, and the others are reported") {
  const std::string text(1'000'000, 'x');
  const std::string larger(std::size_t{1} << 20, 'y');
  auto observed = files_of({text, larger, text, "small"});
  REQUIRE_FALSE(encode_frame(encode(observed), kObserveReply));
  keep_within(observed, kObserveReply);
  CHECK(encode_frame(encode(observed), kObserveReply));

  const ObservedType& files = observed.types.at("file");
  const Error* error = error_of(files.resources.at("/etc/app/1.conf"));
  REQUIRE(error != nullptr);
  CHECK(error->code == ErrorCode::kUnsupported);
  CHECK(error->message.find("which has 5242880 for all resources of the node") != std::string::npos);
  CHECK(error->hint == "shorten the file on the node, or move it away; then plan again");
  CHECK(error_of(files.artifacts.at(file_artifact("/etc/app/1.conf"))) != nullptr);
  for (const char* path : {"/etc/app/0.conf", "/etc/app/2.conf", "/etc/app/3.conf"}) {
    INFO(path);
    CHECK(error_of(files.resources.at(path)) == nullptr);
    CHECK(error_of(files.artifacts.at(file_artifact(path))) == nullptr);
  }
}

TEST_CASE("observation: characters that take six bytes in a message, and many values, count with what they take") {
  auto escaped = files_of({std::string(500'000, '\x01'), "small"});
  keep_within(escaped, kObserveReply);
  CHECK(encode_frame(encode(escaped), kObserveReply));
  CHECK(error_of(escaped.types.at("file").resources.at("/etc/app/1.conf")) == nullptr);

  ObservedState many = files_of({"small"});
  Value::List numbers(70'000, Value(1));
  many.types["other"].resources["long"] = Present{Value::map({{"numbers", std::move(numbers)}}), {}};
  REQUIRE_FALSE(encode_frame(encode(many), kObserveReply));
  keep_within(many, kObserveReply);
  CHECK(encode_frame(encode(many), kObserveReply));
  CHECK(error_of(many.types.at("other").resources.at("long")) != nullptr);
}

}  // namespace sparkplan
