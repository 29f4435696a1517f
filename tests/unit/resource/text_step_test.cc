#include "engine/resource/steps.h"

#include "engine/core/text.h"
#include "engine/resource/artifact.h"
#include "tests/support/catch.h"

namespace sparkplan {
namespace {

const TypeInfo kInfo{"sysctl", "sysctl",      Phase::kKernelParameters, "",   "",
                     {},       Impact::kLive, Reversible::kExact,       false};
const ArtifactId kTextFile = file_artifact("/etc/x.conf");
const ArtifactId kTextBlock = block_artifact("/etc/hosts");

struct Asked {
  ObservedType observed;
  std::map<ArtifactId, Observation> originals;
  std::vector<Change> changes;

  std::optional<Step> step(const ArtifactId& artifact, const std::optional<std::string>& content,
                           std::uint32_t mode = 0644) const {
    return text_artifact_step(artifact, content, mode,
                              StepsInput{{}, observed, {changes.begin(), changes.end()}, originals}, kInfo);
  }
};

}  // namespace

TEST_CASE("the header of managed files is comment lines that never change") {
  CHECK(ownership_header() == ownership_header("#"));
  const std::string header = ownership_header(";");
  for (const std::string_view line : split_lines(header)) CHECK(line.starts_with("; "));
  CHECK(ownership_header().ends_with('\n'));
}

TEST_CASE("a step writes a file's content, owned by root, for all changes together") {
  Asked asked;
  asked.changes.resize(2);
  asked.changes[0].id = {"sysctl", "a.b"};
  asked.changes[1].id = {"sysctl", "@file"};
  const std::optional<Step> step = asked.step(kTextFile, "x\n", 0600);
  REQUIRE(step);
  CHECK(step->type == "sysctl");
  CHECK(step->group == "sysctl");
  CHECK(step->phase == Phase::kKernelParameters);
  CHECK(step->artifact == kTextFile);
  CHECK(same_state(step->before, Absent{}));
  CHECK(same_state(step->after, file_present("x\n", 0600)));
  CHECK(step->resources == std::vector<ResourceId>{{"sysctl", "a.b"}, {"sysctl", "@file"}});
}

TEST_CASE("a correct file needs no step; a wrong mode or owner needs one") {
  Asked asked;
  asked.observed.artifacts[kTextFile] = file_present("x\n", 0644);
  CHECK_FALSE(asked.step(kTextFile, "x\n"));
  CHECK(asked.step(kTextFile, "x\n", 0600));
  asked.observed.artifacts[kTextFile] = Present{encode(FileContent{"x\n", 0644, 1000, 0}), {}};
  CHECK(asked.step(kTextFile, "x\n"));
}

TEST_CASE("an empty content is written as a file") {
  Asked asked;
  REQUIRE(asked.step(kTextFile, ""));
  asked.observed.artifacts[kTextBlock] = block_present("");
  CHECK_FALSE(asked.step(kTextBlock, ""));
}

TEST_CASE("a block's step contains no attributes of its file") {
  const std::optional<Step> step = Asked{}.step(kTextBlock, "x\n");
  REQUIRE(step);
  CHECK(same_state(step->after, block_present("x\n")));
}

TEST_CASE("when a file's last resource is removed, the original is restored") {
  Asked asked;
  asked.observed.artifacts[kTextFile] = file_present("ours\n", 0644);
  asked.originals[kTextFile] = Present{encode(FileContent{"theirs\n", 0600, 1, 2}), {}};
  const std::optional<Step> step = asked.step(kTextFile, std::nullopt);
  REQUIRE(step);
  CHECK(same_state(step->after, asked.originals[kTextFile]));
}

TEST_CASE("when a file's last resource is removed and no original existed, the file is removed") {
  Asked asked;
  asked.observed.artifacts[kTextFile] = file_present("ours\n", 0644);
  asked.originals[kTextFile] = Absent{};
  const std::optional<Step> step = asked.step(kTextFile, std::nullopt);
  REQUIRE(step);
  CHECK(same_state(step->after, Absent{}));
  asked.observed.artifacts[kTextFile] = Absent{};
  CHECK_FALSE(asked.step(kTextFile, std::nullopt));
}

TEST_CASE("a file that sparkplan never wrote is not removed") {
  Asked asked;
  asked.observed.artifacts[kTextFile] = file_present("somebody's\n", 0644);
  CHECK_FALSE(asked.step(kTextFile, std::nullopt));
}

TEST_CASE("a resource that is unreadable or cannot exist needs no step") {
  Asked asked;
  asked.observed.artifacts[kTextFile] = Error{ErrorCode::kPermissionDenied, "no", {}, {}, {}};
  CHECK_FALSE(asked.step(kTextFile, "x\n"));
  asked.observed.artifacts[kTextFile] = NotApplicable{"an image"};
  CHECK_FALSE(asked.step(kTextFile, "x\n"));
}

}  // namespace sparkplan
