#include "engine/cli/reference/reference.h"

#include <fstream>
#include <iterator>

#include "engine/cli/usage/completion.h"
#include "engine/core/json.h"
#include "engine/load/load.h"

namespace sparkplan {
namespace {

constexpr std::string_view kBegin =
    "<!-- flags: begin. Made from the program: cmake --build build --target reference -->\n";
constexpr std::string_view kEnd = "<!-- flags: end -->\n";

Result<std::string> content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return tl::unexpected(make_error(ErrorCode::kNotFound, "cannot read " + path.string()));
  }
  return std::string(std::istreambuf_iterator<char>(file), {});
}

Error no_place(const std::filesystem::path& path, std::string_view place) {
  return make_error(ErrorCode::kFailed, path.string() + " has no " + std::string(place));
}

using Pieces = std::vector<std::pair<std::string, std::string>>;

/// A manual page from a hand-written template: each @NAME@ of `pieces` must occur in it, and is replaced.
Result<std::string> completed_page(const std::filesystem::path& path, const Pieces& pieces) {
  SPARK_TRY(auto text, content_of(path));
  for (const auto& [place, piece] : pieces) {
    const auto at = text.find(place);
    if (at == std::string::npos) return tl::unexpected(no_place(path, place));
    text.replace(at, place.size(), piece);
  }
  return ".\\\" Made from " + path.filename().string() + ": cmake --build build --target reference\n" + text;
}

/// A document with a generated part between two marks.
Result<std::string> completed_document(const std::filesystem::path& path, const std::string& piece) {
  SPARK_TRY(auto text, content_of(path));
  const auto begin = text.find(kBegin);
  if (begin == std::string::npos) return tl::unexpected(no_place(path, kBegin));
  const auto from = begin + kBegin.size();
  const auto end = text.find(kEnd, from);
  if (end == std::string::npos) return tl::unexpected(no_place(path, kEnd));
  return text.replace(from, end - from, piece);
}

}  // namespace

Result<std::map<std::string, std::string>> reference_files(const std::filesystem::path& source) {
  const auto program = program_usage();
  const auto& registry = builtin_registry();
  const auto schema_text = cluster_schema(registry);
  SPARK_TRY(const auto schema, parse_plain_json(schema_text));
  std::map<std::string, std::string> files;
  files["schemas/cluster.schema.json"] = schema_text;
  files["docs/completion/sparkplan.bash"] = bash_completion(program);
  files["docs/completion/_sparkplan"] = zsh_completion(program);
  files["docs/completion/sparkplan.fish"] = fish_completion(program);
  SPARK_TRY(files["docs/man/sparkplan.1"],
            completed_page(source / "docs/man/sparkplan.1.in", {{"@VERSION@", SPARKPLAN_VERSION},
                                                                {"@COMMANDS@\n", manual_of_commands(program)},
                                                                {"@OPTIONS@\n", manual_of_general_options(program)}}));
  SPARK_TRY(files["docs/man/cluster.yaml.5"], completed_page(source / "docs/man/cluster.yaml.5.in",
                                                             {{"@VERSION@", SPARKPLAN_VERSION},
                                                              {"@KEYS@\n", manual_of_top_keys(schema)},
                                                              {"@SECTIONS@\n", manual_of_sections(schema, registry)}}));
  SPARK_TRY(files["docs/commands.md"], completed_document(source / "docs/commands.md", markdown_of_commands(program)));
  files["docs/doctor.md"] = markdown_of_doctor();
  files["docs/protocol.md"] = markdown_of_protocol();
  return files;
}

}  // namespace sparkplan
