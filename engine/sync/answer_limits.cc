#include "engine/sync/answer_limits.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>
#include <variant>

#include "engine/core/bounded_text.h"
#include "engine/core/digest.h"

namespace sparkplan {
namespace {

constexpr std::size_t kMostWithoutReserve = 16'384;

std::uint32_t number_at(const std::string& bytes, std::size_t at) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < 4; ++i) number = number << 8U | static_cast<std::uint8_t>(bytes[at + i]);
  return number;
}

bool is_known(std::string_view digests, std::size_t chunk) {
  const auto digest = digests.substr(chunk * kCopyDigestBytes, kCopyDigestBytes);
  return digest.find_first_not_of('\0') != std::string_view::npos;
}

/// A sum is the digest of all digests. One that is not known comes later.
bool fits_its_sum(const CopyEntry& entry) {
  if (entry.sum.empty() || entry.digests.empty()) return true;
  for (std::size_t chunk = 0; chunk * kCopyDigestBytes < entry.digests.size(); ++chunk) {
    if (!is_known(entry.digests, chunk)) return true;
  }
  return sha256(entry.digests) == entry.sum;
}

constexpr int kReadsAndEnters = 0500;

bool can_be_read_by_owner(const CopyEntry& entry) {
  constexpr int kReads = 0400;
  if (entry.kind == CopyKind::kLink) return true;
  const int needed = entry.kind == CopyKind::kDirectory ? kReadsAndEnters : kReads;
  return (entry.mode & needed) == needed;
}

/// Sorts the entries. Receivers would refuse such a list, and their errors would not name the node that wrote it.
Result<void> check_tree(std::vector<CopyEntry>& entries) {
  const auto is_before = [](const CopyEntry& a, const CopyEntry& b) { return a.path < b.path; };
  if (!std::is_sorted(entries.begin(), entries.end(), is_before)) std::sort(entries.begin(), entries.end(), is_before);
  const auto twice = std::adjacent_find(entries.begin(), entries.end(),
                                        [](const CopyEntry& a, const CopyEntry& b) { return a.path == b.path; });
  if (twice != entries.end()) {
    return failure(ErrorCode::kFailed, "the node lists " + shown_text(twice->path) + " twice");
  }
  for (const CopyEntry& entry : entries) {
    if (is_too_deep(entry.path, entry.kind)) {
      return failure(ErrorCode::kUnsupported, "the node lists " + shown_text(entry.path) + ", which is more than " +
                                                  std::to_string(kDeepestCopyTree) + " directories deep");
    }
    const auto slash = entry.path.rfind('/');
    if (slash == std::string::npos) continue;
    const std::string_view folder = std::string_view(entry.path).substr(0, slash);
    const auto found = std::lower_bound(entries.begin(), entries.end(), folder,
                                        [](const CopyEntry& one, std::string_view path) { return one.path < path; });
    if (found == entries.end() || found->path != folder || found->kind != CopyKind::kDirectory) {
      return failure(ErrorCode::kFailed, "the node lists " + shown_text(entry.path) + " without its directory");
    }
  }
  return {};
}

}  // namespace

AnswerPatience SharedPatience::left(Clock::time_point now) const {
  AnswerPatience patience = patience_;
  const auto rest = std::chrono::duration_cast<std::chrono::milliseconds>(end_ - now);
  patience.total = std::max(rest, std::chrono::milliseconds(0));
  return patience;
}

AnswerClock::AnswerClock(const AnswerPatience& patience, std::int64_t bytes, Clock::time_point now)
    : patience_(patience), last_message_(now), last_advance_(now) {
  constexpr std::int64_t kSlowestPerSecond = 20'000'000;
  end_ = now + patience.total + std::chrono::seconds(std::max<std::int64_t>(bytes, 0) / kSlowestPerSecond);
}

void AnswerClock::note(const CopyAnswer& answer, Clock::time_point now) {
  last_message_ = now;
  const auto* progress = std::get_if<CopyProgress>(&answer);
  const auto* part = std::get_if<CopyEntries>(&answer);
  if (progress != nullptr && progress->read_bytes > read_bytes_) {
    read_bytes_ = progress->read_bytes;
    last_advance_ = now;
  } else if (part != nullptr && !part->entries.empty()) {
    last_advance_ = now;
  }
}

bool AnswerClock::is_over(Clock::time_point now) const {
  return now >= end_ || now - last_message_ > patience_.silence || now - last_advance_ > patience_.total;
}

void ListingParts::add(CopyEntries part) {
  for (CopyEntry& entry : part.entries) {
    if (too_large_) return;
    // An assignment of an empty text would keep the memory.
    entry.digests.clear();
    for (std::string* text : {&entry.path, &entry.target, &entry.user, &entry.group, &entry.sum, &entry.digests}) {
      text->shrink_to_fit();
    }
    chunks_ += chunks_of(entry.size);
    name_bytes_ += entry.path.size() + entry.target.size() + entry.user.size() + entry.group.size();
    too_large_ = entries_.size() == kMostCopyEntries || chunks_ > most_chunks_with(entries_.size() + 1) ||
                 name_bytes_ > kMostCopyNameBytes;
    if (too_large_) {
      entries_ = {};
    } else {
      // Growth by doubling would take twice the memory for a moment. Memory that is not used is only reserved.
      if (entries_.size() == kMostWithoutReserve) entries_.reserve(kMostCopyEntries);
      entries_.push_back(std::move(entry));
    }
  }
}

Result<std::vector<CopyEntry>> ListingParts::take() {
  if (too_large_) return failure(ErrorCode::kFailed, "the node lists more than a tree may have");
  SPARK_CHECK(check_tree(entries_));
  return std::move(entries_);
}

void keep_few_names(std::vector<std::string>& names) {
  constexpr std::size_t kMostBytes = std::size_t{8} << 10;
  std::size_t bytes = 0;
  const auto end = std::find_if(names.begin(), names.end(), [&](const std::string& name) {
    bytes += name.size();
    return bytes > kMostBytes;
  });
  names.erase(end, names.end());
  names.shrink_to_fit();
}

void take_digests_of(CopyEntries part, std::vector<CopyEntry>& entries) {
  for (CopyEntry& now : part.entries) {
    const auto entry = std::lower_bound(entries.begin(), entries.end(), now.path,
                                        [](const CopyEntry& one, const std::string& path) { return one.path < path; });
    if (entry == entries.end() || entry->path != now.path) continue;
    if (now.size != entry->size || now.mtime_ns != entry->mtime_ns) continue;
    now.digests.shrink_to_fit();
    entry->digests = std::move(now.digests);
  }
}

Result<void> check_to_send(const std::vector<CopyEntry>& entries, const std::string& owner,
                           const std::optional<CopyRoot>& root) {
  if (root && (owner.empty() ? root->user : owner) != "root" && (root->mode & kReadsAndEnters) != kReadsAndEnters) {
    return failure(ErrorCode::kUnsupported, "the owner of the directory could not read it",
                   "give the owner the right to read it");
  }
  for (const CopyEntry& entry : entries) {
    if (!fits_its_sum(entry)) {
      return failure(ErrorCode::kFailed, "the node has digests of " + shown_text(entry.path) +
                                             " that do not belong to the sum that it lists");
    }
    const std::string& reader = owner.empty() ? entry.user : owner;
    if (reader != "root" && !can_be_read_by_owner(entry)) {
      return failure(ErrorCode::kUnsupported, "the owner of " + shown_text(entry.path) + " could not read it",
                     "give the owner the right to read it, or remove it from the directory");
    }
  }
  return {};
}

bool AnswerBudget::take(Clock::time_point now) {
  constexpr std::int64_t kAtOnce = 200;
  constexpr std::int64_t kPerSecond = 10;  // An honest node reports once per second.
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - since_).count();
  return ++taken_ <= kAtOnce + kPerSecond * seconds;
}

KnownChunks::KnownChunks(const std::vector<CopyEntry>& entries) : entries_(entries) {
  known_.reserve(entries.size());
  for (const CopyEntry& entry : entries) {
    const std::int64_t chunks = entry.kind == CopyKind::kFile ? chunks_of(entry.size) : 0;
    auto& known = known_.emplace_back(static_cast<std::size_t>(chunks), false);
    if (!entry.digests.empty()) {
      for (std::size_t chunk = 0; chunk < known.size(); ++chunk) known[chunk] = is_known(entry.digests, chunk);
    }
    unknown_ += std::count(known.begin(), known.end(), false);
  }
}

Result<std::string> KnownChunks::only_new(const std::string& records) {
  std::string fresh;
  for (std::size_t at = 0; at + kCopyRecordBytes <= records.size(); at += kCopyRecordBytes) {
    const std::size_t file = number_at(records, at);
    const std::size_t chunk = number_at(records, at + 4);
    if (file >= known_.size() || chunk >= known_[file].size()) {
      return failure(ErrorCode::kFailed, "the source sent a digest of no chunk");
    }
    // Receivers would wait for the right one, and their errors would not name the source.
    if (!is_known(std::string_view(records).substr(at + kCopyRecordBytes - kCopyDigestBytes), 0)) {
      return failure(ErrorCode::kFailed, "the source sent a digest that is none");
    }
    if (known_[file][chunk]) continue;
    SPARK_CHECK(check_sum(file, chunk, std::string_view(records).substr(at + kCopyRecordBytes - kCopyDigestBytes)));
    known_[file][chunk] = true;
    --unknown_;
    fresh += records.substr(at, kCopyRecordBytes);
  }
  return fresh;
}

Result<void> KnownChunks::check_sum(std::size_t file, std::size_t chunk, std::string_view digest) {
  const CopyEntry& entry = entries_[file];
  if (entry.sum.empty()) return {};
  const auto [at, is_first] = late_.try_emplace(file);
  Late& late = at->second;
  if (is_first) {
    late.digests = entry.digests;
    late.digests.resize(known_[file].size() * kCopyDigestBytes, '\0');
    late.unknown = std::count(known_[file].begin(), known_[file].end(), false);
  }
  late.digests.replace(chunk * kCopyDigestBytes, kCopyDigestBytes, digest.substr(0, kCopyDigestBytes));
  if (--late.unknown > 0) return {};
  const bool fits = sha256(late.digests) == entry.sum;
  late_.erase(at);
  if (fits) return {};
  return failure(ErrorCode::kVerifyFailed, "the source sent digests of " + shown_text(entry.path) +
                                               " that do not belong to the sum that it lists");
}

}  // namespace sparkplan
