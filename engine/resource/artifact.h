#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "engine/core/ids.h"
#include "engine/core/result.h"
#include "engine/model/plan.h"
#include "engine/model/resource.h"
#include "engine/node/node.h"
#include "engine/resource/resource_type.h"

namespace sparkplan {

/// What is read is bounded, so what is written is, too: nothing is written that could not be read again.
/// A whole file of ours.
inline constexpr std::size_t kLargestTextFile = std::size_t{1} << 20;
/// The lines between our markers in a file of somebody else's.
inline constexpr std::size_t kLargestBlock = std::size_t{4} << 20;
/// That file with them. Others may make it as large as they like: it is far more than programs read such a file for.
inline constexpr std::size_t kLargestFileWithBlock = std::size_t{128} << 20;

/// A whole file as an artifact: kind "file", name = absolute path.
/// Its Value is {content, mode: "0644", uid, gid}.
ArtifactId file_artifact(const std::filesystem::path& path);

/// Our marked block in a file of somebody else's: kind "block", name = absolute path of that file.
/// Its Value is {content}. Only the block is compared, so others may edit around it.
ArtifactId block_artifact(const std::filesystem::path& path);

/// True for the kinds that the engine reads and writes itself; all others are their type's.
bool is_text_artifact(const ArtifactId& artifact);

Value encode(const FileContent& content);
/// Errors: kInvalidInput.
Result<FileContent> decode_file_content(const Value& value);

/// Present with the Value of a file artifact, owned by root.
Observation file_present(std::string content, std::uint32_t mode);
Observation block_present(std::string content);

/// The text of an observed file or block; empty when it is absent or could not be read.
std::optional<std::string> content_of(const Observation& text_artifact);

/// Why what `after` says cannot be written: its text is larger than is read again. A text that is larger in an
/// artifact of a type's own kind is measured as a block.
std::optional<Error> too_large_to_read(const ArtifactId& artifact, const Observation& after);

/// The text of a whole file, which holds a block, before it is written: `before` is what is there, nothing for no file.
/// Taking lines away is never refused. Errors: kRefused for one that is larger than it was and than is read again.
Result<void> check_file_with_block(const std::filesystem::path& path, const std::optional<std::size_t>& before,
                                   std::size_t after);

/// The artifact as it is now. Text artifacts are read by the engine (a symbolic link or directory
/// in a file's place is an Error with kRefused), others by `type`.
Observation read_artifact(const ArtifactId& artifact, const ResourceType& type, const NodeReader& node);

/// Makes the artifact be `after` (Absent or Present, without Unknown).
/// Errors: as Node::write_file() and ResourceType::apply(); kInvalidInput for a damaged block; kRefused for a text that
/// could not be read again.
Result<void> apply_artifact(const ArtifactId& artifact, const Observation& after, const ResourceType& type, Node& node);

/// Equality of what compare-and-swap looks at: kind of observation and value. Errors are never equal.
bool same_state(const Observation& a, const Observation& b);

/// digest() of an Absent or Present; what the manifest remembers of a written artifact.
std::string digest(const Observation& observation);

}  // namespace sparkplan
