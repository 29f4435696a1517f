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
#include "engine/core/arrival_limit.h"
#include "engine/core/result.h"
#include "engine/wire/measure_messages.h"

namespace sparkplan {

/// Receives on one address of one interface, in its own thread, what another agent sends there. Traffic from another
/// address, or without the token at its start, is dropped. No flood of it costs more than a part of one core.
class TrafficReceiver {
 public:
  /// Errors: kInvalidInput, those of the system calls (the interface does not have the address).
  static Result<std::unique_ptr<TrafficReceiver>> open(const OpenReceiverRequest& request);
  TrafficReceiver(const TrafficReceiver&) = delete;
  TrafficReceiver& operator=(const TrafficReceiver&) = delete;
  ~TrafficReceiver();

  OpenReceiverReply ports() const { return ports_; }
  /// Waits until datagrams of the sizes `request.awaited` have arrived or its patience is over. Returns those of these
  /// sizes that have arrived.
  CloseReceiverReply await(const CloseReceiverRequest& request);

 private:
  struct Connection {
    FileDescriptor socket;
    std::string beginning;  ///< The received part of the token.
  };

  TrafficReceiver(FileDescriptor listener, FileDescriptor datagrams, FileDescriptor wake, const sockaddr_in& peer,
                  std::string token);
  void listen_on();
  void admit();
  void receive_datagrams();
  /// False if the connection has ended.
  bool drain(Connection& connection) const;

  FileDescriptor listener_;
  FileDescriptor datagrams_;
  FileDescriptor wake_;
  sockaddr_in peer_;
  std::string token_;
  OpenReceiverReply ports_;
  // Used only by the thread.
  std::list<Connection> connections_;
  ArrivalLimit admissions_;
  ArrivalLimit arrivals_;
  std::mutex mutex_;
  std::condition_variable more_received_;
  std::set<std::int64_t> received_;
  std::atomic<bool> over_{false};
  std::jthread thread_;
};

}  // namespace sparkplan
