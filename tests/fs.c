/* Errors first, then folders, whole files, locks and removal, all in a temporary folder. */
#include "base/fs.h"
#include "tap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void test_errors(void)
{
    tt_error err = {0};
    char *data = (char *)1;
    is_int(tt_fs_read("no/such/file", &data, NULL, &err), TT_ERR_IO, "a missing file");
    is_str(err.text, "cannot open no/such/file: No such file or directory; check the path",
           "is named");
    ok(data == NULL, "and gives no data");
    is_int(tt_fs_read(".", &data, NULL, &err), TT_ERR_IO, "a folder is not a file");
    is_str(err.text, "cannot read .: Is a directory; give a file", "and says so");
    is_int(tt_fs_write("no/such/file", "x", 1, &err), TT_ERR_IO, "writing into a missing folder");
    ok(strncmp(err.text, "cannot create no/such/file.tmp.", 31) == 0, "names the file: %s", err.text);
    is_int(tt_fs_write("/dev/full/x", "x", 1, &err), TT_ERR_IO, "writing below a file");
    is_int(tt_fs_sync_dir("no/such", &err), TT_ERR_IO, "syncing a missing folder");
    is_int(tt_fs_fail(&err, "write", "./x", ENOSPC), TT_ERR_IO, "a full disk");
    ok(strstr(err.text, "cannot write ./x: No space left on device (") && strstr(err.text, "MiB free there"),
       "says how much is free: %s", err.text);
    is_int(tt_fs_read("no/such", &data, NULL, NULL), TT_ERR_IO, "without an error to fill");
}

static void test_files(void)
{
    tt_error err = {0};
    char *data = NULL;
    size_t size = 0;
    is_int(tt_fs_mkdirs("a/b/c", &err), TT_OK, "mkdir -p");
    is_int(tt_fs_mkdirs("a/b/c/", &err), TT_OK, "again, with a slash");
    ok(tt_fs_is_dir("a/b/c"), "is there");
    is_int(tt_fs_write("a/f", "one\0two", 7, &err), TT_OK, "write");
    is_int(tt_fs_write("a/f", "", 0, &err), TT_OK, "write again, empty");
    is_int(tt_fs_write("a/f", "one\0two", 7, &err), TT_OK, "and again");
    is_int(tt_fs_read("a/f", &data, &size, &err), TT_OK, "read");
    ok(size == 7 && memcmp(data, "one\0two", 8) == 0, "the same bytes and a NUL");
    free(data);
    is_int(tt_fs_mkdirs("a/f/d", &err), TT_ERR_IO, "a file in the way");
    is_str(err.text, "cannot make folder a/f: Not a directory; check the path", "is named");
    is_int(tt_fs_read("/proc/self/status", &data, &size, &err), TT_OK, "a file that says it has no size");
    ok(size > 100, "is read all the same");
    free(data);
    ok(tt_fs_free_bytes(".") > 0 && tt_fs_free_bytes("no/such") == -1, "free space");
}

static void test_remove(void)
{
    tt_error err = {0};
    tt_fs_mkdirs("keep/x", NULL);
    tt_fs_mkdirs("gone/y/z", NULL);
    tt_fs_write("gone/y/f", "1", 1, NULL);
    ok(symlink("../keep", "gone/link") == 0, "a link out of the folder");
    is_int(tt_fs_remove_all("gone", &err), TT_OK, "removed whole");
    ok(!tt_fs_exists("gone") && tt_fs_exists("keep/x"), "links are not followed");
    is_int(tt_fs_remove_all("gone", &err), TT_OK, "removing nothing is fine");
}

static void test_join(void)
{
    const char *const rows[][3] = {{"a", "b", "a/b"}, {"a/", "b", "a/b"}, {"a", "/b", "/b"}, {"", "b", "b"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *path = tt_fs_join(rows[i][0], rows[i][1]);
        is_str(path, rows[i][2], "join %s and %s", rows[i][0], rows[i][1]);
        free(path);
    }
}

static void test_lock(void)
{
    tt_error err = {0};
    tt_fs_lock *first = NULL, *second = NULL;
    char want[256], host[65] = "";
    unsetenv("SLURM_JOB_ID");
    gethostname(host, sizeof host - 1);
    is_int(tt_fs_lock_take("no/such/lock", &first, &err), TT_ERR_IO, "no folder, no lock");
    is_int(tt_fs_lock_take("lock", &first, &err), TT_OK, "taken");
    is_int(tt_fs_lock_take("lock", &second, &err), TT_ERR_IO, "refused to a second");
    snprintf(want, sizeof want, "lock is held by another job (host %s, pid %ld): two jobs cannot write one folder;"
             " wait for it or choose another job.dump_folder", host, (long)getpid());
    is_str(err.text, want, "who is told the holder");
    ok(second == NULL, "and gets none");
    tt_fs_unlock(&first);
    ok(first == NULL, "released");
    is_int(tt_fs_lock_take("lock", &second, &err), TT_OK, "free again");
    tt_fs_unlock(&second);
    tt_fs_unlock(&second);
}

int main(void)
{
    char dir[] = "/tmp/titan-fs-XXXXXX";
    if (!mkdtemp(dir) || chdir(dir) != 0)
        skip_all("no temporary folder");
    test_errors();
    test_files();
    test_remove();
    test_join();
    test_lock();
    ok(chdir("/") == 0 && tt_fs_remove_all(dir, NULL) == TT_OK, "cleaned up");
    return done_testing();
}
