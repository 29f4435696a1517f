#include "engine/fleet/session/secret_source.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/core/file_descriptor.h"
#include "engine/core/text.h"
#include "engine/core/tree.h"
#include "engine/process/child_process.h"
#include "engine/wire/apply_messages.h"

namespace sparkplan {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostErrorBytes = 4096;
constexpr std::size_t kMostShownError = 500;
constexpr std::ptrdiff_t kMostShownLines = 3;
constexpr std::chrono::milliseconds kLookForStop{200};
constexpr std::chrono::seconds kTimeToEnd{5};

tl::unexpected<Error> too_long() {
  return failure(ErrorCode::kInvalidInput,
                 "it is longer than " + std::to_string(kMostSecretBytes >> 10U) + " KiB, the most of a secret",
                 "a secret is a token, a password or a small file");
}

tl::unexpected<Error> nothing_there(const char* hint) { return failure(ErrorCode::kInvalidInput, "it is empty", hint); }

/// The error with a hint for a file that cannot be read.
Error about_file(Error error) {
  error.hint = "name a file that you can read; a relative name begins in the directory of cluster.yaml";
  return error;
}

/// The last lines that are not empty.
std::vector<std::string> last_lines(std::string_view text) {
  std::vector<std::string> lines;
  for (const std::string_view line : split_lines(text)) {
    if (const auto words = trim(line); !words.empty()) lines.emplace_back(words);
  }
  const auto count = static_cast<std::ptrdiff_t>(lines.size());
  if (count > kMostShownLines) lines.erase(lines.begin(), lines.end() - kMostShownLines);
  return lines;
}

/// The size of a text without one newline at its end.
std::size_t without_newline(const char* text, std::size_t size) {
  return size > 0 && text[size - 1] == '\n' ? size - 1 : size;
}

/// A value of kMostSecretBytes may end with a newline; one more byte shows that it is longer.
constexpr std::size_t kMostRead = kMostSecretBytes + 2;

Result<std::size_t> accepted(const char* memory, std::size_t read, const char* hint_if_empty) {
  const std::size_t size = without_newline(memory, read);
  if (size > kMostSecretBytes) return too_long();
  if (size == 0) return nothing_there(hint_if_empty);
  return size;
}

/// In memory of the value's size: a user may lock only a few pages.
Result<Secret> copy_of(std::string_view value) {
  return Secret::filled_by(value.size(), [&](char* memory, std::size_t) -> Result<std::size_t> {
    std::memcpy(memory, value.data(), value.size());
    return value.size();
  });
}

Result<ReadSecret> read_variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  if (value == nullptr) {
    return failure(ErrorCode::kNotFound, "the environment has no variable " + name,
                   "set it for this command, for example with `export " + name + "=VALUE`");
  }
  const std::size_t size = std::strlen(value);
  if (size > kMostSecretBytes) return too_long();
  if (size == 0) return nothing_there("give the variable a value");
  SPARK_TRY(Secret secret, copy_of(std::string_view(value, size)));
  return ReadSecret{std::move(secret), {}};
}

Result<std::size_t> read_whole(int file, char* memory) {
  std::size_t size = 0;
  while (size < kMostRead) {
    const auto count = ::read(file, memory + size, kMostRead - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failure(system_error("read it", errno));
    if (count == 0) break;
    size += static_cast<std::size_t>(count);
  }
  return accepted(memory, size, "write the value to the file");
}

Result<ReadSecret> read_file(const std::string& name, const SecretPlace& place) {
  const fs::path path = place.directory / name;  // An absolute name stays as it is.
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.valid()) return failure(about_file(system_error("open " + path.string(), errno)));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return failure(system_error("open " + path.string(), errno));
  if (!S_ISREG(status.st_mode)) {
    return failure(about_file(make_error(ErrorCode::kUnsupported, path.string() + " is not a regular file")));
  }
  SPARK_TRY(Secret secret,
            Secret::filled_by(kMostRead, [&](char* memory, std::size_t) { return read_whole(file.get(), memory); }));
  ReadSecret result{std::move(secret), {}};
  if ((status.st_mode & S_IROTH) != 0) result.warning = "every user of this machine can read " + path.string();
  return result;
}

/// Reads the output of a program into locked memory, and a part of its standard error into a text.
class Output {
 public:
  Output(ChildProcess& child, const SecretPlace& place, char* memory)
      : child_(child), place_(place), memory_(memory), end_(Clock::now() + place.deadline) {}

  Result<std::size_t> read() {
    while (output_open_ || error_open_) {
      std::array<pollfd, 2> waiting{pollfd{output_open_ ? child_.standard_output() : -1, POLLIN, 0},
                                    pollfd{error_open_ ? child_.standard_error() : -1, POLLIN, 0}};
      ::poll(waiting.data(), waiting.size(), static_cast<int>(kLookForStop.count()));
      if (waiting[0].revents != 0) take_output();
      if (waiting[1].revents != 0) take_error();
      if (size_ == kMostRead) return too_long();
      if (place_.stop.stop_requested()) return failure(ErrorCode::kInterrupted, "stopped while its command ran");
      if (Clock::now() >= end_) return too_late();
    }
    // A program may close its output and go on.
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end_ - Clock::now());
    const auto status = child_.wait(std::clamp<std::chrono::milliseconds>(left, kLookForStop, kTimeToEnd));
    if (!status) return too_late();
    if (*status != 0) return failed(*status);
    return accepted(memory_, size_, "its command must print the value on standard output");
  }

 private:
  void take_output() {
    const auto count = ::read(child_.standard_output(), memory_ + size_, kMostRead - size_);
    if (count > 0) size_ += static_cast<std::size_t>(count);
    output_open_ = count > 0 || (count < 0 && errno == EINTR);
  }

  void take_error() {
    std::array<char, 1024> buffer{};
    const auto count = ::read(child_.standard_error(), buffer.data(), buffer.size());
    if (count > 0) {
      error_.append(buffer.data(), static_cast<std::size_t>(count));
      // The end has the reason.
      if (error_.size() > kMostErrorBytes) error_.erase(0, error_.size() - kMostErrorBytes);
    }
    error_open_ = count > 0 || (count < 0 && errno == EINTR);
  }

  std::string what_it_said() const {
    std::string said = printable(join(last_lines(error_), "; "));
    if (said.size() > kMostShownError) said = said.substr(0, kMostShownError) + "...";
    return said.empty() ? "" : ": " + said;
  }

  tl::unexpected<Error> failed(int status) const {
    return failure(ErrorCode::kFailed, "its command ended with status " + std::to_string(status) + what_it_said(),
                   "run the command by hand, in the directory of cluster.yaml");
  }

  tl::unexpected<Error> too_late() const {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(place_.deadline).count();
    return failure(ErrorCode::kFailed,
                   "its command did not end within " + std::to_string(seconds) + " s and was killed" + what_it_said(),
                   "it gets no input: a command that asks for a password cannot be used");
  }

  ChildProcess& child_;
  const SecretPlace& place_;
  char* memory_;
  Clock::time_point end_;
  std::size_t size_ = 0;
  std::string error_;
  bool output_open_ = true;
  bool error_open_ = true;
};

Result<ReadSecret> read_command(const Value& command, const SecretPlace& place) {
  // env(1) changes the directory and searches the program in the user's PATH; it is no shell.
  std::vector<std::string> arguments{"-C", place.directory.empty() ? "." : place.directory.string(), "--"};
  for (const Value& word : items_of(command)) arguments.push_back(text_of(&word));
  if (arguments.size() < 4 || arguments[3].find('=') != std::string::npos)
    return failure(ErrorCode::kInvalidInput, "the command does not begin with the name of a program");
  SPARK_TRY(Secret secret, Secret::filled_by(kMostRead, [&](char* memory, std::size_t) -> Result<std::size_t> {
              SPARK_TRY(ChildProcess child, ChildProcess::start("/usr/bin/env", arguments));
              child.close_standard_input();
              return Output(child, place, memory).read();
            }));
  return ReadSecret{std::move(secret), {}};
}

}  // namespace

Result<ReadSecret> read_secret(const Value& reference, const SecretPlace& place) {
  if (const auto name = text_below(reference, "env")) return read_variable(*name);
  const Value* command = reference.find("command");
  SPARK_TRY(ReadSecret read,
            command != nullptr ? read_command(*command, place) : read_file(reference.text_or("file", ""), place));
  SPARK_TRY(read.value, copy_of(read.value.text()));
  return read;
}

}  // namespace sparkplan
