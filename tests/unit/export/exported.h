#pragma once

#include <stdlib.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/export/export.h"
#include "engine/load/load.h"
#include "engine/process/child_process.h"
#include "tests/support/catch.h"

/// Shared by the cases of the formats.
namespace sparkplan::test {

/// Two Sparks on one cable.
inline constexpr const char* kPair = R"(
version: 1
name: my-lab
profile: dgx-spark
ssh: {user: nvidia, identity: "~/.ssh/my key", jump: gate@bastion:2222}
fabric: {topology: direct}
nccl: {env: {NCCL_DEBUG: WARN}}
nodes:
  - {name: spark-01, address: 10.0.0.11}
  - {name: spark-02, address: "fd00::12", ssh: {port: 2200, host_keys: accept-new}}
)";

/// The text of a format, of all nodes or of the node `only`, for a file without errors.
inline ExportedText exported_with_remarks(const std::string& yaml, const std::string& format,
                                          const std::string& only = "") {
  const auto loaded = load_cluster(yaml, "cluster.yaml", builtin_registry());
  for (const auto& diagnostic : loaded.diagnostics) UNSCOPED_INFO(diagnostic.message);
  REQUIRE(loaded.cluster);
  auto text = export_cluster(*loaded.cluster, format, builtin_registry(),
                             [&](const NodeSpec& node) { return only.empty() || node.name.str() == only; });
  REQUIRE(text);
  return *std::move(text);
}

inline std::string exported(const std::string& yaml, const std::string& format, const std::string& only = "") {
  return exported_with_remarks(yaml, format, only).text;
}

/// A file in a new folder. The object removes both.
class File {
 public:
  explicit File(const std::string& text) {
    std::array<char, 32> name{"/tmp/spark_export_XXXXXX"};
    REQUIRE(mkdtemp(name.data()) != nullptr);
    directory_ = name.data();
    std::ofstream(path(), std::ios::binary) << text;
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { std::filesystem::remove_all(directory_); }
  std::string path() const { return directory_ / "exported.yaml"; }

 private:
  std::filesystem::path directory_;
};

/// The program's output; nothing, and a warning, if the program is not installed.
inline std::optional<std::string> said_by(const std::vector<std::string>& argv) {
  const auto output = run_and_capture(argv);
  if (!output && output.error().code == ErrorCode::kNotFound) {
    WARN("not judged: there is no " + argv[0]);
    return std::nullopt;
  }
  REQUIRE(output);
  INFO(output->standard_error);
  REQUIRE(output->exit_status == 0);
  return output->standard_output;
}

/// True if one of the lines is exactly this.
inline bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

}  // namespace sparkplan::test
