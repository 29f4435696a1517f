#include "engine/nccl/nccl_log.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "engine/core/text.h"
#include "engine/core/threads.h"

namespace sparkplan::nccl {
namespace {

constexpr std::size_t kMaxWarnings = 20;
constexpr std::size_t kMaxLogBytes = std::size_t{1} << 20;

/// The text after `marker` in the line; nothing if the line lacks it.
std::optional<std::string_view> after(std::string_view line, std::string_view marker) {
  const auto at = line.find(marker);
  if (at == std::string_view::npos) return std::nullopt;
  return line.substr(at + marker.size());
}

std::optional<int> number_at(std::string_view text) {
  int number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec != std::errc()) return std::nullopt;
  return number;
}

class Parser {
 public:
  NcclTransport parse(std::string_view log) {
    for (const auto line : split_lines(log)) take(line);
    found_.devices = found_.network == "Socket" ? named(sockets_, {}) : named(adapters_, used_);
    return std::move(found_);
  }

 private:
  using Names = std::map<int, std::vector<std::string>>;

  void take(std::string_view line) {
    if (const auto warning = after(line, "NCCL WARN ")) {
      const auto text = std::string(trim(*warning));
      const bool again = std::find(found_.warnings.begin(), found_.warnings.end(), text) != found_.warnings.end();
      if (!again && !text.empty() && found_.warnings.size() < kMaxWarnings) found_.warnings.push_back(text);
      return;
    }
    const auto info = after(line, "NCCL INFO ");
    if (!info) return;
    if (const auto adapters = after(*info, "NET/IB : Using ")) {
      take_devices(*adapters, adapters_);
    } else if (const auto sockets = after(*info, "NET/Socket : Using ")) {
      take_devices(*sockets, sockets_);
    } else if (const auto made = after(*info, "NET/IB : Made virtual device ")) {
      take_virtual_device(*made);
    } else if (const auto network = after(*info, "Using network ")) {
      found_.network = std::string(trim(*network));
    } else if (const auto plugin = after(*info, "Assigned NET plugin ")) {
      found_.network = std::string(plugin->substr(0, plugin->find(' ')));
    } else if (const auto way = after(*info, " via "); way && info->find("Channel ") != std::string_view::npos) {
      take_channel(*way);
    }
  }

  /// "[0]rocep1s0f1:1/RoCE [1]roceP2p1s0f1:1/RoCE [RO]; OOB enp1s0f1np1:192.168.100.11<0>"
  static void take_devices(std::string_view text, Names& into) {
    for (const auto word : split(text.substr(0, text.find(';')), ' ')) {
      if (!word.starts_with("[")) continue;
      const auto number = number_at(word.substr(1));
      const auto close = word.find(']');
      if (!number || close == std::string_view::npos) continue;
      const auto name = word.substr(close + 1);
      if (!name.empty()) into[*number] = {std::string(name.substr(0, name.find(':')))};
    }
  }

  /// "[2] name=rocep1s0f0+rocep1s0f1 speed=400000 ndevs=2"
  void take_virtual_device(std::string_view text) {
    const auto number = text.starts_with("[") ? number_at(text.substr(1)) : std::nullopt;
    const auto name = after(text, "name=");
    if (!number || !name) return;
    auto& parts = adapters_[*number];
    parts.clear();
    for (const auto part : split(name->substr(0, name->find(' ')), '+')) parts.emplace_back(part);
  }

  /// "NET/IB/0/GDRDMA", "NET/Socket/0", "P2P/CUMEM", "SHM/direct/direct"
  void take_channel(std::string_view way) {
    const auto parts = split(trim(way), '/');
    if (parts[0] == "P2P" || parts[0] == "SHM" || parts[0] == "direct") {
      ++found_.channels_local;
    } else if (parts[0] == "NET" && parts.size() > 2 && parts[1] == "Socket") {
      ++found_.channels_socket;
    } else if (parts[0] == "NET" && parts.size() > 2) {
      ++found_.channels_ib;
      if (const auto number = number_at(parts[2])) used_.insert(*number);
      found_.gpu_direct = found_.gpu_direct || way.find("GDRDMA") != std::string_view::npos;
    }
  }

  /// The names of these numbers, or all names if the log marks none as used.
  static std::vector<std::string> named(const Names& all, const std::set<int>& numbers) {
    std::vector<std::string> names;
    for (const auto& [number, parts] : all) {
      if (!numbers.empty() && !numbers.contains(number)) continue;
      for (const auto& part : parts) {
        if (std::find(names.begin(), names.end(), part) == names.end()) names.push_back(part);
      }
    }
    return names;
  }

  NcclTransport found_;
  Names adapters_;
  Names sockets_;
  std::set<int> used_;
};

/// Gives back the memory of what text() does not read. The size stays, so that NCCL goes on writing at its place.
void shorten(int descriptor) {
  struct stat status {};
  constexpr auto kMost = static_cast<off_t>(kMaxLogBytes);
  if (::fstat(descriptor, &status) != 0 || status.st_size <= kMost) return;
  (void)::fallocate(descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, status.st_size - kMost);
}

void keep_short(const std::stop_token& stop, int descriptor) {
  constexpr std::chrono::seconds kInterval{1};
  std::mutex mutex;
  std::condition_variable_any ends;
  std::unique_lock lock(mutex);
  while (!stop.stop_requested()) {
    shorten(descriptor);
    ends.wait_for(lock, stop, kInterval, [] { return false; });
  }
}

}  // namespace

NcclTransport transport_in(std::string_view log) { return Parser().parse(log); }

Result<LogFile> LogFile::create() {
  const int descriptor = ::memfd_create("nccl-log", MFD_CLOEXEC);
  if (descriptor < 0) return failure(system_error("make a file for NCCL's log", errno));
  LogFile log(descriptor);
  SPARK_TRY(log.shortener_, start_thread([descriptor](const std::stop_token& stop) { keep_short(stop, descriptor); }));
  return log;
}

LogFile::LogFile(LogFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), shortener_(std::move(other.shortener_)) {}

LogFile::~LogFile() {
  shortener_.request_stop();
  if (shortener_.joinable()) shortener_.join();
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::string LogFile::path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

std::string LogFile::text() const {
  const auto size = ::lseek(descriptor_, 0, SEEK_END);
  if (size <= 0) return "";
  const auto begin = std::max<off_t>(0, size - static_cast<off_t>(kMaxLogBytes));
  std::string text(static_cast<std::size_t>(size - begin), '\0');
  const auto count = ::pread(descriptor_, text.data(), text.size(), begin);
  text.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
  return text;
}

}  // namespace sparkplan::nccl
