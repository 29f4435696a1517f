#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "engine/core/result.h"
#include "engine/core/value.h"

/// Checks the lists in an image's archive: indexes, manifests, and the descriptors in them.
namespace sparkplan::copy {

/// The engines read a key in any case, also with letters beyond ASCII that fold to it, and take the last one. So a map
/// may have the `known` keys in their own spelling only. Errors: kUnsupported.
Result<void> check_keys(const Value& map, std::initializer_list<std::string_view> known);
/// A reference to another part. An engine would take the part from its addresses, or from the reference itself, in
/// place of the file that is checked here. Only OCI's empty part, "{}", may be in the reference, as builders write it.
/// Source: OCI image-spec, descriptor.md and manifest.md. Errors: kUnsupported.
Result<void> check_descriptor(const Value& descriptor);

/// Whether all annotations of a list or a descriptor only describe. Many versions of podman give those of a manifest to
/// the container's runtime, and crun writes to files of the host for some. With others at a layer, podman takes the
/// layer from its own store, and not the file. New keys of that kind come up, so only known others pass.
/// Source: specgen of podman, annotations of crun, pkg/chunked/toc of containers/storage.
/// Errors: kUnsupported (the error names the key).
Result<void> check_annotations(const Value& map);

/// The kinds of the parts of an image.
enum class PartKind : std::uint8_t { kManifest, kIndex, kConfig, kLayer };
/// By the `mediaType` of a list or a descriptor. Nothing without one: engines leave it out in some lists.
/// Errors: kUnsupported (a type that no engine writes for a part of an image).
Result<std::optional<PartKind>> stated_kind(const Value& map);
/// Whether the map states this kind, or none. An engine reads a part as what is stated. Errors: kUnsupported.
Result<void> check_kind(const Value& map, PartKind kind);

/// The digest of the part that a descriptor in docker's list of an archive describes, as a signature does. docker adds
/// such descriptors from version 29.1 on, without a name, and makes no image of them. Empty: it describes none.
/// Source: AnnotationManifestSubject of containerd. Errors: kUnsupported (no digest).
Result<std::string> subject_of(const Value& descriptor);
/// Whether an engine could unpack such a layer: what describes an image has none of these. Errors: none.
bool is_unpacked(const Value& layer);

/// "sha256:" and 64 hexadecimal digits, without the first part. Errors: kUnsupported.
Result<std::string> digest_from(const std::string& text);
/// Of a descriptor. Errors: kUnsupported.
Result<std::string> digest_in(const Value& descriptor);

}  // namespace sparkplan::copy
