# cmake -D PROGRAM= -D ROOM= -D LIST= -D FOLDER= -P discover.cmake
# Asks a doctest program for its cases and writes one add_test for each into LIST.

execute_process(
  COMMAND ${PROGRAM} --list-test-cases --no-colors
  OUTPUT_VARIABLE output
  COMMAND_ERROR_IS_FATAL ANY)

# A case may be named with anything that is special to CMake or to doctest's filters: the name that
# ctest shows loses it, and the filter has a `?` (any letter) in its place.
string(REGEX REPLACE "[][;\\\"]" "?" output "${output}")
string(REGEX REPLACE "\n" ";" lines "${output}")

set(script "")
foreach(line IN LISTS lines)
  if(line STREQUAL "" OR line MATCHES "^(=+$|\\?doctest\\? )")
    continue()
  endif()
  string(REGEX REPLACE "[,*$]" "?" filter "${line}")
  string(REGEX REPLACE "[*$?]" "'" name "${line}")
  string(APPEND script "add_test([==[${ROOM}: ${name}]==] [==[${PROGRAM}]==]"
         " [==[--test-case=${filter}]==] --no-version)\n"
         "set_tests_properties([==[${ROOM}: ${name}]==] PROPERTIES WORKING_DIRECTORY [==[${FOLDER}]==]"
         " FAIL_REGULAR_EXPRESSION \"test cases: +0 \" LABELS ${ROOM})\n")
endforeach()
file(WRITE ${LIST} "${script}")
