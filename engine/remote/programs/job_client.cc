#include "engine/remote/programs/job_client.h"

#include "engine/remote/programs/agent_image.h"

namespace sparkplan {
namespace {

constexpr CarriedProgramKind kJobProgram{"sparkplan-job", "the process starter", RemoteProgram::kJob,
                                         RemoteProgram::kJobInstaller, job_image};

std::optional<ProgramClient::Greeting> job_greeting_in(const Value& message) {
  const auto answer = decode<JobAnswer>(message);
  const auto* hello = answer ? std::get_if<JobHello>(&*answer) : nullptr;
  if (hello == nullptr) return std::nullopt;
  return ProgramClient::Greeting{hello->build, hello->architecture};
}

}  // namespace

Result<JobClient> JobClient::open(const NodeSpec& node, const AgentOptions& options) {
  SPARK_TRY(auto program, ProgramClient::open(kJobProgram, node, options, job_greeting_in));
  return JobClient(std::move(program));
}

Result<void> JobClient::send(const JobCommand& command, std::optional<std::chrono::milliseconds> limit) {
  return program_.send(encode(command), limit);
}

Result<std::optional<JobAnswer>> JobClient::receive(std::chrono::milliseconds patience) {
  SPARK_TRY(const auto message, program_.receive(patience));
  if (!message) return std::optional<JobAnswer>();
  auto answer = decode<JobAnswer>(*message);
  if (!answer) return failure(bounded(std::move(answer).error()));
  return std::optional<JobAnswer>(*std::move(answer));
}

}  // namespace sparkplan
