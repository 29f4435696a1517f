#include "engine/job/shown_record.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>

namespace sparkplan::job {
namespace {

char* record_room = nullptr;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): one command line.

}  // namespace

void start_again_with_room(char** argv) {
  std::string room(kJobRecordRoom, ' ');
  const std::array<char*, 4> words{argv[0], argv[1], room.data(), nullptr};
  // The file may have no name, or another one by now.
  ::execv("/proc/self/exe", words.data());
}

void take_room(char* room) {
  ::prctl(PR_SET_NAME, "sparkplan-job");
  record_room = room;
}

void show_record(const JobRecord& record) {
  if (record_room == nullptr) return;
  std::string text = text_of(record);
  // The NUL after the room stays: without it, the kernel would also show the environment.
  text.resize(kJobRecordRoom, '\0');
  std::copy(text.begin(), text.end(), record_room);
}

void hide_record() {
  if (record_room != nullptr) std::fill_n(record_room, kJobRecordRoom, ' ');
}

}  // namespace sparkplan::job
