#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/core/shape.h"
#include "engine/model/cluster.h"
#include "engine/model/facts.h"
#include "engine/model/plan.h"
#include "engine/model/resource.h"
#include "engine/node/node.h"

namespace sparkplan {

/// A directory whose files a volatile one overrides by name: what is tried out there is gone with the
/// next boot.
struct StagingDirectory {
  std::string directory;       ///< "/etc/netplan"
  std::string volatile_twin;   ///< "/run/netplan"
  std::string absent_content;  ///< What stands for a file that is to be gone: it says nothing.
};

/// Records of a section that may name a text file beside cluster.yaml instead of holding the text.
struct FileBeside {
  std::string name_field;  ///< "source": a path below the directory of cluster.yaml.
  std::string text_field;  ///< "content": where the type finds the text; the name is gone then.
};

/// Artifacts of a type's own kind.
struct OwnArtifacts {
  std::string kind;  ///< ArtifactId::kind
  Shape value;       ///< Present::value of each.
};

/// What a node may report of a type. The controller holds every reply to it (engine/resource/reported.h) before
/// anything of the type's sees it.
struct ReportedShapes {
  /// Present::value of a resource, and what was last applied of one. Fields that desired() may leave out are optional.
  Shape resource = Shape::anything();
  std::vector<OwnArtifacts> artifacts = {};      ///< None for a type of files and blocks only.
  std::optional<Shape> exported = std::nullopt;  ///< Nothing: the type exports nothing.
  /// So many resources of the type on one node, artifacts of it, and claims on them. Less where the type's functions
  /// compare each with each.
  std::size_t most = 10'000;
};

/// What the engine must know of a type without asking it anything.
struct TypeInfo {
  std::string name;     ///< "sysctl": first part of ids, folder name.
  std::string section;  ///< YAML key it compiles from.
  Phase phase = Phase::kFiles;
  std::string summary;             ///< One line for `sparkplan types`.
  std::string schema_json;         ///< JSON Schema (draft 7) of the section's body.
  std::vector<std::string> files;  ///< What it owns on a node, for `sparkplan types`.
  Impact impact_of_removal = Impact::kLive;
  Reversible reversible_of_removal = Reversible::kExact;
  bool checks_effect = false;                    ///< check_effect() has something to say.
  bool exports_everywhere = false;               ///< exports() is asked where the section is not, too: it is void then.
  std::optional<StagingDirectory> staging = {};  ///< Where its files wait until a disruptive step is confirmed.
  std::optional<FileBeside> file_beside = {};    ///< The section is a list whose records may name files.
  ReportedShapes reported = {};
};

/// Exports of one node, by type: what its observe side offers to every node's desired().
using NodeExports = std::map<std::string, Value>;

/// Field of an export, there and true if its node has taken no further part in the run since: what it has is still
/// told, and nothing follows from what it has not. Only where TypeInfo::exports_everywhere.
constexpr std::string_view kOutdatedExport = "outdated";

/// The whole cluster as a type's desired() may see it.
struct ClusterView {
  const Cluster& cluster;
  const NodeSpec& self;
  /// node name -> exports. A node that has not answered, or a value that no one has made yet,
  /// is simply missing: use export_or_unknown().
  const std::map<std::string, NodeExports>& exports;
  /// --allow-mgmt-change: of the interface that carries our connection, what somebody else's file says does
  /// not hold any more.
  bool allow_management_change = false;

  /// The export of `type` on `node` below `key`, or an Unknown that names the node as producer.
  Value export_or_unknown(const NodeName& node, std::string_view type, std::string_view key) const;
};

/// What a section asks for on one node, and what is wrong with it in the light of the facts.
struct Desired {
  std::vector<Resource> resources;
  std::vector<Diagnostic> diagnostics;
  /// Findings about several nodes, from what they export. None of them is refused for what another one claims.
  std::vector<Diagnostic> about_several;
  /// A safety rule says no (the interface that carries our connection would go): nothing at all is
  /// written on this node, the others go on, exit 9. Its code is kRefused.
  std::optional<Error> refused;
  /// The section asks for more than could be told (the diagnostics say why): what is managed already
  /// is left as it is, rather than taken for no longer wanted.
  bool incomplete = false;
};

/// What to look at. Orphans (owned by the manifest, no longer desired) are included.
struct ObserveRequest {
  std::vector<std::string> names;
};

/// The pure input of ResourceType::steps().
struct StepsInput {
  /// What every resource of the type is to be after this stage: the desired value where its change
  /// is carried out now, the observed one where it is not (filtered out, blocked, failed before).
  /// Resources that are to be absent are not in it. They stand with whoever asks for the steps.
  std::vector<std::reference_wrapper<const Resource>> target;
  const ObservedType& observed;
  /// The changes to carry out; for which resources steps are wanted. They stand in the plan.
  std::vector<std::reference_wrapper<const Change>> changes;
  /// What artifacts were before sparkplan came; only those it has written.
  std::map<ArtifactId, Observation> originals;

  /// What that resource is to be; null where it is to be absent.
  const Resource* target_of(const ResourceId& id) const;
};

/// An artifact that a tool of the node's own will not take, and why.
struct Objection {
  ArtifactId artifact;
  Error error;
};

/// One kind of managed thing: kernel parameters, limits, units ... Stateless, immutable, shared by
/// all threads. Contract, checked for every registered type by tests/unit/resources/contract_test.cc
/// on resources/<name>/cases/:
///   converges   carrying out steps() and observing again leaves an empty diff
///   idempotent  the diff of a state against itself is empty, also for 0, "" and false
///   reversible  carrying out the inverse steps restores what was observed before
///   read-only   observe() and exports() never write (they get no Node to do it with)
class ResourceType {
 public:
  virtual ~ResourceType() = default;

  virtual const TypeInfo& info() const = 0;

  /// Pure. Compiles one schema-checked section into resources with stable ids and canonical values
  /// (units resolved, blanks folded, lists sorted where order has no meaning).
  virtual Desired desired(const ClusterView& view, const Value& section, const Facts& own) const = 0;

  /// Pure. The inverse of desired(), for `init`: a section of which desired(view, section, own) makes `applied`
  /// (resource name to the value that was last applied). What it says of the whole cluster is the same on every
  /// node. Nothing where there is no such section, or the type has no way back.
  virtual std::optional<Value> section_from(const ClusterView& view, const std::map<std::string, Value>& applied,
                                            const Facts& own) const;

  /// Pure. What neither the schema nor facts are needed for: names outside their grammar, clashes
  /// inside one section. Called at validate for every node; reports every finding.
  virtual std::vector<Diagnostic> validate(const Value& section) const;

  /// I/O, read-only. What this node offers to all others, as far as the node's own `section` asks
  /// for it (void where only TypeInfo::exports_everywhere asks); null when nothing yet. Most types: null. An
  /// Error blocks nobody: to the others it is as if nothing had been made yet.
  virtual Result<Value> exports(const Value& section, const NodeReader& node) const;

  /// I/O, read-only. The present state in the same canonical form as desired().
  virtual ObservedType observe(const ObserveRequest& request, const NodeReader& node) const = 0;

  /// Pure. Fields to change, sorted by path; empty means in sync. The default compares the fields
  /// named in `resource.desired` and ignores all others and those that are not applicable.
  virtual std::vector<FieldChange> diff(const Resource& resource, const Present& present) const;

  /// Pure. Which artifacts must become what, in the order to be carried out, so that `target`
  /// holds. File artifacts are written by the engine; for all others the type's own
  /// read_artifact() and apply() are called on the node.
  virtual std::vector<Step> steps(const StepsInput& input) const = 0;

  /// Pure. A safety rule against carrying out `changes`, all those of this type on one node: the interface
  /// that carries our connection would change. Then nothing at all is written there (kRefused), unless
  /// the user has lifted the rule with --allow-mgmt-change.
  virtual std::optional<Error> refuses(const std::vector<Change>& changes, const Facts& own) const;

  /// I/O, read-only. An artifact of this type's own kind as it is now, for compare-and-swap and for
  /// the journal. Never called for files.
  virtual Observation read_artifact(const ArtifactId& artifact, const NodeReader& node) const;

  /// I/O. Before the first write of a run: asks the node's own tools whether they take what `steps`,
  /// all those of this type, are going to write. Writes nothing outside Node::make_scratch_directory(), but for caches.
  /// An artifact that meets an objection is not written, nor is anything else of its group.
  virtual std::vector<Objection> prepare(std::span<const Step> steps, Node& node) const;

  /// I/O, read-only. After an apply: what of `desired` (by resource name) does not take effect for
  /// reasons outside of what this type manages. Shown as warnings, never a change nor an exit code.
  virtual std::vector<Ineffective> check_effect(const std::map<std::string, Value>& desired,
                                                const NodeReader& node) const;

  /// I/O. Makes an artifact of this type's own kind be `after`, whatever it is now; may be called
  /// again after a crash. Never called for files. Errors: any; the step's group is undone.
  virtual Result<void> apply(const ArtifactId& artifact, const Observation& after, Node& node) const;
};

}  // namespace sparkplan
