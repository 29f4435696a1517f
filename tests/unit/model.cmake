spark_unit_test(model_test SOURCES facts_test.cc host_facts_test.cc rdma_facts_test.cc model_codec_test.cc route_merger_test.cc)
