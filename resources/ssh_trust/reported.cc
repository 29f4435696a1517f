#include <string>

#include "resources/ssh_trust/key_files.h"
#include "resources/ssh_trust/ssh_trust.h"
#include "resources/ssh_trust/trust_steps.h"

namespace sparkplan::ssh_trust {
namespace {

Shape word() { return Shape::text(Shape::kMostLineBytes); }

/// A person may have written lines of any length into our blocks.
Shape lines() { return Shape::list(Shape::text()); }

Shape user() {
  const Shape home =
      Shape::map({{"path", word()}, {"network", word()}, {"machine", word()}, {"local", word()}, {"remote", word()}});
  return Shape::map(
      {{"public_key", Shape::text()}, {"makes_key", Shape::boolean()}, {"root", Shape::boolean()}, {"home", home}});
}

}  // namespace

ReportedShapes reported_trust() {
  ReportedShapes reported;
  reported.resource = Shape::map({{kKeyField, Shape::text()},
                                  {"authorized.*", Shape::text()},
                                  {"known_hosts.*", lines()},
                                  {kUnexpectedField, lines()},
                                  {kConfigField, lines()}});
  reported.artifacts = {{std::string(kKeyKind), Shape::map({{"type", word()},
                                                            {"owner", word()},
                                                            {"mode", word()},
                                                            {"comment", Shape::text()},
                                                            {"public_file", Shape::text()},
                                                            {"public_file_is_no_public_key", Shape::boolean()}})},
                        {std::string(kAuthorizedKeysKind),
                         Shape::map({{"content", Shape::text()}, {std::string(kNotListed), Shape::line()}})}};
  reported.exported = Shape::map(
      {{"users", Shape::map_of(user())}, {"host_keys", Shape::list(Shape::text())}, {"addresses", Shape::texts()}});
  return reported;
}

}  // namespace sparkplan::ssh_trust
