#include "engine/agent/session/serve.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <deque>

#include "engine/agent/session/session.h"
#include "engine/carried/own_program.h"
#include "engine/core/file_descriptor.h"
#include "engine/wire/frame.h"

namespace sparkplan {
namespace {

/// A controller waits for each answer, and only sends stops meanwhile.
constexpr std::size_t kMostPending = 16;

/// The stream of requests. It reads ahead only to find a stop between the steps of an apply.
class RequestStream {
 public:
  explicit RequestStream(int input) : input_(input) {}

  /// Waits for the next request; nothing at the end of the input or after `patience`.
  Result<std::optional<NumberedRequest>> next(std::chrono::milliseconds patience) {
    while (pending_.empty()) {
      SPARK_TRY(const bool more, read_more(patience));
      if (!more && pending_.empty()) return std::optional<NumberedRequest>();
    }
    auto request = std::move(pending_.front());
    pending_.pop_front();
    return std::optional<NumberedRequest>(std::move(request));
  }

  /// True once a stop or the end of the input has arrived. A lost controller also counts as a stop.
  bool stop_asked() {
    if (!ended_) {
      auto more = read_more(std::chrono::milliseconds(0));
      if (!more) ended_ = true;
    }
    while (!pending_.empty() && std::holds_alternative<StopNotice>(pending_.front().request)) {
      stopped_ = true;
      pending_.pop_front();
    }
    return stopped_ || ended_;
  }
  void forget_stop() { stopped_ = false; }

 private:
  /// False at the end of the input or if nothing arrived.
  Result<bool> read_more(std::chrono::milliseconds patience) {
    pollfd readable{input_, POLLIN, 0};
    const int ready = ::poll(&readable, 1, static_cast<int>(patience.count()));
    if (ready < 0 && errno == EINTR) return true;
    if (ready <= 0) return false;
    std::array<char, 65536> buffer{};
    const auto count = ::read(input_, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) return true;
    if (count <= 0) {
      ended_ = true;
      return false;
    }
    reader_.feed({buffer.data(), static_cast<std::size_t>(count)});
    while (true) {
      SPARK_TRY(const auto message, reader_.next());
      if (!message) return true;
      SPARK_TRY(auto request, decode_request(*message));
      if (pending_.size() == kMostPending) {
        return failure(ErrorCode::kInvalidInput, "the controller sends requests faster than it reads the answers");
      }
      pending_.push_back(std::move(request));
    }
  }

  int input_;
  FrameReader reader_;
  std::deque<NumberedRequest> pending_;
  bool ended_ = false;
  bool stopped_ = false;
};

Result<void> send_bytes(int output, std::string_view bytes) {
  if (write_fully(output, bytes)) return {};
  return failure(system_error("answer the controller", errno));
}

Result<void> greet(const Registry& registry, int output) {
  Hello hello{kProtocolMajor, kProtocolMinor, own_build(), machine_architecture(), {}};
  for (const auto& type : registry.types()) hello.types.push_back(type->info().name);
  SPARK_TRY(const auto frame, encode_frame(encode(hello)));
  return send_bytes(output, std::string(kPreamble) + frame);
}

}  // namespace

Result<void> serve(const Registry& registry, const std::filesystem::path& root, int input, int output) {
  SPARK_TRY(auto node, LocalNode::open(root));
  SPARK_CHECK(greet(registry, output));
  RequestStream requests(input);
  std::int64_t current = 0;
  const auto tell = [&](std::string_view doing) {
    // A lost controller shows at the reply.
    if (const auto frame = encode_frame(encode_progress(current, doing))) (void)write_fully(output, *frame);
  };
  AgentSession session(
      registry, std::move(node), [&] { return requests.stop_asked(); }, tell);
  while (true) {
    SPARK_TRY(const auto request, requests.next(session.patience()));
    if (!request) return {};
    if (std::holds_alternative<StopNotice>(request->request)) continue;  // The stop arrived after its apply had ended.
    requests.forget_stop();
    current = request->id;
    NumberedReply reply{request->id, session.answer(request->request)};
    auto frame = encode_frame(encode(reply));
    if (!frame) frame = encode_frame(encode(NumberedReply{request->id, tl::unexpected<Error>(frame.error())}));
    SPARK_CHECK(frame);
    SPARK_CHECK(send_bytes(output, *frame));
  }
}

}  // namespace sparkplan
