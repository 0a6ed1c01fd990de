# Warnings, sanitizers, coverage and link-time optimisation as targets and functions.

add_library(tsim_warnings INTERFACE)
# A designated initialiser names what differs from the default: the rest is left out on purpose.
target_compile_options(tsim_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
                                               -Wno-missing-field-initializers)
# Part of -Wconversion for clang, not for gcc: an index is a difference of positions or a size.
target_compile_options(tsim_warnings INTERFACE $<$<CXX_COMPILER_ID:Clang>:-Wno-sign-conversion>)

# What changes the code of every target; the rooms pass it on to all that link them.
add_library(tsim_build INTERFACE)
if(TSIM_SANITIZE)
  set(flags -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_compile_options(tsim_build INTERFACE ${flags})
  target_link_options(tsim_build INTERFACE ${flags})
  target_compile_definitions(tsim_build INTERFACE _GLIBCXX_ASSERTIONS)
endif()
if(TSIM_COVERAGE)
  target_compile_options(tsim_build INTERFACE --coverage -fprofile-update=atomic)
  target_link_options(tsim_build INTERFACE --coverage)
endif()
if(TSIM_FUZZ)
  target_compile_options(tsim_build INTERFACE -fsanitize=fuzzer-no-link)
endif()

if(TSIM_LTO)
  include(CheckIPOSupported)
  check_ipo_supported(RESULT lto_works OUTPUT lto_message LANGUAGES CXX)
  if(NOT lto_works)
    message(WARNING "no link-time optimisation: ${lto_message}")
  endif()
endif()

# `target`'s whole code is optimised as one when TSIM_LTO is on. The rooms' objects hold both the
# intermediate and the machine code then, so that other programs (tests) link without that wait.
function(tsim_optimise_across_files target)
  if(TSIM_LTO AND lto_works)
    set_target_properties(${target} PROPERTIES INTERPROCEDURAL_OPTIMIZATION ON)
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "STATIC_LIBRARY" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      target_compile_options(${target} PRIVATE -ffat-lto-objects)
    endif()
  endif()
endfunction()
