#include "engine/job/look.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <optional>
#include <set>

#include "engine/core/bounded_text.h"
#include "engine/core/number_format.h"
#include "engine/core/text.h"

namespace sparkplan::job {
namespace {

/// Of one file. A table with more connections is read in part.
constexpr std::size_t kMostText = std::size_t{1} << 20;
/// Of one process: a server has thousands of open files.
constexpr std::size_t kMostDescriptors = 4096;

std::string beginning_of(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return "";
  std::string text;
  std::array<char, 8192> buffer{};
  while (text.size() < kMostText) {
    const auto count = ::read(file, buffer.data(), buffer.size());
    if (count <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  ::close(file);
  return text;
}

std::string first_line_of(const std::string& path) {
  const std::string text = beginning_of(path);
  return std::string(trim(std::string_view(text).substr(0, text.find('\n'))));
}

std::string process_path(pid_t pid) { return "/proc/" + std::to_string(pid); }

/// Ticks in "42 (any text) S 1 ...": the fields 14 and 15. Source: proc_pid_stat(5).
std::int64_t processor_time(pid_t pid) {
  const std::string text = first_line_of(process_path(pid) + "/stat");
  const auto name_end = text.rfind(')');
  if (name_end == std::string::npos) return 0;
  const auto fields = words_of(std::string_view(text).substr(name_end + 1));
  std::int64_t ticks = 0;
  for (const std::size_t at : {std::size_t{11}, std::size_t{12}}) {
    std::int64_t part = 0;
    if (at < fields.size()) std::from_chars(fields[at].data(), fields[at].data() + fields[at].size(), part);
    ticks += part;
  }
  return ticks * 1000 / std::max(1L, ::sysconf(_SC_CLK_TCK));
}

SeenProcess seen(const ProcessEntry& entry) {
  SeenProcess process;
  process.pid = entry.pid;
  // A process may name itself with any bytes.
  process.name = shown_text(first_line_of(process_path(entry.pid) + "/comm"));
  process.state = std::string(1, entry.state);
  process.waits_in = first_line_of(process_path(entry.pid) + "/wchan");
  if (process.waits_in == "0") process.waits_in.clear();
  process.cpu_ms = processor_time(entry.pid);
  return process;
}

/// The inodes of the sockets that a process has open.
std::set<std::string> sockets_of(pid_t pid) {
  std::set<std::string> inodes;
  const std::string folder = process_path(pid) + "/fd";
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(folder.c_str()), ::closedir);
  if (!open) return inodes;
  constexpr std::string_view kPrefix = "socket:[";
  std::size_t read = 0;
  while (const dirent* one = ::readdir(open.get())) {
    if (++read > kMostDescriptors) break;
    std::array<char, 64> target{};
    const auto size = ::readlink((folder + "/" + one->d_name).c_str(), target.data(), target.size());
    if (size <= 0) continue;
    std::string_view link(target.data(), static_cast<std::size_t>(size));
    if (!link.starts_with(kPrefix) || !link.ends_with(']')) continue;
    link.remove_prefix(kPrefix.size());
    inodes.emplace(link.substr(0, link.size() - 1));
  }
  return inodes;
}

std::optional<unsigned long> hexadecimal(std::string_view text) { return parse_number<unsigned long>(text, 16); }

/// "0100007F:7344" or 32 digits and a port: words in the order of the machine's own bytes.
std::optional<std::string> endpoint(std::string_view text) {
  const auto colon = text.find(':');
  if (colon != 8 && colon != 32) return std::nullopt;
  std::array<std::uint32_t, 4> words{};
  for (std::size_t at = 0; at < colon / 8; ++at) {
    const auto word = hexadecimal(text.substr(at * 8, 8));
    if (!word) return std::nullopt;
    words[at] = static_cast<std::uint32_t>(*word);
  }
  const auto port = hexadecimal(text.substr(colon + 1));
  if (!port || *port > 65535) return std::nullopt;
  std::array<char, INET6_ADDRSTRLEN> address{};
  const bool four = colon == 8;
  // An IPv4 address in a table of IPv6.
  const bool mapped = !four && words[0] == 0 && words[1] == 0 && words[2] == htonl(0xffff);
  const void* bytes = mapped ? static_cast<const void*>(&words[3]) : static_cast<const void*>(words.data());
  if (::inet_ntop(four || mapped ? AF_INET : AF_INET6, bytes, address.data(), address.size()) == nullptr) {
    return std::nullopt;
  }
  const std::string shown(address.data());
  return (four || mapped ? shown : "[" + shown + "]") + ":" + std::to_string(*port);
}

/// Source: include/net/tcp_states.h; the timer 1 is the one of retransmissions.
std::optional<SeenSocketState> state_of(unsigned long state, unsigned long timer, unsigned long retransmitted) {
  constexpr unsigned long kEstablished = 1;
  constexpr unsigned long kSynSent = 2;
  constexpr unsigned long kCloseWait = 8;
  if (state == kSynSent) return SeenSocketState::kNoAnswer;
  if (state == kCloseWait) return SeenSocketState::kClosedByPeer;
  if (state == kEstablished && timer == 1 && retransmitted > 0) return SeenSocketState::kUnacknowledged;
  return std::nullopt;
}

/// The most processes and the most sockets of one answer: with any number of ranks it stays a small message.
constexpr std::size_t kMostOfAll = 768;

/// The space that is left in the answer.
struct Room {
  std::size_t processes = kMostOfAll;
  std::size_t sockets = kMostOfAll;
};

void add_sockets(SeenRank& rank, Room& room) {
  if (rank.processes.empty()) return;
  std::set<std::string> owned;
  for (const SeenProcess& process : rank.processes) owned.merge(sockets_of(static_cast<pid_t>(process.pid)));
  const std::string process = process_path(static_cast<pid_t>(rank.processes.front().pid));
  for (const char* table : {"/net/tcp", "/net/tcp6"}) {
    for (auto& [inode, socket] : lonely_sockets(beginning_of(process + table))) {
      if (!owned.contains(inode) || rank.sockets.size() >= kMostSeenSockets || room.sockets == 0) continue;
      rank.sockets.push_back(socket);
      --room.sockets;
    }
  }
}

void add_process(SeenRank& rank, pid_t pid, const std::vector<ProcessEntry>& all, Room& room) {
  const auto entry = std::find_if(all.begin(), all.end(), [&](const ProcessEntry& one) { return one.pid == pid; });
  if (entry == all.end() || rank.processes.size() >= kMostSeenProcesses || room.processes == 0) return;
  rank.processes.push_back(seen(*entry));
  --room.processes;
}

}  // namespace

std::map<std::string, SeenSocket> lonely_sockets(std::string_view table) {
  std::map<std::string, SeenSocket> found;
  for (const auto line : split_lines(table)) {
    // "0: LOCAL REMOTE STATE TX:RX TIMER:WHEN RETRANSMITTED UID TIMEOUT INODE ..."
    const auto words = words_of(line);
    if (words.size() < 10) continue;
    const auto state = hexadecimal(words[3]);
    const auto timer = hexadecimal(std::string_view(words[5]).substr(0, words[5].find(':')));
    const auto retransmitted = hexadecimal(words[6]);
    const auto local = endpoint(words[1]);
    const auto remote = endpoint(words[2]);
    if (!state || !timer || !retransmitted || !local || !remote) continue;
    if (const auto why = state_of(*state, *timer, *retransmitted)) found[words[9]] = {*why, *local, *remote};
  }
  return found;
}

JobSeen look_at_job(const std::string& id, const std::vector<RankProcess>& ranks,
                    const std::map<int, pid_t>& containers) {
  const auto all = all_processes();
  JobSeen answer;
  Room room;
  std::set<pid_t> known;
  for (const RankProcess& one : ranks) {
    if (one.ended) continue;
    SeenRank rank{one.rank, {}, {}};
    std::vector<pid_t> roots{one.pid};
    if (const auto found = containers.find(one.rank); found != containers.end()) roots.push_back(found->second);
    const auto add = [&](pid_t pid) {
      if (known.insert(pid).second) add_process(rank, pid, all, room);
    };
    for (const pid_t root : roots) {
      add(root);
      for (const pid_t pid : descendants_of(root, all)) add(pid);
    }
    answer.ranks.push_back(std::move(rank));
  }
  SeenRank others{-1, {}, {}};
  // Orphans that a rank has left, and what other launchers have started. With a single rank, they are its own.
  SeenRank& rest = answer.ranks.size() == 1 ? answer.ranks.front() : others;
  for (const pid_t pid : marked_with(id, all)) {
    if (!known.contains(pid)) add_process(rest, pid, all, room);
  }
  for (SeenRank& rank : answer.ranks) add_sockets(rank, room);
  add_sockets(others, room);
  if (!others.processes.empty()) answer.ranks.push_back(std::move(others));
  return answer;
}

}  // namespace sparkplan::job
