#include "engine/resource/artifact.h"

#include <utility>

#include "engine/core/digest.h"
#include "engine/core/number_format.h"
#include "engine/core/tree.h"
#include "engine/resource/managed_block.h"

namespace sparkplan {
namespace {

constexpr std::string_view kFileKind = "file";
constexpr std::string_view kBlockKind = "block";
constexpr std::uint32_t kAllModeBits = 07777;
constexpr std::uint32_t kDefaultMode = 0644;

Result<std::uint32_t> parse_mode(std::string_view text) {
  const auto mode = parse_number<std::uint32_t>(text, 8);
  if (mode && *mode <= kAllModeBits) return *mode;
  return failure(ErrorCode::kInvalidInput, "\"" + std::string(text) + "\" is not a file mode");
}

Result<std::uint32_t> decode_owner(const Value& value, std::string_view key) {
  const Value* field = value.find(key);
  const std::int64_t* number = field == nullptr ? nullptr : field->integer();
  if (number == nullptr || *number < 0 || *number > std::int64_t{UINT32_MAX}) {
    return failure(ErrorCode::kInvalidInput, "a file artifact needs a number as " + std::string(key));
  }
  return static_cast<std::uint32_t>(*number);
}

std::optional<Error> too_large(const std::string& what, std::size_t size, std::size_t largest) {
  if (size <= largest) return std::nullopt;
  // A text that was made up to its bound has one byte too many, so its size says nothing.
  return make_error(ErrorCode::kRefused,
                    what + " has more than the " + std::to_string(largest) + " bytes that can be read back");
}

Observation read_block(const std::filesystem::path& path, const NodeReader& node) {
  const Result<std::optional<FileContent>> file = if_there(node.read_regular_file(path, kLargestFileWithBlock));
  if (!file) return file.error();
  if (!*file) return Absent{};
  Result<std::optional<std::string>> block = find_block((*file)->bytes);
  if (!block) return std::move(block).error().within(path.string());
  if (!*block) return Absent{};
  if (auto error =
          too_large("the text between sparkplan's markers in " + path.string(), (*block)->size(), kLargestBlock)) {
    error->hint = "sparkplan did not write it: remove it and its markers";
    return *std::move(error);
  }
  return block_present(**std::move(block));
}

Result<void> apply_block(const std::filesystem::path& path, const std::optional<std::string>& body, Node& node) {
  SPARK_TRY(std::optional<FileContent> file, if_there(node.read_regular_file(path, kLargestFileWithBlock)));
  if (!file && !body) return {};
  FileContent content = file.value_or(FileContent{"", kDefaultMode, 0, 0});
  Result<std::string> text = replace_block(content.bytes, body);
  if (!text) return failure(std::move(text).error().within(path.string()));
  if (!body && text->empty()) return node.remove_file(path);
  if (file && content.bytes == *text) return {};
  SPARK_CHECK(check_file_with_block(path, file ? std::optional(content.bytes.size()) : std::nullopt, text->size()));
  content.bytes = *std::move(text);
  return node.write_file(path, content);
}

}  // namespace

ArtifactId file_artifact(const std::filesystem::path& path) { return {std::string(kFileKind), path.string()}; }

ArtifactId block_artifact(const std::filesystem::path& path) { return {std::string(kBlockKind), path.string()}; }

std::string ownership_header(std::string_view comment) {
  const std::string lead = std::string(comment) + " ";
  return lead + "Written by sparkplan from cluster.yaml: changes made here are overwritten.\n" + lead +
         "To change a value, edit cluster.yaml and run \"sparkplan apply\".\n";
}

bool is_text_artifact(const ArtifactId& artifact) { return artifact.kind == kFileKind || artifact.kind == kBlockKind; }

Value encode(const FileContent& content) {
  return Value::map({{"content", content.bytes},
                     {"mode", file_mode_text(content.mode)},
                     {"uid", static_cast<std::int64_t>(content.uid)},
                     {"gid", static_cast<std::int64_t>(content.gid)}});
}

Result<FileContent> decode_file_content(const Value& value) {
  const Value* content = value.find("content");
  const Value* mode = value.find("mode");
  if (content == nullptr || content->string() == nullptr || mode == nullptr || mode->string() == nullptr) {
    return failure(ErrorCode::kInvalidInput, "a file artifact needs text as content and mode");
  }
  FileContent result;
  result.bytes = *content->string();
  SPARK_TRY(result.mode, parse_mode(*mode->string()));
  SPARK_TRY(result.uid, decode_owner(value, "uid"));
  SPARK_TRY(result.gid, decode_owner(value, "gid"));
  return result;
}

Observation file_present(std::string content, std::uint32_t mode) {
  return Present{encode(FileContent{std::move(content), mode, 0, 0}), {}};
}

Observation block_present(std::string content) {
  // Value::map() would copy the text, which may hold the lines of all nodes.
  Value::Map fields;
  fields.push_back({"content", std::move(content)});
  return Present{std::move(fields), {}};
}

std::optional<std::string> content_of(const Observation& text_artifact) {
  return text_below(present_value(text_artifact), "content");
}

std::optional<Error> too_large_to_read(const ArtifactId& artifact, const Observation& after) {
  const Value* content = present_value(after).find("content");
  if (content == nullptr || content->string() == nullptr) return std::nullopt;
  return too_large("the new content of " + artifact.name, content->string()->size(),
                   artifact.kind == kFileKind ? kLargestTextFile : kLargestBlock);
}

Result<void> check_file_with_block(const std::filesystem::path& path, const std::optional<std::size_t>& before,
                                   std::size_t after) {
  if (before && after <= *before) return {};
  auto error = too_large(path.string() + " with the lines to be added", after, kLargestFileWithBlock);
  if (!error) return {};
  error->hint = "make it smaller: sparkplan does not manage its other lines";
  return failure(*std::move(error));
}

Result<std::string> file_with_block(const std::filesystem::path& path, const NodeReader& node) {
  return or_empty(node.read_file(path, kLargestFileWithBlock));
}

Observation read_artifact(const ArtifactId& artifact, const ResourceType& type, const NodeReader& node) {
  if (artifact.kind == kBlockKind) return read_block(artifact.name, node);
  if (artifact.kind != kFileKind) return type.read_artifact(artifact, node);
  const Result<std::optional<FileContent>> file = if_there(node.read_regular_file(artifact.name, kLargestTextFile));
  if (!file) return file.error();
  if (!*file) return Absent{};
  return Present{encode(**file), {}};
}

Result<void> apply_artifact(const ArtifactId& artifact, const Observation& after, const ResourceType& type,
                            Node& node) {
  const auto* present = std::get_if<Present>(&after);
  if (present == nullptr && !std::holds_alternative<Absent>(after)) {
    return failure(ErrorCode::kBug, artifact.str() + " can only become absent or present");
  }
  if (present != nullptr && present->value.contains_unknown()) {
    return failure(ErrorCode::kBug, artifact.str() + " depends on a value that is not known yet");
  }
  if (auto error = too_large_to_read(artifact, after)) return failure(*std::move(error));
  if (artifact.kind == kBlockKind) {
    const std::optional<std::string> body = content_of(after);
    if (present != nullptr && !body) return failure(ErrorCode::kInvalidInput, artifact.str() + " needs content");
    return apply_block(artifact.name, body, node);
  }
  if (artifact.kind != kFileKind) return type.apply(artifact, after, node);
  if (present == nullptr) return node.remove_file(artifact.name);
  SPARK_TRY(const FileContent content, decode_file_content(present->value));
  return node.write_file(artifact.name, content);
}

bool same_state(const Observation& a, const Observation& b) {
  if (a.index() != b.index()) return false;
  if (const auto* present = std::get_if<Present>(&a)) return present->value == std::get<Present>(b).value;
  if (const auto* reason = std::get_if<NotApplicable>(&a)) return *reason == std::get<NotApplicable>(b);
  return std::holds_alternative<Absent>(a);
}

std::string digest(const Observation& observation) {
  const auto* present = std::get_if<Present>(&observation);
  // The wrapping distinguishes "absent" from a present null.
  return present == nullptr ? digest(Value("absent")) : digest(Value::map({{"present", present->value}}));
}

}  // namespace sparkplan
