#include "engine/carried/controller_stream.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <string>
#include <utility>

#include "engine/core/file_descriptor.h"
#include "engine/core/threads.h"
#include "engine/wire/frame.h"

namespace sparkplan {
namespace {

void read_all(int input, std::chrono::milliseconds longest_silence, const std::function<void(Result<Value>)>& take) {
  FrameReader reader;
  std::string buffer(std::size_t{1} << 16, '\0');
  bool failed = false;
  while (true) {
    // A controller may vanish without closing the connection.
    pollfd waiting{input, POLLIN, 0};
    if (::poll(&waiting, 1, static_cast<int>(longest_silence.count())) == 0) ::_exit(kInputEndedStatus);
    const auto count = ::read(input, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) ::_exit(kInputEndedStatus);
    if (failed) continue;
    reader.feed({buffer.data(), static_cast<std::size_t>(count)});
    while (!failed) {
      auto message = reader.next();
      if (message && !*message) break;
      failed = !message;
      take(message ? Result<Value>(std::move(**message)) : Result<Value>(failure(std::move(message).error())));
    }
  }
}

}  // namespace

void read_from_controller(int input, std::chrono::milliseconds longest_silence,
                          const std::function<void(Result<Value>)>& take) {
  auto reader = start_thread([input, longest_silence, take] { read_all(input, longest_silence, take); });
  if (!reader) return take(failure(std::move(reader).error()));
  reader->detach();  // The thread ends with the process, and never before it.
}

Result<void> send_to_controller(int output, const Value& message) {
  SPARK_TRY(const auto frame, encode_frame(message));
  if (!write_fully(output, frame)) ::_exit(kInputEndedStatus);
  return {};
}

}  // namespace sparkplan
