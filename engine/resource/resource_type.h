#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/core/shape.h"
#include "engine/model/cluster.h"
#include "engine/model/facts.h"
#include "engine/model/plan.h"
#include "engine/model/resource.h"
#include "engine/node/node.h"
#include "engine/resource/record_list.h"

namespace sparkplan {

/// A directory whose files a volatile directory overrides by name. A file on trial in the volatile directory disappears
/// at the next boot.
struct StagingDirectory {
  std::string directory;       ///< "/etc/netplan"
  std::string volatile_twin;   ///< "/run/netplan"
  std::string absent_content;  ///< Overrides a file that shall be absent; it has no effect itself.
};

/// Records of a section that may name a text file beside cluster.yaml instead of holding the text.
struct FileBeside {
  std::string name_field;  ///< "source": a path below the directory of cluster.yaml.
  std::string text_field;  ///< "content": holds the file's text for the type, which does not see the name.
};

/// Limit in bytes for the name of a resource or artifact: a path has at most 4096. Source: PATH_MAX, linux/limits.h.
inline constexpr std::size_t kLongestName = 4096;
/// For names of variables, users, modules and hosts. Source: LOGIN_NAME_MAX, limits.h.
inline constexpr std::size_t kLongestWordName = 256;

/// Artifacts of a type's own kind.
struct OwnArtifacts {
  std::string kind;  ///< ArtifactId::kind
  Shape value;       ///< Present::value of each.
};

/// Values that a node may report for a type. The controller checks every reply against them
/// (engine/resource/reported.h) before the type's code reads it.
struct ReportedShapes {
  /// Present::value of a resource, and its last applied value. Fields that desired() may leave out are optional.
  Shape resource = Shape::anything();
  std::vector<OwnArtifacts> artifacts = {};      ///< None for a type of files and blocks only.
  std::optional<Shape> exported = std::nullopt;  ///< Nothing: the type exports nothing.
  /// Limit for the type's resources on one node, for its artifacts and for claims on them. Lower if the type's
  /// functions compare each resource with each other one.
  std::size_t most = 10'000;
  /// Limit in bytes for the name of a resource in the node's manifest. A name stands in a text several times, so types
  /// whose names are words have kLongestWordName. It must accept every name that a file may have.
  std::size_t longest_name = kLongestName;
};

/// Static properties of a type.
struct TypeInfo {
  std::string name;     ///< "sysctl": first part of ids, folder name.
  std::string section;  ///< YAML key it compiles from.
  Phase phase = Phase::kFiles;
  std::string summary;             ///< One line for `sparkplan types`.
  std::string schema_json;         ///< JSON Schema (draft 7) of the section's body.
  std::vector<std::string> files;  ///< The files it owns on a node, for `sparkplan types`.
  Impact impact_of_removal = Impact::kLive;
  Reversible reversible_of_removal = Reversible::kExact;
  bool checks_effect = false;                    ///< The type implements check_effect().
  bool foresees = false;                         ///< The type implements foresee().
  bool exports_everywhere = false;               ///< exports() also runs on nodes without the section (void).
  std::optional<StagingDirectory> staging = {};  ///< For its files until a disruptive step is confirmed.
  std::optional<RecordList> records = {};        ///< For a section with a list of records; one type of it says so.
  std::optional<FileBeside> file_beside = {};    ///< The section is a list whose records may name files.
  ReportedShapes reported = {};
};

/// Exports of one node, by type: the values that it offers to every node's desired().
using NodeExports = std::map<std::string, Value>;

/// Field of an export: present and true if the node has not taken part in the run since it was read. Its entries are
/// still reported, but nothing follows from a missing entry. Only with TypeInfo::exports_everywhere.
constexpr std::string_view kOutdatedExport = "outdated";

class SecretValues;

/// The whole cluster as a type's desired() may see it.
struct ClusterView {
  const Cluster& cluster;
  const NodeSpec& self;
  /// node name -> exports. A node that has not answered is missing, and so is a value that does not exist yet: use
  /// export_or_unknown().
  const std::map<std::string, NodeExports>& exports;
  /// --allow-mgmt-change: for the interface that carries our connection, claims of foreign files no longer count.
  bool allow_management_change = false;
  /// The secrets that the command has read; null in commands that read none. See engine/resource/secret_artifact.h.
  const SecretValues* secrets = nullptr;

  /// The export of `type` on `node`; null without such an export.
  const Value* export_of(const NodeName& node, std::string_view type) const;
  /// The export of `type` on `node` below `key`, or an Unknown that names the node as producer.
  Value export_or_unknown(const NodeName& node, std::string_view type, std::string_view key) const;
};

/// The resources that a section requests on one node, and diagnostics that result from the facts.
struct Desired {
  std::vector<Resource> resources;
  std::vector<Diagnostic> diagnostics;
  /// Findings about several nodes, from the file or from their exports. Equal ones of several nodes are reported once.
  /// No node is refused because of another node's claim.
  std::vector<Diagnostic> about_several;
  /// A safety rule objects (the interface that carries our connection would be removed): nothing is written on this
  /// node, the other nodes continue, exit code 9. Its code is kRefused.
  std::optional<Error> refused;
  /// The section requests more than could be resolved; the diagnostics give the reason. Managed resources are then left
  /// unchanged instead of being treated as no longer desired.
  bool incomplete = false;
  /// As `incomplete`, for these resources alone: the file declares them, and no value in `resources` does.
  std::set<ResourceId> unresolved = {};
};

/// The resources to observe. Orphans (in the manifest, no longer desired) are included.
struct ObserveRequest {
  std::vector<std::string> names;
  /// The `names` whose content is a secret, now or after the apply. It is read as a secret_token().
  std::set<std::string> secret = {};
};

/// The pure input of ResourceType::steps().
struct StepsInput {
  /// The state of every resource of the type after this stage: the desired value if its change is carried out now,
  /// otherwise (filtered out, blocked, failed before) the observed one. Resources that shall be absent are missing. The
  /// caller of steps() owns the resources.
  std::vector<std::reference_wrapper<const Resource>> target;
  const ObservedType& observed;
  /// The changes to carry out; steps are wanted for their resources. The plan owns the changes.
  std::vector<std::reference_wrapper<const Change>> changes;
  /// Artifacts before the first write of sparkplan; only those that it has written.
  std::map<ArtifactId, Observation> originals;

  /// The resource in `target`; null if it shall be absent.
  const Resource* target_of(const ResourceId& id) const;
  /// The artifact as observed; null if it was not.
  const Observation* seen(const ArtifactId& artifact) const;
  /// The resource as observed, if it is Present; null otherwise.
  const Present* seen(const std::string& resource) const;
  /// The artifact before the first write of sparkplan; null if sparkplan never wrote it.
  const Observation* original(const ArtifactId& artifact) const;
};

/// Resource name -> its value.
using ValuesByName = std::map<std::string, Value>;

/// The desired values of the resources that a plan makes or changes on a node, by type. The value is null for types
/// without foresee(), because it may be large or secret.
using ChangesAhead = std::map<std::string, ValuesByName>;

/// The resources that these steps make or change, with null values. Steps that end with Absent are left out.
ChangesAhead changes_ahead(std::span<const Step> steps);

/// An artifact that one of the node's tools rejects, and the reason.
struct Objection {
  ArtifactId artifact;
  Error error;
};

/// Waits for the end of an activation that ResourceType::begin() has begun; called at most once. Errors: as
/// ResourceType::apply(). Empty: nothing has begun.
using ActivationEnd = std::function<Result<void>()>;

/// One kind of managed resource: kernel parameters, limits, units ... Stateless, immutable, shared by all threads.
/// Contract, checked for every registered type by tests/unit/resources/contract_test.cc on resources/<name>/cases/:
///   converges   after steps() are carried out, a new observation has an empty diff
///   idempotent  the diff of a state against itself is empty, also for 0, "" and false
///   reversible  carrying out the inverse steps restores the state observed before
///   read-only   observe() and exports() never write (they get no Node to do it with)
class ResourceType {
 public:
  virtual ~ResourceType() = default;

  const TypeInfo& info() const { return info_; }
  /// The registry embeds the schema.json of the type's folder; the constructor does not know it.
  void set_schema(std::string json) { info_.schema_json = std::move(json); }

  /// Pure. Compiles one schema-checked section into resources with stable ids and canonical values
  /// (units resolved, blanks folded, lists sorted where order has no meaning).
  virtual Desired desired(const ClusterView& view, const Value& section, const Facts& own) const = 0;

  /// Pure. The inverse of desired(), for `init`: a section from which desired(view, section, own) makes `applied`
  /// (resource name to the last applied value). Parts about the whole cluster are the same for every node. Nothing if
  /// there is no such section, or if the type has no inverse.
  virtual std::optional<Value> section_from(const ClusterView& /*view*/, const ValuesByName& /*applied*/,
                                            const Facts& /*own*/) const {
    return std::nullopt;
  }

  /// Pure. Checks that need neither the schema nor facts: names outside their grammar, conflicts inside one section.
  /// `validate` calls it for every node; it reports every finding.
  virtual std::vector<Diagnostic> validate(const Value& /*section*/) const { return {}; }

  /// I/O, read-only. Values that this node offers to all others, as far as the node's own `section` requests them. The
  /// section is void if only TypeInfo::exports_everywhere applies. Null if there is no value yet, and for most types.
  /// An Error blocks no other node: to them the value does not exist yet.
  virtual Result<Value> exports(const Value& /*section*/, const NodeReader& /*node*/) const { return Value(); }

  /// I/O, read-only. The current state in the same canonical form as desired().
  virtual ObservedType observe(const ObserveRequest& request, const NodeReader& node) const = 0;

  /// Pure. Fields to change, sorted by path; empty means in sync. The default compares the fields named in
  /// `resource.desired`. It ignores all others and those that are not applicable.
  virtual std::vector<FieldChange> diff(const Resource& resource, const Present& present) const;

  /// Pure. The changes of artifacts that establish `target`, in the order to be carried out. The engine writes file
  /// artifacts; for all others it calls the type's own read_artifact() and apply() on the node.
  virtual std::vector<Step> steps(const StepsInput& input) const = 0;

  /// Pure. A safety rule against `changes`, all of this type's changes on one node: the interface that carries our
  /// connection would change. Nothing is then written on the node (kRefused), unless the user has lifted the rule with
  /// --allow-mgmt-change.
  virtual std::optional<Error> refuses(const std::vector<Change>& /*changes*/, const Facts& /*own*/) const {
    return std::nullopt;
  }

  /// I/O, read-only. The current state of an artifact of this type's own kind, for compare-and-swap and for the
  /// journal. Never called for files.
  virtual Observation read_artifact(const ArtifactId& artifact, const NodeReader& node) const;

  /// Pure. True if a step that was planned for `before` may also run on `now`. An earlier step of the same run can have
  /// that side effect: apt installs a package because another package needs it. Default: false.
  virtual bool may_follow_from_other_steps(const Observation& /*before*/, const Observation& /*now*/) const {
    return false;
  }

  /// Pure. True if `step` may begin on `now`, which is another state than `step.before`: they differ only in what the
  /// step leaves to others. Default: false.
  virtual bool may_begin_on(const Step& /*step*/, const Observation& /*now*/) const { return false; }

  /// Pure. True if other machines, or a device that is gone, decide whether the artifact can be restored, as `error`
  /// says it cannot be now. A rollback then ends without it. Default: false.
  virtual bool is_left_to_others(const ArtifactId& /*artifact*/, const Error& /*error*/) const { return false; }

  /// I/O, read-only, within a few seconds. For a plan with changes: this type's resources in `ahead` that will fail or
  /// have no effect, for reasons that the node shows already. They are reported as warnings and cause neither a change
  /// nor an exit code. What another resource of `ahead` may bring, such as a file or a package, is not missing.
  virtual std::vector<Ineffective> foresee(const ChangesAhead& /*ahead*/, const NodeReader& /*node*/) const {
    return {};
  }

  /// I/O. Before the first write of a run: lets the node's own tools check the content that `steps`, all of this type's
  /// steps, will write. Writes only to Node::make_scratch_directory() and to caches. An artifact with an objection is
  /// not written, and neither is the rest of its group. As for foresee(), what another resource of `ahead` may bring is
  /// not missing.
  virtual std::vector<Objection> prepare(std::span<const Step> /*steps*/, const ChangesAhead& /*ahead*/,
                                         Node& /*node*/) const {
    return {};
  }

  /// I/O, read-only. After an apply: the parts of `desired` (by resource name) that do not take effect for reasons
  /// outside this type. They are reported as warnings and cause neither a change nor an exit code.
  virtual std::vector<Ineffective> check_effect(const ValuesByName& /*desired*/, const NodeReader& /*node*/) const {
    return {};
  }

  /// I/O. Brings an artifact of this type's own kind to the state `after`, whatever its current state. It may be called
  /// again after a crash. Never called for files. Errors: any; the step's group is undone.
  virtual Result<void> apply(const ArtifactId& artifact, const Observation& after, Node& node) const;

  /// I/O. As apply(), for a step that activates: begins the work and does not wait for its end. Until then, the engine
  /// writes files and blocks of other types, and nothing else. The default begins nothing, so that apply() does it.
  virtual Result<ActivationEnd> begin(const ArtifactId& /*artifact*/, const Observation& /*after*/,
                                      Node& /*node*/) const {
    return ActivationEnd();
  }

 protected:
  ResourceType() = default;
  explicit ResourceType(TypeInfo info) : info_(std::move(info)) {}

  /// A desired resource, with the impact and the reversibility of its removal.
  Resource make_resource(std::string name, Value desired, SourceRange where) const;

  TypeInfo info_;  ///< Filled in by the constructor of the type.
};

}  // namespace sparkplan
