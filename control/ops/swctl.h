/* swctl: the operator's tool. Each verb is a file of its own; each returns the exit code: 0 done, 1
 * it did not work (said on stderr), 2 called wrongly, 3 it worked and what it found is not in
 * order. argv[0] is the verb. */
#ifndef SW_CONTROL_OPS_SWCTL_H
#define SW_CONTROL_OPS_SWCTL_H

int swctl_audit(int argc, char **argv);
int swctl_ledger(int argc, char **argv);
int swctl_instance(int argc, char **argv);
/* An order as it stands: the verb and all that follows. */
int swctl_order(int argc, char **argv);
int swctl_pass_key(int argc, char **argv);
int swctl_status(int argc, char **argv);
int swctl_ticket(int argc, char **argv);
int swctl_ticket_key(int argc, char **argv);
int swctl_token(int argc, char **argv);

/* The /status of a node, or NULL after a sentence on stderr. body, if not NULL: its text, too, to
 * be freed. Free it with json_decref. */
struct json_t *swctl_status_get(const char *address, char **body);

#endif
