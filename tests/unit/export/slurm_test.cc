// The format slurm: the nodes, and the program that gives each task its node's variables.
#include <map>
#include <optional>
#include <string>

#include "engine/core/text.h"
#include "resources/nccl_env/nccl_env.h"
#include "tests/support/catch.h"
#include "tests/unit/export/exported.h"

namespace sparkplan {
namespace {

using test::exported;
using test::exported_with_remarks;
using test::File;
using test::kPair;
using test::said_by;

/// The lines of slurm.conf that begin with "#prolog ", for a node whose file of variables is at `profile`.
std::string prolog_of(const std::string& conf, const std::string& profile) {
  constexpr std::string_view kPrefix = "#prolog ";
  std::string script;
  for (std::string_view line : split_lines(conf)) {
    if (!line.starts_with(kPrefix)) continue;
    line.remove_prefix(kPrefix.size());
    script += std::string(line) + "\n";
  }
  const auto path = script.find(nccl_env::kProfileFile);
  REQUIRE(path != std::string::npos);
  return script.replace(path, nccl_env::kProfileFile.size(), profile);
}

}  // namespace

TEST_CASE("export slurm: each node has its fabric address and one GPU") {
  const std::string text = exported(kPair, "slurm");
  CHECK(text.substr(0, text.find("# For /etc/slurm/task_prolog.sh")) ==
        "ClusterName=my_lab\n"
        "SlurmctldHost=spark-01(192.168.100.11)\n"
        "GresTypes=gpu\n"
        "SelectType=select/cons_tres\n"
        "SelectTypeParameters=CR_Core\n"
        "PropagateResourceLimitsExcept=MEMLOCK\n"
        "TaskProlog=/etc/slurm/task_prolog.sh\n"
        "NodeName=spark-01 NodeHostname=spark-01 NodeAddr=192.168.100.11 CPUs=20 RealMemory=117760 Gres=gpu:1 "
        "State=UNKNOWN\n"
        "NodeName=spark-02 NodeHostname=spark-02 NodeAddr=192.168.100.12 CPUs=20 RealMemory=117760 Gres=gpu:1 "
        "State=UNKNOWN\n"
        "PartitionName=my_lab Nodes=spark-01,spark-02 Default=YES State=UP\n"
        "# For /etc/slurm/gres.conf of each node: sed -n 's/^#gres //p' slurm.conf >gres.conf\n"
        "#gres NodeName=spark-01,spark-02 Name=gpu File=/dev/nvidia0\n");
  CHECK(exported_with_remarks(kPair, "slurm").remarks.size() == 1);
}

TEST_CASE("export slurm: a machine that is no Spark gets a placeholder and a remark that names the command") {
  std::string servers = kPair;
  servers.erase(servers.find("profile: dgx-spark\n"), 19);
  const auto exported = exported_with_remarks(servers, "slurm");
  CHECK(exported.text.find(" CPUs=1 RealMemory=1 Gres") != std::string::npos);
  REQUIRE(exported.remarks.size() == 2);
  CHECK(exported.remarks[0].find("`slurmd -C`") != std::string::npos);
}

TEST_CASE("export slurm: before a task, its node's own variables are printed as Slurm takes them") {
  std::map<std::string, nccl_env::Setting> settings;
  settings["LD_LIBRARY_PATH"].prepended = "/opt/my nccl";
  settings["NCCL_DEBUG_FILE"].profile = "/tmp/it's $HOME";
  settings["VLLM_HOST_IP"].profile = "192.168.100.12";
  const auto file = nccl_env::render_profile(settings);
  REQUIRE(file);
  const File profile(*file);
  const File prolog(prolog_of(exported(kPair, "slurm"), profile.path()));
  // The variables of the node on which srun was typed.
  CHECK(said_by({"env", "VLLM_HOST_IP=192.168.100.11", "LD_LIBRARY_PATH=/usr/mine", "OTHER=x", "sh", prolog.path()}) ==
        "export LD_LIBRARY_PATH=/opt/my nccl:/usr/mine\n"
        "export NCCL_DEBUG_FILE=/tmp/it's $HOME\n"
        "export VLLM_HOST_IP=192.168.100.12\n");
}

TEST_CASE("export slurm: a node without variables of its own does not fail its tasks") {
  const File prolog(prolog_of(exported(kPair, "slurm"), "/nonexistent/sparkplan-nccl.sh"));
  CHECK(said_by({"sh", prolog.path()}) == "");
}

TEST_CASE("export slurm: no program runs before a task if the file has no section nccl") {
  const std::string text = exported("version: 1\nname: lab\nnodes: [{name: a1, address: h1}]\n", "slurm");
  CHECK(text.find("TaskProlog") == std::string::npos);
  CHECK(text.find("#prolog") == std::string::npos);
}

}  // namespace sparkplan
