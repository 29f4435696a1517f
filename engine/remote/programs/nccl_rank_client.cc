#include "engine/remote/programs/nccl_rank_client.h"

#include <utility>

#include "engine/remote/programs/agent_image.h"

namespace sparkplan {
namespace {

constexpr CarriedProgramKind kNcclProgram{"sparkplan-nccl", "the program for the NCCL test", RemoteProgram::kNcclRank,
                                          RemoteProgram::kNcclInstaller, nccl_rank_image};

std::optional<ProgramClient::Greeting> greeting_in(const Value& message) {
  const auto answer = decode<RankAnswer>(message);
  const auto* hello = answer ? std::get_if<RankHello>(&*answer) : nullptr;
  if (hello == nullptr) return std::nullopt;
  return ProgramClient::Greeting{hello->build, hello->architecture};
}

}  // namespace

Result<NcclRankClient> NcclRankClient::open(const NodeSpec& node, const AgentOptions& options) {
  SPARK_TRY(auto program, ProgramClient::open(kNcclProgram, node, options, greeting_in));
  return NcclRankClient(std::move(program));
}

Result<void> NcclRankClient::send(const RankCommand& command) { return program_.send(encode(command)); }

Result<std::optional<RankAnswer>> NcclRankClient::receive(std::chrono::milliseconds patience) {
  SPARK_TRY(const auto message, program_.receive(patience));
  if (!message) return std::optional<RankAnswer>();
  auto answer = decode<RankAnswer>(*message);
  if (!answer) return failure(bounded(std::move(answer).error()));
  return std::optional<RankAnswer>(*std::move(answer));
}

}  // namespace sparkplan
