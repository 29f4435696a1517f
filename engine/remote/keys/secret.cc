#include "engine/remote/keys/secret.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <utility>

namespace sparkplan {
namespace {

constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kLongest = 1023;

/// This process writes no core dump while any of these objects exists.
class CoreDumpsOff {
 public:
  CoreDumpsOff() {
    const std::lock_guard lock(mutex_);
    if (holders_++ > 0) return;
    dumpable_ = ::prctl(PR_GET_DUMPABLE);
    ::prctl(PR_SET_DUMPABLE, 0);
    ::getrlimit(RLIMIT_CORE, &limit_);
    const rlimit none{0, limit_.rlim_max};
    ::setrlimit(RLIMIT_CORE, &none);
  }
  CoreDumpsOff(const CoreDumpsOff&) = delete;
  CoreDumpsOff& operator=(const CoreDumpsOff&) = delete;
  ~CoreDumpsOff() {
    const std::lock_guard lock(mutex_);
    if (--holders_ > 0) return;
    ::setrlimit(RLIMIT_CORE, &limit_);
    ::prctl(PR_SET_DUMPABLE, dumpable_);
  }

 private:
  static inline std::mutex mutex_;
  static inline int holders_ = 0;
  static inline int dumpable_ = 1;
  static inline rlimit limit_{};
};

}  // namespace

/// The text, a NUL; from the middle of the page the text, a newline, a NUL.
class Secret::Page {
 public:
  explicit Page(std::size_t bytes = kPageBytes)
      : bytes_(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)), capacity_(bytes) {
    if (bytes_ == MAP_FAILED) {
      error_ = errno;
      bytes_ = nullptr;
      return;
    }
    if (::mlock(bytes_, capacity_) != 0) error_ = errno;
    ::madvise(bytes_, capacity_, MADV_DONTDUMP);
    ::madvise(bytes_, capacity_, MADV_WIPEONFORK);
  }
  Page(const Page&) = delete;
  Page& operator=(const Page&) = delete;
  ~Page() {
    if (bytes_ == nullptr) return;
    ::explicit_bzero(bytes_, capacity_);
    ::munmap(bytes_, capacity_);
  }

  Result<void> check() const {
    if (error_ == 0) return {};
    auto error = system_error("lock memory for a password or secret", error_);
    error.code = ErrorCode::kFailed;
    error.hint = "allow more locked memory: ulimit -l 8192";
    return failure(std::move(error));
  }
  bool append(char one) {
    if (size_ == kLongest) return false;
    text()[size_++] = one;
    return true;
  }
  void set_size(std::size_t size) { size_ = size; }
  void end_line() {
    std::memcpy(line(), text(), size_);
    line()[size_] = '\n';
  }

  char* text() const { return static_cast<char*>(bytes_); }
  char* line() const { return text() + capacity_ / 2; }
  std::size_t size() const { return size_; }

 private:
  CoreDumpsOff no_core_;
  void* bytes_;
  std::size_t capacity_;
  std::size_t size_ = 0;
  int error_ = 0;
};

namespace {

tl::unexpected<Error> too_long() {
  return failure(ErrorCode::kInvalidInput, "the password is longer than " + std::to_string(kLongest) + " bytes");
}

}  // namespace

Result<Secret> Secret::read_line(int descriptor) {
  const auto page = std::make_shared<Page>();
  SPARK_CHECK(page->check());
  // Read directly into the page, and no byte beyond the line.
  while (true) {
    char* const next = page->text() + page->size();
    const auto count = ::read(descriptor, next, 1);
    if (count < 0 && errno == EINTR) continue;
    if (count != 1 || *next == '\n' || *next == '\r') {
      *next = '\0';
      break;
    }
    if (!page->append(*next)) return too_long();
  }
  page->end_line();
  return Secret(page);
}

Result<Secret> Secret::copy_of(std::string_view text) {
  const auto page = std::make_shared<Page>();
  SPARK_CHECK(page->check());
  for (const char one : text) {
    if (!page->append(one)) return too_long();
  }
  page->end_line();
  return Secret(page);
}

Result<Secret> Secret::filled_by(std::size_t most, const Fill& fill) {
  // Half of the memory holds the text, a newline and a NUL.
  const std::size_t half = (most + 2 + kPageBytes) / kPageBytes * kPageBytes;
  const auto page = std::make_shared<Page>(2 * half);
  SPARK_CHECK(page->check());
  SPARK_TRY(const std::size_t size, fill(page->text(), most));
  if (size > most) return failure(ErrorCode::kBug, "a secret is longer than its memory");
  page->set_size(size);
  page->text()[size] = '\0';
  page->end_line();
  return Secret(page);
}

std::string_view Secret::text() const { return page_ ? std::string_view(page_->text(), page_->size()) : ""; }

std::string_view Secret::line() const { return page_ ? std::string_view(page_->line(), page_->size() + 1) : ""; }

}  // namespace sparkplan
