# A room is a folder, one static library and one namespace. Sources are globbed: adding a file
# never edits the build.

# tsim_room(<name> <folder> <public libraries...>) makes tsim_<name>.
function(tsim_room name folder)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cpp)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.hpp)
  list(FILTER sources EXCLUDE REGEX "/sim/cli/main\\.cpp$")
  list(FILTER headers EXCLUDE REGEX "/cuda/")  # built by itself, where CUDA is
  if(NOT folder STREQUAL "sim/cli")
    list(FILTER sources EXCLUDE REGEX "/sim/cli/")
    list(FILTER headers EXCLUDE REGEX "/sim/cli/")
  endif()
  add_library(tsim_${name} STATIC ${sources})
  set_target_properties(tsim_${name} PROPERTIES LINKER_LANGUAGE CXX)
  target_sources(
    tsim_${name} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${headers})
  target_link_libraries(tsim_${name} PUBLIC tsim_build ${ARGN} PRIVATE tsim_warnings)
  tsim_optimise_across_files(tsim_${name})
endfunction()

function(tsim_room_definitions name)
  target_compile_definitions(tsim_${name} PRIVATE ${ARGN})
endfunction()
