// SPDX-License-Identifier: MIT
/*
 * GGUF container: map the file, then check and index all of it in one pass:
 *
 *   magic, version, tensor count, pair count
 *   pairs:    key, type, value
 *   tensors:  name, dimensions, type, offset      (offsets count from the data section)
 *   data:     starts at the next multiple of general.alignment
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.h"
#include "import/gguf.h"

#define GGUF_MAGIC		0x46554747u	/* "GGUF" */
#define GGUF_ALIGNMENT		32u		/* when the file does not say */
#define GGUF_MIN_ALIGNMENT	8u
#define GGUF_MAX_ALIGNMENT	(1u << 20)

/* Smallest encodings, so that a count can be refused before anything is allocated. */
#define GGUF_MIN_PAIR		(8 + 1 + 4 + 1)
#define GGUF_MIN_TENSOR		(8 + 1 + 4 + 8 + 4 + 8)

static int compare_pairs(const void *a, const void *b)
{
	return strcmp((*(struct gguf_pair *const *)a)->key, (*(struct gguf_pair *const *)b)->key);
}

static int compare_tensors(const void *a, const void *b)
{
	return strcmp((*(struct npu_gguf_tensor *const *)a)->name,
		      (*(struct npu_gguf_tensor *const *)b)->name);
}

/* A name that C code can use: 1..@max bytes without NUL; *@out is a copy. */
static npu_status take_name(struct gguf_cursor *c, const char *what, size_t max, char **out)
{
	const uint64_t at = (uint64_t)(c->pos - c->base);
	struct npu_gguf_str s;
	npu_status st = gguf_take_str(c, what, &s);

	if (st)
		return st;
	if (!s.len || memchr(s.data, 0, s.len))
		return npu_fail(NPU_ERR_FORMAT, "%s at offset %llu is empty or contains NUL", what,
				(unsigned long long)at);
	if (s.len > max)
		return npu_fail(NPU_ERR_LIMIT, "%s at offset %llu has %zu bytes, limit %zu", what,
				(unsigned long long)at, s.len, max);
	*out = strndup(s.data, s.len);
	return *out ? NPU_OK : npu_fail(NPU_ERR_NOMEM, "no memory for a %s", what);
}

static npu_status take_header(npu_gguf *g, struct gguf_cursor *c)
{
	uint32_t magic, version;
	uint64_t n_tensors, n_pairs;
	npu_status st;

	st = gguf_take_u32(c, "magic", &magic);
	if (st)
		return st;
	if (magic != GGUF_MAGIC)
		return npu_fail(NPU_ERR_FORMAT, "magic 0x%08x is not GGUF", magic);
	st = gguf_take_u32(c, "version", &version);
	if (st)
		return st;
	if (version && !(version & 0xffff))
		return npu_fail(NPU_ERR_UNSUPPORTED, "big-endian file");
	if (version != 2 && version != 3)
		return npu_fail(NPU_ERR_UNSUPPORTED, "GGUF version %u, supported are 2 and 3",
				version);
	st = gguf_take_u64(c, "tensor count", &n_tensors);
	if (!st)
		st = gguf_take_u64(c, "pair count", &n_pairs);
	if (st)
		return st;
	if (n_pairs > gguf_left(c) / GGUF_MIN_PAIR)
		return npu_fail(NPU_ERR_FORMAT, "%llu key/value pairs cannot fit in %llu bytes",
				(unsigned long long)n_pairs, (unsigned long long)gguf_left(c));
	if (n_tensors > gguf_left(c) / GGUF_MIN_TENSOR)
		return npu_fail(NPU_ERR_FORMAT, "%llu tensors cannot fit in %llu bytes",
				(unsigned long long)n_tensors, (unsigned long long)gguf_left(c));
	g->version = version;
	g->n_pairs = n_pairs;
	g->n_tensors = n_tensors;
	return NPU_OK;
}

static npu_status take_pair(struct gguf_cursor *c, struct gguf_pair *pair)
{
	uint32_t type;
	npu_status st;

	st = take_name(c, "key", NPU_GGUF_MAX_KEY, &pair->key);
	if (st)
		return st;
	st = gguf_take_u32(c, "value type", &type);
	if (!st)
		st = gguf_take_value(c, type, 0, &pair->value);
	if (st)
		return npu_fail(st, "key '%.128s': %s", pair->key, npu_error_message());
	return NPU_OK;
}

static npu_status take_pairs(npu_gguf *g, struct gguf_cursor *c)
{
	npu_status st;

	if (!g->n_pairs)
		return NPU_OK;
	g->pairs = calloc(g->n_pairs, sizeof(*g->pairs));
	g->by_key = calloc(g->n_pairs, sizeof(void *));
	if (!g->pairs || !g->by_key)
		return npu_fail(NPU_ERR_NOMEM, "no memory for %zu key/value pairs", g->n_pairs);
	for (size_t i = 0; i < g->n_pairs; i++) {
		st = take_pair(c, &g->pairs[i]);
		if (st)
			return st;
		g->by_key[i] = &g->pairs[i];
	}
	qsort(g->by_key, g->n_pairs, sizeof(void *), compare_pairs);
	for (size_t i = 1; i < g->n_pairs; i++)
		if (!compare_pairs(&g->by_key[i - 1], &g->by_key[i]))
			return npu_fail(NPU_ERR_FORMAT, "key '%.128s' occurs twice",
					g->by_key[i]->key);
	return NPU_OK;
}

static npu_status find_alignment(npu_gguf *g)
{
	uint32_t align = GGUF_ALIGNMENT;
	npu_status st = npu_gguf_find_u32(g, "general.alignment", &align);

	if (st && st != NPU_ERR_NOT_FOUND)
		return st;
	if (align < GGUF_MIN_ALIGNMENT || align > GGUF_MAX_ALIGNMENT || align & (align - 1))
		return npu_fail(NPU_ERR_FORMAT,
				"general.alignment %u is not a power of two from %u to %u", align,
				GGUF_MIN_ALIGNMENT, GGUF_MAX_ALIGNMENT);
	g->alignment = align;
	return NPU_OK;
}

/* Dimensions to elements to bytes, each product checked. */
static npu_status measure_tensor(struct npu_gguf_tensor *t)
{
	const uint32_t elems = npu_tensor_type_block_elems(t->type);
	uint64_t n = 1;

	if (!elems)
		return npu_fail(NPU_ERR_UNSUPPORTED, "tensor '%s': unknown type %u", t->name,
				(unsigned int)t->type);
	for (uint32_t i = 0; i < t->n_dims; i++) {
		if (!t->ne[i])
			return npu_fail(NPU_ERR_FORMAT, "tensor '%s': dimension %u is 0",
					t->name, i);
		if (__builtin_mul_overflow(n, t->ne[i], &n))
			return npu_fail(NPU_ERR_FORMAT, "tensor '%s': more than 2^64 elements",
					t->name);
	}
	if (t->ne[0] % elems)
		return npu_fail(NPU_ERR_FORMAT,
				"tensor '%s': rows of %llu elements are not whole %s blocks of %u",
				t->name, (unsigned long long)t->ne[0],
				npu_tensor_type_name(t->type), elems);
	if (__builtin_mul_overflow(n / elems, npu_tensor_type_block_bytes(t->type), &t->size))
		return npu_fail(NPU_ERR_FORMAT, "tensor '%s': more than 2^64 bytes", t->name);
	return NPU_OK;
}

/* Leaves the offset relative to the data section, whose start is not known yet. */
static npu_status take_tensor(struct gguf_cursor *c, struct npu_gguf_tensor *t)
{
	uint32_t type;
	char *name = NULL;
	npu_status st;

	st = take_name(c, "tensor name", NPU_GGUF_MAX_NAME, &name);
	if (st)
		return st;
	t->name = name;
	st = gguf_take_u32(c, "dimension count", &t->n_dims);
	if (st)
		return st;
	if (!t->n_dims || t->n_dims > NPU_GGUF_MAX_DIMS)
		return npu_fail(NPU_ERR_LIMIT, "tensor '%s': %u dimensions, limit 1..%u", t->name,
				t->n_dims, NPU_GGUF_MAX_DIMS);
	for (uint32_t i = 0; i < NPU_GGUF_MAX_DIMS; i++)
		t->ne[i] = 1;
	for (uint32_t i = 0; i < t->n_dims; i++) {
		st = gguf_take_u64(c, "dimension", &t->ne[i]);
		if (st)
			return st;
	}
	st = gguf_take_u32(c, "tensor type", &type);
	if (!st)
		st = gguf_take_u64(c, "tensor offset", &t->offset);
	if (st)
		return st;
	t->type = type;
	return measure_tensor(t);
}

static npu_status place_tensor(const npu_gguf *g, uint64_t data, struct npu_gguf_tensor *t)
{
	uint64_t end;

	if (t->offset & (g->alignment - 1))
		return npu_fail(NPU_ERR_FORMAT, "tensor '%s': offset %llu is not a multiple of %u",
				t->name, (unsigned long long)t->offset, g->alignment);
	if (__builtin_add_overflow(t->offset, data, &t->offset) ||
	    __builtin_add_overflow(t->offset, t->size, &end) || end > g->size)
		return npu_fail(NPU_ERR_FORMAT,
				"tensor '%s': %llu bytes at offset %llu exceed the file's %llu",
				t->name, (unsigned long long)t->size, (unsigned long long)t->offset,
				(unsigned long long)g->size);
	t->data = g->base + t->offset;
	return NPU_OK;
}

static npu_status take_tensors(npu_gguf *g, struct gguf_cursor *c)
{
	uint64_t data;
	npu_status st;

	if (!g->n_tensors)
		return NPU_OK;
	g->tensors = calloc(g->n_tensors, sizeof(*g->tensors));
	g->by_name = calloc(g->n_tensors, sizeof(void *));
	if (!g->tensors || !g->by_name)
		return npu_fail(NPU_ERR_NOMEM, "no memory for %zu tensors", g->n_tensors);
	for (size_t i = 0; i < g->n_tensors; i++) {
		st = take_tensor(c, &g->tensors[i]);
		if (st)
			return st;
		g->by_name[i] = &g->tensors[i];
	}
	/* The cursor is inside the file, so this cannot wrap. */
	data = ((uint64_t)(c->pos - c->base) + g->alignment - 1) & ~(uint64_t)(g->alignment - 1);
	for (size_t i = 0; i < g->n_tensors; i++) {
		st = place_tensor(g, data, &g->tensors[i]);
		if (st)
			return st;
	}
	qsort(g->by_name, g->n_tensors, sizeof(void *), compare_tensors);
	for (size_t i = 1; i < g->n_tensors; i++)
		if (!compare_tensors(&g->by_name[i - 1], &g->by_name[i]))
			return npu_fail(NPU_ERR_FORMAT, "tensor '%s' occurs twice",
					g->by_name[i]->name);
	return NPU_OK;
}

static npu_status parse(npu_gguf *g)
{
	struct gguf_cursor c = { .base = g->base, .pos = g->base, .end = g->base + g->size };
	npu_status st;

	st = take_header(g, &c);
	if (!st)
		st = take_pairs(g, &c);
	if (!st)
		st = find_alignment(g);
	if (!st)
		st = take_tensors(g, &c);
	return st ? npu_fail(st, "%s: %s", g->path, npu_error_message()) : NPU_OK;
}

static npu_status map_file(npu_gguf *g, const char *path)
{
	struct stat sb;
	npu_status st = NPU_OK;
	void *p;
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return npu_fail(errno == ENOENT ? NPU_ERR_NOT_FOUND : NPU_ERR_IO, "%s: %s", path,
				strerror(errno));
	if (fstat(fd, &sb) < 0)
		st = npu_fail(NPU_ERR_IO, "%s: %s", path, strerror(errno));
	else if (!S_ISREG(sb.st_mode))
		st = npu_fail(NPU_ERR_IO, "%s: not a regular file", path);
	else if (!sb.st_size)
		st = npu_fail(NPU_ERR_FORMAT, "%s: empty file", path);
	if (st)
		goto out_close;
	p = mmap(NULL, (size_t)sb.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED) {
		st = npu_fail(errno == ENOMEM ? NPU_ERR_NOMEM : NPU_ERR_IO,
			      "%s: cannot map %lld bytes: %s", path, (long long)sb.st_size,
			      strerror(errno));
		goto out_close;
	}
	g->base = p;
	g->size = (uint64_t)sb.st_size;
	g->mapped = true;
out_close:
	close(fd);
	return st;
}

static npu_gguf *new_object(const char *path)
{
	npu_gguf *g = calloc(1, sizeof(*g));

	if (g)
		g->path = strdup(path);
	if (g && g->path)
		return g;
	free(g);
	npu_fail(NPU_ERR_NOMEM, "%s: no memory", path);
	return NULL;
}

npu_status npu_gguf_open(const char *path, npu_gguf **out)
{
	npu_gguf *g;
	npu_status st;

	if (!out)
		return npu_fail(NPU_ERR_INVALID, "npu_gguf_open: no place for the model");
	*out = NULL;
	if (!path)
		return npu_fail(NPU_ERR_INVALID, "npu_gguf_open: no path");
	g = new_object(path);
	if (!g)
		return NPU_ERR_NOMEM;
	st = map_file(g, path);
	if (!st)
		st = parse(g);
	if (st) {
		npu_gguf_close(g);
		return st;
	}
	*out = g;
	return NPU_OK;
}

npu_status npu_gguf_open_mem(const void *data, size_t size, npu_gguf **out)
{
	npu_gguf *g;
	npu_status st;

	if (!out)
		return npu_fail(NPU_ERR_INVALID, "npu_gguf_open_mem: no place for the model");
	*out = NULL;
	if (!data)
		return npu_fail(NPU_ERR_INVALID, "npu_gguf_open_mem: no data");
	g = new_object("(memory)");
	if (!g)
		return NPU_ERR_NOMEM;
	g->base = data;
	g->size = size;
	st = parse(g);
	if (st) {
		npu_gguf_close(g);
		return st;
	}
	*out = g;
	return NPU_OK;
}

void npu_gguf_close(npu_gguf *g)
{
	if (!g)
		return;
	if (g->pairs)
		for (size_t i = 0; i < g->n_pairs; i++)
			free(g->pairs[i].key);
	if (g->tensors)
		for (size_t i = 0; i < g->n_tensors; i++)
			free((char *)g->tensors[i].name);
	free(g->pairs);
	free(g->by_key);
	free(g->tensors);
	free(g->by_name);
	if (g->mapped)
		munmap((void *)g->base, g->size);
	free(g->path);
	free(g);
}

const char *npu_gguf_path(const npu_gguf *g)
{
	return g->path;
}

uint32_t npu_gguf_version(const npu_gguf *g)
{
	return g->version;
}

uint32_t npu_gguf_alignment(const npu_gguf *g)
{
	return g->alignment;
}

uint64_t npu_gguf_size(const npu_gguf *g)
{
	return g->size;
}

size_t npu_gguf_n_tensors(const npu_gguf *g)
{
	return g->n_tensors;
}

const struct npu_gguf_tensor *npu_gguf_tensor_at(const npu_gguf *g, size_t i)
{
	return i < g->n_tensors ? &g->tensors[i] : NULL;
}

static int compare_name(const void *name, const void *element)
{
	return strcmp(name, (*(struct npu_gguf_tensor *const *)element)->name);
}

npu_status npu_gguf_tensor(const npu_gguf *g, const char *name, const struct npu_gguf_tensor **out)
{
	struct npu_gguf_tensor **hit = NULL;

	if (g->n_tensors)
		hit = bsearch(name, g->by_name, g->n_tensors, sizeof(void *), compare_name);
	if (!hit)
		return npu_fail(NPU_ERR_NOT_FOUND, "%s: no tensor '%s'", g->path, name);
	*out = *hit;
	return NPU_OK;
}
