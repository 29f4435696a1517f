#include "tests/fuzz/property.h"

#include <cstdio>
#include <cstdlib>
#include <string>

#include "engine/core/json.h"
#include "engine/core/text.h"

namespace sparkplan::fuzz {

void require(bool holds, std::string_view what, std::string_view seen) {
  if (holds) return;
  const std::string shown = printable(seen.substr(0, 4000), true);
  std::fprintf(stderr, "PROPERTY: %s\n%s\n", std::string(what).c_str(), shown.c_str());
  std::abort();
}

void require_printable(std::string_view text, std::string_view what, std::size_t most) {
  require(text.size() <= most, std::string(what) + " is too long: " + std::to_string(text.size()));
  require(printable(text, true) == text, std::string(what) + " is not safe to print", text);
}

void require_lossless_json(const Value& value) {
  const std::string text = encode_json(value);
  const auto again = decode_json(text);
  if (!again) return require(again.error().message.find("deep") != std::string::npos, again.error().describe(), text);
  require(encode_json(*again) == text, "a value changes when it is encoded and decoded", text);
}

}  // namespace sparkplan::fuzz
