#include "engine/remote/discovery/mdns_message.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <utility>

#include "engine/core/text.h"

namespace sparkplan {
namespace {

constexpr std::size_t kHeader = 12;
constexpr std::size_t kLongestName = 255;
constexpr int kMostJumps = 32;  ///< A name may refer to an earlier one; a hostile sender may form a cycle of such
                                ///< references.

enum class RecordType : std::uint16_t { kAddress = 1, kPointer = 12, kService = 33 };

void put16(std::string& into, unsigned int number) {
  into.push_back(static_cast<char>(number >> 8));
  into.push_back(static_cast<char>(number & 0xffU));
}

/// Reads a message from the beginning to the end; every read beyond its end fails.
class Reader {
 public:
  explicit Reader(std::string_view message) : message_(message) {}

  bool failed() const { return failed_; }
  std::size_t place() const { return place_; }
  void go_to(std::size_t place) { place_ = place; }

  unsigned int byte() {
    if (place_ >= message_.size()) {
      failed_ = true;
      return 0;
    }
    return static_cast<unsigned char>(message_[place_++]);
  }
  unsigned int word() {
    const unsigned int high = byte();
    return (high << 8) | byte();
  }
  void skip(std::size_t count) {
    failed_ = failed_ || count > message_.size() - std::min(place_, message_.size());
    place_ += count;
  }

  /// Labels joined by dots.
  std::string name() {
    std::string text;
    std::size_t behind = 0;
    for (int jumps = 0; !failed_;) {
      const unsigned int length = byte();
      if (length == 0) break;
      if (length >= 0xc0) {
        const unsigned int target = ((length & 0x3fU) << 8) | byte();
        if (behind == 0) behind = place_;
        place_ = target;
        failed_ = failed_ || ++jumps > kMostJumps;
        continue;
      }
      if (length > 63) failed_ = true;
      if (!text.empty()) text += '.';
      for (unsigned int i = 0; i < length && !failed_; ++i) text += static_cast<char>(byte());
      failed_ = failed_ || text.size() > kLongestName;
    }
    if (behind != 0) place_ = behind;
    return printable(text);
  }

 private:
  std::string_view message_;
  std::size_t place_ = 0;
  bool failed_ = false;
};

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return result;
}

struct Records {
  std::vector<std::string> instances;                           ///< Of the requested service.
  std::map<std::string, std::pair<std::string, int>> services;  ///< Instance to host and port.
  std::map<std::string, std::vector<std::string>> addresses;    ///< By host.
};

void read_record(Reader& reader, const std::string& service, Records& records) {
  const std::string name = lower(reader.name());
  const unsigned int type = reader.word();
  reader.skip(6);  // Class and time to live.
  const unsigned int length = reader.word();
  const std::size_t end = reader.place() + length;
  if (reader.failed()) return;
  if (type == static_cast<unsigned int>(RecordType::kPointer) && name == service) {
    records.instances.push_back(lower(reader.name()));
  } else if (type == static_cast<unsigned int>(RecordType::kService)) {
    reader.skip(4);  // Priority and weight.
    const int port = static_cast<int>(reader.word());
    records.services[name] = {reader.name(), port};
  } else if (type == static_cast<unsigned int>(RecordType::kAddress) && length == 4) {
    std::string address;
    for (int i = 0; i < 4; ++i) address += (i == 0 ? "" : ".") + std::to_string(reader.byte());
    std::vector<std::string>& known = records.addresses[name];
    if (known.size() < kMostAnnouncedAddresses) known.push_back(std::move(address));
  }
  reader.go_to(end);
}

}  // namespace

std::string encode_mdns_query(std::string_view service) {
  std::string message(kHeader, '\0');
  message[5] = 1;  // One question.
  for (const auto label : split(service, '.')) {
    message.push_back(static_cast<char>(label.size()));
    message += label;
  }
  message.push_back('\0');
  put16(message, static_cast<unsigned int>(RecordType::kPointer));
  put16(message, 1);  // Class IN.
  return message;
}

Result<std::vector<AnnouncedHost>> decode_mdns_answer(std::string_view message, std::string_view service) {
  Reader reader(message);
  reader.skip(2);
  const bool is_answer = (reader.word() & 0x8000U) != 0;
  const unsigned int questions = reader.word();
  unsigned int count = reader.word();
  count += reader.word();
  count += reader.word();
  if (reader.failed() || !is_answer) return failure(ErrorCode::kInvalidInput, "not an answer of multicast DNS");
  for (unsigned int i = 0; i < questions && !reader.failed(); ++i) {
    (void)reader.name();
    reader.skip(4);
  }
  Records records;
  for (unsigned int i = 0; i < count && !reader.failed(); ++i) read_record(reader, lower(service), records);
  if (reader.failed()) return failure(ErrorCode::kInvalidInput, "a truncated answer of multicast DNS");
  std::vector<AnnouncedHost> hosts;
  for (const std::string& instance : records.instances) {
    const auto found = records.services.find(instance);
    if (found == records.services.end()) continue;
    hosts.push_back({found->second.first, records.addresses[lower(found->second.first)], found->second.second});
  }
  return hosts;
}

std::vector<AnnouncedHost> hosts_in_avahi_output(std::string_view text) {
  std::vector<AnnouncedHost> hosts;
  for (const auto line : split_lines(text)) {
    const auto fields = split(line, ';');
    if (fields.size() < 9 || fields[0] != "=" || fields[2] != "IPv4") continue;
    AnnouncedHost host{printable(fields[6]), {printable(fields[7])}, 0};
    const auto [end, error] = std::from_chars(fields[8].data(), fields[8].data() + fields[8].size(), host.port);
    if (error == std::errc() && end == fields[8].data() + fields[8].size()) hosts.push_back(std::move(host));
  }
  return hosts;
}

std::vector<AnnouncedHost> merged(const std::vector<AnnouncedHost>& hosts) {
  std::map<std::pair<std::string, int>, AnnouncedHost> found;
  for (const AnnouncedHost& host : hosts) {
    if (host.port < 1 || host.port > 65535 || host.addresses.empty()) continue;
    const std::pair key(lower(host.name), host.port);
    if (found.size() == kMostAnnouncedHosts && !found.contains(key)) continue;
    auto& addresses = found.try_emplace(key, AnnouncedHost{host.name, {}, host.port}).first->second.addresses;
    for (const std::string& address : host.addresses) {
      if (addresses.size() == kMostAnnouncedAddresses) break;
      if (std::find(addresses.begin(), addresses.end(), address) == addresses.end()) addresses.push_back(address);
    }
  }
  std::vector<AnnouncedHost> result;
  for (auto& [key, host] : found) result.push_back(std::move(host));
  return result;
}

}  // namespace sparkplan
