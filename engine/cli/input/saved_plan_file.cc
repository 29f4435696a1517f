#include "engine/cli/input/saved_plan_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "engine/cli/input/plan_signature.h"
#include "engine/cli/output/new_file.h"
#include "engine/core/file_descriptor.h"
#include "engine/core/json.h"
#include "engine/load/files_beside.h"
#include "engine/plan/saved_plan_check.h"
#include "engine/resource/registry.h"

namespace sparkplan {
namespace {

namespace fs = std::filesystem;

/// Enough bytes to recognise a plan.
constexpr std::size_t kBeginning = 4096;

/// The beginning of a regular file; nothing for anything else.
std::optional<std::string> beginning_of(const FileDescriptor& file) {
  struct stat status {};
  if (!file.valid() || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  auto text = read_up_to(file.get(), kBeginning, "the plan");
  return text ? std::optional(std::move(*text)) : std::nullopt;
}

// O_NONBLOCK: opening a FIFO must not wait for a writer.
FileDescriptor open_to_read(const std::string& path) {
  return FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
}

/// The cluster as it was planned. No file of this machine is read, so none can change it.
Result<LoadedCluster> load_embedded(const SavedPlan& plan) {
  const auto& file = plan.report.file;
  const auto as_saved = [&](const std::string& name) -> Result<std::string> {
    const auto found = plan.beside.find(name);
    if (found != plan.beside.end()) return found->second;
    return failure(ErrorCode::kNotFound, "the saved plan does not contain it");
  };
  auto loaded = load_cluster(plan.source, file, builtin_registry(), as_saved);
  if (!loaded.cluster) {
    const auto found = std::find_if(loaded.diagnostics.begin(), loaded.diagnostics.end(),
                                    [](const Diagnostic& one) { return one.severity == Severity::kError; });
    const std::string why = found == loaded.diagnostics.end() ? "it is invalid" : found->message;
    return failure(ErrorCode::kInvalidInput, "the cluster.yaml in the saved plan cannot be loaded: " + why,
                   "make a new plan: sparkplan plan -o PLAN");
  }
  if (loaded.beside != plan.beside) {
    return failure(ErrorCode::kInvalidInput, "the saved plan contains files that its cluster.yaml does not name",
                   "make a new plan: sparkplan plan -o PLAN");
  }
  SPARK_CHECK(check_belongs(plan, *loaded.cluster, loaded.diagnostics, builtin_registry()));
  return loaded;
}

}  // namespace

Result<std::optional<std::string>> read_plan_text(const std::string& path) {
  const auto file = open_to_read(path);
  auto text = beginning_of(file);
  if (!text || !is_saved_plan(*text)) return std::optional<std::string>();
  // At once: a text that grows is copied.
  struct stat status {};
  if (::fstat(file.get(), &status) == 0)
    text->reserve(std::min(static_cast<std::size_t>(status.st_size), kMostPlanBytes));
  SPARK_CHECK(append_up_to(file.get(), kMostPlanBytes, "the plan", *text));
  if (text->size() > kMostPlanBytes)
    return failure(ErrorCode::kInvalidInput, path + " is larger than any plan that sparkplan makes");
  return text;
}

Error why_no_saved_plan(const std::string& path) {
  constexpr const char* kHint = "save a plan with `sparkplan plan -o PLAN`";
  auto read = read_regular_file(path, kBeginning);
  if (!read) {
    Error error = std::move(read).error();
    error.hint = kHint;
    return error;
  }
  return make_error(ErrorCode::kInvalidInput, path + (read->empty() ? " is empty" : " is not a saved plan"), kHint);
}

Result<std::optional<OpenedPlan>> open_saved_plan(const std::string& path, const SignerOptions& signer) {
  SPARK_TRY(auto text, read_plan_text(path));
  if (!text && !signer.wanted()) return std::optional<OpenedPlan>();
  if (!text) {
    Error error = why_no_saved_plan(path);
    error.hint = "use --signed-by and --allowed-signers only with a plan that `sparkplan plan -o PLAN` saved";
    return failure(std::move(error));
  }
  OpenedPlan opened;
  if (signer.wanted()) {
    SPARK_TRY(opened.signature, verify_plan_signature(*text, path, signer));
  }
  auto plan = decode_saved_plan(std::move(*text));
  if (!plan) return failure(std::move(plan).error().within(path));
  opened.plan = std::move(*plan);
  auto loaded = load_embedded(opened.plan);
  if (!loaded) return failure(std::move(loaded).error().within(path));
  opened.loaded = std::move(*loaded);
  return std::optional(std::move(opened));
}

ExitCode exit_code_of_plan(const Error& error) {
  return error.code == ErrorCode::kRefused ? ExitCode::kRefused : ExitCode::kUsage;
}

Result<void> check_plan_destination(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    const auto directory = fs::path(path).parent_path();
    std::error_code unreadable;
    if (directory.empty() || fs::is_directory(directory, unreadable)) return {};
    return failure(ErrorCode::kInvalidInput, "there is no directory " + directory.string() + " to save the plan in",
                   "create it, or name another file");
  }
  const auto text = beginning_of(open_to_read(path));
  if (text && (text->empty() || is_saved_plan(*text))) return {};
  return failure(ErrorCode::kInvalidInput, path + " already exists and is not a saved plan: it is not replaced",
                 "give the plan another name, or remove that file");
}

Result<void> write_saved_plan(const std::string& path, SavedPlan plan) {
  const Value whole = sealed(std::move(plan));
  PlanSize size;
  encode_short_json(whole, kPlanIndent, [&](std::string_view piece) { size.add(piece); });
  if (size.is_too_large()) {
    return failure(ErrorCode::kInvalidInput, "the plan is too large to be saved",
                   "save it in parts: --only NODE or --only NODE/TYPE");
  }
  // In pieces: the text can take twice as much memory as the plan.
  const auto write = [&](int file) -> Result<void> {
    int lost = 0;
    encode_short_json(whole, kPlanIndent, [&](std::string_view piece) {
      if (lost == 0 && !write_fully(file, piece)) lost = errno;
    });
    if (lost != 0) return failure(system_error("write " + path, lost));
    return write_all(file, "\n", path);
  };
  SPARK_CHECK(write_new_file(path, write, true, 0600));
  const auto directory = fs::path(path).parent_path();
  const FileDescriptor parent(::open(directory.empty() ? "." : directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!parent.valid() || ::fsync(parent.get()) != 0)
    return failure(system_error("write " + path + " to the disk", errno));
  return {};
}

}  // namespace sparkplan
