/* testing_quiet: malloc and its kin, which abort in silence, and a filter that no system call comes
 * through. Linked into a test program itself, not into a library. */
#ifndef SW_SIMULATION_TESTING_QUIET_H
#define SW_SIMULATION_TESTING_QUIET_H

/* Of the calling thread: who allocates or frees between the two is ended. */
void test_silence(void);
void test_speak(void);

/* After this any system call but exit kills the process; 77 where there is no such filter. */
void test_forbid_system_calls(void);
void test_end_in_silence(void);

#endif
