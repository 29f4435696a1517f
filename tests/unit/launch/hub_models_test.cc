// Models of the Hugging Face hub in the containers of `run --image`.
#include "engine/launch/hub_models.h"

#include "engine/launch/preflight.h"
#include "engine/process/child_process.h"
#include "tests/support/catch.h"
#include "tests/unit/agent/scratch.h"
#include "tests/unit/job/programs.h"

namespace sparkplan {
namespace {

using Words = std::vector<std::string>;

const std::string kBelowHome = "/.cache/huggingface/hub/models--org--name";

NodeSpec node_with(std::initializer_list<Value> models, const Value& variables = Value::map()) {
  auto node = test::local_nodes(1).front();
  node.sections["models"] = Value::list(models);
  node.sections["profile_env"] = variables;
  return node;
}

Value hub(const std::string& name, const std::string& owner = {}) {
  Value record = Value::map({{"hub", name}});
  if (!owner.empty()) record.set("owner", owner);
  return record;
}

}  // namespace

TEST_CASE("hub models: each entry with `hub` has its directory in the cache of its node") {
  const auto models = hub_models(node_with({hub("org/name"), Value::map({{"path", "/srv/a"}}), hub("b", "anna")}));
  REQUIRE(models.size() == 2);
  CHECK(models[0].directory == "~" + kBelowHome);
  CHECK(models[1].name == "b");
  CHECK(models[1].owner == "anna");
  const auto moved = hub_models(node_with({hub("b")}, Value::map({{"HF_HOME", "/mnt/hf"}})));
  CHECK(moved.at(0).directory == "/mnt/hf/hub/models--b");
  CHECK(hub_models(test::local_nodes(1).front()).empty());
}

TEST_CASE("hub models: a node finds those that exist, in the home of their owner or at their place") {
  const test::ScratchDirectory home;
  home.make_directory(kBelowHome);
  home.make_directory("/a b/$(x)");
  const std::vector<HubModel> models{{"org/name", "", "~" + kBelowHome},
                                     {"org/name", "no-such-user", "~" + kBelowHome},
                                     {"org/none", "", "~/none"},
                                     {"org/other", "", (home / "/a b/$(x)").string()}};
  Words argv{"env", "HOME=" + home.path().string()};
  const auto question = hub_question(5, models);
  CHECK(question.rank == 5);
  argv.insert(argv.end(), question.argv.begin(), question.argv.end());
  const auto answer = run_and_capture(argv);
  REQUIRE(answer);
  CHECK(answer->exit_status == 0);
  const auto found = hub_directories_in(models, answer->standard_output);
  CHECK(found == Words{home.path().string() + kBelowHome, "", "", (home / "/a b/$(x)").string()});
}

TEST_CASE("hub models: an answer that cannot be the directory of the model mounts nothing") {
  const std::vector<HubModel> models{{"org/name", "", "~" + kBelowHome}, {"b", "", "/mnt/hf/hub/models--b"}};
  const auto found = [&](const std::string& answer) { return hub_directories_in(models, answer); };
  CHECK(found("sh: warning\n0 /home/u" + kBelowHome + "\n") == Words{"/home/u" + kBelowHome, ""});
  CHECK(found("1 /mnt/hf/hub/models--b\n") == Words{"", "/mnt/hf/hub/models--b"});
  const std::string too_long(5000, 'a');
  for (const std::string& hostile :
       {std::string(), std::string("0 /\n"), std::string("0 /etc\n1 /etc\n"), "0 home" + kBelowHome,
        "0 /home/\x1b[2J" + kBelowHome, "0 /" + too_long + kBelowHome, "2 /home/u" + kBelowHome,
        std::string("1 /srv/mnt/hf/hub/models--b\n")}) {
    INFO(hostile);
    CHECK(found(hostile) == Words{"", ""});
  }
}

TEST_CASE("hub models: nodes without a model are named, and the job starts") {
  auto specs = test::local_nodes(3);
  for (NodeSpec& node : specs) node.sections["models"] = Value::list({hub("org/name"), hub("b", "anna")});
  const auto checks = judge_hub_models({&specs[0], &specs[1], &specs[2]}, {{"/a", "/b"}, {"", "/b"}, {"", "/b"}});
  REQUIRE(checks.size() == 1);
  CHECK(checks[0].status == CheckStatus::kSkip);
  CHECK(checks[0].nodes == Words{"spark-02", "spark-03"});
  CHECK(checks[0].text ==
        "org/name is not in the cache of the login user, or the login user cannot see it: not mounted");
  CHECK(checks[0].fix == "run `sparkplan sync`");
}

TEST_CASE("hub models: only a job in containers asks for them, and their answer is kept") {
  const auto models = hub_models(node_with({hub("org/name")}));
  CHECK(questions("", models).size() == questions().size());
  const auto asked = questions("image", models);
  REQUIRE(asked.size() == questions("image").size() + 1);
  JobReport report;
  report.nodes.emplace_back().ranks.emplace_back().rank = asked.back().rank;
  OutputTails tails;
  REQUIRE(tails.take({0, asked.back().rank, false}, "0 /home/u" + kBelowHome + "\n"));
  CHECK(hub_directories_in(models, answers_in(report, tails)[0].hub_models) == Words{"/home/u" + kBelowHome});
}

}  // namespace sparkplan
