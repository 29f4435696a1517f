#pragma once

#include "engine/node/node.h"
#include "tests/fuzz/choices.h"
#include "tests/support/fake_node.h"

namespace sparkplan::fuzz {

/// A machine that an attacker controls. It returns the files, links and program output of a FakeNode, and changes some
/// of them. The input decides which answers change, one byte per answer; 0 changes nothing.
class HostileNode final : public Node {
 public:
  /// Writes and commands change `honest`.
  HostileNode(test::FakeNode& honest, Choices& choices) : honest_(honest), choices_(choices) {}

  bool live() const override { return honest_.live(); }
  Result<std::string> read_file(const std::filesystem::path& path, std::size_t max_bytes) const override;
  Result<FileStatus> status(const std::filesystem::path& path) const override;
  Result<std::vector<std::string>> list_directory(const std::filesystem::path& path) const override;
  Result<std::string> read_user_file(const UserPath& path, std::size_t max_bytes) const override;
  Result<FileStatus> user_status(const UserPath& path) const override;
  std::string connection_address() const override;
  Result<std::vector<LinkFacts>> links() const override;
  void pause(std::chrono::milliseconds duration) const override { honest_.pause(duration); }
  Result<std::vector<UnitProperties>> units(std::span<const std::string> names,
                                            std::span<const std::string_view> properties,
                                            std::chrono::milliseconds deadline) const override;
  Result<CommandOutput> query(std::span<const std::string> argv, std::chrono::milliseconds deadline) const override;

  Result<void> write_file(const std::filesystem::path& path, const FileContent& content) override;
  Result<void> remove_file(const std::filesystem::path& path) override;
  Result<void> remove_directory(const std::filesystem::path& path) override;
  Result<void> make_empty_directory(const std::filesystem::path& path) override;
  Result<void> remove_empty_directory(const std::filesystem::path& path) override;
  Result<void> write_user_file(const UserPath& path, const FileContent& content) override;
  Result<void> remove_user_file(const UserPath& path) override;
  Result<void> detach_mount(const std::filesystem::path& path) override;
  Result<void> restore_link(const LinkState& state) override;
  Result<std::filesystem::path> make_scratch_directory() override;
  Result<std::filesystem::path> scratch_directory(const std::string& name) override;
  Result<void> write_kernel_file(const std::filesystem::path& path, std::string_view content) override;
  Result<CommandOutput> run(std::span<const std::string> argv, std::chrono::milliseconds deadline) override;
  Result<std::unique_ptr<RunningCommand>> start(std::span<const std::string> argv,
                                                std::chrono::milliseconds deadline) override;

 private:
  Result<std::string> answer(Result<std::string> honest, std::size_t max_bytes) const;
  Result<CommandOutput> answer(Result<CommandOutput> honest) const;
  Result<FileStatus> answer(Result<FileStatus> honest) const;
  Result<void> answer(Result<void> honest) const;
  /// True for one in eight answers while the input has bytes; false after its end.
  bool lies() const;
  Error error() const;

  test::FakeNode& honest_;
  Choices& choices_;
};

}  // namespace sparkplan::fuzz
