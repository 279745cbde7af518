/* swctl: the operator's tool; see swctl.h. */
#include "control/ops/swctl.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char help[] =
	"swctl: looks after a Stormweir node\n"
	"\n"
	"  swctl status [--http ADDRESS] [--json]\n"
	"      asks a node how it is: health, players, ticks. ADDRESS is http.address of its "
	"configuration,\n"
	"      127.0.0.1:9100 by default. Exit code 0, or 3 when something is red, 1 when nobody "
	"answers.\n"
	"\n"
	"  swctl ticket-key --out-dir DIR [--id N]\n"
	"      makes a key pair for login tickets: the secret half in DIR/ticket-N.key (mode "
	"0600), the\n"
	"      lines for the server's configuration on standard output. --id is 1 by default.\n"
	"\n"
	"  swctl ticket --key FILE --character ID --name NAME [--account ID] [--realm N] [--ttl "
	"SECONDS]\n"
	"               [--count N] [--out FILE [--raw]]\n"
	"      signs login tickets, one base64 line each, to standard output or to --out.\n"
	"      account and realm are 1 by default, ttl is 300. With --count, characters are ID, "
	"ID+1, ...\n"
	"      and names are NAME1, NAME2, ...; --first-character is the same as --character.\n"
	"      --raw writes the bytes instead: to FILE, or to FILE.<character> where there are "
	"several.\n"
	"\n"
	"  swctl pass-key new FILE\n"
	"  swctl pass-key rotate FILE\n"
	"      makes the file of keys that nodes seal passes with (admission.pass_keys, mode "
	"0600), the "
	"same\n"
	"      for all nodes of a cluster; puts a new key before the one that is there. To change "
	"keys: "
	"rotate,\n"
	"      bring the file to all nodes, restart them one after the other. Until each has it, "
	"some "
	"passes\n"
	"      are refused, and players log in with tickets.\n"
	"\n"
	"  swctl audit ledger --config FILE | --conninfo TEXT [--realm N]\n"
	"      sums up the ledger, and what has been taken out of it, and compares it with what "
	"characters own: gold, experience, "
	"items,\n"
	"      quests, match results. One line for each difference. Exit code 0, or 3 when there "
	"is\n"
	"      one, 1 when PostgreSQL does not answer. Reads one snapshot; servers may run "
	"meanwhile.\n"
	"\n"
	"Orders. A node takes them from whoever shows a token of its ops.tokens: TOKENFILE, or the "
	"file in\n"
	"SWCTL_TOKEN, has such a line. The token has a role: read, operate or admin, each with the "
	"rights of\n"
	"those before it. Each order is written into ops_audit_log, with who gave it, also one "
	"that "
	"was\n"
	"refused. Exit code 0, 1 when it was refused or not taken, 2 when it is no order.\n"
	"Options: [--http ADDRESS] [--token TOKENFILE]\n"
	"\n"
	"  swctl instance list\n"
	"  swctl instance show SLOT.GENERATION\n"
	"      the running copies of maps, and one of them; these two need no token.\n"
	"  swctl player PLAYER                                                  role read\n"
	"      place, session, epoch, and what of it is not in PostgreSQL yet. PLAYER: a "
	"character's id, or\n"
	"      its name.\n"
	"  swctl party PARTY|PLAYER                                             role read\n"
	"      its version, its members, who leads, and where each of them is.\n"
	"  swctl instance open MAP                                              role operate\n"
	"      one more instance of a map or room, up to maps[].instances_max.\n"
	"  swctl instance close SLOT.GENERATION [--reason TEXT]                 role operate\n"
	"      it takes nobody more. A room plays to its end; a map's players go to its other "
	"instances.\n"
	"  swctl kick PLAYER [--reason TEXT]                                    role operate\n"
	"      saves and disconnects a player.\n"
	"  swctl ledger grant|take CHARACTER WHAT AMOUNT --reason TEXT [--request UUID]   role "
	"admin\n"
	"      gives to a character's id, or takes from it: gold, experience, item:NUMBER (one "
	"that "
	"stacks),\n"
	"      single:NUMBER (one that does not). Done once for a request, however often it is "
	"asked "
	"for;\n"
	"      without --request a new one is drawn.\n"
	"  swctl ledger reverse REQUEST --reason TEXT                           role admin\n"
	"      the opposite of one commit, by its request as in the ledger; once, and only if what "
	"it "
	"gave\n"
	"      is still there.\n"
	"  swctl record stop                                                    role admin\n"
	"      ends the recordings of the shards in order (simulation.record); the server goes on. "
	"A "
	"recording\n"
	"      begins with the server only: the state of a running shard cannot be written down.\n"
	"  swctl script list\n"
	"  swctl script errors|profile MAP|all                                  role read\n"
	"      the versions of the maps' scripts; their last errors with tracebacks; which "
	"handlers "
	"spend\n"
	"      the time.\n"
	"  swctl script reload MAP|all [--reason TEXT]                          role operate\n"
	"      reads the files again; all instances take them at the beginning of a tick, or none "
	"does. A\n"
	"      version whose handlers fail (simulation.script_failures) gives way to the one "
	"before.\n"
	"  swctl script release MAP|all [NAME]                                  role operate\n"
	"      lets handlers run again that were barred since they failed again and again; NAME: "
	"of one NPC.\n"
	"  swctl script rollback MAP|all [--reason TEXT]                        role operate\n"
	"      back to the version before the last reload.\n"
	"  swctl chat announce TEXT                                             role operate\n"
	"      to everybody of the realm; kept, so that who was away can fetch it\n"
	"  swctl chat mute PLAYER MINUTES [--reason TEXT]                       role operate\n"
	"  swctl chat ban PLAYER CHANNEL MINUTES [--reason TEXT]                role operate\n"
	"      0 minutes end it; PLAYER: a character's number, or the name of one who is on this "
	"node;\n"
	"      CHANNEL: global, language:de, party:7, or the number that history shows\n"
	"  swctl chat slow CHANNEL SECONDS [--reason TEXT]                      role operate\n"
	"  swctl chat history CHANNEL                                           role read\n"
	"  swctl chat reports                                                   role read\n"
	"  swctl chat close REPORT [--reason TEXT]                              role operate\n"
	"  swctl chat erase CHARACTER [--reason TEXT]                           role admin\n"
	"      what the character has said, from the log and from reports\n"
	"  swctl gate close|open [--reason TEXT]\n"
	"  swctl gate throttle RATE [--reason TEXT]\n"
	"      closes the gate of the whole cluster: nobody is let in, and who waits keeps its "
	"place; "
	"or lets\n"
	"      at most RATE players a second in; or opens it again.\n"
	"  swctl gate status\n"
	"      how the gate stands, since when, by whom and why; who waits, and for how much there "
	"is "
	"room.\n"
	"  swctl token NAME ROLE\n"
	"      makes a token: a line for ops.tokens, and for the operator's own TOKENFILE (both "
	"mode 0600).\n"
	"\n"
	"  swctl help\n";

static bool is_help(const char *argument)
{
	return !strcmp(argument, "--help") || !strcmp(argument, "-h");
}

int main(int argc, char **argv)
{
	static const struct {
		const char *verb;
		int (*run)(int argc, char **argv);
	} verbs[] = {
		{"audit", swctl_audit},
		{"chat", swctl_order},
		{"gate", swctl_order},
		{"instance", swctl_instance},
		{"kick", swctl_order},
		{"ledger", swctl_ledger},
		{"pass-key", swctl_pass_key},
		{"party", swctl_order},
		{"player", swctl_order},
		{"record", swctl_order},
		{"script", swctl_order},
		{"status", swctl_status},
		{"ticket", swctl_ticket},
		{"ticket-key", swctl_ticket_key},
		{"token", swctl_token},
	};
	const char *verb = argc > 1 ? argv[1] : "";
	bool asks = !strcmp(verb, "help") || is_help(verb);

	for (int i = 2; i < argc; i++)
		asks |= is_help(argv[i]);
	if (asks) {
		fputs(help, stdout);
		return 0;
	}
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (!strcmp(verb, verbs[i].verb))
			return verbs[i].run(argc - 1, argv + 1);
	if (verb[0])
		fprintf(stderr, "swctl: there is no \"%s\"\n\n", verb);
	fputs(help, stderr);
	return 2;
}
