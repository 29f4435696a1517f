#include "engine/copy/copy_session.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <memory>
#include <mutex>

#include "engine/carried/controller_stream.h"
#include "engine/copy/accounts.h"
#include "engine/copy/images/image_store.h"
#include "engine/copy/prune.h"
#include "engine/copy/relay.h"
#include "engine/core/bounded_text.h"
#include "engine/core/text.h"
#include "engine/core/threads.h"

namespace sparkplan::copy {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kProgressInterval{1000};
constexpr std::chrono::milliseconds kGlance{50};
constexpr std::size_t kMostDigestsInFrame = 2000;
/// Links to nodes that receive from this one, for the life of the process.
constexpr std::size_t kMostServed = 4096;
/// Links at a time to nodes that this one receives from. Each has up to kMostCopyStreams threads.
constexpr std::size_t kMostFetched = 64;

Result<void> check_path(const std::string& path) {
  const bool whole = path.size() > 1 && path.front() == '/' && is_valid_utf8(path);
  const auto parts = split(path, '/');
  const bool plain = std::none_of(parts.begin(), parts.end(), [](auto part) { return part == ".."; });
  if (whole && plain && path.find('\0') == std::string::npos) return {};
  return failure(ErrorCode::kInvalidInput, shown_text(path) + " is not an absolute path");
}

/// The tree's path on this machine. Errors: kInvalidInput, kNotFound (the user has no home).
Result<std::string> path_for(std::string path, CopyTreeKind kind, const Account& account) {
  if (kind == CopyTreeKind::kImage && path.find('/') == std::string::npos) path = path_of_stage(path, account);
  if (path.starts_with("~/")) {
    if (account.home.size() < 2) {
      return failure(ErrorCode::kNotFound, "the user " + shown_text(account.name, 60) + " has no home");
    }
    path = account.home + path.substr(1);
  }
  SPARK_CHECK(check_path(path));
  return path;
}

/// Without links, if the path exists and can be reached.
std::string real_path(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), std::free);
  return real && is_valid_utf8(real.get()) ? real.get() : path;
}

Result<Account> account_for(const std::string& owner) {
  if (!owner.empty()) return account_named(owner);
  const std::string own = user_name(::geteuid());
  return account_named(own).value_or(Account{own, ::geteuid(), ::getegid(), ""});
}

/// Of the nearest directory above that exists.
std::int64_t free_bytes_at(std::string path) {
  struct statvfs status {};
  while (::statvfs(path.c_str(), &status) != 0) {
    const auto slash = path.rfind('/');
    if (slash == std::string::npos) return 0;
    path = slash == 0 ? "/" : path.substr(0, slash);
  }
  return static_cast<std::int64_t>(status.f_bavail) * static_cast<std::int64_t>(status.f_frsize);
}

}  // namespace

void AnswerWriter::send(const CopyAnswer& answer) {
  const Value message = encode(answer);
  const std::lock_guard lock(mutex_);
  if (auto sent = send_to_controller(output_, message); !sent) {
    // The controller must not take what it has received until now for the whole answer.
    (void)send_to_controller(output_, encode(CopyAnswer(CopyFailure{bounded(std::move(sent).error())})));
  }
}

CopySession::~CopySession() {
  if (content_) content_->stop();
  reporter_.request_stop();
  if (reporter_.joinable()) reporter_.join();
}

Result<void> CopySession::handle(CopyCommand command) {
  if (const auto* given = std::get_if<CopyOpen>(&command)) return open(*given);
  if (std::holds_alternative<CopyAlive>(command)) return {};
  if (std::holds_alternative<CopyListTrees>(command)) return list_trees();
  if (const auto* given = std::get_if<CopyJoin>(&command)) {
    ::_exit(run_relay(given->token, [this](int port) { answers_.send(CopyServing{0, port}); }));
  }
  if (const auto* given = std::get_if<CopyForget>(&command)) return forget(*given);
  if (const auto* given = std::get_if<CopyImage>(&command)) return handle_image(*given);
  const bool is_stage = index_ && kind_ == CopyTreeKind::kImage;  // It is gone when its image is loaded.
  if (const auto* given = std::get_if<CopyPrune>(&command); given != nullptr && is_stage) return prune_image(*given);
  if (!tree_ || !index_) return failure(ErrorCode::kInvalidInput, "no tree is open");
  if (const auto* given = std::get_if<CopyLook>(&command)) return look_at_tree(*given);
  if (const auto* given = std::get_if<CopyBegin>(&command)) return begin(*given);
  if (const auto* given = std::get_if<CopyPrune>(&command)) return prune_tree(*given);
  if (auto* given = std::get_if<CopyExpect>(&command)) {
    if (!content_) content_ = std::make_unique<Content>(*tree_, *index_, owner_);
    return content_->expect(std::move(given->entries));
  }
  if (!content_) return failure(ErrorCode::kInvalidInput, "no transfer has begun");
  if (const auto* given = std::get_if<CopyServe>(&command)) return serve(*given);
  if (const auto* given = std::get_if<CopyFetch>(&command)) return fetch(*given);
  if (const auto* given = std::get_if<CopyDrop>(&command)) {
    drop(*given);
    return {};
  }
  if (const auto* given = std::get_if<CopyDigests>(&command)) return content_->learn(given->records);
  return failure(ErrorCode::kBug, "there is no such command");
}

/// Root makes the directory and opens the index; then the process becomes the owner for good, so that it cannot write
/// what the owner could not. In the owner's home, where links are the owner's, the owner makes a cache.
Result<void> CopySession::open(const CopyOpen& command) {
  if (index_) return failure(ErrorCode::kInvalidInput, "a tree is open already");
  SPARK_TRY(const Account account, account_for(command.owner));
  SPARK_TRY(const std::string path, path_for(command.path, command.kind, account));
  if (!command.owner.empty()) owner_ = account;
  account_ = account;
  path_ = path;
  kind_ = command.kind;
  const CopyTreeKind kind = command.kind;
  const bool may_be_in_home = kind != CopyTreeKind::kDirectory && account.home.size() > 1;
  const bool in_home = may_be_in_home && path.starts_with(account.home + "/");
  traffic_.sending.set(command.rate);
  traffic_.receiving.set(command.rate);
  SPARK_TRY(auto index, DigestIndex::open(path, command.write));
  index_.emplace(std::move(index));
  const bool makes = command.write && !command.existing;
  bool made = false;
  if (makes && !in_home) {
    SPARK_TRY(made, Tree::make(path, account.user, account.group, kind));
  }
  SPARK_CHECK(become(account));
  if (makes && in_home) {
    SPARK_TRY(made, Tree::make(path, account.user, account.group, kind));
  }
  if (makes) index_->set_origin({path, command.owner, made});
  SPARK_TRY(auto tree, if_there(Tree::open(path, kind)));
  CopyOpened opened;
  opened.path = real_path(path);
  opened.exists = tree.has_value();
  opened.free_bytes = free_bytes_at(path);
  const auto records = index_->records();
  opened.was_received = std::ranges::any_of(records, [](const auto& one) { return one.second.received; });
  if (tree) {
    opened.partial_bytes = tree->partial_bytes();
    tree_.emplace(std::move(*tree));
  }
  answers_.send(opened);
  return {};
}

Result<std::jthread> CopySession::progress_sender() {
  return start_thread([this](const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any ends;
    std::unique_lock lock(mutex);
    while (true) {
      // A sleep would keep the answer waiting: most looks take less than a millisecond.
      ends.wait_for(lock, stop, kProgressInterval, [] { return false; });
      if (stop.stop_requested()) return;
      send_progress();
    }
  });
}

Result<void> CopySession::look_at_tree(const CopyLook& command) {
  SPARK_TRY(auto progress, progress_sender());
  auto looked =
      look(*tree_, *index_, command, read_bytes_, [this](CopyEntries entries) { answers_.send(std::move(entries)); });
  progress.request_stop();
  progress.join();
  if (!looked) return failure(std::move(looked).error());
  answers_.send(*looked);
  return {};
}

Result<void> CopySession::list_trees() {
  CopyTrees trees;
  for (const DigestIndex::Origin& origin : recorded_trees()) {
    const auto kind = is_path_of_stage(origin.path) ? CopyTreeKind::kImage : CopyTreeKind::kDirectory;
    CopyTree& tree = trees.trees.emplace_back();
    tree = {origin.path, real_path(origin.path), origin.owner, kind, "", ""};
    if (kind != CopyTreeKind::kImage) continue;
    tree.image = origin.image;
    tree.image_id = origin.image_id;
  }
  answers_.send(trees);
  return {};
}

/// The engine runs as the user of the process: each user of podman has separate images.
Result<void> CopySession::handle_image(const CopyImage& command) {
  if (command.action == CopyImageAction::kLook) {
    if (index_) return failure(ErrorCode::kInvalidInput, "a tree is open");
    SPARK_TRY(const Account account, account_for(command.owner));
    SPARK_CHECK(become(account));
    account_ = account;
  } else if (!tree_) {
    return failure(ErrorCode::kInvalidInput, "no tree is open");
  }
  const ImageStore store(command.engine, command.name, account_, [this] { answers_.send(CopyProgress{}); });
  switch (command.action) {
    case CopyImageAction::kLook:
      break;
    case CopyImageAction::kSpace:
      answers_.send(store.storage(*tree_));
      return {};
    case CopyImageAction::kSave:
      drop_received_archive(*tree_, *index_);
      SPARK_CHECK(store.save(*tree_, path_, command.id, static_cast<std::size_t>(command.left_out)));
      break;
    case CopyImageAction::kLoad: {
      const bool was_there = store.has(command.id);
      SPARK_CHECK(store.load(*tree_, path_, command.id, static_cast<std::size_t>(command.left_out)));
      if (!was_there && store.has(command.id)) record_image(command);
      break;
    }
  }
  SPARK_TRY(auto state, store.look());
  state.known_layers = static_cast<std::int64_t>(store.known_layers(command.layers));
  answers_.send(state);
  return {};
}

/// Only an image that a sync has brought may be removed by one.
void CopySession::record_image(const CopyImage& command) {
  auto origin = index_->origin();
  if (!origin) return;
  origin->image = command.name;
  origin->image_id = command.id;
  origin->engine = command.engine;
  index_->set_origin(std::move(*origin));
}

Result<void> CopySession::prune_image(const CopyPrune& command) {
  CopyPruned pruned = tree_ ? prune_archive(*tree_, command.remove) : CopyPruned();
  const auto origin = index_->origin();
  if (command.image && origin && !origin->image.empty()) {
    const ImageStore store(origin->engine, origin->image, account_, [this] { answers_.send(CopyProgress{}); });
    SPARK_CHECK(store.prune(origin->image_id, command.remove, pruned));
  }
  answers_.send(pruned);
  return {};
}

Result<void> CopySession::prune_tree(const CopyPrune& command) {
  SPARK_TRY(const auto pruned, prune(*tree_, *index_, command.remove));
  answers_.send(pruned);
  return {};
}

Result<void> CopySession::forget(const CopyForget& command) {
  if (index_) return failure(ErrorCode::kInvalidInput, "a tree is open");
  SPARK_TRY(const Account account, account_for(command.owner));
  SPARK_TRY(const std::string path, path_for(command.path, command.kind, account));
  bool keeps_record = false;
  {
    SPARK_TRY(const auto index, DigestIndex::open(path, false));
    const auto origin = index.origin();
    if (origin && origin->made && origin->path == path) (void)remove_empty_directory(path);
    // For a later removal of the image, which outlives its archive.
    keeps_record = command.kind == CopyTreeKind::kImage && !command.image && origin && !origin->image.empty();
  }
  if (!keeps_record) SPARK_CHECK(forget_tree(path));
  answers_.send(CopyForgotten{});
  return {};
}

Result<void> CopySession::begin(const CopyBegin& command) {
  if (!content_) content_ = std::make_unique<Content>(*tree_, *index_, owner_);
  SPARK_TRY(auto progress, progress_sender());
  auto begun = content_->begin(command);
  progress.request_stop();
  progress.join();
  if (!begun) return failure(std::move(begun).error());
  begun->processors = std::min<std::int64_t>(std::thread::hardware_concurrency(), kMostProcessors);
  answers_.send(*begun);
  SPARK_TRY(reporter_, start_thread([this](const std::stop_token& stop) { report(stop); }));
  return {};
}

Result<void> CopySession::serve(const CopyServe& command) {
  if (servers_.size() == kMostServed) return failure(ErrorCode::kInvalidInput, "too many links");
  SPARK_TRY(auto server, ChunkServer::start(command, *content_, traffic_));
  answers_.send(CopyServing{command.link, server->port()});
  servers_.push_back(std::move(server));
  return {};
}

Result<void> CopySession::fetch(const CopyFetch& command) {
  const std::lock_guard lock(fetchers_mutex_);
  std::erase_if(fetchers_, [](const auto& fetcher) { return fetcher->is_over(); });
  if (fetchers_.size() == kMostFetched) return failure(ErrorCode::kInvalidInput, "too many links");
  for (const auto& fetcher : fetchers_) {
    if (fetcher->link() == command.link) return failure(ErrorCode::kInvalidInput, "this link is fetched already");
  }
  fetchers_.push_back(std::make_unique<ChunkFetcher>(command, *content_, traffic_));
  return {};
}

void CopySession::drop(const CopyDrop& command) {
  for (const auto& server : servers_) {
    if (server->link() == command.link) server->drop();
  }
  const std::lock_guard lock(fetchers_mutex_);
  for (const auto& fetcher : fetchers_) {
    if (fetcher->link() == command.link) fetcher->drop();
  }
}

void CopySession::send_progress() {
  CopyProgress progress;
  progress.received_bytes = traffic_.received;
  progress.sent_bytes = traffic_.sent;
  progress.read_bytes = read_bytes_ + (content_ ? content_->checked_bytes() : 0);
  if (content_) {
    progress.done_bytes = content_->done_bytes();
    progress.doing = content_->current_file();
  }
  answers_.send(progress);
}

void CopySession::send_lost_links() {
  const std::lock_guard lock(fetchers_mutex_);
  for (auto& fetcher : fetchers_) {
    if (auto error = fetcher->lost()) answers_.send(CopyLinkLost{fetcher->link(), bounded(std::move(*error))});
  }
}

void CopySession::report(const std::stop_token& stop) {
  auto next = Clock::now() + kProgressInterval;
  bool told = false;
  while (!stop.stop_requested()) {
    if (told) {
      std::this_thread::sleep_for(kGlance);
    } else {
      content_->wait(kGlance);
    }
    for (auto records = content_->take_digests(kMostDigestsInFrame); !records.empty();
         records = content_->take_digests(kMostDigestsInFrame)) {
      answers_.send(CopyDigests{std::move(records)});
    }
    if (const auto error = content_->error(); error && !told) {
      answers_.send(CopyFailure{bounded(*error)});
      told = true;
    } else if (content_->complete() && !told) {
      send_progress();
      answers_.send(CopyComplete{traffic_.received});
      told = true;
    }
    send_lost_links();
    if (Clock::now() < next) continue;
    send_progress();
    next += kProgressInterval;
  }
}

}  // namespace sparkplan::copy
