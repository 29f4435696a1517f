#pragma once

#include <functional>

#include "engine/agent/journal.h"
#include "engine/agent/local_node.h"
#include "engine/core/result.h"
#include "engine/model/manifest.h"
#include "engine/resource/registry.h"
#include "engine/wire/messages.h"

namespace sparkplan {

/// Carries out steps on this node: all compared first, originals on the disk before the first act,
/// each intent journaled, a failed group undone last step first.
class StepExecutor {
 public:
  /// `stop_asked` is called between steps.
  StepExecutor(const Registry& registry, LocalNode& node, Journal& journal, std::function<bool()> stop_asked);

  /// Keeps `manifest` and its file up to date with what was written.
  /// Errors: only when nothing could be begun (the manifest or journal cannot be written); the
  /// failures of single steps are in the reply.
  Result<ApplyReply> carry_out(const std::vector<Step>& steps, Manifest& manifest);

 private:
  void compare(const Step& step, StepResult& result) const;
  Result<void> record_originals(const std::vector<Step>& steps, const ApplyReply& reply, Manifest& manifest);
  void carry_out_one(const Step& step, StepResult& result);
  void undo_group(const std::vector<Step>& steps, std::size_t failed, ApplyReply& reply);
  const ResourceType& type_of(const Step& step) const;

  const Registry& registry_;
  LocalNode& node_;
  Journal& journal_;
  std::function<bool()> stop_asked_;
};

}  // namespace sparkplan
