spark_unit_test(cli_test SOURCES cli_drift_outputs_test.cc cli_syslog_test.cc cli_progress_test.cc cli_screen_test.cc cli_splay_test.cc cli_usage_test.cc cli_help_test.cc
  cli_reference_test.cc cli_completion_test.cc cli_host_argument_test.cc cli_discovery_test.cc cli_new_file_test.cc cli_saved_plan_test.cc cli_hostile_test.cc agent_no_hardware.cc
  LIBRARIES spark_reference spark_cli spark_agent spark_resources spark_process)
target_compile_definitions(cli_test PRIVATE SPARKPLAN_BINARY="$<TARGET_FILE:sparkplan>")
add_dependencies(cli_test sparkplan)

add_test(NAME prometheus COMMAND ${PROJECT_SOURCE_DIR}/tests/prometheus/check.sh $<TARGET_FILE:sparkplan>)
set_tests_properties(prometheus PROPERTIES SKIP_RETURN_CODE 77)
