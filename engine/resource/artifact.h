#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "engine/core/ids.h"
#include "engine/core/result.h"
#include "engine/model/resource.h"
#include "engine/node/node.h"
#include "engine/resource/resource_type.h"

namespace sparkplan {

/// Reads have a limit in bytes, so writes have the same limit: sparkplan writes only what it can read again.
/// A file that sparkplan owns as a whole.
inline constexpr std::size_t kLargestTextFile = std::size_t{1} << 20;
/// The lines between our markers in a foreign file.
inline constexpr std::size_t kLargestBlock = std::size_t{4} << 20;
/// A foreign file including our block. Other software may enlarge it; the limit is far above what programs read.
inline constexpr std::size_t kLargestFileWithBlock = std::size_t{128} << 20;

/// A whole file as an artifact: kind "file", name = absolute path.
/// Its Value is {content, mode: "0644", uid, gid}.
ArtifactId file_artifact(const std::filesystem::path& path);

/// Our marked block in a foreign file: kind "block", name = absolute path of that file.
/// Its Value is {content}. Only the block is compared, so the rest of the file may be edited.
ArtifactId block_artifact(const std::filesystem::path& path);

/// The first lines of every file that sparkplan owns as a whole; `comment` is the format's comment character. They must
/// not change from run to run: a date in a header would make every run a change.
std::string ownership_header(std::string_view comment = "#");

/// True for the kinds that the engine reads and writes itself. The type handles all others.
bool is_text_artifact(const ArtifactId& artifact);

/// The inverse of decode_file_content().
Value encode(const FileContent& content);
/// Errors: kInvalidInput.
Result<FileContent> decode_file_content(const Value& value);

/// Present with the Value of a file artifact, owned by root.
Observation file_present(std::string content, std::uint32_t mode);
Observation block_present(std::string content);

/// The text of an observed file or block; nothing if it is absent or could not be read.
std::optional<std::string> content_of(const Observation& text_artifact);

/// The error for an `after` with more text than sparkplan reads; nothing if it fits. The limit of a type's own kinds is
/// kLargestBlock.
std::optional<Error> too_large_to_read(const ArtifactId& artifact, const Observation& after);

/// Checks the size of a file with our block before it is written. `before` is the file's current size, nothing without
/// a file. A write that does not enlarge the file always passes.
/// Errors: kRefused for a file that grows beyond kLargestFileWithBlock.
Result<void> check_file_with_block(const std::filesystem::path& path, const std::optional<std::size_t>& before,
                                   std::size_t after);

/// I/O, read-only. The whole file around our block; empty without a file. Errors: as NodeReader::read_file().
Result<std::string> file_with_block(const std::filesystem::path& path, const NodeReader& node);

/// The artifact's current state. The engine reads text artifacts (a symbolic link or directory in a file's place is an
/// Error with kRefused); `type` reads all others.
Observation read_artifact(const ArtifactId& artifact, const ResourceType& type, const NodeReader& node);

/// Brings the artifact to the state `after` (Absent or Present, without Unknown).
/// Errors: as Node::write_file() and ResourceType::apply(); kInvalidInput for a damaged block; kRefused for a text that
/// could not be read again.
Result<void> apply_artifact(const ArtifactId& artifact, const Observation& after, const ResourceType& type, Node& node);

/// Equality for compare-and-swap: kind of observation and value. Errors are never equal.
bool same_state(const Observation& a, const Observation& b);

/// digest() of an Absent or Present; the manifest stores it for each written artifact.
std::string digest(const Observation& observation);

}  // namespace sparkplan
