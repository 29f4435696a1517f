spark_unit_test(plan_test SOURCES plan_fakes.cc plan_node_test.cc plan_removal_test.cc plan_blocked_test.cc
  plan_exceptions_test.cc plan_file_test.cc plan_stages_test.cc plan_property_test.cc plan_roster_test.cc plan_same_machine_test.cc
  plan_desired_state_test.cc report_samples.cc report_text_test.cc report_json_test.cc report_exit_code_test.cc plan_saved_test.cc plan_held_test.cc
  plan_saved_text_test.cc
  LIBRARIES nlohmann_json::nlohmann_json)
