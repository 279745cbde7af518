#include "common/config_depth.h"

#include <yaml.h>

uint32_t config_too_deep(const uint8_t *text, size_t bytes)
{
	yaml_parser_t parser;
	yaml_event_t event;
	yaml_event_type_t type = YAML_NO_EVENT;
	uint32_t depth = 0, line = 0;

	if (!yaml_parser_initialize(&parser))
		return 0;
	yaml_parser_set_input_string(&parser, text, bytes);
	while (!line && type != YAML_STREAM_END_EVENT && yaml_parser_parse(&parser, &event)) {
		type = event.type;
		if (type == YAML_SEQUENCE_START_EVENT || type == YAML_MAPPING_START_EVENT)
			depth++;
		else if (type == YAML_SEQUENCE_END_EVENT || type == YAML_MAPPING_END_EVENT)
			depth--;
		if (depth > CONFIG_DEPTH_MAX)
			line = (uint32_t)event.start_mark.line + 1;
		yaml_event_delete(&event);
	}
	yaml_parser_delete(&parser);
	return line;
}
