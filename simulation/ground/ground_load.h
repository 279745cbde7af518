/* ground_load: reads a map of Tiled's (mapeditor.org) JSON format into a ground. Set-up threads and
 * tools, of server and client; allocates and reads files.
 *
 * Taken: orthogonal maps of a fixed size; tile layers as array or base64, plain, zlib or gzip;
 * tilesets in the map or in .tsj files; group layers; object layers with the classes of
 * docs/content.md. Flip and rotation bits of tiles are left out, image layers are skipped.
 *
 * While it reads, memory of up to 20 times the file's size is taken (a number in a JSON list is 40
 * bytes; base64 with zlib is far less), and none of it is kept.
 *
 * A file is never trusted: every size is bounded before memory is taken for it (rules/ground.h and
 * below), and whatever is not taken is refused. All faults of a map are written to errors, one a
 * line: "file: where in it: what is wrong, what is allowed". */
#ifndef SW_SIMULATION_GROUND_GROUND_LOAD_H
#define SW_SIMULATION_GROUND_GROUND_LOAD_H

#include <stddef.h>
#include <stdio.h>

#include "simulation/rules/ground.h"

#define SW_GROUND_FILE_BYTES_MAX 16777216u /* of a map; of a tileset, a quarter */
#define SW_GROUND_LAYERS_MAX     64u       /* groups included */
#define SW_GROUND_TILESETS_MAX   64u
#define SW_GROUND_TILE_IDS_MAX   65536u /* of one tileset */
#define SW_GROUND_TILE_MM        1000u  /* map property tile_mm, where it is not given */
#define SW_GROUND_RADIUS_MM      300u   /* map property radius_mm, where it is not given */

/* Reads folder/path. The map's tilesets lie in folder, too: their sources are relative to the map
 * and may not lead out of it. With folder NULL they may lie anywhere: for files of one's own.
 * On success *ground is to be freed with sw_ground_free. Returns
 *   -EINVAL    faults, said in errors
 *   -ENOMEM    no memory, said as well
 *   -errno     of reading the file, said as well */
int sw_ground_load(const char *folder, const char *path, FILE *errors, struct sw_ground **ground);

/* The same from memory; name stands for the file in faults. A tileset in a file of its own is
 * refused: there is none beside it. */
int sw_ground_parse(
	const void *bytes, size_t count, const char *name, FILE *errors, struct sw_ground **ground);

void sw_ground_free(struct sw_ground *ground); /* NULL is fine */

#endif
