# Programs that run on several distributions: of all libraries only the C library and libssh stay outside. docs/packages.md
# gives the reasons, and engine/packaging/portability.py checks the built programs.

# spark_find_archive(VARIABLE NAME PACKAGE): the path of libNAME.a for the target's architecture.
function(spark_find_archive variable name package)
  find_library(${variable} lib${name}.a)
  mark_as_advanced(${variable})
  if(NOT ${variable})
    message(FATAL_ERROR "There is no lib${name}.a for ${CMAKE_SYSTEM_PROCESSOR}: install ${package}, or for another architecture "
      "run tests/install-dependencies.sh cross-controller.")
  endif()
endfunction()

# spark_portable(TARGET): links the C++ library and libgcc into TARGET, and lists all that was linked in
# bin/TARGET.inputs, for the bill of materials.
function(spark_portable target)
  spark_list_inputs(${target})
  # A sanitizer replaces functions of the shared C++ library.
  if(SPARKPLAN_SANITIZE)
    return()
  endif()
  target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/engine/core/find_object.cc)
  target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc -Wl,--wrap=_dl_find_object)
endfunction()

# spark_list_inputs(TARGET): bin/TARGET.inputs, a rule for make that lists the linker's input files.
function(spark_list_inputs target)
  check_linker_flag(CXX -Wl,--dependency-file=/dev/null SPARKPLAN_LINKER_LISTS_INPUTS)
  if(SPARKPLAN_LINKER_LISTS_INPUTS)
    target_link_options(${target} PRIVATE -Wl,--dependency-file=${CMAKE_BINARY_DIR}/bin/${target}.inputs)
  endif()
endfunction()
