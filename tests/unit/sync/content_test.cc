// Which content is where: entries of the file, hub caches, images, and what a prune may touch.
#include "engine/domain/hub/hub_cache.h"
#include "engine/sync/content_item.h"
#include "engine/sync/image.h"
#include "engine/sync/pruning.h"
#include "tests/support/catch.h"

namespace sparkplan {
namespace {

CopyImageState image(const std::string& id) {
  CopyImageState state;
  state.id = id;
  state.bytes = 1000;
  return state;
}

}  // namespace

TEST_CASE("hub: the cache is where the first of its variables says") {
  CHECK(*hub_cache(nullptr) == "~/.cache/huggingface/hub");
  Value variables = Value::map({{"XDG_CACHE_HOME", "/big"}});
  CHECK(*hub_cache(&variables) == "/big/huggingface/hub");
  variables.set("HF_HOME", "/mnt/hf/");
  CHECK(*hub_cache(&variables) == "/mnt/hf/hub");
  variables.set("HF_HUB_CACHE", "~/models");
  CHECK(*hub_cache(&variables) == "~/models");
}

TEST_CASE("hub: a place that only a shell or a secret knows is refused") {
  for (const char* value : {"$HOME/hf", "hf", "/mnt/../hf", "~other/hf", ""}) {
    INFO(value);
    const Value variables = Value::map({{"HF_HOME", value}});
    CHECK_FALSE(hub_cache(&variables));
  }
  const Value secret = Value::map({{"HF_HOME", Value::map({{"secret", Value::map({{"env", "X"}})}})}});
  CHECK_FALSE(hub_cache(&secret));
}

TEST_CASE("hub: names of models, and their folders") {
  CHECK(hub_folder("meta-llama/Llama-3.1-70B") == "models--meta-llama--Llama-3.1-70B");
  CHECK(hub_folder("gpt2") == "models--gpt2");
  for (const char* name : {"org/name", "gpt2", "a/b.c_d-e"}) CHECK(is_hub_name(name));
  for (const char* name : {"", "/a", "a/", "a/b/c", "a--b/c", "a/..", "-a/b", "a/b.git", "a/b c", "a/b."}) {
    INFO(name);
    CHECK_FALSE(is_hub_name(name));
  }
}

TEST_CASE("content: a model of the hub and what comes from here belong to the login user by default") {
  ContentItem item;
  item.name = "/srv/a";
  CHECK_FALSE(item.owner_is_login_user());
  item.from = "here";
  CHECK(item.owner_is_login_user());
  item.owner = "nvidia";
  CHECK_FALSE(item.owner_is_login_user());
  ContentItem hub;
  hub.kind = ContentKind::kHub;
  hub.name = "org/name";
  CHECK(hub.owner_is_login_user());
  const Value variables = Value::map({{"HF_HUB_CACHE", "/mnt/hub"}});
  CHECK(*tree_of(hub, &variables) == "/mnt/hub/models--org--name");
}

TEST_CASE("image: without a named source, the id that most nodes have counts") {
  const auto one = image("1");
  const auto two = image("2");
  const CopyImageState none;
  const std::vector<NamedImage> all{{"n1", &one}, {"n2", nullptr}, {"n3", &two}, {"n4", &two}, {"n5", &none}};
  CHECK(choose_image(all, "") == std::optional<std::size_t>(2));
  CHECK(choose_image(all, "n1") == std::optional<std::size_t>(0));
  CHECK(choose_image(all, "n5") == std::nullopt);
  CHECK(choose_image(all, "n2") == std::nullopt);
  CHECK(choose_image({{"n1", &none}}, "") == std::nullopt);
}

TEST_CASE("image: only the id decides whether two images are equal") {
  auto other_size = image("1");
  other_size.bytes = 5;
  CHECK(compare_images("a", image("1"), other_size).in_sync());
  const auto missing = compare_images("a", image("1"), CopyImageState{});
  CHECK(missing.missing == std::vector<std::string>{"a"});
  CHECK(missing.missing_bytes == 1000);
  CHECK(compare_images("a", image("1"), image("2")).differing.size() == 1);
}

TEST_CASE("image: a stage is stale if it is of the same image and engine with another id") {
  ContentItem item;
  item.kind = ContentKind::kImage;
  item.name = "a";
  const auto stage = stage_of(item, "1");
  CHECK(stage.size() == 32);
  CHECK(is_stale_stage(stage_of(item, "2"), stage));
  CHECK_FALSE(is_stale_stage(stage, stage));
  // An archive without its first layer is another archive.
  CHECK(is_stale_stage(stage_of(item, "1", 1), stage));
  item.engine = ContainerEngine::kPodman;
  CHECK_FALSE(is_stale_stage(stage_of(item, "2"), stage));
  item.engine = ContainerEngine::kDocker;
  item.name = "b";
  CHECK_FALSE(is_stale_stage(stage_of(item, "2"), stage));
  CHECK_FALSE(is_stale_stage("", stage));
}

TEST_CASE("prune: a directory that an entry covers in any spelling is kept") {
  const std::set<std::string> current{"/srv/models/llama", "/mnt/hub/models--org--name"};
  CHECK(is_covered("/srv/models/llama", current));
  CHECK(is_covered("/srv//models/./llama/", current));
  CHECK(is_covered("/srv/models/llama/part", current));
  CHECK(is_covered("/srv/models", current));
  CHECK_FALSE(is_covered("/srv/models/llama-2", current));
  CHECK_FALSE(is_covered("/srv/other", current));
  CHECK_FALSE(is_covered("/srv/other", {}));
}

}  // namespace sparkplan
