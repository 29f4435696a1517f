#pragma once

#include <netinet/in.h>

#include <atomic>
#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "engine/agent/kernel/file_descriptor.h"
#include "engine/core/result.h"
#include "engine/wire/measure_messages.h"

namespace sparkplan {

/// Listens on one address of one interface, in a thread of its own, for what another agent sends there.
/// What does not come from that agent's address, or does not begin with the token, is dropped.
class TrafficReceiver {
 public:
  /// Errors: kInvalidInput, those of the system calls (the address is not there).
  static Result<std::unique_ptr<TrafficReceiver>> open(const OpenReceiverRequest& request);
  TrafficReceiver(const TrafficReceiver&) = delete;
  TrafficReceiver& operator=(const TrafficReceiver&) = delete;
  ~TrafficReceiver();

  OpenReceiverReply ports() const { return ports_; }
  /// Sizes of the received datagrams, once those of `request.awaited` are, or its patience is over.
  CloseReceiverReply await(const CloseReceiverRequest& request);

 private:
  struct Connection {
    FileDescriptor socket;
    std::string beginning;  ///< As much of the token as has come.
  };

  TrafficReceiver(FileDescriptor listener, FileDescriptor datagrams, FileDescriptor wake, const sockaddr_in& peer,
                  std::string token);
  void listen_on();
  void admit();
  void receive_datagrams();
  /// False when the connection is over.
  bool drain(Connection& connection) const;

  FileDescriptor listener_;
  FileDescriptor datagrams_;
  FileDescriptor wake_;
  sockaddr_in peer_;
  std::string token_;
  OpenReceiverReply ports_;
  std::list<Connection> connections_;  ///< Of the thread alone.
  std::mutex mutex_;
  std::condition_variable more_received_;
  std::set<std::int64_t> received_;
  std::atomic<bool> over_{false};
  std::thread thread_;
};

}  // namespace sparkplan
