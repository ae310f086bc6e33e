/*
 * usual: see usual.h.
 */
#include "run/usual.h"

#include <string.h>

#include "ctf/metadata/metadata.h"
#include "ctf/metadata/type.h"

/* Tracers of kernels say so, or have its switches. */
static bool is_of_kernel(const struct metadata *types)
{
	const struct env_entry *domain = metadata_env(types, "domain");
	bool is = domain && domain->text && strcmp(domain->text, "kernel") == 0;

	for (const struct event_class *class = types->events; class && !is && !domain;
	     class = class->next) {
		is = strcmp(class->name, "sched_switch") == 0;
	}
	return is;
}

void usual_choose(struct options *options, const struct recorded_paths *paths)
{
	bool has_kernel = false, has_user = false;
	struct err unread;

	for (size_t i = 0; i < paths->at.count && !(has_kernel && has_user); i++) {
		struct metadata_stream *stream = metadata_stream_new();

		if (recorded_read_metadata(&paths->at.at[i], stream, &unread) == 0) {
			bool is_kernel = is_of_kernel(metadata_stream_types(stream));

			has_kernel |= is_kernel;
			has_user |= !is_kernel;
		}
		metadata_stream_free(stream);
	}
	if (!options->has_analyses && has_user) {
		options_choose_usual(options, has_kernel, true);
	}
}
