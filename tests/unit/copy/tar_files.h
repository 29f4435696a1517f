#pragma once

#include <fcntl.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/file_descriptor.h"
#include "tests/support/catch.h"
#include "tests/unit/agent/scratch.h"

/// Tar archives, made block by block.
namespace sparkplan::test {

/// Names and contents.
using Files = std::vector<std::pair<std::string, std::string>>;

inline std::string octal(std::int64_t number, std::size_t digits) {
  std::string text(digits, '0');
  for (auto at = digits; at-- > 0; number /= 8) text[at] = static_cast<char>('0' + number % 8);
  return text;
}

inline std::string with_checksum(std::string block) {
  block.replace(148, 8, std::string(8, ' '));
  std::int64_t sum = 0;
  for (const char byte : block) sum += static_cast<unsigned char>(byte);
  block.replace(148, 7, octal(sum, 6) + '\0');
  return block;
}

inline std::string header(const std::string& name, std::int64_t size, char type) {
  std::string block(512, '\0');
  const auto put = [&block](std::size_t at, const std::string& text) { block.replace(at, text.size(), text); };
  put(0, name);
  put(100, "0000644");
  put(124, octal(size, 11));
  put(257, "ustar");
  put(263, "00");
  block[156] = type;
  return with_checksum(block);
}

inline std::string link(const std::string& name, const std::string& target) {
  std::string block = header(name, 0, '2');
  block.replace(157, target.size(), target);
  return with_checksum(block);
}

inline std::string filled(std::string content) {
  content.resize((content.size() + 511) / 512 * 512, '\0');
  return content;
}

inline std::string entry(const std::string& name, const std::string& content, char type = '0') {
  return header(name, static_cast<std::int64_t>(content.size()), type) + filled(content);
}

inline std::string end() { return std::string(1024, '\0'); }

inline std::string tar_of(const Files& files) {
  std::string bytes;
  for (const auto& [name, content] : files) bytes += entry(name, content);
  return bytes + end();
}

/// Calls `work` with an open file that contains these bytes.
template <class Work>
auto with_file(const std::string& bytes, Work work) {
  const ScratchDirectory folder;
  const auto path = folder.path() / "image.tar";
  std::ofstream(path, std::ios::binary) << bytes;
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  REQUIRE(file.valid());
  return work(file.get());
}

}  // namespace sparkplan::test
