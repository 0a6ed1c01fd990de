# The target `coverage`: after the tests have run, prints line coverage and fails under 95 % in any
# room. Run it with `cmake --workflow --preset coverage`.

find_program(GCOVR gcovr REQUIRED)
set(commands COMMAND ${GCOVR} --root ${PROJECT_SOURCE_DIR} --json coverage.json)
foreach(room models cost strategies sim)
  list(APPEND commands COMMAND ${GCOVR} --root ${PROJECT_SOURCE_DIR} --add-tracefile coverage.json
       --filter ${PROJECT_SOURCE_DIR}/${room}/ --fail-under-line 95)
endforeach()
add_custom_target(
  coverage
  ${commands}
  WORKING_DIRECTORY ${PROJECT_BINARY_DIR}
  VERBATIM)
