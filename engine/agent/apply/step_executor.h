#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/agent/apply/secret_steps.h"
#include "engine/agent/node/local_node.h"
#include "engine/agent/state/journal.h"
#include "engine/core/result.h"
#include "engine/model/manifest.h"
#include "engine/resource/registry.h"
#include "engine/wire/messages.h"

namespace sparkplan {

/// Steps on trial: prepares the trial before the first step, and reports whether it still goes on.
class StepTrial {
 public:
  virtual ~StepTrial() = default;
  virtual Result<void> arm() = 0;
  virtual bool goes_on() const = 0;
};

/// Clears the intentions of these steps, which have ended with or without an effect.
void forget_intentions(const std::vector<Step>& steps, Manifest& manifest);

/// Records in the manifest that all these steps are done.
void record_as_done(const std::vector<Step>& steps, const std::map<ResourceId, Value>& after_steps, Manifest& manifest);

/// Carries out steps on this node:
/// - it compares all artifacts first, and the node's own tools check the steps;
/// - it stores the originals on disk before the first step;
/// - it journals each intent before the step;
/// - it undoes a failed group, last step first, and activations after the files;
/// - while an activation that ResourceType::begin() has begun goes on, it writes files of other types. Any other step
///   waits for its end, and so does the reply.
class StepExecutor {
 public:
  /// `stop_asked` is called between steps, `report` before each.
  StepExecutor(const Registry& registry, LocalNode& node, Journal& journal, std::function<bool()> stop_asked,
               std::function<void(std::string_view)> report);

  /// From now on, steps are on trial: all or none are kept, and the manifest records them only at the end of the trial.
  void put_on_trial(StepTrial& trial) { trial_ = &trial; }

  /// The values of the secrets in the steps. Without them, only values that a backup holds can be written.
  void use_secrets(const std::vector<SecretValue>& secrets) { secrets_.take(secrets); }

  /// Updates `manifest` and its file: the written artifacts, and of `after_steps` the resources whose steps are all
  /// done.
  /// Errors: only if nothing could begin (the manifest or journal cannot be written). The reply contains the failures
  /// of single steps.
  Result<ApplyReply> carry_out(const std::vector<Step>& steps, const std::map<ResourceId, Value>& after_steps,
                               Manifest& manifest);

 private:
  /// With `after_other_steps`, side effects of earlier steps of the run are accepted.
  void compare(const Step& step, bool after_other_steps, StepResult& result) const;
  void ask_the_nodes_own_tools(const std::vector<Step>& steps, ApplyReply& reply);
  Result<void> record_originals(const std::vector<Step>& steps, const ApplyReply& reply, Manifest& manifest);
  bool may_begin(const std::vector<Step>& steps, std::size_t index, const ApplyReply& reply) const;
  void carry_out_one(const std::vector<Step>& steps, std::size_t index, const Manifest& manifest, ApplyReply& reply);
  void note_outcome(const Step& step, Result<void> applied, StepResult& result);
  void end_activation(const std::vector<Step>& steps, ApplyReply& reply);
  void conclude(const std::vector<Step>& steps, std::size_t index, ApplyReply& reply);
  void journal_result(const Step& step, const StepResult& result);
  void undo_group(const std::vector<Step>& steps, std::size_t failed, ApplyReply& reply);
  void undo_one(const Step& step, StepResult& result);
  void put_back(const Step& step, StepResult& result);
  Result<void> write(const Step& step, const Observation& content);
  bool begin_trial(ApplyReply& reply);
  const ResourceType& type_of(const Step& step) const;

  const Registry& registry_;
  LocalNode& node_;
  Journal& journal_;
  std::function<bool()> stop_asked_;
  std::function<void(std::string_view)> report_;
  SecretSteps secrets_;
  StepTrial* trial_ = nullptr;

  /// An activation whose end is awaited later.
  struct BegunActivation {
    std::size_t index;  ///< Of its step.
    ActivationEnd end;
  };
  std::optional<BegunActivation> begun_;
};

}  // namespace sparkplan
