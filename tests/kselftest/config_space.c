// SPDX-License-Identifier: GPL-2.0
/*
 * Functions with an odd configuration space: each either works, or was refused with a reason.  Looks at all functions
 * there are; with NPU_ODD at least so many are odd.
 */
#include "kselftest_harness.h"
#include "debugfs.h"

#define FUNCTIONS	16

struct function {
	char slot[64];
	unsigned long bar_bytes;
	unsigned int revision, vectors;	/* vectors: of MSI-X; 0: none */
	bool bound;
};

static unsigned long number(const char *slot, const char *name)
{
	char path[192], *text;
	unsigned long value;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%.63s/%s", slot, name);
	text = npu_read_file(path, NULL);
	value = text ? strtoul(text, NULL, 0) : 0;
	free(text);
	return value;
}

static unsigned long bar_bytes(const char *slot)
{
	unsigned long long first = 0, last = 0;
	char path[192], *text;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%.63s/resource", slot);
	text = npu_read_file(path, NULL);
	if (!text || sscanf(text, "%llx %llx", &first, &last) != 2)
		last = first;
	free(text);
	return last > first ? last - first + 1 : 0;
}

/* Vectors of the MSI-X capability. */
static unsigned int msix_vectors(const char *slot)
{
	unsigned int at, vectors = 0;
	char path[192], *config;
	size_t size;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%.63s/config", slot);
	config = npu_read_file(path, &size);
	for (at = config && size >= 256 ? (uint8_t)config[0x34] : 0; at >= 0x40 && at < 0xfc && !vectors;
	     at = (uint8_t)config[at + 1]) {
		if (config[at] == 0x11)
			vectors = ((uint8_t)config[at + 2] | (config[at + 3] & 7) << 8) + 1;
	}
	free(config);
	return vectors;
}

static int find(struct function *f)
{
	glob_t found;
	int n = 0;

	if (glob("/sys/bus/pci/devices/*", 0, NULL, &found))
		return 0;
	for (size_t i = 0; i < found.gl_pathc && n < FUNCTIONS; i++) {
		const char *slot = basename(found.gl_pathv[i]);
		char path[192];

		if (number(slot, "vendor") != NE1_PCI_VENDOR || number(slot, "device") != NE1_PCI_DEVICE)
			continue;
		snprintf(f[n].slot, sizeof(f[n].slot), "%s", slot);
		f[n].bar_bytes = bar_bytes(slot);
		f[n].revision = number(slot, "revision");
		f[n].vectors = msix_vectors(slot);
		snprintf(path, sizeof(path), NPU_PCI_DRIVER "/%.63s", slot);
		f[n].bound = !access(path, F_OK);
		n++;
	}
	globfree(&found);
	return n;
}

static bool is_odd(const struct function *f)
{
	return f->bar_bytes < NE1_BAR_SIZE || f->revision != NE1_VERSION_MAJOR || f->vectors != NE1_MSIX_VECTORS;
}

/* Whether a line of the kernel log names the function and has the text. */
static bool logged(const char *slot, const char *what)
{
	int log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	char line[2048];
	bool found = false;
	ssize_t got;

	while (!found && ((got = read(log, line, sizeof(line) - 1)) > 0 || (got < 0 && errno == EPIPE))) {
		if (got < 0)
			continue;
		line[got] = '\0';
		found = strstr(line, slot) && strstr(line, what);
	}
	close(log);
	return found;
}

/* Interrupts that the function has been given. */
static int given_vectors(const char *slot)
{
	char pattern[192];
	glob_t found;
	int n = 0;

	snprintf(pattern, sizeof(pattern), "/sys/bus/pci/devices/%.63s/msi_irqs/*", slot);
	if (!glob(pattern, 0, NULL, &found))
		n = found.gl_pathc;
	globfree(&found);
	return n;
}

/* A job of a client of that very function. */
static int works(const char *slot)
{
	char pattern[192], path[256], node[64];
	struct npu_client c;
	int ret;

	snprintf(pattern, sizeof(pattern), "/sys/bus/pci/devices/%.63s/accel/accel*", slot);
	ret = npu_glob(pattern, path, sizeof(path));
	if (ret)
		return ret;
	snprintf(node, sizeof(node), "/dev/accel/%s", basename(path));
	ret = npu_client_init_fd(&c, open(node, O_RDWR | O_CLOEXEC));
	if (!ret)
		ret = npu_copy_word(&c, 0x0dd);
	npu_client_fini(&c);
	return ret;
}

TEST(each_function_works_or_is_refused)
{
	const char *text = getenv("NPU_ODD");
	struct function f[FUNCTIONS];
	int found = find(f), odd = 0;

	if (!found)
		SKIP(return, "no PCI function");
	for (int i = 0; i < found; i++) {
		TH_LOG("%s: BAR 0 %#lx, revision %u, %u vectors of MSI-X, %s", f[i].slot, f[i].bar_bytes, f[i].revision,
		       f[i].vectors, f[i].bound ? "bound" : "not bound");
		odd += is_odd(&f[i]);
		if (f[i].bar_bytes < NE1_BAR_SIZE) {
			EXPECT_FALSE(f[i].bound);
			EXPECT_TRUE(logged(f[i].slot, "BAR 0 of "));
			continue;
		}
		EXPECT_TRUE(f[i].bound);
		EXPECT_EQ(f[i].vectors == NE1_MSIX_VECTORS ? NE1_MSIX_VECTORS : 1, given_vectors(f[i].slot));
		EXPECT_EQ(0, works(f[i].slot));
	}
	EXPECT_GE(odd, text ? atoi(text) : 0);
}

TEST_HARNESS_MAIN
