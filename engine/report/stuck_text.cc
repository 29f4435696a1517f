#include "engine/report/stuck_text.h"

#include <fmt/format.h>

#include "engine/core/text.h"

namespace sparkplan {
namespace {

constexpr std::size_t kMostSocketsShown = 4;

std::string state_text(const StuckRank& rank) {
  if (rank.processes == 0) return "no process";
  std::string text = rank.state.empty() ? "in changing states" : "state " + printable(rank.state);
  if (rank.is_stopped()) text = "stopped";
  if (rank.is_in_kernel()) text = "in the kernel, not interruptible";
  if (rank.state == "S") text = "sleeping";
  if (rank.state == "R") text = "running";
  if (!rank.waits_in.empty()) text += " in " + printable(rank.waits_in);
  text += fmt::format(", CPU {} %", rank.cpu_percent);
  if (!rank.gpu.empty()) text += ", GPU " + printable(rank.gpu);
  return text + ", " + (rank.processes == 1 ? "process " : std::to_string(rank.processes) + " processes, process ") +
         std::to_string(rank.pid);
}

std::string socket_text(const StuckSocket& one) {
  const char* what = one.socket.state == SeenSocketState::kNoAnswer         ? "no answer"
                     : one.socket.state == SeenSocketState::kUnacknowledged ? "data is not acknowledged"
                                                                            : "closed by the peer";
  return printable(one.socket.local) + " -> " + printable(one.socket.remote) +
         (one.peer.empty() ? "" : " (" + one.peer + ")") + ": " + what;
}

std::string text_of(const StuckRank& rank) {
  std::string text = "  " + rank.name() + ": " + state_text(rank) + "\n";
  for (std::size_t i = 0; i < rank.sockets.size(); ++i) {
    if (i == kMostSocketsShown) {
      text += fmt::format("    {} more connections without a peer\n", rank.sockets.size() - i);
      break;
    }
    text += "    " + socket_text(rank.sockets[i]) + "\n";
  }
  if (!rank.lines.any.empty()) text += "    last line: " + printable(rank.lines.any) + "\n";
  const bool other = !rank.lines.nccl.empty() && rank.lines.nccl != rank.lines.any;
  return other ? text + "    last line of NCCL: " + printable(rank.lines.nccl) + "\n" : text;
}

}  // namespace

std::string to_text(const StuckJob& job) {
  std::string text = fmt::format("run: no output for {} s\n", job.quiet.count() / 1000);
  for (const StuckRank& rank : job.ranks) text += text_of(rank);
  for (const std::string& name : job.silent) text += "  " + name + ": no answer\n";
  for (const StuckNccl& one : job.nccl) {
    for (const std::string& fault : one.faults) text += "  NCCL on " + one.node + ": " + printable(fault) + "\n";
  }
  for (const StuckCause& cause : job.causes) {
    text += "! likely: " + printable(cause.what) + ": " + printable(cause.cause) + "\n  fix: " + printable(cause.fix) +
            "\n";
  }
  if (job.causes.empty()) text += "  nothing points to a cause\n";
  return text;
}

}  // namespace sparkplan
