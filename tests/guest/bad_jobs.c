// SPDX-License-Identifier: GPL-2.0
/*
 * In the guest: jobs that fault in different ways, one core dump of the driver saved from each.
 * usage: bad_jobs DIR	(writes DIR/NAME.dump; exit status 0 if all are there)
 */
#include <limits.h>

#include "kselftest_harness.h"	/* npuedge.h needs it */
#include "sysfs.h"

#define DUMPS	"/sys/class/devcoredump/devcd*/data"

/* Changes @s, a stream that copies a word, so that it faults. */
struct bad_job {
	const char *name;
	void (*spoil)(union ne1_cmd *s);
};

static void store_nowhere(union ne1_cmd *s)
{
	s[1].dma.offset = 0x40000000;
}

static void no_opcode(union ne1_cmd *s)
{
	s[0].hdr.opcode = 0x7f;
}

static void wait_for_ever(union ne1_cmd *s)
{
	s[0].hdr.signal[0] = NE1_NO_SEM;
}

static void beyond_sram(union ne1_cmd *s)
{
	s[0].dma.sram = 0x7ffffff0;
}

static const struct bad_job jobs[] = {
	{ "mmu", store_nowhere },
	{ "opcode", no_opcode },
	{ "deadlock", wait_for_ever },
	{ "sram", beyond_sram },
};

static int run(const struct bad_job *job)
{
	struct npu_client c;
	uint32_t size;
	int ret = npu_client_init(&c);

	if (ret)
		return ret;
	size = npu_copy_stream(c.stream, 1, 4);
	job->spoil(c.stream);
	ret = npu_submit(c.fd, c.queue, NPU_STREAM, size, NPU_PARAMS, 0, c.sync);
	if (!ret)
		ret = npu_wait(c.fd, c.sync, NPU_WAIT_NS);
	if (!ret && npu_sync_status(c.fd, c.sync) != -EIO)
		ret = -EPROTO;		/* the job passed */
	npu_client_fini(&c);
	return ret;
}

static int copy(const char *from, const char *to)
{
	char buffer[65536];
	FILE *in = fopen(from, "r"), *out = fopen(to, "w");
	int ret = in && out ? 0 : -errno;
	size_t n;

	while (!ret && (n = fread(buffer, 1, sizeof(buffer), in)))
		if (fwrite(buffer, 1, n, out) != n)
			ret = -EIO;
	if (in)
		fclose(in);
	if (out && fclose(out) && !ret)
		ret = -EIO;
	return ret;
}

/* The dump is made by a worker; writing to it removes it and makes room for the next. */
static int save(const char *dir, const char *name)
{
	char from[PATH_MAX], to[PATH_MAX];
	int ret = -ENOENT;

	for (int i = 0; i < 3000 && ret; i++) {
		ret = npu_glob(DUMPS, from, sizeof(from));
		if (ret)
			usleep(20000);
	}
	if (ret)
		return ret;
	snprintf(to, sizeof(to), "%s/%s.dump", dir, name);
	ret = copy(from, to);
	npu_write_text(from, "1");
	for (int i = 0; i < 3000 && !npu_glob(DUMPS, from, sizeof(from)); i++)
		usleep(20000);
	return ret;
}

int main(int argc, char **argv)
{
	int failed = 0, ret;

	for (size_t i = 0; argc == 2 && i < sizeof(jobs) / sizeof(jobs[0]); i++) {
		ret = run(&jobs[i]);
		if (!ret)
			ret = save(argv[1], jobs[i].name);
		printf("%s: %s\n", jobs[i].name, ret ? strerror(-ret) : "dumped");
		failed |= !!ret;
	}
	return argc == 2 ? failed : 2;
}
