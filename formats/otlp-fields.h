/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The numbers of fields in opentelemetry-proto 1.11.0, opentelemetry/proto/profiles/v1development.
 */
#pragma once

enum data_field { DATA_RESOURCE_PROFILES = 1, DATA_DICTIONARY = 2 };
enum resource_profiles_field {
	RESOURCE_PROFILES_RESOURCE = 1,
	RESOURCE_PROFILES_SCOPE = 2,
	RESOURCE_PROFILES_SCHEMA_URL = 3,
};
enum resource_field { RESOURCE_ATTRIBUTES = 1 };
enum scope_profiles_field { SCOPE_PROFILES_SCOPE = 1, SCOPE_PROFILES_PROFILES = 2 };
enum scope_field { SCOPE_NAME = 1, SCOPE_VERSION = 2 };
enum profile_field {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLES = 2,
	PROFILE_TIME = 3,
	PROFILE_DURATION = 4,
	PROFILE_PERIOD_TYPE = 5,
	PROFILE_PERIOD = 6,
	PROFILE_ATTRIBUTE_INDICES = 11,
};
enum value_type_field { VALUE_TYPE_TYPE = 1, VALUE_TYPE_UNIT = 2 };
enum sample_field { SAMPLE_STACK = 1, SAMPLE_ATTRIBUTES = 2, SAMPLE_LINK = 3, SAMPLE_VALUES = 4 };
enum dictionary_field {
	DICTIONARY_MAPPINGS = 1,
	DICTIONARY_LOCATIONS = 2,
	DICTIONARY_FUNCTIONS = 3,
	DICTIONARY_LINKS = 4,
	DICTIONARY_STRINGS = 5,
	DICTIONARY_ATTRIBUTES = 6,
	DICTIONARY_STACKS = 7,
};
enum mapping_field {
	MAPPING_START = 1,
	MAPPING_LIMIT = 2,
	MAPPING_OFFSET = 3,
	MAPPING_FILENAME = 4,
	MAPPING_ATTRIBUTES = 5,
};
enum location_field {
	LOCATION_MAPPING = 1,
	LOCATION_ADDRESS = 2,
	LOCATION_LINES = 3,
	LOCATION_ATTRIBUTES = 4,
};
enum line_field { LINE_FUNCTION = 1, LINE_LINE = 2 };
enum function_field { FUNCTION_NAME = 1, FUNCTION_FILENAME = 3 };
enum stack_field { STACK_LOCATIONS = 1 };
enum attribute_field { ATTRIBUTE_KEY = 1, ATTRIBUTE_VALUE = 2 };
enum key_value_field { KEY_VALUE_KEY = 1, KEY_VALUE_VALUE = 2 };
enum any_value_field { ANY_VALUE_STRING = 1, ANY_VALUE_INT = 3 };
enum link_field { LINK_TRACE_ID = 1, LINK_SPAN_ID = 2 };
