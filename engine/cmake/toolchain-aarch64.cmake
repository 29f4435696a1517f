# For aarch64, on a machine of another architecture: tests/install-dependencies.sh cross
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
include(${CMAKE_CURRENT_LIST_DIR}/multiarch.cmake)
