/* SPDX-License-Identifier: MIT */
/*
 * As much of KUnit as the driver's tests use, for the host: one suite per program, TAP on standard output.
 */
#ifndef SHIM_KUNIT_TEST_H
#define SHIM_KUNIT_TEST_H

#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

extern uintptr_t shim_user_start, shim_user_size;

struct kunit {
	const char *name;
	unsigned int failed;
	jmp_buf abort;
	void *mem[16];
	unsigned int mem_count;
};

struct kunit_case {
	const char *name;
	void (*run)(struct kunit *test);
};

struct kunit_suite {
	const char *name;
	int (*init)(struct kunit *test);
	void (*exit)(struct kunit *test);
	struct kunit_case *test_cases;
};

#define KUNIT_CASE(function) { #function, function }

static inline void *kunit_kzalloc(struct kunit *test, size_t size, int gfp)
{
	void *p = test->mem_count < 16 ? calloc(1, size) : NULL;

	(void)gfp;
	if (p)
		test->mem[test->mem_count++] = p;
	return p;
}

/* User memory, see linux/uaccess.h; one at a time. */
static inline unsigned long kunit_vm_mmap(struct kunit *test, void *file, unsigned long addr, unsigned long size,
					  unsigned long prot, unsigned long flags, unsigned long offset)
{
	void *p = kunit_kzalloc(test, size, 0);

	(void)file, (void)addr, (void)prot, (void)flags, (void)offset;
	shim_user_start = (uintptr_t)p;
	shim_user_size = p ? size : 0;
	return (unsigned long)p;
}

static inline void shim_check(struct kunit *test, int ok, int fatal, const char *text, long long a, long long b,
			      const char *file, int line)
{
	if (ok)
		return;
	test->failed++;
	printf("# %s:%d: %s: %s: %lld, %lld\n", file, line, test->name, text, a, b);
	if (fatal)
		longjmp(test->abort, 1);
}

#define SHIM_CHECK(test, fatal, a, op, b) do {							\
	typeof(a) shim_a = (a);									\
	typeof(b) shim_b = (b);									\
	shim_check(test, shim_a op shim_b, fatal, #a " " #op " " #b, (long long)shim_a,		\
		   (long long)shim_b, __FILE__, __LINE__);					\
} while (0)

#define KUNIT_EXPECT_EQ(test, a, b)	SHIM_CHECK(test, 0, a, ==, b)
#define KUNIT_EXPECT_GE(test, a, b)	SHIM_CHECK(test, 0, a, >=, b)
#define KUNIT_EXPECT_TRUE(test, a)	SHIM_CHECK(test, 0, !!(a), ==, 1)
#define KUNIT_EXPECT_FALSE(test, a)	SHIM_CHECK(test, 0, !!(a), ==, 0)
#define KUNIT_ASSERT_EQ(test, a, b)	SHIM_CHECK(test, 1, a, ==, b)
#define KUNIT_ASSERT_FALSE(test, a)	SHIM_CHECK(test, 1, !!(a), ==, 0)
#define KUNIT_ASSERT_NOT_NULL(test, a)	SHIM_CHECK(test, 1, (a) != NULL, ==, 1)

static inline int shim_run_case(const struct kunit_suite *suite, const struct kunit_case *c, int number)
{
	struct kunit test = { .name = c->name };

	if (suite->init(&test)) {
		printf("not ok %d %s # no setup\n", number, c->name);
		return 1;
	}
	if (!setjmp(test.abort))
		c->run(&test);
	if (suite->exit && !setjmp(test.abort))
		suite->exit(&test);
	while (test.mem_count)
		free(test.mem[--test.mem_count]);
	printf("%s %d %s\n", test.failed ? "not ok" : "ok", number, c->name);
	return !!test.failed;
}

static inline int shim_run_suite(const struct kunit_suite *suite)
{
	int count = 0, failed = 0;

	while (suite->test_cases[count].name)
		count++;
	printf("TAP version 13\n1..%d\n", count);
	for (int i = 0; i < count; i++)
		failed += shim_run_case(suite, &suite->test_cases[i], i + 1);
	return failed ? 1 : 0;
}

#define kunit_test_suite(suite)			\
	void (*shim_after_write)(void);		\
	uintptr_t shim_user_start, shim_user_size; \
	int main(void)				\
	{					\
		return shim_run_suite(&(suite)); \
	}					\
	struct shim_needs_semicolon

#define MODULE_DESCRIPTION(text) struct shim_needs_semicolon
#define MODULE_LICENSE(text) struct shim_needs_semicolon

#endif
