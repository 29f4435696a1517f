#include "engine/wire/job_record.h"

#include <algorithm>
#include <array>
#include <limits>

#include "engine/core/ascii.h"
#include "engine/core/bounded_text.h"
#include "engine/core/digest.h"
#include "engine/core/text.h"

namespace sparkplan {
namespace {

constexpr std::string_view kMark = "job";
constexpr std::size_t kLongestJobId = 64;

/// Up to the first NUL, which ends a text in a command line.
std::string up_to_nul(const std::string& text) { return text.substr(0, text.find('\0')); }

}  // namespace

bool is_job_id(std::string_view id) {
  return !id.empty() && id.size() <= kLongestJobId &&
         std::all_of(id.begin(), id.end(), [](char c) { return is_alphanumeric(c) || c == '-'; });
}

std::string text_of(const JobRecord& record) {
  std::string text;
  const std::array<std::string, 4> parts{std::string(kMark), cut_text(up_to_nul(record.id), kLongestJobId),
                                         cut_text(up_to_nul(record.who), kLongestJobOwner),
                                         base64_encode(cut_text(record.command, kLongestJobCommand))};
  for (const std::string& part : parts) text += part + '\0';
  return text;
}

std::optional<JobRecord> job_record_in(std::string_view command_line) {
  const auto words = split(command_line, '\0');
  // The name of the program, --stdio, then the room.
  constexpr std::size_t kRoom = 2;
  if (words.size() < kRoom + 4 || words[1] != kJobServes || words[kRoom] != kMark) return std::nullopt;
  const auto command = base64_decode(words[kRoom + 3]);
  if (words[kRoom + 1].empty() || !command) return std::nullopt;
  const std::string id(is_job_id(words[kRoom + 1]) ? words[kRoom + 1] : kNoJobId);
  return JobRecord{id, std::string(words[kRoom + 2]), *command};
}

std::string RunningJob::describe() const {
  return "job " + id + " of " + user + " (process " + std::to_string(pid) + ") since " + since +
         (who.empty() ? "" : ", started by " + in_quotes(who)) + ": " + command;
}

Error busy_with(const std::vector<RunningJob>& jobs) {
  const auto more = jobs.size() - 1;
  return make_error(ErrorCode::kBusy,
                    "disruptive changes are refused while a job runs: " + jobs.front().describe() +
                        (more == 0 ? "" : ", and " + std::to_string(more) + " more"),
                    "wait for its end, or pass --ignore-jobs to make them all the same");
}

void list_fields(FieldVisitor& field, RunningJob& job) {
  field("id", job.id, kRequired.cut_at(kLongestJobId));
  field("user", job.user, kShortText);
  field("pid", job.pid, kOptional.within(0, std::numeric_limits<std::int32_t>::max()));
  field("since", job.since, kShortText);
  field("who", job.who, kOptional.cut_at(kLongestJobOwner));
  field("command", job.command, kOptional.cut_at(kLongestJobCommand));
  if (!field.reading()) return;
  if (!is_job_id(job.id)) job.id = kNoJobId;
  // Any user of the node can word them. A picture of a control character is longer than the character, so the text is
  // cut to the same length again: otherwise the next reader would cut more of it.
  const auto show = [](std::string& text, std::size_t most) { text = shown_text(text, most); };
  show(job.user, kLongestShortText);
  show(job.since, kLongestShortText);
  show(job.who, kLongestJobOwner);
  show(job.command, kLongestJobCommand);
}

}  // namespace sparkplan
