#include "engine/copy/images/image_store.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>

#include "engine/copy/images/image_archive.h"
#include "engine/copy/images/image_name.h"
#include "engine/copy/images/image_reduction.h"
#include "engine/core/bounded_text.h"
#include "engine/core/json.h"
#include "engine/core/number_format.h"
#include "engine/core/text.h"
#include "engine/core/tree.h"
#include "engine/core/value.h"
#include "engine/model/container_image.h"
#include "engine/process/child_process.h"

namespace sparkplan::copy {
namespace {

constexpr std::chrono::seconds kLookPatience{60};
/// 100 GB at 10 MB/s.
constexpr std::chrono::seconds kArchivePatience{10'000};
constexpr std::size_t kMostOutput = std::size_t{4} << 20;
constexpr std::size_t kShownImageName = 255;
constexpr std::size_t kMostOwnImages = 1000;
constexpr const char* kUnfinished = "image.tar.part";
constexpr const char* kOciFormat = "oci-archive";
constexpr std::string_view kStagesOfRoot = "/var/lib/sparkplan/images/";
constexpr std::string_view kStagesInHome = "/.local/state/sparkplan/images/";
constexpr std::size_t kLengthOfStage = 32;

/// A JSON list of digests. Empty if it is none.
std::vector<std::string> layers_from(std::string_view json) {
  const auto list = parse_plain_json(std::string(trim(json)));
  if (!list || !list->is_list() || items_of(*list).size() > kMostImageLayers) return {};
  std::vector<std::string> layers;
  for (const Value& one : items_of(*list)) {
    const auto digest = image_id_from(text_of(&one));
    if (!digest) return {};
    layers.push_back(*digest);
  }
  return layers;
}

/// The engines look for their configuration in the home, and podman for its sockets in XDG_RUNTIME_DIR.
void set_environment(const Account& account) {
  if (account.home.empty()) return;
  const auto set = [](const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); };
  set("HOME", account.home);
  set("USER", account.name);
  set("LOGNAME", account.name);
  set("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
  const std::string runtime = "/run/user/" + std::to_string(account.user);
  if (account.user != 0 && ::access(runtime.c_str(), X_OK) == 0) {
    set("XDG_RUNTIME_DIR", runtime);
  } else {
    ::unsetenv("XDG_RUNTIME_DIR");
  }
  // Podman refuses to work in a directory that its user cannot read.
  (void)!::chdir("/");
}

/// As docker names it: GOARCH of Go.
std::string own_architecture() {
  utsname machine{};
  ::uname(&machine);
  const std::string name = machine.machine;
  if (name == "x86_64") return "amd64";
  return name == "aarch64" ? "arm64" : name;
}

}  // namespace

ImageStore::ImageStore(ContainerEngine engine, std::string name, const Account& account,
                       std::function<void()> sign_of_life, std::string program)
    : engine_(engine),
      name_(std::move(name)),
      sign_of_life_(std::move(sign_of_life)),
      program_(program.empty() ? engine_name() : std::move(program)) {
  set_environment(account);
}

std::string ImageStore::engine_name() const { return std::string(to_string(engine_)); }

Result<ImageStore::Ended> ImageStore::run(std::vector<std::string> arguments, std::chrono::seconds deadline) const {
  arguments.insert(arguments.begin(), program_);
  CaptureLimits limits;
  limits.deadline = deadline;
  limits.max_bytes = kMostOutput;
  limits.sign_of_life = sign_of_life_;
  // Otherwise the engine would finish an archive that the controller no longer asks for.
  limits.ends_with_us = true;
  auto ended = run_and_capture(arguments, limits);
  if (!ended && ended.error().code == ErrorCode::kNotFound) {
    return failure(ErrorCode::kNotFound, engine_name() + " is not installed",
                   "install it, or name the other engine in `images`");
  }
  if (!ended) return failure(std::move(ended).error());
  constexpr std::size_t kLastWords = 400;
  const std::string& error = ended->standard_error;
  const std::string words = error.substr(error.size() > kLastWords ? error.size() - kLastWords : 0);
  return Ended{ended->exit_status, std::move(ended->standard_output), shown_text(trim(words), kLastWords)};
}

tl::unexpected<Error> ImageStore::failed(const std::string& what, const Ended& ended) const {
  return failure(ErrorCode::kFailed,
                 engine_name() + " " + what + " ended with " + std::to_string(ended.status) + ": " + ended.words);
}

Result<CopyImageState> ImageStore::look() const {
  SPARK_TRY(const auto ended,
            run({"image", "inspect", "--format", "{{.Id}} {{.Size}} {{json .RootFS.Layers}}", name_}, kLookPatience));
  if (ended.status == 0) return image_state_from(ended.output);
  if (says_no_such_image(ended.words)) return CopyImageState{};
  return failed("image inspect", ended);
}

/// An archive of the other format would have a configuration of another digest, which is the image's id.
Result<std::string> ImageStore::archive_format() const {
  SPARK_TRY(const auto ended, run({"image", "inspect", "--format", "{{.ManifestType}}", name_}, kLookPatience));
  if (ended.status != 0) return failed("image inspect", ended);
  return std::string(ended.output.find("oci") != std::string::npos ? kOciFormat : "docker-archive");
}

Result<bool> ImageStore::packs_layers() const {
  if (engine_ == ContainerEngine::kPodman) return false;
  SPARK_TRY(const auto ended, run({"info", "--format", "{{json .DriverStatus}}"}, kLookPatience));
  if (ended.status != 0) return failed("info", ended);
  return ended.output.find("containerd.snapshotter") != std::string::npos;
}

/// docker's store of containerd keeps packed layers, whose digests its images do not name. False if docker does not
/// answer.
bool ImageStore::loads_parts() const {
  const auto packs = packs_layers();
  return packs && !*packs;
}

std::size_t ImageStore::known_layers(const std::vector<std::string>& layers) const {
  if (layers.empty() || !loads_parts()) return 0;
  const auto listed = run({"image", "ls", "--quiet", "--no-trunc"}, kLookPatience);
  if (!listed || listed->status != 0) return 0;
  std::vector<std::string> inspect{"image", "inspect", "--format", "{{json .RootFS.Layers}}"};
  const std::size_t words = inspect.size();
  for (const auto line : split(listed->output, '\n')) {
    if (const auto id = image_id_from(trim(line)); id && inspect.size() - words < kMostOwnImages)
      inspect.push_back(*id);
  }
  if (inspect.size() == words) return 0;
  // An image may vanish meanwhile: the engine prints the others.
  const auto ended = run(std::move(inspect), kLookPatience);
  std::size_t known = 0;
  if (!ended) return known;
  for (const auto line : split(ended->output, '\n')) known = std::max(known, shared_layers(layers, layers_from(line)));
  return known;
}

void drop_received_archive(const Tree& tree, const DigestIndex& index) {
  const std::string name(kImageArchive);
  const auto status = tree.status_of(name);
  if (status && index.is_brought(name, stamp_of(*status))) (void)::unlinkat(tree.root(), name.c_str(), 0);
}

Result<void> ImageStore::save(const Tree& tree, const std::string& path, const std::string& id,
                              std::size_t left_out) const {
  if (tree.status_of(std::string(kImageArchive))) return {};
  std::vector<std::string> arguments{"save"};
  if (engine_ == ContainerEngine::kPodman) {
    SPARK_TRY(const auto format, archive_format());
    arguments.insert(arguments.end(), {"--format", format});
    // The configuration has the digests of unpacked layers, with which the receivers compare them.
    if (format == kOciFormat) arguments.emplace_back("--uncompressed");
  }
  (void)::unlinkat(tree.root(), kUnfinished, 0);
  // Of a name without a tag, docker would save all images with any tag. podman has names in its own spelling.
  const std::string name = engine_ == ContainerEngine::kDocker ? with_tag(name_) : name_;
  arguments.insert(arguments.end(), {"--output", path + "/" + kUnfinished, name});
  SPARK_TRY(const auto ended, run(std::move(arguments), kArchivePatience));
  if (ended.status != 0) {
    (void)::unlinkat(tree.root(), kUnfinished, 0);
    return failed("save", ended);
  }
  if (auto shortened = shorten(tree, id, left_out); !shortened) {
    (void)::unlinkat(tree.root(), kUnfinished, 0);
    return shortened;
  }
  if (::renameat(tree.root(), kUnfinished, tree.root(), std::string(kImageArchive).c_str()) == 0) return {};
  return failure(system_error("give the archive its name", errno));
}

Result<void> ImageStore::shorten(const Tree& tree, const std::string& id, std::size_t left_out) const {
  if (left_out == 0) return {};
  SPARK_TRY(const auto archive, tree.open_file(kUnfinished, O_RDWR));
  return leave_out_layers(archive.get(), {engine_, name_, id, left_out}, sign_of_life_);
}

Result<void> ImageStore::load(const Tree& tree, const std::string& path, const std::string& id,
                              std::size_t left_out) const {
  SPARK_TRY(const auto archive, tree.open_file(std::string(kImageArchive), O_RDONLY));
  SPARK_TRY(const bool packs, packs_layers());
  const ExpectedImage expected{engine_, name_, id, left_out, own_architecture(), packs};
  SPARK_CHECK(check_archive(archive.get(), expected, sign_of_life_));
  SPARK_CHECK(check_left_out(archive.get(), expected, [this](const auto& digests) { return known_layers(digests); }));
  SPARK_TRY(const auto ended, run({"load", "--input", path + "/" + std::string(kImageArchive)}, kArchivePatience));
  // docker with a store of containerd ends well also after an error.
  const bool is_unpacked = ended.output.find("Error unpacking image") == std::string::npos;
  if (ended.status == 0 && is_unpacked) return {};
  auto error = is_unpacked ? failed("load", ended)
                           : failure(ErrorCode::kFailed, engine_name() + " could not unpack the image that it loaded",
                                     "look at the log of " + engine_name() + " there, and at the image on the source");
  if (left_out > 0) error.value().hint = "`sparkplan sync --verify` sends the layers that this node has, too";
  return error;
}

CopyImageState ImageStore::storage(const Tree& stage) const {
  if (!loads_parts()) return {};
  const bool is_docker = engine_ == ContainerEngine::kDocker;
  const auto ended =
      run({"info", "--format", is_docker ? "{{.DockerRootDir}}" : "{{.Store.GraphRoot}}"}, kLookPatience);
  if (!ended || ended->status != 0) return {};
  return storage_at(std::string(trim(ended->output)), stage);
}

bool ImageStore::has(const std::string& id) const {
  const auto ended = run({"image", "inspect", "--format", "{{.Id}}", id}, kLookPatience);
  return !ended || ended->status == 0 || !says_no_such_image(ended->words);
}

Result<void> ImageStore::prune(const std::string& id, bool remove, CopyPruned& pruned) const {
  SPARK_TRY(const auto ended, run({"image", "inspect", "--format", "{{.Size}} {{json .RepoTags}}", id}, kLookPatience));
  if (ended.status != 0 && says_no_such_image(ended.words)) return {};
  if (ended.status != 0) return failed("image inspect", ended);
  const std::string_view text = trim(ended.output);
  const auto blank = std::min(text.find(' '), text.size());
  const auto state = image_state_from(id + " " + std::string(text.substr(0, blank)));
  const auto names = parse_plain_json(std::string(text.substr(blank)));
  if (!state || !names) return failure(ErrorCode::kFailed, "the engine describes its image in another way");
  for (const Value& name : items_of(*names)) {
    if (is_same_name(engine_, name_, text_of(&name))) continue;
    ++pruned.kept_files;
    pruned.kept.push_back(shown_text(text_of(&name), kShownImageName));
    return {};
  }
  ++pruned.files;
  pruned.bytes += state->bytes;
  if (!remove) return {};
  SPARK_TRY(const auto removed, run({"image", "rm", id}, kArchivePatience));
  return removed.status == 0 ? Result<void>() : failed("image rm", removed);
}

Result<CopyImageState> image_state_from(const std::string& text) {
  const auto words = split(trim(text), ' ');
  CopyImageState state;
  if (words.size() == 2 || words.size() == 3) {
    const auto id = image_id_from(words[0]);
    state.bytes = parse_number(words[1]).value_or(-1);
    if (id && state.bytes >= 0) {
      state.id = *id;
      if (words.size() == 3) state.layers = layers_from(words[2]);
      return state;
    }
  }
  return failure(ErrorCode::kFailed, "the engine describes its image in another way: " + shown_text(text, 100));
}

std::string path_of_stage(const std::string& stage, const Account& account) {
  return (account.user == 0 ? std::string(kStagesOfRoot) : "~" + std::string(kStagesInHome)) + stage;
}

bool is_path_of_stage(const std::string& path) {
  const auto end = path.rfind('/');
  if (end == std::string::npos) return false;
  const auto folder = std::string_view(path).substr(0, end + 1);
  const auto stage = std::string_view(path).substr(end + 1);
  const bool is_stage = stage.size() == kLengthOfStage && stage.find_first_not_of("0123456789abcdef") == stage.npos;
  return is_stage && (folder == kStagesOfRoot || folder.ends_with(kStagesInHome));
}

CopyImageState storage_at(const std::string& folder, const Tree& stage) {
  struct stat of_store {};
  struct stat of_stage {};
  struct statvfs space {};
  const bool is_there = is_engine_folder(folder) && ::stat(folder.c_str(), &of_store) == 0 &&
                        S_ISDIR(of_store.st_mode) && ::statvfs(folder.c_str(), &space) == 0;
  CopyImageState state;
  if (!is_there) return state;
  state.store = folder;
  state.store_free_bytes = static_cast<std::int64_t>(space.f_bavail) * static_cast<std::int64_t>(space.f_frsize);
  state.store_shared = ::fstat(stage.root(), &of_stage) == 0 && of_stage.st_dev == of_store.st_dev;
  if (!state.store_shared) return state;
  const auto archive = stage.status_of(std::string(kImageArchive));
  const std::int64_t there = archive ? std::min<std::int64_t>(archive->st_size, kLargestCopyFile) : 0;
  state.store_free_bytes += stage.partial_bytes() + there;
  return state;
}

CopyPruned prune_archive(const Tree& tree, bool remove) {
  CopyPruned pruned;
  for (const std::string& name : {std::string(kImageArchive), std::string(kUnfinished)}) {
    const auto status = tree.status_of(name);
    if (status) {
      ++pruned.files;
      pruned.bytes += status->st_size;
    }
    if (remove) (void)::unlinkat(tree.root(), name.c_str(), 0);
  }
  const std::int64_t partial = tree.partial_bytes();
  if (partial > 0) ++pruned.files;
  pruned.bytes += partial;
  if (remove) tree.remove_partial_folder();
  return pruned;
}

}  // namespace sparkplan::copy
