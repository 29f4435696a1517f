#pragma once

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

/// The artifact as it is now. Text artifacts are read by the engine (a symbolic link or directory
/// in a file's place is an Error with kRefused), others by `type`.
Observation read_artifact(const ArtifactId& artifact, const ResourceType& type, const NodeReader& node);

/// Makes the artifact be `after` (Absent or Present, without Unknown).
/// Errors: as Node::write_file() and ResourceType::apply(); kInvalidInput for a damaged block.
Result<void> apply_artifact(const ArtifactId& artifact, const Observation& after, const ResourceType& type, Node& node);

/// Equality of what compare-and-swap looks at: kind of observation and value. Errors are never equal.
bool same_state(const Observation& a, const Observation& b);

/// digest() of an Absent or Present; what the manifest remembers of a written artifact.
std::string digest(const Observation& observation);

}  // namespace sparkplan
