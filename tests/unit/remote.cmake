spark_unit_test(remote_test SOURCES remote_commands_test.cc remote_host_keys_test.cc remote_open_test.cc
  remote_install_test.cc remote_calls_test.cc remote_local_test.cc remote_mdns_test.cc remote_login_test.cc remote_deadline_test.cc remote_secret_test.cc remote_ssh_server_test.cc remote_sshd.cc remote_fakes.cc
  LIBRARIES spark_remote)
