#pragma once

#include <string_view>

/// Readers of the files that sparkplan-copy reads: archives of images, which come from another node, and its own files,
/// which the user of a tree can change. They need few sources of engine/copy, and no transfers.
namespace sparkplan::fuzz {

/// A tar archive. Its headers are also read with the checksums that they should have, which no fuzzer finds.
void read_tar(std::string_view text);

/// The archive of an image, described by a text. The first line is "ENGINE NAME ID". A line "> NAME" begins a file and
/// "> NAME -> TARGET" a link; the lines below it are the content. "@A" stands for the digest of the first content, "@B"
/// for the second one's, so that a changed part keeps its name.
void read_image(std::string_view text);

/// The description of an image that a container engine prints.
void read_image_state(std::string_view text);

/// The journal of unfinished files.
void read_chunk_journal(std::string_view text);

/// The index of a tree.
void read_digest_index(std::string_view text);

}  // namespace sparkplan::fuzz
