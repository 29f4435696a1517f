#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "engine/cli/usage/program_usage.h"
#include "engine/core/result.h"
#include "engine/core/value.h"
#include "engine/resource/registry.h"

namespace sparkplan {

/// sparkplan(1), sections about commands: one subsection per command.
std::string manual_of_commands(const ProgramUsage& program);
/// sparkplan(1): the options that every command takes, as tagged paragraphs.
std::string manual_of_general_options(const ProgramUsage& program);

/// cluster.yaml(5): the keys of the top level as tagged paragraphs. `schema` is cluster_schema().
std::string manual_of_top_keys(const Value& schema);
/// cluster.yaml(5): a subsection for every key that holds others.
std::string manual_of_sections(const Value& schema, const Registry& registry);

/// The table of commands and one table of flags for each, as Markdown.
std::string markdown_of_commands(const ProgramUsage& program);

/// docs/doctor.md: the doctor's table, as Markdown.
std::string markdown_of_doctor();

/// docs/protocol.md: every message and record with its fields, as Markdown.
std::string markdown_of_protocol();

/// All files of the repository that are generated from the table of commands and from the schema: each path below
/// `source` and its required content. Hand-written parts are read below `source`.
/// Errors: kNotFound, kFailed (a file to complete is missing or has no place for the generated part).
Result<std::map<std::string, std::string>> reference_files(const std::filesystem::path& source);

}  // namespace sparkplan
