#include "tests/fuzz/hostile_node.h"

#include <algorithm>
#include <array>
#include <utility>

#include "tests/fuzz/hostile_value.h"

namespace sparkplan::fuzz {
namespace {

constexpr std::size_t kMostOutput = std::size_t{1} << 16U;

}  // namespace

bool HostileNode::lies() const { return !choices_.empty() && choices_.byte() % 8 == 1; }

Error HostileNode::error() const {
  static constexpr std::array kCodes{ErrorCode::kNotFound, ErrorCode::kPermissionDenied, ErrorCode::kUnsupported,
                                     ErrorCode::kFailed,   ErrorCode::kRefused,          ErrorCode::kUnreachable};
  return Error{kCodes[choices_.below(kCodes.size())], hostile_text(choices_), {}, std::nullopt, hostile_text(choices_)};
}

Result<std::string> HostileNode::answer(Result<std::string> honest, std::size_t max_bytes) const {
  if (!lies()) return honest;
  std::string text = honest ? *honest : std::string();
  switch (choices_.below(4)) {
    case 0:
      return failure(error());
    case 1:
      text = choices_.text();
      break;
    default:
      spoil(text, choices_);
  }
  text.resize(std::min({text.size(), max_bytes, kMostOutput}));
  return text;
}

Result<CommandOutput> HostileNode::answer(Result<CommandOutput> honest) const {
  if (!lies()) return honest;
  if (choices_.below(4) == 0) return failure(error());
  CommandOutput output = honest ? *honest : CommandOutput{};
  spoil(choices_.below(3) == 0 ? output.standard_error : output.standard_output, choices_);
  if (choices_.below(3) == 0) output.exit_status = choices_.byte();
  output.standard_output.resize(std::min(output.standard_output.size(), kMostOutput));
  return output;
}

Result<FileStatus> HostileNode::answer(Result<FileStatus> honest) const {
  if (!lies()) return honest;
  if (choices_.below(3) == 0) return failure(error());
  FileStatus status = honest ? *honest : FileStatus{};
  status.kind = std::array{FileStatus::Kind::kRegular, FileStatus::Kind::kDirectory, FileStatus::Kind::kSymlink,
                           FileStatus::Kind::kOther}[choices_.below(4)];
  status.mode = static_cast<std::uint32_t>(choices_.below(010000));
  status.uid = choices_.byte();
  return status;
}

Result<void> HostileNode::answer(Result<void> honest) const {
  if (lies()) return failure(error());
  return honest;
}

Result<std::string> HostileNode::read_file(const std::filesystem::path& path, std::size_t max_bytes) const {
  return answer(honest_.read_file(path, max_bytes), max_bytes);
}

Result<FileStatus> HostileNode::status(const std::filesystem::path& path) const { return answer(honest_.status(path)); }

Result<std::vector<std::string>> HostileNode::list_directory(const std::filesystem::path& path) const {
  auto names = honest_.list_directory(path);
  if (!lies()) return names;
  if (choices_.below(3) == 0) return failure(error());
  if (!names) names.emplace();
  // A file name never contains '/' or a null byte, so readers need not handle them.
  std::string name = hostile_text(choices_);
  std::erase_if(name, [](char one) { return one == '/' || one == '\0'; });
  if (!name.empty() && name != "." && name != "..") names->push_back(std::move(name));
  std::sort(names->begin(), names->end());
  return names;
}

Result<std::string> HostileNode::read_user_file(const UserPath& path, std::size_t max_bytes) const {
  return answer(honest_.read_user_file(path, max_bytes), max_bytes);
}

Result<FileStatus> HostileNode::user_status(const UserPath& path) const { return answer(honest_.user_status(path)); }

std::string HostileNode::connection_address() const {
  return lies() ? hostile_text(choices_) : honest_.connection_address();
}

Result<std::vector<LinkFacts>> HostileNode::links() const {
  auto links = honest_.links();
  if (!lies() || !links) return links;
  Facts facts;
  facts.links = std::move(*links);
  Value tree = encode(facts);
  spoil(tree, choices_);
  auto spoiled = decode<Facts>(tree);
  return spoiled ? std::move(spoiled->links) : std::move(facts.links);
}

Result<std::vector<UnitProperties>> HostileNode::units(std::span<const std::string> names,
                                                       std::span<const std::string_view> properties,
                                                       std::chrono::milliseconds deadline) const {
  auto units = honest_.units(names, properties, deadline);
  if (!lies()) return units;
  if (!units || choices_.below(3) == 0) return failure(error());
  for (UnitProperties& unit : *units) {
    for (auto& [property, value] : unit) {
      if (lies()) value = hostile_text(choices_);
    }
  }
  return units;
}

Result<CommandOutput> HostileNode::query(std::span<const std::string> argv, std::chrono::milliseconds deadline) const {
  return answer(honest_.query(argv, deadline));
}

Result<void> HostileNode::write_file(const std::filesystem::path& path, const FileContent& content) {
  return answer(honest_.write_file(path, content));
}
Result<void> HostileNode::remove_file(const std::filesystem::path& path) { return answer(honest_.remove_file(path)); }
Result<void> HostileNode::remove_directory(const std::filesystem::path& path) {
  return answer(honest_.remove_directory(path));
}
Result<void> HostileNode::make_empty_directory(const std::filesystem::path& path) {
  return answer(honest_.make_empty_directory(path));
}
Result<void> HostileNode::remove_empty_directory(const std::filesystem::path& path) {
  return answer(honest_.remove_empty_directory(path));
}
Result<void> HostileNode::write_user_file(const UserPath& path, const FileContent& content) {
  return answer(honest_.write_user_file(path, content));
}
Result<void> HostileNode::remove_user_file(const UserPath& path) { return answer(honest_.remove_user_file(path)); }
Result<void> HostileNode::detach_mount(const std::filesystem::path& path) { return answer(honest_.detach_mount(path)); }
Result<void> HostileNode::restore_link(const LinkState& state) { return answer(honest_.restore_link(state)); }
Result<std::filesystem::path> HostileNode::make_scratch_directory() { return honest_.make_scratch_directory(); }
Result<std::filesystem::path> HostileNode::scratch_directory(const std::string& name) {
  return honest_.scratch_directory(name);
}
Result<void> HostileNode::write_kernel_file(const std::filesystem::path& path, std::string_view content) {
  return answer(honest_.write_kernel_file(path, content));
}
Result<CommandOutput> HostileNode::run(std::span<const std::string> argv, std::chrono::milliseconds deadline) {
  return answer(honest_.run(argv, deadline));
}
Result<std::unique_ptr<RunningCommand>> HostileNode::start(std::span<const std::string> argv,
                                                           std::chrono::milliseconds deadline) {
  if (lies()) return failure(error());
  return honest_.start(argv, deadline);
}

}  // namespace sparkplan::fuzz
