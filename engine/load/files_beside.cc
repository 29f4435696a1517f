#include "engine/load/files_beside.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "engine/core/file_descriptor.h"
#include "engine/core/text.h"
#include "engine/core/tree.h"

namespace sparkplan {
namespace {

namespace fs = std::filesystem;

/// Configuration files are far shorter. One message carries the new text together with the current one.
constexpr std::size_t kLongestText = std::size_t{256} << 10;
constexpr std::size_t kLongestTogether = std::size_t{1} << 20;

std::string size_text(std::size_t bytes) { return std::to_string(bytes >> 10) + " KiB"; }

/// Why a name is refused; nothing for a path below the directory of cluster.yaml.
std::optional<std::string> fault_of_name(const std::string& name) {
  const fs::path path(name);
  if (name.empty()) return "is empty";
  if (path.is_absolute() || name.starts_with("~")) return "is not relative to the directory of cluster.yaml";
  if (std::find(path.begin(), path.end(), "..") != path.end()) return "leaves the directory of cluster.yaml";
  return std::nullopt;
}

Error not_text(const std::string& why) {
  return make_error(ErrorCode::kUnsupported, why, "sparkplan writes only text: put other data into a package");
}

class FilesBeside {
 public:
  FilesBeside(UnresolvedCluster& draft, const ReadBeside& read, Findings& findings)
      : draft_(draft), read_(read), findings_(findings) {}

  /// Each record has a copy of the text. False: with this one, all nodes together are too large, which is a finding.
  bool put_in(Value& record, const FileBeside& fields) {
    const Value* given = record.find(fields.name_field);
    // Another check reports records with both.
    if (given == nullptr || !given->is_string() || record.find(fields.text_field) != nullptr) return true;
    const Value name = *given;
    const Result<std::string>& text = text_of_file(*name.string());
    if (text && !has_room(name, text->size())) return false;
    record.erase(fields.name_field);
    Value content(text ? *text : std::string());
    content.where = name.where;
    record.set(fields.text_field, std::move(content));
    if (!text) {
      findings_.error(name.where, "files.source",
                      "cannot use " + in_quotes(*name.string()) + ": " + printable(text.error().describe()),
                      text.error().hint);
    }
    return true;
  }

  TextsByName texts() const {
    TextsByName texts;
    for (const auto& [name, text] : texts_) {
      if (text) texts.emplace(name, *text);
    }
    return texts;
  }

 private:
  bool has_room(const Value& name, std::size_t bytes) {
    draft_.merged_bytes += bytes;
    if (!draft_.is_too_large()) return true;
    findings_.error(name.where, "nodes.too-large",
                    "cannot use " + in_quotes(*name.string()) + ": with it, the merged sections of all nodes are " +
                        too_large_when_merged(),
                    "each node counts its copy of the text: put it into a package or on a shared file system");
    return false;
  }

  const Result<std::string>& text_of_file(const std::string& name) {
    const auto known = texts_.find(name);
    if (known != texts_.end()) return known->second;
    return texts_.emplace(name, read_text(name)).first->second;
  }

  Result<std::string> read_text(const std::string& name) {
    if (const auto fault = fault_of_name(name)) {
      return failure(ErrorCode::kInvalidInput, "the name " + *fault,
                     "put the file beside cluster.yaml or in a directory below, and write its relative path");
    }
    if (!read_) return failure(ErrorCode::kUnsupported, "cluster.yaml was not read from a directory");
    SPARK_TRY(std::string text, read_(name));
    if (text.size() > kLongestText) {
      return failure(ErrorCode::kUnsupported, "it is larger than " + size_text(kLongestText),
                     "sparkplan is for configuration files: put large files into a package or on a shared file system");
    }
    together_ += text.size();
    if (together_ > kLongestTogether) {
      return failure(ErrorCode::kUnsupported,
                     "with it, the files beside cluster.yaml are larger than " + size_text(kLongestTogether),
                     "put some of them into a package or on a shared file system");
    }
    if (text.find('\0') != std::string::npos) return failure(not_text("it contains a NUL byte, so it is not text"));
    if (!is_valid_utf8(text)) return failure(not_text("it is not UTF-8 text"));
    return text;
  }

  UnresolvedCluster& draft_;
  const ReadBeside& read_;
  Findings& findings_;
  std::map<std::string, Result<std::string>> texts_;
  std::size_t together_ = 0;
};

}  // namespace

TextsByName put_in_files_beside(UnresolvedCluster& draft, const Registry& registry, const ReadBeside& read_beside,
                                Findings& findings) {
  FilesBeside files(draft, read_beside, findings);
  for (const auto& type : registry.types()) {
    const TypeInfo& info = type->info();
    if (!info.file_beside) continue;
    for (UnresolvedNode& node : draft.nodes) {
      const auto section = node.sections.find(info.section);
      if (section == node.sections.end() || section->second.list_items() == nullptr) continue;
      for (Value& record : *section->second.list_items()) {
        if (record.is_map() && !files.put_in(record, *info.file_beside)) return {};
      }
    }
  }
  return files.texts();
}

ReadBeside files_in_directory_of(const std::string& cluster_file) {
  return [directory = fs::path(cluster_file).parent_path()](const std::string& name) -> Result<std::string> {
    std::error_code unknown;
    const fs::path top = fs::canonical(directory.empty() ? fs::path(".") : directory, unknown);
    const fs::path path = unknown ? fs::path() : fs::canonical(top / name, unknown);
    if (unknown) {
      return failure(unknown == std::errc::no_such_file_or_directory ? ErrorCode::kNotFound : ErrorCode::kFailed,
                     unknown.message(), "sparkplan looks for it in the directory of cluster.yaml");
    }
    const auto [outside, inside] = std::mismatch(top.begin(), top.end(), path.begin(), path.end());
    if (outside != top.end()) {
      return failure(ErrorCode::kRefused, "it is a link that leaves the directory of cluster.yaml",
                     "keep a copy beside cluster.yaml");
    }
    auto text = read_regular_file(path.string(), kLongestText + 1);
    if (text || text.error().code != ErrorCode::kUnsupported) return text;
    return failure(ErrorCode::kUnsupported, "it is not a regular file", "name a text file");
  };
}

Result<std::string> read_regular_file(const std::string& path, std::size_t longest) {
  // O_NONBLOCK: opening a FIFO must not wait for a writer.
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.valid()) return failure(system_error("open " + path, errno));
  struct stat status {};
  if (fstat(file.get(), &status) != 0) return failure(system_error("stat " + path, errno));
  if (!S_ISREG(status.st_mode)) return failure(ErrorCode::kUnsupported, path + " is not a regular file");
  return read_up_to(file.get(), longest, path);
}

}  // namespace sparkplan
