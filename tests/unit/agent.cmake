spark_unit_test(agent_test SOURCES agent_node_test.cc agent_node_links_test.cc agent_node_home_test.cc agent_manifest_test.cc
  agent_journal_test.cc agent_lock_test.cc agent_executor_test.cc agent_executor_failures_test.cc agent_transaction_test.cc agent_measurements_test.cc agent_fabric_test.cc agent_serve_test.cc agent_history_test.cc agent_facts_test.cc agent_host_facts_test.cc agent_survey_test.cc agent_systemd_bus_test.cc agent_rdma_test.cc
  agent_fake_type.cc agent_no_hardware.cc
  LIBRARIES spark_agent)
