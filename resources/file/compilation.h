#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/resource/resource_type.h"

/// From the section of one node to the files that it asks for.
namespace sparkplan::file {

/// Parts of an export.
inline constexpr const char* kUsers = "users";
inline constexpr const char* kGroups = "groups";
inline constexpr const char* kAbsent = "absent";
inline constexpr const char* kWithoutDirectory = "without_directory";
/// A field of a resource: whether logind has read the file.
inline constexpr const char* kInEffect = "in_effect";
/// The owner and group of a record that names none.
inline constexpr std::string_view kRoot = "root";

/// The secret that the record has as its content; null for a text.
const Value* secret_of(const Value& record);
std::uint32_t mode_of(const Value& record);
std::string directory_of(const std::string& path);

/// Pure. The files of the section, from the exports of that node.
Desired compile(const ClusterView& view, const Value& section, const TypeInfo& info);

}  // namespace sparkplan::file
