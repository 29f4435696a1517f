#include "tests/fuzz/named_input.h"

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <string_view>

#include "engine/core/json.h"
#include "tests/fuzz/hostile_value.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace sparkplan::fuzz {
namespace {

std::string random_bytes(std::mt19937& random, std::size_t count) {
  std::string bytes;
  for (std::size_t i = 0; i < count; ++i) bytes += static_cast<char>(random() & 0xffU);
  return bytes;
}

std::optional<std::string> spoiled(std::string_view body, bool json, std::mt19937& random) {
  const std::string bytes = random_bytes(random, 64);
  Choices choices(bytes);
  if (!json) {
    std::string text(body);
    spoil(text, choices);
    return text;
  }
  auto tree = decode_json(body);
  if (!tree) return std::nullopt;
  spoil(*tree, choices);
  return encode_json(*tree);
}

}  // namespace

std::size_t mutate_named_input(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed, bool json) {
  std::mt19937 random(seed);
  auto* const end = std::find(data, data + size, static_cast<std::uint8_t>('\n'));
  const auto head = static_cast<std::size_t>(end - data) + 1;
  if (head > size || head >= max_size || random() % 32 == 0) return LLVMFuzzerMutate(data, size, max_size);
  const std::string_view body(reinterpret_cast<const char*>(data) + head, size - head);  // NOLINT: libFuzzer's bytes
  if (random() % (json ? 2 : 8) == 0) {
    const auto changed = spoiled(body, json, random);
    if (changed && changed->size() + head <= max_size) {
      std::copy(changed->begin(), changed->end(), data + head);
      return head + changed->size();
    }
  }
  return head + LLVMFuzzerMutate(data + head, size - head, max_size - head);
}

}  // namespace sparkplan::fuzz
