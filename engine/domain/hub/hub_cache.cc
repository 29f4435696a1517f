#include "engine/domain/hub/hub_cache.h"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/core/ascii.h"
#include "engine/core/text.h"
#include "engine/core/tree.h"

namespace sparkplan {
namespace {

/// The first variable that is set decides. The second text is the cache below its value.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kVariables{{
    {"HF_HUB_CACHE", ""},
    {"HUGGINGFACE_HUB_CACHE", ""},
    {"HF_HOME", "/hub"},
    {"XDG_CACHE_HOME", "/huggingface/hub"},
}};

bool is_plain(std::string_view path) {
  if (!path.starts_with('/') && !path.starts_with("~/")) return false;
  if (path.find('$') != std::string_view::npos) return false;
  const auto parts = split(path, '/');
  return std::none_of(parts.begin(), parts.end(), [](std::string_view part) { return part == ".."; });
}

}  // namespace

const MapEntry* hub_cache_variable(const Value* variables) {
  for (const auto& [name, below] : kVariables) {
    const MapEntry* entry = variables != nullptr ? variables->find_entry(name) : nullptr;
    if (entry != nullptr && !entry->value.is_null()) return entry;
  }
  return nullptr;
}

Result<std::string> hub_cache(const Value* variables) {
  const MapEntry* entry = hub_cache_variable(variables);
  if (entry == nullptr) return "~/.cache/huggingface/hub";
  const std::string* text = entry->value.string();
  if (text == nullptr || !is_plain(*text)) {
    return failure(ErrorCode::kInvalidInput, entry->key + " does not name the directory of the cache",
                   "write an absolute path, or one that begins with ~/");
  }
  std::string path = *text;
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  const auto* known = std::ranges::find_if(kVariables, [&](const auto& one) { return one.first == entry->key; });
  return path + std::string(known->second);
}

std::string hub_folder(std::string_view model) {
  std::string folder = "models";
  for (const auto part : split(model, '/')) folder += "--" + std::string(part);
  return folder;
}

bool is_hub_name(std::string_view model) {
  constexpr std::size_t kLongest = 96;
  const auto is_word = [](char c) { return is_alphanumeric(c) || c == '_'; };
  const auto parts = split(model, '/');
  if (parts.size() > 2 || model.size() > kLongest || model.ends_with(".git")) return false;
  if (model.find("--") != std::string_view::npos || model.find("..") != std::string_view::npos) return false;
  return std::all_of(parts.begin(), parts.end(), [&](std::string_view part) {
    if (part.empty() || !is_word(part.front()) || !is_word(part.back())) return false;
    return std::all_of(part.begin(), part.end(), [&](char c) { return is_word(c) || c == '-' || c == '.'; });
  });
}

}  // namespace sparkplan
