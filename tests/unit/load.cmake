spark_unit_test(load_test SOURCES load_cases_test.cc load_yaml_test.cc load_merge_test.cc load_fabric_test.cc load_growth_test.cc load_hostile_test.cc
  load_schema_test.cc load_examples_test.cc load_mutation_test.cc load_files_beside_test.cc LIBRARIES nlohmann_json::nlohmann_json)
