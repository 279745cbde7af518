/* Faults, members and custom properties. */
#include "simulation/ground/tiled.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define GROW 16u

void tiled_fault(struct tiled *t, const char *where, const char *format, ...)
{
	char text[1024];
	va_list args;

	if (t->faults++ >= TILED_FAULTS_MAX)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	/* Names come from the file: no control character of theirs reaches a terminal. */
	for (unsigned char *c = (unsigned char *)text; *c; c++)
		if (*c < ' ' || *c == 0x7f || (*c == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0))
			*c = '?';
	fprintf(t->errors, "%s: ", t->file);
	for (const unsigned char *c = (const unsigned char *)where; *c; c++)
		fputc(*c < ' ' || *c == 0x7f || (*c == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0) ? '?'
											    : *c,
			t->errors);
	fprintf(t->errors, ": %s\n", text);
}

bool tiled_add(struct tiled *t, const char *where, struct tiled_list *list, const void *item,
	size_t item_bytes, uint32_t max, const char *what)
{
	if (list->count == max) {
		tiled_fault(t, where, "is one too many, allowed are %u %s of a map", max, what);
		return false;
	}
	if (list->count == list->room) {
		void *grown = realloc(list->items, (list->room + GROW) * item_bytes);

		if (!grown) {
			t->no_memory = true;
			return false;
		}
		list->items = grown;
		list->room += GROW;
	}
	memcpy((uint8_t *)list->items + list->count++ * item_bytes, item, item_bytes);
	return true;
}

const char *tiled_where(char out[TILED_WHERE_BYTES], const char *where, const char *key)
{
	snprintf(out, TILED_WHERE_BYTES, "%s%s%s", where, *where ? "." : "", key);
	return out;
}

static const char *kind_of(const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return "an object";
	case JSON_ARRAY:
		return "a list";
	case JSON_STRING:
		return "text";
	case JSON_INTEGER:
	case JSON_REAL:
		return "a number";
	case JSON_TRUE:
	case JSON_FALSE:
		return "true or false";
	default:
		return "null";
	}
}

/* A whole number in a JSON value, also one that was written as 5.0. */
static bool whole(const json_t *value, int64_t *out)
{
	if (json_is_integer(value)) {
		*out = json_integer_value(value);
		return true;
	}
	if (json_is_real(value) && json_real_value(value) >= -9e15 &&
		json_real_value(value) <= 9e15) {
		*out = (int64_t)json_real_value(value);
		return (double)*out == json_real_value(value);
	}
	return false;
}

static bool integer_check(struct tiled *t, const char *where, const json_t *value, int64_t min,
	int64_t max, int64_t *out)
{
	int64_t number;

	if (!json_is_number(value))
		tiled_fault(t, where,
			"is %s, allowed is a whole number from %" PRId64 " to %" PRId64,
			kind_of(value), min, max);
	else if (!whole(value, &number))
		tiled_fault(t, where,
			"is not whole, allowed is a whole number from %" PRId64 " to %" PRId64, min,
			max);
	else if (number < min || number > max)
		tiled_fault(t, where,
			"%" PRId64 " is out of range, allowed is from %" PRId64 " to %" PRId64,
			number, min, max);
	else
		return *out = number, true;
	return false;
}

bool tiled_integer(struct tiled *t, const char *where, const json_t *object, const char *key,
	int64_t min, int64_t max, int64_t *out)
{
	const json_t *value = json_object_get(object, key);
	char at[TILED_WHERE_BYTES];

	tiled_where(at, where, key);
	if (value)
		return integer_check(t, at, value, min, max, out);
	tiled_fault(t, at, "is missing, allowed is a whole number from %" PRId64 " to %" PRId64,
		min, max);
	return false;
}

const char *tiled_text(struct tiled *t, const char *where, const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	char at[TILED_WHERE_BYTES];

	if (!value || json_is_string(value))
		return value ? json_string_value(value) : NULL;
	tiled_fault(t, tiled_where(at, where, key), "is %s, allowed is text", kind_of(value));
	return NULL;
}

json_t *tiled_array(struct tiled *t, const char *where, const json_t *object, const char *key)
{
	json_t *value = json_object_get(object, key);
	char at[TILED_WHERE_BYTES];

	if (!value || json_is_array(value))
		return value;
	tiled_fault(t, tiled_where(at, where, key), "is %s, allowed is a list", kind_of(value));
	return NULL;
}

bool tiled_is_zero(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return !value || (json_is_number(value) && json_number_value(value) == 0);
}

/* ---- custom properties: [{"name": ..., "type": ..., "value": ...}] ---- */

static const json_t *property(const json_t *owner, const char *name)
{
	const json_t *list = json_object_get(owner, "properties");
	size_t i;
	json_t *entry;

	if (!json_is_array(list)) /* tiled_properties_form says so */
		return NULL;
	json_array_foreach(list, i, entry)
	{
		const char *entry_name = json_string_value(json_object_get(entry, "name"));

		if (entry_name && !strcmp(entry_name, name))
			return json_object_get(entry, "value");
	}
	return NULL;
}

bool tiled_has_property(const json_t *owner, const char *name)
{
	return property(owner, name) != NULL;
}

static const char *property_where(char out[TILED_WHERE_BYTES], const char *where, const char *name)
{
	snprintf(out, TILED_WHERE_BYTES, "%s%sproperty %s", where, *where ? ": " : "", name);
	return out;
}

bool tiled_property_bool(
	struct tiled *t, const char *where, const json_t *owner, const char *name, bool *out)
{
	const json_t *value = property(owner, name);
	char at[TILED_WHERE_BYTES];

	if (!value)
		return false;
	if (!json_is_boolean(value)) {
		tiled_fault(t, property_where(at, where, name),
			"is %s, allowed is true or false (type bool)", kind_of(value));
		return false;
	}
	*out = json_is_true(value);
	return true;
}

bool tiled_property_integer(struct tiled *t, const char *where, const json_t *owner,
	const char *name, int64_t min, int64_t max, int64_t *out)
{
	const json_t *value = property(owner, name);
	char at[TILED_WHERE_BYTES];

	return value && integer_check(t, property_where(at, where, name), value, min, max, out);
}

bool tiled_property_metres(struct tiled *t, const char *where, const json_t *owner,
	const char *name, uint32_t max_mm, uint32_t *out)
{
	const json_t *value = property(owner, name);
	char at[TILED_WHERE_BYTES];
	double metres;

	if (!value)
		return false;
	metres = json_number_value(value);
	if (!json_is_number(value) || !(metres >= 0 && metres * 1000 <= max_mm)) {
		tiled_fault(t, property_where(at, where, name),
			"is not such a length, allowed is a number of metres from 0 to %u",
			max_mm / 1000);
		return false;
	}
	*out = (uint32_t)lround(metres * 1000);
	return true;
}

bool tiled_name(
	struct tiled *t, const char *where, const char *text, char out[SW_GROUND_NAME_BYTES])
{
	size_t bytes = strlen(text);

	if (!bytes || bytes >= SW_GROUND_NAME_BYTES) {
		tiled_fault(t, where, "has %zu bytes, allowed are from 1 to %u", bytes,
			SW_GROUND_NAME_BYTES - 1);
		return false;
	}
	for (const unsigned char *c = (const unsigned char *)text; *c; c++)
		if (*c < ' ' || *c == 0x7f || (*c == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0)) {
			tiled_fault(
				t, where, "holds a control character, allowed is text on one line");
			return false;
		}
	memset(out, 0, SW_GROUND_NAME_BYTES);
	memcpy(out, text, bytes);
	return true;
}

bool tiled_property_name(struct tiled *t, const char *where, const json_t *owner, const char *name,
	char out[SW_GROUND_NAME_BYTES])
{
	const json_t *value = property(owner, name);
	char at[TILED_WHERE_BYTES];

	if (!value)
		return false;
	property_where(at, where, name);
	if (!json_is_string(value)) {
		tiled_fault(t, at, "is %s, allowed is text (type string)", kind_of(value));
		return false;
	}
	return tiled_name(t, at, json_string_value(value), out);
}

void tiled_properties_form(struct tiled *t, const char *where, const json_t *owner)
{
	const json_t *list = json_object_get(owner, "properties");

	if (list && !json_is_array(list))
		tiled_fault(t, where,
			"properties are %s, allowed is a list, as Tiled writes since 1.2",
			kind_of(list));
}

void tiled_properties_only(struct tiled *t, const char *where, const json_t *owner,
	const char *const known[], const char *known_text)
{
	const json_t *list = json_object_get(owner, "properties");
	size_t i;
	json_t *entry;

	tiled_properties_form(t, where, owner);
	json_array_foreach(list, i, entry)
	{
		const char *name = json_string_value(json_object_get(entry, "name"));
		const char *const *at = known;
		char where_it[TILED_WHERE_BYTES];

		while (*at && name && strcmp(*at, name))
			at++;
		if (!name)
			tiled_fault(t, where, "has a property without a name");
		else if (!*at)
			tiled_fault(t, property_where(where_it, where, name),
				"is not known here, allowed are %s", known_text);
	}
}
