#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/resource/resource_type.h"

namespace sparkplan {

/// A type whose resources are the entries of one text: a file, or a marked block in a foreign file. It implements
/// observe() and steps(). The type itself compiles its section, and converts entries into text and back.
class TextEntriesType : public ResourceType {
 public:
  ObservedType observe(const ObserveRequest& request, const NodeReader& node) const final;
  std::vector<Step> steps(const StepsInput& input) const final;

 protected:
  /// `text` is of file_artifact() or block_artifact(). A new file has mode 0644.
  explicit TextEntriesType(ArtifactId text) : text_(std::move(text)) {}

  /// Pure. The whole text with these entries, at least one.
  virtual std::string render(const ValuesByName& entries) const = 0;
  /// Pure. The inverse for any text: an edited file has entries that sparkplan would not write, or none.
  virtual ValuesByName parse(std::string_view text) const = 0;

  /// I/O, read-only. Claims of foreign files on the resources `names`; `ours` are the entries that our text has now.
  /// None by default. Errors: any; all resources are blocked.
  virtual Result<std::vector<ForeignClaim>> claims(const std::vector<std::string>& /*names*/,
                                                   const ValuesByName& /*ours*/, const NodeReader& /*node*/) const {
    return std::vector<ForeignClaim>();
  }

  /// I/O, read-only. Adds what a type observes beside its text. Nothing by default.
  virtual void observe_more(const ObserveRequest& /*request*/, const NodeReader& /*node*/,
                            ObservedType& /*observed*/) const {}
  /// Pure. The steps beside the one for the text; they come before it. None by default.
  virtual std::vector<Step> more_steps(const StepsInput& /*input*/) const { return {}; }

 private:
  ArtifactId text_;
};

}  // namespace sparkplan
