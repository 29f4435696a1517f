#include "engine/remote/programs/nccl_rank_client.h"

#include <utility>

#include "engine/remote/programs/agent_image.h"
#include "engine/remote/programs/container_channel.h"
#include "engine/remote/programs/job_client.h"

namespace sparkplan {
namespace {

constexpr CarriedProgramKind kNcclProgram{"sparkplan-nccl", "the program for the NCCL test", RemoteProgram::kNcclRank,
                                          RemoteProgram::kNcclInstaller, nccl_rank_image};
constexpr std::chrono::milliseconds kPatienceOutside{5000};

std::optional<ProgramClient::Greeting> rank_greeting_in(const Value& message) {
  const auto answer = decode<RankAnswer>(message);
  const auto* hello = answer ? std::get_if<RankHello>(&*answer) : nullptr;
  if (hello == nullptr) return std::nullopt;
  return ProgramClient::Greeting{hello->build, hello->architecture};
}

}  // namespace

Result<NcclRankClient> NcclRankClient::open(const NodeSpec& node, const AgentOptions& options) {
  SPARK_TRY(auto program, ProgramClient::open(kNcclProgram, node, options, rank_greeting_in));
  return NcclRankClient(std::move(program));
}

Result<NcclRankClient> NcclRankClient::open_in_container(const NodeSpec& node, const AgentOptions& options,
                                                         const StartJob& job, const std::string& image) {
  {
    // Installs the program, which the container mounts.
    SPARK_TRY(auto outside, open(node, options));
    if (!outside.end(kPatienceOutside)) return failure(ErrorCode::kUnreachable, "sparkplan-nccl does not end");
  }
  SPARK_TRY(auto starter, JobClient::open(node, options));
  SPARK_TRY(auto channel, ContainerChannel::start(std::move(starter), job, image));
  SPARK_TRY(auto program, ProgramClient::open_on(kNcclProgram, std::move(channel), options, rank_greeting_in));
  return NcclRankClient(std::move(program));
}

Result<void> NcclRankClient::send(const RankCommand& command, std::chrono::milliseconds limit) {
  return program_.send(encode(command), limit);
}

Result<std::optional<RankAnswer>> NcclRankClient::receive(std::chrono::milliseconds patience) {
  SPARK_TRY(const auto message, program_.receive(patience));
  if (!message) return std::optional<RankAnswer>();
  auto answer = decode<RankAnswer>(*message);
  if (!answer) return failure(bounded(std::move(answer).error()));
  return std::optional<RankAnswer>(*std::move(answer));
}

}  // namespace sparkplan
