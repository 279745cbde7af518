#include "client/bot/maps.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static bool is_map(const char *name)
{
	size_t bytes = strlen(name);

	return bytes > 4 && name[0] != '.' && !strcmp(name + bytes - 4, ".tmj");
}

static bool map_load(struct maps *maps, const char *folder, const char *name)
{
	char path[4096], why[4096];

	if (maps->count == SWC_GROUNDS_MAX) {
		fprintf(stderr, "stormweir-bot: %s: more than %d maps\n", folder, SWC_GROUNDS_MAX);
		return false;
	}
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (swc_ground_load(path, &maps->grounds[maps->count], why, sizeof(why))) {
		fprintf(stderr, "stormweir-bot: %s\n", why);
		return false;
	}
	maps->count++;
	return true;
}

bool maps_load(struct maps *maps, const char *folder)
{
	struct dirent *entry;
	bool good = true;
	DIR *list;

	*maps = (struct maps){.count = 0};
	if (!folder)
		return true;
	maps->ways = ways_new();
	if (!maps->ways) {
		fprintf(stderr, "stormweir-bot: no memory\n");
		return false;
	}
	list = opendir(folder);
	if (!list) {
		fprintf(stderr, "stormweir-bot: %s: %s\n", folder, strerror(errno));
		return false;
	}
	while (good && (entry = readdir(list)))
		if (is_map(entry->d_name))
			good = map_load(maps, folder, entry->d_name);
	closedir(list);
	return good;
}

void maps_free(struct maps *maps)
{
	for (uint32_t i = 0; i < maps->count; i++)
		swc_ground_free(maps->grounds[i]);
	ways_free(maps->ways);
}
