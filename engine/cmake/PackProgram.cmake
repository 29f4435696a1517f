# Makes of PROGRAM what sparkplan sends to nodes: PACKED, the same compressed.
# cmake -D GZIP=... -D PROGRAM=... -D PACKED=... -P PackProgram.cmake
# -n: without a name and a time in it, so that the same program gives the same bytes.
execute_process(COMMAND ${GZIP} -9 -n -c ${PROGRAM} OUTPUT_FILE ${PACKED} COMMAND_ERROR_IS_FATAL ANY)
