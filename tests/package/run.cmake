# Installs a build to a fresh prefix, then builds and runs a project that knows nothing but the prefix.
# usage: cmake -DBUILD=... -DSOURCE=... -DCOMPONENTS=core,psgd -DFLAGS=... -DGENERATOR=... -DWORK=... -P run.cmake

cmake_minimum_required(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${WORK})
set(prefix ${WORK}/prefix)
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})

# A package can be moved: nothing in its CMake files or headers names the build or the source tree.
file(GLOB_RECURSE texts ${prefix}/*.cmake ${prefix}/*.hpp)
foreach(file IN LISTS texts)
  file(READ ${file} text)
  foreach(folder ${BUILD} ${SOURCE} ${WORK})
    string(FIND "${text}" "${folder}" at)
    if(NOT at EQUAL -1)
      message(FATAL_ERROR "${file} names ${folder}")
    endif()
  endforeach()
endforeach()
file(RENAME ${prefix} ${WORK}/moved)

run(${CMAKE_COMMAND} -G ${GENERATOR} -S ${CMAKE_CURRENT_LIST_DIR}/consumer -B ${WORK}/build -DCMAKE_PREFIX_PATH=${WORK}/moved
  -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS=${FLAGS} -DCOMPONENTS=${COMPONENTS})
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${WORK}/build/use_core)
if(COMPONENTS MATCHES psgd)
  run(${WORK}/build/use_psgd ${SOURCE}/tests/golden/digits-cnn-f32.h5)
  run(${WORK}/moved/bin/psgd-replay --quiet ${SOURCE}/tests/golden/digits-cnn-f32.h5 --csv /dev/null)
endif()
