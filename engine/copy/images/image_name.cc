#include "engine/copy/images/image_name.h"

#include <algorithm>

namespace sparkplan::copy {
namespace {

std::string whole_name(const NameParts& parts) {
  const std::string registry = parts.registry.empty() ? "docker.io" : parts.registry;
  const bool is_official = registry == "docker.io" && parts.rest.find('/') == std::string::npos;
  return registry + "/" + (is_official ? "library/" : "") + parts.rest;
}

}  // namespace

std::string with_tag(const std::string& name) {
  const auto last = name.rfind('/');
  const bool has_tag = name.find(':', last == std::string::npos ? 0 : last) != std::string::npos;
  return has_tag ? name : name + ":latest";
}

NameParts image_name_parts(const std::string& name) {
  NameParts parts;
  const auto slash = name.find('/');
  const std::string first = slash == std::string::npos ? "" : name.substr(0, slash);
  const bool has_capital = std::any_of(first.begin(), first.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
  const bool is_registry = first.find_first_of(".:") != std::string::npos || first == "localhost" || has_capital;
  if (is_registry) parts.registry = first == "index.docker.io" ? "docker.io" : first;
  parts.rest = with_tag(is_registry ? name.substr(slash + 1) : name);
  return parts;
}

bool is_same_name(ContainerEngine engine, const std::string& declared, const std::string& found) {
  const NameParts own = image_name_parts(declared);
  const NameParts other = image_name_parts(found);
  if (whole_name(own) == whole_name(other)) return true;
  const bool is_short = engine == ContainerEngine::kPodman && own.registry.empty() && !other.registry.empty();
  return is_short && (other.rest == own.rest || other.rest == "library/" + own.rest);
}

}  // namespace sparkplan::copy
