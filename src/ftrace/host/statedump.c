/*
 * statedump: see statedump.h.
 */
#include "ftrace/host/statedump.h"

#include <assert.h>
#include <ctype.h>
#include <dirent.h>
#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/now.h"
#include "base/process/host-file.h"
#include "base/vec.h"
#include "containers/containers.h"

#define NAME_BYTES    16
#define STAT_BYTES    4096
#define PATH_BYTES    4096
#define KERNEL_THREAD 0x200000 /* PF_KTHREAD */
/* A dev_t as LTTng writes it: of the kernel, not of glibc. */
#define DEVICE_MINOR_BITS 20

/* ---- bytes of events ---- */

struct payload {
	VEC(uint8_t) bytes;
};

static void put_dumped(struct payload *payload, uint64_t value, size_t bytes)
{
	value = htole64(value);
	vec_append(&payload->bytes, (const uint8_t *)&value, bytes);
}

static void put_chars(struct payload *payload, const char *text)
{
	char chars[NAME_BYTES] = { 0 };

	memcpy(chars, text, strnlen(text, NAME_BYTES - 1));
	vec_append(&payload->bytes, (const uint8_t *)chars, sizeof(chars));
}

static void put_dumped_string(struct payload *payload, const char *text)
{
	vec_append(&payload->bytes, (const uint8_t *)text, strlen(text) + 1);
}

/* Where events of a dump go. */
struct dumping {
	const struct statedump *classes;
	struct convert *convert;
	struct host_places *places;
	uint32_t cpu;
	struct payload payload;
	const struct statedump_turn *turn; /* NULL: there is none */
	size_t emitted;
	bool knows_threads, is_over;
};

static void emit_dumped(struct dumping *to, uint32_t class_id)
{
	convert_event(to->convert, class_id, to->cpu, now_monotonic_ns(), to->payload.bytes.at,
		      to->payload.bytes.count);
	to->payload.bytes.count = 0;
	if (++to->emitted % STATEDUMP_TURN == 0 && to->turn && !to->is_over) {
		to->is_over = !to->turn->take(to->turn->user, to->knows_threads);
	}
}

/* ---- files of /proc ---- */

static bool link_text(const char *path, char *text, size_t size)
{
	ssize_t len = readlink(path, text, size - 1);

	text[len > 0 ? len : 0] = '\0';
	return len > 0;
}

/* Numbers that are names in a folder. */
typedef void on_number(void *user, int32_t number);

static void each_number(const struct dumping *to, const char *dir, size_t most, on_number *call,
			void *user)
{
	DIR *list = opendir(dir);
	const struct dirent *entry;

	for (size_t i = 0;
	     list && i < most && !to->is_over && !now_must_end() && (entry = readdir(list));) {
		if (isdigit((unsigned char)entry->d_name[0])) {
			call(user, (int32_t)strtol(entry->d_name, NULL, 10));
			i++;
		}
	}
	if (list) {
		(void)closedir(list);
	}
}

/* ---- a thread ---- */

struct proc_thread {
	int32_t tid, pid, parent, priority;
	uint32_t cpu, pid_ns;
	char name[NAME_BYTES];
	char state;
	bool is_kernel, is_compat;
};

/* The number of a field of /proc/PID/stat, by its number in proc(5); @state: where the third is. */
static int64_t stat_field(const char *state, unsigned int number)
{
	for (unsigned int i = 3; i < number && state; i++) {
		state = strchr(state, ' ');
		state = state ? state + 1 : NULL;
	}
	return state ? strtoll(state, NULL, 10) : 0;
}

static bool read_thread(struct proc_thread *thread, int32_t pid, int32_t tid)
{
	enum { PARENT = 4, FLAGS = 9, PRIORITY = 18, PROCESSOR = 39 };
	char path[64], text[STAT_BYTES], *open, *close;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
	if (host_file_read(path, text, sizeof(text)) <= 0) {
		return false;
	}
	open = strchr(text, '(');
	close = strrchr(text, ')');
	if (!open || !close || close < open || close[1] != ' ') {
		return false;
	}
	*close = '\0';
	*thread = (struct proc_thread){
		.tid = tid,
		.pid = pid,
		.state = close[2],
		.parent = (int32_t)stat_field(close + 2, PARENT),
		.is_kernel = stat_field(close + 2, FLAGS) & KERNEL_THREAD,
		.priority = (int32_t)stat_field(close + 2, PRIORITY),
		.cpu = (uint32_t)stat_field(close + 2, PROCESSOR),
	};
	memcpy(thread->name, open + 1, strnlen(open + 1, NAME_BYTES - 1));
	return true;
}

/* Whether a process runs a 32-bit program. */
static bool is_short_program(int32_t pid)
{
	char path[64], head[EI_NIDENT + 1];

	(void)snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	return host_file_read(path, head, sizeof(head)) > 0 && memcmp(head, ELFMAG, SELFMAG) == 0 &&
	       head[EI_CLASS] == ELFCLASS32;
}

static void tell(struct convert *convert, const struct proc_thread *thread)
{
	convert_thread(convert, &(struct convert_known){ .tid = thread->tid,
							 .pid = thread->pid,
							 .pid_ns = thread->pid_ns,
							 .name = thread->name,
							 .priority = thread->priority,
							 .is_compat = thread->is_compat });
}

/* The process of a thread; 0: it has gone. */
static int32_t tgid_of(int32_t tid)
{
	char path[64], text[STAT_BYTES];
	const char *found;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", tid);
	found = host_file_read(path, text, sizeof(text)) > 0 ? strstr(text, "\nTgid:") : NULL;
	return found ? (int32_t)strtol(found + strlen("\nTgid:"), NULL, 10) : 0;
}

void statedump_thread(struct convert *convert, int32_t tid)
{
	struct proc_thread thread;
	int32_t pid = tgid_of(tid);

	if (pid > 0 && read_thread(&thread, pid, tid)) {
		thread.pid_ns = containers_pid_ns("", pid);
		thread.is_compat = is_short_program(pid);
		tell(convert, &thread);
	}
}

/* ---- the dump ---- */

static const char process_members[] = "tid:s4 pid:s4 ppid:s4 name:c16 type:s4 mode:s4 submode:s4 "
				      "status:s4 cpu:u4";
static const char ns_members[] = "tid:s4 vtid:s4 vpid:s4 vppid:s4 ns_level:s4 ns_inum:u4";

void statedump_begin(struct statedump *dump, struct convert *convert)
{
	*dump = (struct statedump){
		.start = convert_class(convert, "lttng_statedump_start", ""),
		.end = convert_class(convert, "lttng_statedump_end", ""),
		.process = convert_class(convert, "lttng_statedump_process_state", process_members),
		.pid_ns = convert_class(convert, "lttng_statedump_process_pid_ns", ns_members),
		.file = convert_class(convert, "lttng_statedump_file_descriptor",
				      "pid:s4 fd:s4 flags:u4o fmode:u4x filename:str"),
		.disk = convert_class(convert, "lttng_statedump_block_device",
				      "dev:u4 diskname:str"),
		.interrupt = convert_class(convert, "lttng_statedump_interrupt",
					   "irq:u4 name:str action:str"),
		.cpu = convert_class(convert, "lttng_statedump_cpu_topology",
				     "architecture:str cpu_id:u2"),
	};
}

/* LTTng's numbers of states, as far as /proc tells them apart. */
static uint32_t status_of(char state)
{
	enum { UNKNOWN, WAIT_FORK, WAIT_CPU, EXIT, ZOMBIE, WAIT, RUN, DEAD };

	switch (state) {
	case 'R':
		return WAIT_CPU;
	case 'S':
	case 'D':
	case 'I':
		return WAIT;
	case 'Z':
		return ZOMBIE;
	case 'X':
		return DEAD;
	default:
		return UNKNOWN;
	}
}

static void dump_state(struct dumping *to, const struct proc_thread *thread)
{
	enum { MODE_SYSCALL = 5 };

	put_dumped(&to->payload, (uint64_t)thread->tid, 4);
	put_dumped(&to->payload, (uint64_t)thread->pid, 4);
	put_dumped(&to->payload, (uint64_t)thread->parent, 4);
	put_chars(&to->payload, thread->name);
	put_dumped(&to->payload, thread->is_kernel, 4);
	put_dumped(&to->payload, MODE_SYSCALL, 4);
	put_dumped(&to->payload, 0, 4);
	put_dumped(&to->payload, status_of(thread->state), 4);
	put_dumped(&to->payload, thread->cpu, 4);
	emit_dumped(to, to->classes->process);
}

/* The numbers behind a key of /proc/TID/status, one for each namespace from the outermost on. */
static size_t numbers_behind(const char *text, const char *key, int32_t *ret, size_t most)
{
	const char *at = strstr(text, key);
	size_t count = 0;

	at = at ? at + strlen(key) : "";
	while (count < most) {
		char *end;
		long number = strtol(at, &end, 10);

		if (end == at || memchr(at, '\n', (size_t)(end - at))) {
			break;
		}
		ret[count++] = (int32_t)number;
		at = end;
	}
	return count;
}

/* Its numbers in each namespace, its own first, as the tracer does. */
static void dump_namespaces(struct dumping *to, const struct proc_thread *thread, uint32_t host_ns)
{
	enum { LEVELS_MAX = 33 }; /* the kernel allows 32 below the host's */
	char path[64], text[STAT_BYTES];
	int32_t tids[LEVELS_MAX], pids[LEVELS_MAX];
	size_t count, others;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/status", thread->pid, thread->tid);
	if (host_file_read(path, text, sizeof(text)) <= 0) {
		return;
	}
	count = numbers_behind(text, "\nNSpid:", tids, LEVELS_MAX);
	others = numbers_behind(text, "\nNStgid:", pids, LEVELS_MAX);
	for (size_t level = count < others ? count : others; level-- > 0;) {
		bool is_own = level + 1 == count;

		/* The inodes of those between are not known. */
		if (!is_own && level > 0) {
			continue;
		}
		put_dumped(&to->payload, (uint64_t)thread->tid, 4);
		put_dumped(&to->payload, (uint64_t)tids[level], 4);
		put_dumped(&to->payload, (uint64_t)pids[level], 4);
		put_dumped(&to->payload, level == 0 ? (uint64_t)thread->parent : 0, 4);
		put_dumped(&to->payload, level, 4);
		put_dumped(&to->payload, is_own ? thread->pid_ns : host_ns, 4);
		emit_dumped(to, to->classes->pid_ns);
	}
}

struct dumped_process {
	struct dumping *to;
	int32_t pid;
	uint32_t pid_ns, host_ns;
	bool is_compat;
};

enum { MODE_READ = 1, MODE_WRITE = 2, MODE_SEEKS = 0x1c };

static void put_file(struct payload *payload, int32_t pid, int32_t fd, uint64_t flags,
		     const char *name)
{
	static const uint8_t modes[] = { MODE_READ, MODE_WRITE, MODE_READ | MODE_WRITE,
					 MODE_READ | MODE_WRITE };

	put_dumped(payload, (uint64_t)pid, 4);
	put_dumped(payload, (uint64_t)fd, 4);
	put_dumped(payload, flags, 4);
	put_dumped(payload, modes[flags & 3] | MODE_SEEKS, 4);
	put_dumped_string(payload, name);
}

static void dump_file(void *user, int32_t fd)
{
	const struct dumped_process *process = user;
	struct dumping *to = process->to;
	char path[64], name[PATH_BYTES], text[STAT_BYTES];
	const char *found;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd/%d", process->pid, fd);
	if (!link_text(path, name, sizeof(name))) {
		return;
	}
	(void)snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", process->pid, fd);
	found = host_file_read(path, text, sizeof(text)) > 0 ? strstr(text, "flags:") : NULL;
	put_file(&to->payload, process->pid, fd,
		 found ? strtoull(found + strlen("flags:"), NULL, 8) : 0, name);
	emit_dumped(to, to->classes->file);
}

void statedump_opened(const struct statedump *dump, struct convert *convert, uint32_t cpu,
		      int32_t pid, int32_t fd)
{
	struct payload payload = { { 0 } };
	char path[64], name[PATH_BYTES];

	(void)snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
	if (link_text(path, name, sizeof(name)) && name[0] == '/') {
		put_file(&payload, pid, fd, 0, name);
		convert_path(convert, pid, fd, dump->file, cpu, now_monotonic_ns(),
			     payload.bytes.at, payload.bytes.count);
		vec_fini(&payload.bytes);
	}
}

static void dump_thread(void *user, int32_t tid)
{
	struct dumped_process *process = user;
	struct proc_thread thread;

	if (!read_thread(&thread, process->pid, tid)) {
		return;
	}
	thread.pid_ns = process->pid_ns;
	thread.is_compat = process->is_compat;
	tell(process->to->convert, &thread);
	dump_state(process->to, &thread);
	dump_namespaces(process->to, &thread, process->host_ns);
	places_dump(process->to->places, now_monotonic_ns(), process->to->cpu, tid, process->pid);
}

struct dumped_host {
	struct dumping *to;
	uint32_t pid_ns;
};

static void dump_threads(void *user, int32_t pid)
{
	const struct dumped_host *host = user;
	struct dumped_process process = { .to = host->to,
					  .pid = pid,
					  .pid_ns = containers_pid_ns("", pid),
					  .host_ns = host->pid_ns,
					  .is_compat = is_short_program(pid) };
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/task", pid);
	each_number(host->to, path, FTRACE_TASKS_MAX, dump_thread, &process);
}

/* Those of kernel threads are none. */
static void dump_files(void *user, int32_t pid)
{
	const struct dumped_host *host = user;
	struct dumped_process process = { .to = host->to, .pid = pid };
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	each_number(host->to, path, FDS_OF_ONE_MAX, dump_file, &process);
}

/* ---- disks, interrupts, CPUs ---- */

static void dump_disk(struct dumping *to, unsigned int major_number, unsigned int minor_number,
		      const char *name)
{
	put_dumped(&to->payload, (uint64_t)major_number << DEVICE_MINOR_BITS | minor_number, 4);
	put_dumped_string(&to->payload, name);
	emit_dumped(to, to->classes->disk);
}

/* Lines of a file of /proc that fits into memory. */
static void each_line(const char *path, void (*call)(struct dumping *to, char *line),
		      struct dumping *to)
{
	enum { BYTES_MAX = 1 << 20 };
	char *text = mem_alloc(BYTES_MAX), *rest = text, *line;

	if (host_file_read(path, text, BYTES_MAX) > 0) {
		while ((line = strsep(&rest, "\n"))) {
			call(to, line);
		}
	}
	free(text);
}

/* "   8        0  488386584 sda" */
static void disk_line(struct dumping *to, char *line)
{
	unsigned int major_number, minor_number;
	unsigned long long blocks;
	char name[64];

	if (sscanf(line, " %u %u %llu %63s", &major_number, &minor_number, &blocks, name) == 4 &&
	    blocks > 0) {
		dump_disk(to, major_number, minor_number, name);
	}
}

/* " 24:    0   12   PCI-MSI 0-edge   virtio0-config": counts of CPUs, the chip, actions. */
static void interrupt_line(struct dumping *to, char *line)
{
	char *end, *chip, *action;
	unsigned long irq = strtoul(line, &end, 10);

	if (end == line || *end != ':') {
		return;
	}
	chip = end + 1;
	do {
		chip += strspn(chip, " ");
		end = chip + strspn(chip, "0123456789");
		if (end == chip || *end != ' ') {
			break;
		}
		chip = end;
	} while (true);
	action = strrchr(chip, ' ');
	if (!action || action[1] == '\0') {
		return;
	}
	*action++ = '\0';
	chip[strcspn(chip, " ")] = '\0';
	put_dumped(&to->payload, irq, 4);
	put_dumped_string(&to->payload, chip);
	put_dumped_string(&to->payload, action);
	emit_dumped(to, to->classes->interrupt);
}

static void cpu_line(struct dumping *to, char *line)
{
	unsigned int cpu;

	if (sscanf(line, "processor : %u", &cpu) == 1) {
		put_dumped_string(&to->payload, "");
		put_dumped(&to->payload, cpu, 2);
		emit_dumped(to, to->classes->cpu);
	}
}

void statedump_write(const struct statedump *dump, struct convert *convert,
		     struct host_places *places, uint32_t cpu, const struct statedump_turn *turn)
{
	struct dumping to = {
		.classes = dump, .convert = convert, .places = places, .cpu = cpu, .turn = turn
	};
	struct dumped_host host = { .to = &to, .pid_ns = containers_pid_ns("", (int32_t)getpid()) };

	assert(dump->start != dump->end);
	emit_dumped(&to, dump->start);
	each_number(&to, "/proc", FTRACE_TASKS_MAX, dump_threads, &host);
	to.knows_threads = true;
	each_number(&to, "/proc", FTRACE_TASKS_MAX, dump_files, &host);
	each_line("/proc/partitions", disk_line, &to);
	each_line("/proc/interrupts", interrupt_line, &to);
	each_line("/proc/cpuinfo", cpu_line, &to);
	emit_dumped(&to, dump->end);
	vec_fini(&to.payload.bytes);
}
