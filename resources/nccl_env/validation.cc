#include <filesystem>
#include <string>
#include <utility>

#include "engine/core/diagnostic.h"
#include "engine/core/text.h"
#include "engine/core/tree.h"
#include "engine/resource/shell_environment.h"
#include "resources/nccl_env/nccl_env.h"

namespace sparkplan::nccl_env {
namespace {

void check_value(const MapEntry& entry, std::vector<Diagnostic>& findings) {
  const Result<std::string> value = variable_value(entry.value);
  if (!value) {
    findings.push_back(finding("nccl.value", value.error().message, value.error().hint, entry.value.where));
  } else if (is_read_from_conf(entry.key) && value->size() > kLongestConfValue) {
    findings.push_back(finding("nccl.value",
                               "NCCL reads at most " + std::to_string(kLongestConfValue) + " bytes of a value",
                               "shorten it: NCCL would truncate it", entry.value.where));
  }
}

/// The loader searches for libnccl.so.2 in a list of directories, which has no quoting.
/// Source: ld.so(8), LD_LIBRARY_PATH: separated by colons or semicolons; $ORIGIN and similar names expand.
void check_library(const Value& library, std::vector<Diagnostic>& findings) {
  const std::string* text = library.string();
  if (text == nullptr) return;
  const auto wrong = [&](std::string message, std::string hint) {
    findings.push_back(finding("nccl.library", std::move(message), std::move(hint), library.where));
  };
  const std::filesystem::path path(*text);
  if (has_control_character(*text)) {
    wrong("a path with a control character in it cannot be searched for libraries", "");
  } else if (text->find_first_of(":;$") != std::string::npos) {
    wrong("a path with \":\", \";\" or \"$\" in it cannot be searched for libraries", "move the library");
  } else if (!path.is_absolute() || path.lexically_normal().string() != *text) {
    wrong("\"" + *text + "\" is not an absolute path, or contains \"..\", \".\" or double slashes", "");
  } else if (!path.filename().string().starts_with("libnccl.so") || path.parent_path() == "/") {
    wrong("\"" + *text + "\" is not the path of a libnccl.so", "write a path such as /opt/nccl/build/lib/libnccl.so.2");
  }
}

}  // namespace

std::vector<Diagnostic> validate_section(const Value& section) {
  std::vector<Diagnostic> findings;
  if (const Value* library = section.find("library")) check_library(*library, findings);
  for (const MapEntry& entry : entries_of(section.find("env"))) {
    if (entry.value.is_null()) continue;
    if (auto wrong = check_variable_name(entry, "nccl")) {
      findings.push_back(*std::move(wrong));
      if (entry.key == kLibraryPath) findings.back().hint = "use nccl: library: instead: it prepends one directory";
    }
    check_value(entry, findings);
  }
  return findings;
}

}  // namespace sparkplan::nccl_env
