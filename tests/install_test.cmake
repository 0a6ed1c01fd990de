# cmake -D BUILD= -D PREFIX= -D DATA= -P install_test.cmake
# The installed program, run from anywhere, finds the data files that were installed with it.

file(REMOVE_RECURSE ${PREFIX})
execute_process(
  COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${PREFIX}
  OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)

file(GLOB devices RELATIVE ${DATA}/devices ${DATA}/devices/*.json)
list(FILTER devices EXCLUDE REGEX "\\.points\\.json$")  # measurements that devices read
list(TRANSFORM devices REPLACE "\\.json$" "\n")
list(SORT devices)
string(CONCAT expected ${devices})

set(installed ${PREFIX}/share/tsim/scenarios/devices)
file(WRITE ${PREFIX}/empty/.keep "")
execute_process(
  COMMAND ${CMAKE_COMMAND} -E env --unset=TSIM_DATA_DIR ${PREFIX}/bin/tsim devices --names
  WORKING_DIRECTORY ${PREFIX}/empty
  OUTPUT_VARIABLE names COMMAND_ERROR_IS_FATAL ANY)
if(NOT names STREQUAL expected)
  message(FATAL_ERROR "tsim devices --names printed\n${names}\nexpected\n${expected}")
endif()
# Without the installed ones it must find none: the source tree's are not looked for.
file(REMOVE_RECURSE ${installed})
execute_process(
  COMMAND ${PREFIX}/bin/tsim devices --names
  WORKING_DIRECTORY ${PREFIX}/empty
  OUTPUT_VARIABLE names COMMAND_ERROR_IS_FATAL ANY)
if(NOT names STREQUAL "")
  message(FATAL_ERROR "these devices are not the installed ones:\n${names}")
endif()
if(NOT EXISTS ${PREFIX}/share/bash-completion/completions/tsim)
  message(FATAL_ERROR "the bash completion was not installed")
endif()
file(REMOVE_RECURSE ${PREFIX})
