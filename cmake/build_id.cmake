# Writes OUT: a hash over the files SOURCES, as simulation/record.h declares it.
set(all "")
foreach(source ${SOURCES})
	file(SHA256 ${source} hash)
	string(APPEND all ${hash})
endforeach()
string(SHA256 id "${all}")
file(WRITE ${OUT} "#include \"simulation/record.h\"\n\nconst char sim_build_id[RECORDING_BUILD_BYTES] = \"${id}\";\n")
