// Ranks in containers, and whether the image is the same on all nodes.
#include <algorithm>
#include <cerrno>

#include "engine/launch/container_rank.h"
#include "engine/launch/image_check.h"
#include "tests/support/catch.h"
#include "tests/unit/job/programs.h"

namespace sparkplan {
namespace {

using Words = std::vector<std::string>;

const std::string kId = std::string(64, 'a');
const std::string kOtherId = std::string(64, 'b');

/// A job in containers on two nodes.
class Contained {
 public:
  Contained() : nodes(test::local_nodes(2)) {
    for (NodeSpec& node : nodes) members.push_back({&node, "192.168.100.11", {{"NCCL_IB_HCA", "=hca"}}, {true, true}});
    request.argv = {"python3", "train.py"};
    request.image = "nvcr.io/nvidia/pytorch:25.10-py3";
  }
  Contained(const Contained&) = delete;
  Contained& operator=(const Contained&) = delete;

  RankSpec rank(std::size_t node = 1) const {
    const auto jobs = plan_job(request, members, "job-1");
    REQUIRE(jobs);
    return (*jobs)[node].start.ranks.at(0);
  }

  std::vector<NodeSpec> nodes;
  std::vector<JobMember> members;
  JobRequest request;
};

bool has(const Words& words, const Words& part) {
  return std::search(words.begin(), words.end(), part.begin(), part.end()) != words.end();
}

RankReport ended(int exit_code, RankEnding ending = RankEnding::kExited) {
  RankReport rank;
  rank.ended = RankEnded();
  rank.ended->ending = ending;
  if (ending == RankEnding::kExited) rank.ended->exit_code = exit_code;
  rank.ended->errno_value = ENOENT;
  return rank;
}

ImageAnswers docker_with(const std::string& id, const std::string& reason = {}) {
  return {ImageAnswer{true, id, reason}, ImageAnswer{}};
}

/// The engine that three nodes with these answers get for the image x.
std::optional<ContainerEngine> engine_of_three(const std::vector<ImageAnswers>& answers) {
  Cluster cluster;
  cluster.nodes = test::local_nodes(3);
  return choose_engine(cluster, "x", answers).engine;
}

/// The only check about three nodes with these answers. No answer decides on an engine.
PreflightCheck complaint_without_engine(const std::vector<ImageAnswers>& answers) {
  Cluster cluster;
  cluster.nodes = test::local_nodes(3);
  const auto choice = choose_engine(cluster, "x", answers);
  CHECK_FALSE(choice.engine);
  CHECK_FALSE(choice.on_all);
  const auto checks = judge_image("x", choice, {&cluster.nodes[0], &cluster.nodes[1], &cluster.nodes[2]}, answers);
  REQUIRE(checks.size() == 1);
  CHECK(checks[0].status == CheckStatus::kFail);
  return checks[0];
}

}  // namespace

TEST_CASE("a rank in a container is named and labelled, and has the node's devices, mounts and limits") {
  Contained job;
  job.nodes[1].sections["nccl"] = Value::map();
  Value models{Value::List{}};
  models.push_back(Value::map({{"path", "/srv/models/a,b"}}));
  models.push_back(Value::map({{"path", "/srv/models/a,b/inner"}}));
  job.nodes[1].sections["models"] = models;
  job.request.directory = "/work";
  const Words argv = job.rank().argv;
  CHECK(has(argv, {"docker", "run", "--rm", "--pull=never", "--name", "sparkplan-job-1-rank-1", "--label",
                   "sparkplan.job=job-1", "--label", "sparkplan.rank=1"}));
  CHECK(has(argv, {"--gpus", "all", "--network", "host", "--ipc", "host", "--init", "--device", "/dev/infiniband"}));
  CHECK(has(argv, {"--ulimit", "memlock=-1"}));
  CHECK(has(argv, {"--ulimit", "stack=67108864"}));
  CHECK(has(argv, {"--mount", "type=bind,source=/etc/nccl.conf,target=/etc/nccl.conf,readonly"}));
  CHECK(
      has(argv, {"--mount", "type=bind,\"source=/srv/models/a,b\",\"target=/srv/models/a,b\"", "--workdir", "/work"}));
  CHECK(Words(argv.end() - 3, argv.end()) == Words{"nvcr.io/nvidia/pytorch:25.10-py3", "python3", "train.py"});
}

TEST_CASE("a model of the hub is mounted read-only, and a program finds its cache unless --env says another") {
  Contained job;
  const std::string cache = "/home/nvidia/.cache/huggingface/hub";
  job.members[1].environment["HF_HOME"] = "~/elsewhere";
  CHECK_FALSE(job.rank().environment.contains("HF_HUB_CACHE"));
  job.members[1].hub_models = {cache + "/models--org--name"};
  const auto rank = job.rank();
  CHECK(has(rank.argv, {"--mount", "type=bind,source=" + cache + "/models--org--name,target=" + cache +
                                       "/models--org--name,readonly"}));
  CHECK(has(rank.argv, {"--env", "HF_HUB_CACHE"}));
  CHECK(rank.environment.at("HF_HUB_CACHE") == cache);
  CHECK_FALSE(job.rank(0).environment.contains("HF_HUB_CACHE"));
  // A directory that contains it is mounted already.
  Value models{Value::List{}};
  models.push_back(Value::map({{"path", "/home/nvidia"}}));
  job.nodes[1].sections["models"] = models;
  const auto argv = job.rank().argv;
  CHECK(std::count(argv.begin(), argv.end(), "--mount") == 1);
  CHECK(job.rank().environment.at("HF_HUB_CACHE") == cache);
  for (const char* name : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME"}) {
    job.request.environment = {{name, "/mine"}};
    const auto own = job.rank().environment;
    CHECK(own.at(name) == "/mine");
    CHECK((own.contains("HF_HUB_CACHE") ? own.at("HF_HUB_CACHE") : "/mine") == "/mine");
  }
}

TEST_CASE("podman kills a container that it removes by force at once") {
  Contained job;
  CHECK_FALSE(has(job.rank().argv, {"--stop-timeout", "0"}));
  job.request.engine = ContainerEngine::kPodman;
  CHECK(has(job.rank().argv, {"--stop-timeout", "0"}));
}

TEST_CASE("variables reach a container without their values on a command line, and those of the host stay outside") {
  Contained job;
  job.members[1].environment["PATH"] = "/opt/host/bin";
  job.members[1].environment["HF_TOKEN"] = "secret";
  job.request.environment["LD_LIBRARY_PATH"] = "/opt/lib";
  const auto rank = job.rank();
  CHECK(has(rank.argv, {"--env", "HF_TOKEN"}));
  CHECK(has(rank.argv, {"--env", "RANK"}));
  CHECK(has(rank.argv, {"--env", "SPARKPLAN_JOB"}));
  CHECK(has(rank.argv, {"--env", "LD_LIBRARY_PATH=/opt/lib"}));
  CHECK(std::none_of(rank.argv.begin(), rank.argv.end(),
                     [](const std::string& word) { return word.find("secret") != std::string::npos; }));
  CHECK_FALSE(has(rank.argv, {"--env", "PATH"}));
  CHECK(rank.environment.at("HF_TOKEN") == "secret");
  CHECK(rank.environment.at("RANK") == "1");
  CHECK_FALSE(rank.environment.contains("PATH"));
  CHECK_FALSE(rank.environment.contains("LD_LIBRARY_PATH"));
}

TEST_CASE("a secret reaches a container by its name, unless --env gives that variable") {
  Contained job;
  for (JobMember& member : job.members) member.secrets = {"HF_TOKEN"};
  CHECK(has(job.rank().argv, {"--env", "HF_TOKEN"}));
  CHECK_FALSE(job.rank().environment.contains("HF_TOKEN"));
  job.request.environment["HF_TOKEN"] = "given";
  const auto argv = job.rank().argv;
  CHECK(std::count(argv.begin(), argv.end(), "HF_TOKEN") == 1);
  CHECK(job.rank().environment.at("HF_TOKEN") == "given");
}

TEST_CASE("podman gets its own names of the devices, and no limit that a login cannot raise") {
  Contained job;
  job.request.engine = ContainerEngine::kPodman;
  const Words argv = job.rank().argv;
  CHECK(argv.front() == "podman");
  CHECK(has(argv, {"--device", "nvidia.com/gpu=all", "--security-opt", "label=disable"}));
  CHECK_FALSE(has(argv, {"--gpus"}));
  CHECK_FALSE(has(argv, {"memlock=-1"}));
  job.members[1].hardware = {};
  CHECK_FALSE(has(job.rank().argv, {"nvidia.com/gpu=all"}));
  CHECK_FALSE(has(job.rank().argv, {"/dev/infiniband"}));
}

TEST_CASE("the starter learns the engine, and the client starts in the home directory") {
  Contained job;
  job.request.directory = "/only/in/the/image";
  const auto jobs = plan_job(job.request, job.members, "job-1");
  REQUIRE(jobs);
  CHECK((*jobs)[0].start.containers.engine == "docker");
  CHECK((*jobs)[0].start.directory.empty());
  job.request.image.clear();
  const auto plain = plan_job(job.request, job.members, "job-1");
  REQUIRE(plain);
  CHECK((*plain)[0].start.containers.engine.empty());
  CHECK((*plain)[0].start.directory == "/only/in/the/image");
}

TEST_CASE("torchrun starts inside the container") {
  Contained job;
  job.request.launcher = Launcher::kTorchrun;
  job.request.argv = {"train.py"};
  const Words argv = job.rank().argv;
  const auto image = std::find(argv.begin(), argv.end(), job.request.image);
  REQUIRE(image != argv.end());
  CHECK(*(image + 1) == "torchrun");
}

TEST_CASE("a name that could be a flag, and mpirun in containers, are refused") {
  Contained job;
  for (const std::string name : {"--privileged", "-v", "a b", "a\nb", "a;b", "$(id)"}) {
    INFO(name);
    job.request.image = name;
    CHECK_FALSE(check_request(job.request));
  }
  job.request.image = std::string(600, 'a');
  CHECK_FALSE(check_request(job.request));
  job.request.image = "local/vllm@sha256:0a1b";
  CHECK(check_request(job.request));
  job.request.launcher = Launcher::kMpirun;
  CHECK_FALSE(check_request(job.request));
}

TEST_CASE("an engine's answer is an id, a reason, or a missing program") {
  CHECK(image_answer(ended(0), "warning: something\nsha256:" + kId + "\n").id == kId);
  CHECK(image_answer(ended(0), std::string(64, 'c') + "\n").id == std::string(64, 'c'));
  const auto missing = image_answer(ended(1), "\nError response from daemon: No such image: x:1\n");
  CHECK(missing.has_engine);
  CHECK(missing.id.empty());
  CHECK(missing.reason == "Error response from daemon: No such image: x:1");
  CHECK_FALSE(image_answer(ended(0, RankEnding::kNotStarted), "").has_engine);
  CHECK(image_answer(ended(0), "not an id").id.empty());
  CHECK(image_answer(ended(0), "\x1b[2J").reason.find('\x1b') == std::string::npos);
}

TEST_CASE(
    "the engine: the one of `images`, else the one in which most nodes have the image, else docker if all have it") {
  Cluster cluster;
  cluster.nodes = test::local_nodes(3);
  const ImageAnswer there{true, kId, ""};
  const ImageAnswer empty{true, "", "No such image"};
  const ImageAnswer none;
  const auto chosen = [&](const std::vector<ImageAnswers>& answers) {
    return choose_engine(cluster, "x", answers).engine;
  };
  CHECK(chosen({{there, there}, {there, there}}) == ContainerEngine::kDocker);
  CHECK(chosen({{empty, there}, {empty, there}}) == ContainerEngine::kPodman);
  CHECK(chosen({{empty, empty}, {none, empty}, {none, empty}}) == ContainerEngine::kPodman);
  CHECK(chosen({{none, there}, {none, there}}) == ContainerEngine::kPodman);
  CHECK_FALSE(chosen({{none, none}, {none, none}}));
  CHECK_FALSE(chosen({}));
  CHECK(chosen({{empty, none}, {empty, empty}}) == ContainerEngine::kDocker);
  CHECK(chosen({{empty, empty}, {empty, empty}}) == ContainerEngine::kDocker);
  // One node without docker does not decide about the others: it is the one that fails.
  const std::vector<ImageAnswers> one_without{{there, empty}, {there, empty}, {none, there}};
  CHECK(chosen(one_without) == ContainerEngine::kDocker);
  const std::vector<const NodeSpec*> nodes{&cluster.nodes[0], &cluster.nodes[1], &cluster.nodes[2]};
  const auto checks = judge_image("x", choose_engine(cluster, "x", one_without), nodes, one_without);
  REQUIRE(checks.size() == 1);
  CHECK(checks[0].nodes == Words{"spark-03"});
  CHECK(checks[0].text ==
        "docker is not there; docker was chosen because spark-[01-02] have the image in it and not in podman");
  CHECK(checks[0].fix.find("images: [{name: \"x\", engine: podman}]") != std::string::npos);
  Value images{Value::List{}};
  images.push_back(Value::map({{"name", "other"}, {"engine", "docker"}}));
  images.push_back(Value::map({{"name", "x"}, {"engine", "podman"}}));
  cluster.nodes[0].sections["images"] = images;
  CHECK(chosen({{there, there}, {there, there}}) == ContainerEngine::kPodman);
  CHECK(choose_engine(cluster, "y", {{there, there}, {there, there}}).engine == ContainerEngine::kDocker);
}

TEST_CASE("the engine: if one node's answer would decide between two, none is chosen, and both sides are named") {
  Cluster cluster;
  cluster.nodes = test::local_nodes(2);
  const std::vector<const NodeSpec*> nodes{&cluster.nodes[0], &cluster.nodes[1]};
  const ImageAnswer there{true, kId, ""};
  const ImageAnswer empty{true, "", "No such image"};
  const ImageAnswer none;
  const auto judged = [&](const std::vector<ImageAnswers>& answers) {
    const auto choice = choose_engine(cluster, "x", answers);
    CHECK_FALSE(choice.engine);
    CHECK_FALSE(choice.on_all);
    const auto checks = judge_image("x", choice, nodes, answers);
    REQUIRE(checks.size() == 1);
    CHECK(checks[0].status == CheckStatus::kFail);
    CHECK(checks[0].nodes == Words{"spark-01", "spark-02"});
    CHECK(checks[0].fix.find("images: [{name: \"x\", engine: docker}]") != std::string::npos);
    CHECK(checks[0].fix.find("engine: podman}]") != std::string::npos);
    CHECK(checks[0].fix.find("--only") != std::string::npos);
    return checks[0].text;
  };
  const std::string divided =
      "docker or podman: the image is in docker alone on spark-01, and in podman alone on spark-02";
  CHECK(judged({{there, none}, {none, there}}) == divided);
  CHECK(judged({{there, none}, {empty, there}}) == divided);
  CHECK(judged({{none, there}, {there, empty}}) ==
        "docker or podman: the image is in docker alone on spark-02, and in podman alone on spark-01");
  CHECK(judged({{empty, none}, {none, empty}}) ==
        "docker or podman: there is docker alone on spark-01, and podman alone on spark-02");
}

TEST_CASE("the engine: one node does not move the others to another image of theirs, and is named") {
  const ImageAnswer docker{true, kId, ""};
  const ImageAnswer podman{true, std::string(64, 'c'), ""};
  const ImageAnswer empty{true, "", "No such image"};
  const auto complaint = complaint_without_engine({{docker, podman}, {docker, podman}, {empty, podman}});
  CHECK(complaint.text ==
        "docker or podman: only spark-03 has the image in one of them, and another node has different images in both");
  CHECK(complaint.fix.ends_with("; or leave spark-03 out with --exclude"));
  // The same image in both engines of the others: it does not matter which one is chosen.
  CHECK(engine_of_three({{docker, docker}, {docker, docker}, {empty, docker}}) == ContainerEngine::kPodman);
}

TEST_CASE("the engine: one node without docker does not move the others to another image of theirs, and is named") {
  const ImageAnswer docker{true, kId, ""};
  const ImageAnswer podman{true, std::string(64, 'c'), ""};
  const ImageAnswer empty{true, "", "No such image"};
  const ImageAnswer none;
  const auto complaint = complaint_without_engine({{docker, podman}, {docker, podman}, {none, empty}});
  CHECK(complaint.text ==
        "docker or podman: only spark-03 has podman and no docker, and another node has different images in both");
  CHECK(complaint.fix.find("images: [{name: \"x\", engine: docker}]") != std::string::npos);
  CHECK(complaint.fix.ends_with("; or leave spark-03 out with --exclude"));
  // Without podman, it is the one that fails: the others start what they would start without it.
  CHECK(engine_of_three({{docker, podman}, {docker, podman}, {empty, none}}) == ContainerEngine::kDocker);
}

TEST_CASE("the engine: if the choice fails a node, the message names the nodes that made it") {
  Cluster cluster;
  cluster.nodes = test::local_nodes(20);
  const ImageAnswer there{true, kId, ""};
  const ImageAnswer empty{true, "", "No such image"};
  const ImageAnswer none;
  const auto judged = [&](const std::vector<ImageAnswers>& answers) {
    std::vector<const NodeSpec*> nodes;
    for (std::size_t i = 0; i < answers.size(); ++i) nodes.push_back(&cluster.nodes[i]);
    return judge_image("x", choose_engine(cluster, "x", answers), nodes, answers);
  };
  const auto by_image = judged({{none, there}, {empty, none}});
  REQUIRE(by_image.size() == 1);
  CHECK(by_image[0].nodes == Words{"spark-02"});
  CHECK(by_image[0].text ==
        "podman is not there; podman was chosen because spark-01 has the image in it and not in docker");
  CHECK(by_image[0].fix.find("images: [{name: \"x\", engine: docker}]; or leave spark-01 out with --only") !=
        std::string::npos);
  const auto by_program = judged({{none, empty}, {empty, empty}});
  REQUIRE(by_program.size() == 2);
  CHECK(by_program[0].text == "podman has no image x");
  CHECK(by_program[1].text == "podman has no image x; podman was chosen because spark-01 has it and no docker");
  std::vector<ImageAnswers> many(20, {there, none});
  many.back() = {none, empty};
  const std::string bounded = judged(many).at(0).text;
  CHECK(bounded.starts_with("docker is not there; docker was chosen because spark-"));
  CHECK(bounded.ends_with(" and 3 more have the image in it and not in podman"));
  // All nodes have docker, and the others lack the image whatever is chosen.
  CHECK(judged({{there, none}, {empty, none}}).at(0).text == "docker has no image x");
  CHECK(judged({{empty, none}, {empty, empty}}).at(1).text == "docker has no image x");
  Value images{Value::List{}};
  images.push_back(Value::map({{"name", "x"}, {"engine", "podman"}}));
  cluster.nodes[0].sections["images"] = images;
  CHECK(judged({{none, there}, {empty, none}}).at(0).text == "podman is not there");
}

TEST_CASE("a different or missing image fails with its nodes and a fix") {
  auto specs = test::local_nodes(3);
  specs[2].ssh.user = "nvidia";
  const std::vector<const NodeSpec*> nodes{&specs[0], &specs[1], &specs[2]};
  EngineChoice docker;
  docker.engine = ContainerEngine::kDocker;
  const auto judged = [&](const std::vector<ImageAnswers>& answers) {
    return judge_image("vllm:1", docker, nodes, answers);
  };
  const auto same = judged({docker_with(kId), docker_with(kId), docker_with(kId)});
  REQUIRE(same.size() == 1);
  CHECK(same[0].status == CheckStatus::kPass);
  const auto differs = judged({docker_with(kId), docker_with(kOtherId), docker_with(kId)});
  REQUIRE(differs.size() == 1);
  CHECK(differs[0].status == CheckStatus::kFail);
  CHECK(differs[0].text == "vllm:1 is not the same image: aaaaaaaaaaaa on spark-[01,03], bbbbbbbbbbbb on spark-02");
  CHECK_FALSE(differs[0].fix.empty());
  const auto missing = judged({docker_with(kId), docker_with("", "Error: No such image: vllm:1"),
                               docker_with("", "permission denied while trying to connect")});
  REQUIRE(missing.size() == 2);
  CHECK(missing[0].nodes == Words{"spark-02"});
  CHECK(missing[0].fix == "sparkplan exec --only spark-02 -- docker pull vllm:1");
  CHECK(missing[1].fix == "users: [{name: nvidia, groups: [docker]}]");
  CHECK(judge_image("vllm:1", EngineChoice(), nodes, {{}, {}, {}})[0].status == CheckStatus::kFail);
}

}  // namespace sparkplan
