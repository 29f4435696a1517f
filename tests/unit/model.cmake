spark_unit_test(model_test SOURCES model_codec_test.cc)
