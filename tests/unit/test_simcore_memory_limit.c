/* SPDX-License-Identifier: BSD-3-Clause */
/* Limits of control groups, of files as Linux has them under a directory of the test. */
#include "tests/unit/test.h"

#include "simcore/memory_limit.h"
#include "tests/unit/test_simcore_support.h"

static char root[] = "/tmp/psnap-limit-XXXXXX";

static void write_file(const char *name, const char *text)
{
    write_below(root, name + 1, text);
}

static int enter(void **state)
{
    (void)state;
    strcpy(root + sizeof root - 7, "XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int leave(void **state)
{
    char command[300];

    (void)state;
    snprintf(command, sizeof command, "rm -r '%s'", root);
    return system(command);
}

TEST_WITHIN(enter, leave, no_files)
{
    assert_int_equal(memory_limit(root, 12345), 12345);
    write_file("/proc/self/cgroup", "nonsense\n0::/a\n4:memory:/a\n");
    assert_int_equal(memory_limit(root, 12345), 12345);
    assert_true(memory_limit("", 1 << 20) <= 1 << 20);
}

TEST_WITHIN(enter, leave, version_2)
{
    write_file("/proc/self/cgroup", "0::/user/job\n");
    write_file("/sys/fs/cgroup/user/job/memory.max", "max\n");
    assert_int_equal(memory_limit(root, 1 << 30), 1 << 30);
    write_file("/sys/fs/cgroup/user/memory.max", "5000000\n");
    assert_int_equal(memory_limit(root, 1 << 30), 5000000);
    write_file("/sys/fs/cgroup/user/job/memory.max", "3000000\n");
    assert_int_equal(memory_limit(root, 1 << 30), 3000000);
    assert_int_equal(memory_limit(root, 1 << 20), 1 << 20);
    /* another group's is none of ours; that of a container's mount is */
    write_file("/sys/fs/cgroup/other/memory.max", "1000\n");
    assert_int_equal(memory_limit(root, 1 << 30), 3000000);
    write_file("/proc/self/cgroup", "0::/not/seen/here\n");
    assert_int_equal(memory_limit(root, 1 << 30), 1 << 30);
    write_file("/sys/fs/cgroup/memory.max", "2000000\n");
    assert_int_equal(memory_limit(root, 1 << 30), 2000000);
}

TEST_WITHIN(enter, leave, version_1)
{
    write_file("/proc/self/cgroup", "7:cpu,memory_like:/b\n4:hugetlb,memory:/a\n0::/\n");
    write_file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    write_file("/sys/fs/cgroup/memory/b/memory.limit_in_bytes", "1000\n");
    assert_int_equal(memory_limit(root, 1 << 30), 1 << 30);
    write_file("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "4000000\n");
    assert_int_equal(memory_limit(root, 1 << 30), 4000000);
}
