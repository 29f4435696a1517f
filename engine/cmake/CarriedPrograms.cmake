# The programs for nodes that sparkplan carries: the agent, the rank of the NCCL test, the process starter of `exec` and
# `run`, and the program that copies directory trees. This build makes the programs for sparkplan's own architecture. For
# each other architecture an inner build of the same sources, agent-<architecture>, makes them with that architecture's
# toolchain file.
set(SPARKPLAN_CARRIED_PROGRAMS agent nccl job copy)
set(SPARKPLAN_AGENT_ARCHITECTURES "" CACHE STRING
  "Architectures (x86_64;aarch64) that sparkplan must carry an agent for; empty: those that can be built here")

# spark_configure_agent(ARCHITECTURE REASON): configures the inner build. REASON is empty afterwards, or explains why
# the inner build is not possible.
function(spark_configure_agent architecture reason)
  set(directory ${CMAKE_BINARY_DIR}/agent-${architecture})
  find_program(SPARKPLAN_COMPILER_${architecture} ${architecture}-linux-gnu-g++)
  mark_as_advanced(SPARKPLAN_COMPILER_${architecture})
  set(toolchain ${CMAKE_SOURCE_DIR}/engine/cmake/toolchain-${architecture}.cmake)
  if(NOT EXISTS ${toolchain})
    set(${reason} "there is no ${toolchain}" PARENT_SCOPE)
    return()
  elseif(NOT SPARKPLAN_COMPILER_${architecture})
    set(${reason} "there is no ${architecture}-linux-gnu-g++" PARENT_SCOPE)
    return()
  endif()
  string(REPLACE ";" "\\;" launcher "${CMAKE_CXX_COMPILER_LAUNCHER}")
  # Flags from the environment belong to the outer build's architecture.
  execute_process(
    COMMAND ${CMAKE_COMMAND} -E env --unset=CXX --unset=CXXFLAGS --unset=CPPFLAGS --unset=LDFLAGS
      ${CMAKE_COMMAND} -S ${CMAKE_SOURCE_DIR} -B ${directory} -G ${CMAKE_GENERATOR}
      --toolchain ${toolchain}
      -D CMAKE_BUILD_TYPE=${CMAKE_BUILD_TYPE} -D CMAKE_MAKE_PROGRAM=${CMAKE_MAKE_PROGRAM}
      -D CMAKE_CXX_COMPILER_LAUNCHER=${launcher} -D SPARKPLAN_ONLY_AGENT=ON
    RESULT_VARIABLE status OUTPUT_VARIABLE log ERROR_VARIABLE log)
  file(WRITE ${directory}/configure.log "${log}")
  if(NOT status EQUAL 0)
    set(${reason} "its libraries are not complete, see ${directory}/configure.log" PARENT_SCOPE)
    return()
  endif()
  set(${reason} "" PARENT_SCOPE)
endfunction()

# spark_build_agent(ARCHITECTURE): the inner build as a target. It runs in every build, because only the inner build can
# check whether it is up to date. Its programs count as changed only if their contents changed.
function(spark_build_agent architecture)
  set(directory ${CMAKE_BINARY_DIR}/agent-${architecture})
  set(quiet "")
  if(CMAKE_GENERATOR STREQUAL Ninja)
    set(quiet -- --quiet)
  endif()
  add_custom_target(sparkplan-agent-${architecture}
    COMMAND ${CMAKE_COMMAND} --build ${directory} --target sparkplan-agent sparkplan-nccl sparkplan-job sparkplan-copy ${quiet}
    BYPRODUCTS ${directory}/bin/sparkplan-agent.stripped ${directory}/bin/sparkplan-nccl.stripped
      ${directory}/bin/sparkplan-job.stripped ${directory}/bin/sparkplan-copy.stripped
    COMMENT "The programs for ${architecture}" VERBATIM)
endfunction()

# Sets SPARKPLAN_ARCHITECTURES, by uname -m. For each architecture it sets SPARKPLAN_FILES_<architecture>, the folder of
# sparkplan-<program>.stripped, and SPARKPLAN_TARGETS_<architecture>, the targets that make these files.
macro(spark_find_agents)
  set(own ${CMAKE_SYSTEM_PROCESSOR})
  set(SPARKPLAN_ARCHITECTURES ${own})
  set(SPARKPLAN_FILES_${own} ${CMAKE_BINARY_DIR}/bin)
  set(SPARKPLAN_TARGETS_${own} sparkplan-agent sparkplan-nccl sparkplan-job sparkplan-copy)
  set(others ${SPARKPLAN_AGENT_ARCHITECTURES})
  if(NOT others AND SPARKPLAN_STATIC_AGENT)
    set(others x86_64 aarch64)
  endif()
  list(REMOVE_ITEM others ${own})
  foreach(architecture IN LISTS others)
    spark_configure_agent(${architecture} reason)
    if(reason AND SPARKPLAN_AGENT_ARCHITECTURES)
      message(FATAL_ERROR "SPARKPLAN_AGENT_ARCHITECTURES asks for an agent for ${architecture}, but ${reason}. "
        "tests/install-dependencies.sh cross installs what it takes.")
    elseif(reason)
      message(STATUS "No agent for ${architecture}: ${reason} (tests/install-dependencies.sh cross)")
    else()
      spark_build_agent(${architecture})
      list(APPEND SPARKPLAN_ARCHITECTURES ${architecture})
      set(SPARKPLAN_FILES_${architecture} ${CMAKE_BINARY_DIR}/agent-${architecture}/bin)
      set(SPARKPLAN_TARGETS_${architecture} sparkplan-agent-${architecture})
    endif()
  endforeach()
  message(STATUS "Agents: ${SPARKPLAN_ARCHITECTURES}")
endmacro()
