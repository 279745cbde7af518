# How a folder sees only what it links.
#
# Every header is included by its path from the root: #include "dataplane/port.h". That path
# resolves only for targets that link the folder's library: each library exports one include
# root, <build>/inc/<top folder>/, which holds a single link to the source folder. A forbidden
# include (simulation reading dataplane/) therefore fails to build.

# sw_include_root(<top folder> <variable>): makes the root, returns its path.
function(sw_include_root folder out)
	set(root ${CMAKE_BINARY_DIR}/inc/${folder})
	file(MAKE_DIRECTORY ${root})
	if(NOT EXISTS ${root}/${folder})
		file(CREATE_LINK ${CMAKE_SOURCE_DIR}/${folder} ${root}/${folder} SYMBOLIC)
	endif()
	set(${out} ${root} PARENT_SCOPE)
endfunction()

# sw_library(<name> SOURCES a.c b.c [LINKS x y] [PRIVATE_LINKS z]): a static library of the
# current folder. Other folders see its headers when they link it.
function(sw_library name)
	cmake_parse_arguments(arg "" "" "SOURCES;LINKS;PRIVATE_LINKS" ${ARGN})
	file(RELATIVE_PATH here ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
	string(REGEX REPLACE "/.*" "" top ${here})
	sw_include_root(${top} root)
	add_library(${name} STATIC ${arg_SOURCES})
	target_include_directories(${name} PUBLIC ${root})
	target_link_libraries(${name} PUBLIC ${arg_LINKS} PRIVATE ${arg_PRIVATE_LINKS})
endfunction()

# All of them, without the tests: what a benchmark needs.
add_custom_target(programs)

# sw_program(<name> SOURCES ... LINKS ...): an executable, put into <build>/bin.
function(sw_program name)
	cmake_parse_arguments(arg "" "" "SOURCES;LINKS" ${ARGN})
	add_executable(${name} ${arg_SOURCES})
	target_link_libraries(${name} PRIVATE ${arg_LINKS})
	set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
	if(SW_SANITIZE MATCHES thread) # built where a test depends on them
		set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL TRUE)
	endif()
	add_dependencies(programs ${name})
endfunction()

# sw_test_built(<target> <label>...): under a sanitizer only those tests are built that run under it.
function(sw_test_built target)
	set(wanted "")
	if(SW_SANITIZE MATCHES thread)
		set(wanted ring)
	elseif(SW_SANITIZE AND NOT SW_FUZZ)
		set(wanted pure)
	endif()
	if(wanted AND NOT wanted IN_LIST ARGN)
		set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL TRUE)
	endif()
endfunction()

# sw_test(<name> SOURCES ... LINKS ... [LABELS pure|ring|...] [ARGS ...]): a cmocka test, run by CTest.
# Label "pure" marks tests that also run under asan, "ring" those that also run under tsan.
pkg_check_modules(CMOCKA IMPORTED_TARGET cmocka)
function(sw_test name)
	cmake_parse_arguments(arg "" "TIMEOUT" "SOURCES;LINKS;LABELS;ARGS;LOCKS" ${ARGN})
	if(NOT CMOCKA_FOUND)
		return()
	endif()
	add_executable(${name} ${arg_SOURCES})
	target_link_libraries(${name} PRIVATE ${arg_LINKS} PkgConfig::CMOCKA)
	sw_test_built(${name} ${arg_LABELS})
	add_test(NAME ${name} COMMAND ${name} ${arg_ARGS})
	if(NOT arg_TIMEOUT)
		set(arg_TIMEOUT 120)
	endif()
	set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "${arg_LABELS}")
	if(arg_LOCKS)
		set_tests_properties(${name} PROPERTIES RESOURCE_LOCK "${arg_LOCKS}")
	endif()
endfunction()

# sw_e2e(<name> <timeout in s> [BUSY] COMMAND ...): a test that makes the one network stage of this checkout and so runs
# alone among its kind. They mostly wait and are begun first (COST), with tests of the other kinds beside them; BUSY ones
# spin on every core and have the machine for themselves. Exit code 77: skipped.
function(sw_e2e name timeout)
	cmake_parse_arguments(arg "BUSY" "" "COMMAND" ${ARGN})
	set(cores 1)
	set(cost 1000)
	if(arg_BUSY)
		set(cores 2)
		set(cost 2000)
	endif()
	add_test(NAME ${name} COMMAND ${arg_COMMAND})
	set_tests_properties(${name} PROPERTIES TIMEOUT ${timeout} LABELS e2e RESOURCE_LOCK netns PROCESSORS ${cores}
		COST ${cost} SKIP_RETURN_CODE 77)
endfunction()

# sw_fuzz(<FOLDER_NAME_fuzz> SOURCES ... LINKS ...): a libFuzzer target, in the fuzz preset only. SOURCES
# are the target and the files under test, compiled again with coverage: the libraries have none. ./dev
# fuzz finds it by its name, and its seeds in FOLDER/NAME_corpus.
function(sw_fuzz name)
	cmake_parse_arguments(arg "" "" "SOURCES;LINKS" ${ARGN})
	if(NOT SW_FUZZ)
		return()
	endif()
	file(RELATIVE_PATH here ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
	string(REPLACE "/" "_" here ${here})
	if(NOT name MATCHES "^${here}_(.+_)?fuzz$")
		message(FATAL_ERROR "${name}: a fuzz target here is called ${here}_fuzz or ${here}_..._fuzz")
	endif()
	add_executable(${name} ${arg_SOURCES})
	target_link_libraries(${name} PRIVATE ${arg_LINKS})
	target_compile_options(${name} PRIVATE -fsanitize=fuzzer)
	target_link_options(${name} PRIVATE -fsanitize=fuzzer)
endfunction()

# sw_fuzz_replay(<name> SOURCES target replay_made [LINKS ...] [CORPUS folder ...]): the same target as a
# test without a fuzzer; see tests/fuzz/replay.h.
function(sw_fuzz_replay name)
	cmake_parse_arguments(arg "" "" "SOURCES;LINKS;CORPUS" ${ARGN})
	sw_test(${name} SOURCES ${arg_SOURCES} ${CMAKE_SOURCE_DIR}/tests/fuzz/replay_main.c LINKS ${arg_LINKS}
		LABELS pure ARGS ${arg_CORPUS})
	if(TARGET ${name})
		sw_include_root(tests root)
		target_include_directories(${name} PRIVATE ${root})
	endif()
endfunction()

find_program(BATS bats)

# sw_bats(<name> <file> [LABELS ...]): a test of scripts, run by CTest.
function(sw_bats name file)
	cmake_parse_arguments(arg "" "" "LABELS" ${ARGN})
	if(NOT BATS)
		return()
	endif()
	add_test(NAME ${name} COMMAND ${BATS} ${CMAKE_CURRENT_SOURCE_DIR}/${file})
	set_tests_properties(${name} PROPERTIES TIMEOUT 300 LABELS "${arg_LABELS}")
endfunction()
