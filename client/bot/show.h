/* show.h: a small map in the terminal around one bot, for people to look at. */
#ifndef SWC_BOT_SHOW_H
#define SWC_BOT_SHOW_H

#include <stdio.h>

#include "client/bot/bot.h"

/* Draws one frame. On a terminal it overwrites the frame before, in colour; elsewhere it is plain
 * text. */
void show_frame(FILE *out, const struct bot *bot, bool terminal);

/* Prints text from the server with control characters replaced, so that it cannot drive the
 * terminal. */
void show_text(FILE *out, const char *text);

#endif
