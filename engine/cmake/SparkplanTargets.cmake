include(Hardening)
include(Portable)

# Warnings, sanitizers and hardening for every target of this project, but not for foreign headers.
add_library(sparkplan_options INTERFACE)
target_include_directories(sparkplan_options INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_options(sparkplan_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor
  -Wold-style-cast -Woverloaded-virtual -Werror)
# True except for targets with this property: tests run once, and each of these flags costs build time.
set(spark_unless_quick $<NOT:$<BOOL:$<TARGET_PROPERTY:SPARKPLAN_QUICK_TO_BUILD>>>)
# An agent needs only a small part of these libraries; the linker drops the rest.
target_compile_options(sparkplan_options INTERFACE "$<${spark_unless_quick}:-ffunction-sections;-fdata-sections>")
target_link_options(sparkplan_options INTERFACE -Wl,--gc-sections)
if(SPARKPLAN_SANITIZE)
  # g++ 12 warns of uninitialised variants in instrumented code; the sanitizer itself checks for them reliably.
  target_compile_options(sparkplan_options INTERFACE -fsanitize=${SPARKPLAN_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  # An index beyond a container's size may still be within its memory, where a sanitizer does not report it.
  target_compile_definitions(sparkplan_options INTERFACE _GLIBCXX_ASSERTIONS)
  target_link_options(sparkplan_options INTERFACE -fsanitize=${SPARKPLAN_SANITIZE})
else()
  spark_harden(sparkplan_options)
endif()

# spark_unity(TARGET [APART source...]): with SPARKPLAN_UNITY, several sources become one compilation, because most of the
# time goes into headers that they share. tests/bench/build_time.sh measures it. So the names in the anonymous namespaces
# of a target differ. APART are sources that cannot be together with others, with the reason beside it.
function(spark_unity target)
  cmake_parse_arguments(ARG "" "" "APART" ${ARGN})
  if(NOT SPARKPLAN_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${SPARKPLAN_UNITY_BATCH})
  set_source_files_properties(${ARG_APART} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  # Sources are included like headers there, and g++ warns of types that two of them could define differently.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endfunction()

# spark_sources(VARIABLE source...): the sources. A pattern such as *.cc stands for all files that it matches, so that a
# new file of that folder needs no edit of the build.
function(spark_sources variable)
  set(all "")
  foreach(source IN LISTS ARGN)
    if(source MATCHES "[*]")
      file(GLOB source CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/${source})
    endif()
    list(APPEND all ${source})
  endforeach()
  set(${variable} ${all} PARENT_SCOPE)
endfunction()

# spark_library(NAME [FOR_SPEED] [SOURCES file...] [APART file...] [DEPENDS target...]
#   [LIBRARIES target...])
# One static library per folder. DEPENDS are layers of this project. LIBRARIES are foreign libraries and stay private to
# the folder. SOURCES may have patterns. FOR_SPEED: code that only the controller contains, where size does not matter.
# APART: those of the sources that are compiled alone, see spark_unity().
function(spark_library name)
  cmake_parse_arguments(ARG "FOR_SPEED" "" "SOURCES;APART;DEPENDS;LIBRARIES" ${ARGN})
  spark_sources(sources ${ARG_SOURCES})
  add_library(${name} STATIC ${sources})
  spark_unity(${name} APART ${ARG_APART})
  if(ARG_FOR_SPEED)
    target_compile_options(${name} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O2>)
  endif()
  target_link_libraries(${name} PUBLIC sparkplan_options tl::expected ${ARG_DEPENDS} PRIVATE ${ARG_LIBRARIES})
endfunction()

# spark_embed(TARGET SYMBOL FILE): the bytes of FILE become
#   extern "C" const unsigned char SYMBOL[], SYMBOL_end[];
function(spark_embed target symbol file)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/embedded_${symbol}.cc)
  file(CONFIGURE OUTPUT ${source} CONTENT "// Generated: the bytes of a file, linked in.
asm(R\"(
.section .rodata
.balign 16
.global @symbol@
@symbol@:
.incbin \"@file@\"
.global @symbol@_end
@symbol@_end:
.byte 0
.section .note.GNU-stack,\"\",@progbits
.text
)\");
" @ONLY)
  set_source_files_properties(${source} PROPERTIES OBJECT_DEPENDS "${file}" SKIP_UNITY_BUILD_INCLUSION ON)
  target_sources(${target} PRIVATE ${source})
endfunction()
