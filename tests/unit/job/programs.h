#pragma once

#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "engine/model/cluster.h"

namespace sparkplan::test {

/// Local nodes: their process starters are children of this process, over pipes instead of SSH.
inline std::vector<NodeSpec> local_nodes(int count) {
  std::vector<NodeSpec> nodes;
  for (int i = 1; i <= count; ++i) {
    auto name = *NodeName::parse("spark-0" + std::to_string(i));
    nodes.push_back({std::move(name), i, "", {}, TransportKind::kLocal, "/tmp", false, {}, {}, {}});
  }
  return nodes;
}

/// The processes of this machine whose command line contains `text`.
inline std::vector<pid_t> processes_with(const std::string& text) {
  std::vector<pid_t> found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const auto name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream file(entry.path() / "cmdline", std::ios::binary);
    // Not by an iterator: it throws if the process ends meanwhile.
    std::string line(4096, '\0');
    file.read(line.data(), static_cast<std::streamsize>(line.size()));
    line.resize(static_cast<std::size_t>(file.gcount()));
    if (line.find(text) != std::string::npos && std::stoi(name) != ::getpid()) found.push_back(std::stoi(name));
  }
  return found;
}

/// A duration for sleep(1) that no other process uses, so that processes_with() finds ours.
inline std::string unique_sleep() {
  static int number = 0;
  return std::to_string(100'000 + ::getpid() % 100'000) + "." + std::to_string(1'000 + ++number);
}

/// Waits for the condition, at most `patience`. False if it does not come true in that time.
template <class Condition>
bool eventually(Condition condition, std::chrono::milliseconds patience = std::chrono::seconds(20)) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

/// The parent of a process; 0 if there is no such process.
inline pid_t parent_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("PPid:", 0) == 0) return std::stoi(line.substr(5));
  }
  return 0;
}

}  // namespace sparkplan::test
