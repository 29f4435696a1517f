# Ranks run for real in these, with the driver and the NCCL of tests/fake_gpu.
spark_unit_test(nccl_test SOURCES nccl_collective_test.cc nccl_pattern_test.cc nccl_log_test.cc nccl_environment_test.cc
  nccl_messages_test.cc nccl_ranks_test.cc nccl_checks_test.cc
  LIBRARIES spark_nccl spark_verify)
target_compile_definitions(nccl_test PRIVATE SPARKPLAN_FAKE_GPU="${CMAKE_BINARY_DIR}/tests/fake_gpu")
add_dependencies(nccl_test fake_cuda fake_nccl)

# Our declarations of the driver's and NCCL's functions against theirs, where they are.
file(GLOB cuda_folders /usr/local/cuda/include /usr/local/cuda-*/include)
find_path(SPARKPLAN_CUDA_HEADERS cuda.h PATHS ${cuda_folders})
find_path(SPARKPLAN_NCCL_HEADERS nccl.h PATHS ${cuda_folders})
if(EXISTS "${SPARKPLAN_CUDA_HEADERS}/cuda_runtime.h" AND SPARKPLAN_NCCL_HEADERS)
  target_sources(nccl_test PRIVATE nccl_headers_test.cc)
  set_source_files_properties(nccl_headers_test.cc PROPERTIES COMPILE_OPTIONS
    "-isystem;${SPARKPLAN_CUDA_HEADERS};-isystem;${SPARKPLAN_NCCL_HEADERS}")
else()
  message(STATUS "No headers of CUDA and NCCL: our declarations are not held against them")
endif()
