/* swctl: the operator's tool. Each verb is a file of its own; each returns the exit code: 0 done, 1
 * it did not work (said on stderr), 2 called wrongly, 3 it worked and what it found is not in
 * order. argv[0] is the verb. */
#ifndef SW_CONTROL_OPS_SWCTL_H
#define SW_CONTROL_OPS_SWCTL_H

int swctl_audit(int argc, char **argv);
int swctl_status(int argc, char **argv);
int swctl_ticket(int argc, char **argv);
int swctl_ticket_key(int argc, char **argv);

#endif
