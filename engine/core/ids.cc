#include "engine/core/ids.h"

#include <algorithm>

#include "engine/core/ascii.h"
#include "engine/core/text.h"

namespace sparkplan {
namespace {

constexpr std::size_t kLongestNodeName = 63;

// Not std::isalnum(): valid host names do not depend on the locale.
bool is_label(std::string_view label) {
  return !label.empty() && label.front() != '-' && label.back() != '-' &&
         std::all_of(label.begin(), label.end(), [](char c) { return is_alphanumeric(c) || c == '-'; });
}

struct Halves {
  std::string first;
  std::string second;
};

Result<Halves> split_once(std::string_view text, char separator, std::string_view what, std::string_view form) {
  const auto place = text.find(separator);
  if (place == std::string_view::npos || place == 0 || place + 1 == text.size()) {
    return failure(ErrorCode::kInvalidInput, "\"" + printable(text) + "\" is not a valid " + std::string(what),
                   "write " + std::string(form));
  }
  return Halves{std::string(text.substr(0, place)), std::string(text.substr(place + 1))};
}

}  // namespace

Result<NodeName> NodeName::parse(std::string_view text) {
  const auto labels = split(text, '.');
  if (text.size() > kLongestNodeName || !std::all_of(labels.begin(), labels.end(), is_label)) {
    return failure(ErrorCode::kInvalidInput, "\"" + printable(text) + "\" is not a node name",
                   "use at most 63 letters, digits and '-' (not at an end), with dots between labels");
  }
  return NodeName(std::string(text));
}

bool is_run_id(std::string_view text) {
  constexpr std::size_t kLongest = 64;
  return !text.empty() && text.size() <= kLongest && text.front() != '.' &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_alphanumeric(c) || c == '-' || c == '.'; });
}

Result<ResourceId> ResourceId::parse(std::string_view text) {
  SPARK_TRY(auto halves, split_once(text, '/', "resource id", "TYPE/NAME"));
  return ResourceId{std::move(halves.first), std::move(halves.second)};
}

Result<ArtifactId> ArtifactId::parse(std::string_view text) {
  SPARK_TRY(auto halves, split_once(text, ':', "artifact id", "KIND:NAME"));
  return ArtifactId{std::move(halves.first), std::move(halves.second)};
}

}  // namespace sparkplan
