#pragma once

#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "engine/copy/accounts.h"
#include "engine/copy/chunk_fetcher.h"
#include "engine/copy/chunk_server.h"
#include "engine/copy/content.h"
#include "engine/copy/look.h"
#include "engine/core/result.h"
#include "engine/wire/copy_messages.h"

namespace sparkplan::copy {

/// Sends answers to the controller, whole, from any thread. The process ends if the controller is gone.
class AnswerWriter {
 public:
  explicit AnswerWriter(int output) : output_(output) {}
  void send(const CopyAnswer& answer);

 private:
  int output_;
  std::mutex mutex_;
};

/// The commands of one controller for one tree.
class CopySession {
 public:
  explicit CopySession(AnswerWriter& answers) : answers_(answers) {}
  ~CopySession();
  CopySession(const CopySession&) = delete;
  CopySession& operator=(const CopySession&) = delete;

  /// Errors end the process; the caller sends them.
  Result<void> handle(CopyCommand command);

 private:
  Result<void> open(const CopyOpen& command);
  Result<void> look_at_tree(const CopyLook& command);
  Result<void> list_trees();
  Result<void> handle_image(const CopyImage& command);
  void record_image(const CopyImage& command);
  Result<void> prune_image(const CopyPrune& command);
  Result<void> prune_tree(const CopyPrune& command);
  Result<void> forget(const CopyForget& command);
  Result<void> begin(const CopyBegin& command);
  Result<void> serve(const CopyServe& command);
  Result<void> fetch(const CopyFetch& command);
  void drop(const CopyDrop& command);
  /// Sends progress every second while it lives.
  Result<std::jthread> progress_sender();
  void report(const std::stop_token& stop);
  void send_progress();
  void send_lost_links();

  AnswerWriter& answers_;
  Account account_;   ///< The user of the process, and ...
  std::string path_;  ///< ... its tree.
  CopyTreeKind kind_ = CopyTreeKind::kDirectory;
  std::optional<Account> owner_;  ///< Of all files, if it is declared.
  std::optional<Tree> tree_;
  std::optional<DigestIndex> index_;
  Traffic traffic_;
  std::atomic<std::int64_t> read_bytes_{0};
  std::unique_ptr<Content> content_;
  std::list<std::unique_ptr<ChunkServer>> servers_;
  std::mutex fetchers_mutex_;
  std::list<std::unique_ptr<ChunkFetcher>> fetchers_;
  std::jthread reporter_;
};

}  // namespace sparkplan::copy
