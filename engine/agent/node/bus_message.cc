#include "engine/agent/node/bus_message.h"

#include <algorithm>
#include <array>
#include <limits>

#include "engine/core/ascii.h"
#include "engine/core/digest.h"

namespace sparkplan {
namespace {

constexpr std::size_t kLongestMessage = std::size_t{1} << 20;
constexpr int kDeepest = 16;

/// Writes little-endian values, each at a multiple of its size.
class MessageWriter {
 public:
  void byte(char value) { bytes_.push_back(value); }
  void number(std::uint32_t value) {
    align(4);
    for (unsigned shift = 0; shift < 32; shift += 8) bytes_.push_back(static_cast<char>(value >> shift & 0xFFU));
  }
  void text(std::string_view value) {
    number(static_cast<std::uint32_t>(value.size()));
    bytes_.append(value).push_back('\0');
  }
  void header_field(char code, char type, std::string_view value) {
    align(8);
    bytes_.append({code, 1, type, '\0'});
    if (type != 'g') return text(value);
    bytes_.push_back(static_cast<char>(value.size()));
    bytes_.append(value).push_back('\0');
  }
  void align(std::size_t size) { bytes_.resize((bytes_.size() + size - 1) / size * size, '\0'); }
  void put_number(std::size_t at, std::size_t value) {
    for (unsigned i = 0; i < 4; ++i) bytes_[at + i] = static_cast<char>(value >> (8 * i) & 0xFFU);
  }
  std::size_t size() const { return bytes_.size(); }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// Never reads past the end: after the first missing value, all values are zero and bad() is true.
class MessageReader {
 public:
  explicit MessageReader(std::string_view bytes, std::size_t at = 0) : bytes_(bytes), at_(at) {}
  bool bad() const { return bad_; }
  bool at_end() const { return at_ >= bytes_.size(); }
  std::size_t position() const { return at_; }
  void align(std::size_t size) { at_ = (at_ + size - 1) / size * size; }
  std::uint64_t number(std::size_t size) {
    align(size);
    const auto bytes = raw(size);
    std::uint64_t value = 0;
    for (std::size_t i = bytes.size(); i > 0; --i) value = value << 8U | static_cast<unsigned char>(bytes[i - 1]);
    return value;
  }
  std::string_view text(std::size_t size_of_length) {
    const auto size = number(size_of_length);
    const auto value = raw(size);
    raw(1);
    return value;
  }
  void give_up() { bad_ = true; }
  std::string_view raw(std::uint64_t size) {
    if (bad_ || at_ > bytes_.size() || size > bytes_.size() - at_) {
      bad_ = true;
      return {};
    }
    const auto value = bytes_.substr(at_, size);
    at_ += size;
    return value;
  }

 private:
  std::string_view bytes_;
  std::size_t at_;
  bool bad_ = false;
};

/// False for a text that would look like two items or two lines in the output.
bool is_plain(std::string_view text, bool in_list) {
  return std::none_of(text.begin(), text.end(), [&](char letter) {
    return static_cast<unsigned char>(letter) < ' ' || (in_list && letter == ' ');
  });
}

/// False for times, sizes, modes and flags. Source: systemd, src/shared/bus-print-properties.c.
bool is_printed_as_number(std::string_view name) {
  constexpr std::array<std::string_view, 8> kOtherwise{"USec", "UMask", "Mode",      "UID",
                                                       "GID",  "Flags", "Capabilit", "Filter"};
  return !name.ends_with("Timestamp") && !name.starts_with("Restrict") &&
         std::none_of(kOtherwise.begin(), kOtherwise.end(),
                      [&](auto part) { return name.find(part) != std::string_view::npos; });
}

std::optional<std::string> printed_number(std::string_view name, std::uint64_t number, std::uint64_t most) {
  // The largest number means "no limit" or "not set".
  if (number == most) return name.starts_with("Limit") ? std::optional<std::string>("infinity") : std::nullopt;
  return is_printed_as_number(name) ? std::optional(std::to_string(number)) : std::nullopt;
}

/// A value as systemctl prints it. Nothing for values that systemctl prints in a special form.
std::optional<std::string> printed_value(std::string_view name, std::string_view type, MessageReader& body) {
  if (type == "s") {
    const auto text = body.text(4);
    return is_plain(text, false) ? std::optional(std::string(text)) : std::nullopt;
  }
  if (type == "b") return body.number(4) != 0 ? "yes" : "no";
  if (type == "u") return printed_number(name, body.number(4), std::numeric_limits<std::uint32_t>::max());
  if (type == "t") return printed_number(name, body.number(8), std::numeric_limits<std::uint64_t>::max());
  const bool list = type == "as";
  if (!list && !(type == "ay" && name == "InvocationID")) return std::nullopt;
  const auto size = body.number(4);
  if (!list) return hexadecimal(body.raw(size));
  std::string joined;
  const auto end = body.position() + size;
  while (!body.bad() && body.position() < end) {
    const auto item = body.text(4);
    if (!is_plain(item, true)) return std::nullopt;
    joined += joined.empty() ? "" : " ";
    joined += item;
  }
  return joined;
}

/// The number of letters of the first type in a signature.
std::size_t first_type(std::string_view signature) {
  if (signature.empty()) return 0;
  if (signature.front() == 'a') return 1 + first_type(signature.substr(1));
  std::size_t depth = 0;
  for (std::size_t i = 0; i < signature.size(); ++i) {
    if (signature[i] == '(' || signature[i] == '{') ++depth;
    if ((signature[i] == ')' || signature[i] == '}') && depth > 0) --depth;
    if (depth == 0) return i + 1;
  }
  return signature.size();
}

std::size_t alignment_of(char type) {
  switch (type) {
    case 'y':
    case 'g':
    case 'v':
      return 1;
    case 'n':
    case 'q':
      return 2;
    case 'x':
    case 't':
    case 'd':
    case '(':
    case '{':
      return 8;
    default:
      return 4;
  }
}

/// Skips values of any type, one after the other.
void skip_values(std::string_view signature, MessageReader& body, int depth = 0) {
  if (depth > kDeepest) return body.give_up();
  while (!signature.empty() && !body.bad()) {
    const auto type = signature.substr(0, first_type(signature));
    signature.remove_prefix(type.size());
    const char kind = type.front();
    if (kind == 'a') {
      const auto size = body.number(4);
      if (type.size() > 1) body.align(alignment_of(type[1]));
      body.raw(size);
    } else if (kind == '(' || kind == '{') {
      body.align(8);
      if (type.size() < 3) return body.give_up();
      skip_values(type.substr(1, type.size() - 2), body, depth + 1);
    } else if (kind == 'v') {
      skip_values(body.text(1), body, depth + 1);
    } else if (kind == 's' || kind == 'o') {
      body.text(4);
    } else if (kind == 'g') {
      body.text(1);
    } else {
      body.number(alignment_of(kind));
    }
  }
}

/// The serial that a message answers. Each field has a code, a type and a value; values of other types are texts.
std::uint32_t answered_serial(MessageReader fields) {
  constexpr std::uint64_t kReplySerial = 5;
  std::uint32_t serial = 0;
  while (!fields.bad()) {
    fields.align(8);
    if (fields.at_end()) break;
    const auto code = fields.number(1);
    const auto type = fields.text(1);
    if (type == "u") {
      const auto value = static_cast<std::uint32_t>(fields.number(4));
      if (code == kReplySerial) serial = value;
    } else {
      fields.text(type == "g" ? 1 : 4);
    }
  }
  return serial;
}

tl::unexpected<Error> no_message() { return failure(ErrorCode::kInvalidInput, "systemd's answer cannot be parsed"); }

/// Reads a list of names and values, a{sv}.
Result<std::map<std::string, std::string>> wanted_values(MessageReader& body,
                                                         std::span<const std::string_view> wanted) {
  std::map<std::string, std::string> values;
  const auto size = body.number(4);
  body.align(8);
  const auto end = body.position() + size;
  while (!body.bad() && body.position() < end) {
    body.align(8);
    const std::string name(body.text(4));
    const auto type = body.text(1);
    if (std::find(wanted.begin(), wanted.end(), name) == wanted.end()) {
      skip_values(type, body);
      continue;
    }
    auto value = printed_value(name, type, body);
    if (!value) return no_message();
    values[name] = std::move(*value);
  }
  if (body.bad()) return no_message();
  return values;
}

}  // namespace

std::string object_name(std::string_view unit) {
  std::string name;
  for (std::size_t i = 0; i < unit.size(); ++i) {
    const bool digit_first = i == 0 && is_digit(unit[i]);
    if (is_alphanumeric(unit[i]) && !digit_first) {
      name.push_back(unit[i]);
    } else {
      name += "_" + hexadecimal(unit.substr(i, 1));
    }
  }
  return name;
}

std::string properties_call(std::uint32_t serial, std::string_view unit) {
  MessageWriter body;
  body.text("");
  MessageWriter message;
  for (const char byte : {'l', '\1', '\0', '\1'}) message.byte(byte);  // Little-endian, a call, version 1.
  message.number(static_cast<std::uint32_t>(body.size()));
  message.number(serial);
  message.number(0);
  const std::size_t fields = message.size();
  message.header_field(1, 'o', "/org/freedesktop/systemd1/unit/" + object_name(unit));
  message.header_field(2, 's', "org.freedesktop.DBus.Properties");
  message.header_field(3, 's', "GetAll");
  message.header_field(6, 's', "org.freedesktop.systemd1");
  message.header_field(8, 'g', "s");
  message.put_number(fields - 4, message.size() - fields);
  message.align(8);
  return message.take() + body.take();
}

Result<std::optional<BusReply>> take_reply(std::string& bytes, std::span<const std::string_view> wanted) {
  constexpr std::size_t kFixedHeader = 16;
  constexpr std::uint64_t kReturn = 2;
  constexpr std::uint64_t kError = 3;
  if (bytes.size() < kFixedHeader) return std::optional<BusReply>();
  MessageReader header(bytes);
  const bool little_endian = header.raw(1) == "l";
  const auto type = header.number(1);
  header.raw(2);
  const auto body_size = header.number(4);
  header.number(4);
  const auto fields_size = header.number(4);
  const auto body_at = (kFixedHeader + fields_size + 7) / 8 * 8;
  if (!little_endian || body_at + body_size > kLongestMessage) return no_message();
  if (bytes.size() < body_at + body_size) return std::optional<BusReply>();
  BusReply reply;
  const std::string message = bytes.substr(0, body_at + body_size);
  bytes.erase(0, message.size());
  if (type != kReturn && type != kError) return reply;
  reply.serial =
      answered_serial(MessageReader(std::string_view(message).substr(0, kFixedHeader + fields_size), kFixedHeader));
  reply.is_error = type == kError;
  if (reply.is_error) return reply;
  MessageReader body(message, body_at);
  SPARK_TRY(reply.values, wanted_values(body, wanted));
  return reply;
}

}  // namespace sparkplan
