"""Files without a name, exchanged names and access control lists of a mounted folder: names.py FOLDER.

What is asked for is what open(2), rename(2) and acl(5) say, and what ext4 and XFS do.
"""

import ctypes
import errno
import os
import stat
import struct
import sys

EXCHANGE = 2
ACCESS, DEFAULT = "system.posix_acl_access", "system.posix_acl_default"
USER_OBJ, USER, GROUP_OBJ, MASK, OTHER = 1, 2, 4, 16, 32
NOBODY = 0xFFFFFFFF
libc = ctypes.CDLL(None, use_errno=True)


def exchange(one, other):
    if libc.renameat2(-100, one.encode(), -100, other.encode(), EXCHANGE) != 0:
        raise OSError(ctypes.get_errno(), "renameat2")


def name_it(file, path):
    follow = 0x400
    if libc.linkat(-100, f"/proc/self/fd/{file}".encode(), -100, path.encode(), follow) != 0:
        raise OSError(ctypes.get_errno(), "linkat")


def refused(number, call, *arguments):
    try:
        call(*arguments)
    except OSError as error:
        assert error.errno == number, error
        return
    raise AssertionError(f"{call} {arguments} was not refused")


def written(path, text):
    with open(path, "w") as file:
        file.write(text)


def content(path):
    with open(path) as file:
        return file.read()


def unnamed_files(folder):
    before = os.stat(folder).st_mtime_ns
    file = os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o640)
    assert os.fstat(file).st_nlink == 0 and os.listdir(folder) == []
    assert os.stat(folder).st_mtime_ns == before, "the folder is as it was"
    os.write(file, b"content")
    name_it(file, f"{folder}/named")
    assert os.fstat(file).st_nlink == 1 and content(f"{folder}/named") == "content"
    os.unlink(f"{folder}/named")
    refused(errno.ENOENT, name_it, file, f"{folder}/again")
    os.close(file)
    free = os.statvfs(folder).f_bavail
    for _ in range(20):
        file = os.open(folder, os.O_TMPFILE | os.O_RDWR)
        os.write(file, bytes(1 << 20))
        os.close(file)
    os.sync()
    lost = (free - os.statvfs(folder).f_bavail) * os.statvfs(folder).f_frsize
    assert lost < 19 << 20, f"{lost} bytes stay taken by files that nobody can open"


def exchanged_names(folder):
    written(f"{folder}/one", "1")
    written(f"{folder}/two", "2")
    exchange(f"{folder}/one", f"{folder}/two")
    assert (content(f"{folder}/one"), content(f"{folder}/two")) == ("2", "1")
    os.mkdir(f"{folder}/tree")
    os.mkdir(f"{folder}/tree/below")
    written(f"{folder}/tree/below/leaf", "leaf")
    exchange(f"{folder}/one", f"{folder}/tree/below")
    assert content(f"{folder}/one/leaf") == "leaf" and content(f"{folder}/tree/below") == "2"
    assert os.stat(f"{folder}/one/..").st_ino == os.stat(folder).st_ino
    assert (os.stat(folder).st_nlink, os.stat(f"{folder}/tree").st_nlink) == (4, 2), "folders are counted where they are"
    refused(errno.ENOENT, exchange, f"{folder}/one", f"{folder}/missing")
    refused(errno.EINVAL, exchange, f"{folder}/one", f"{folder}/one/leaf")
    refused(errno.EINVAL, exchange, f"{folder}/one/leaf", f"{folder}/one")
    exchange(f"{folder}/two", f"{folder}/two")


def acl(*entries):
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


def base(user, group, other):
    return (USER_OBJ, user, NOBODY), (GROUP_OBJ, group, NOBODY), (OTHER, other, NOBODY)


def as_user(number, path, how):
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setgid(number)
        os.setuid(number)
        try:
            os.close(os.open(path, how))
            os._exit(0)
        except PermissionError:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def access_control(folder):
    os.chmod(folder, 0o755)
    path = f"{folder}/file"
    written(path, "text")
    os.chmod(path, 0o600)
    user, group, other = base(6, 0, 0)
    assert not as_user(1234, path, os.O_RDONLY)
    os.setxattr(path, ACCESS, acl(user, (USER, 4, 1234), group, (MASK, 4, NOBODY), other))
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o640, "the mask is shown as the group's permissions"
    assert as_user(1234, path, os.O_RDONLY) and not as_user(1234, path, os.O_WRONLY)
    assert not as_user(1235, path, os.O_RDONLY)
    os.chmod(path, 0o600)
    assert not as_user(1234, path, os.O_RDONLY), "chmod takes the mask away"
    os.chmod(path, 0o660)
    assert as_user(1234, path, os.O_RDONLY) and not as_user(1234, path, os.O_WRONLY)
    os.setxattr(path, ACCESS, acl(*base(6, 4, 4)))
    assert ACCESS not in os.listxattr(path), "a list that says what the mode says is not kept"
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o644
    refused(errno.EINVAL, os.setxattr, path, ACCESS, acl(user, other))

    given = acl(user, (USER, 7, 1234), (GROUP_OBJ, 5, NOBODY), (MASK, 7, NOBODY), other)
    os.mkdir(f"{folder}/shared")
    os.setxattr(f"{folder}/shared", DEFAULT, given)
    umask = os.umask(0o077)
    written(f"{folder}/shared/new", "text")
    os.mkdir(f"{folder}/shared/inner")
    written(f"{folder}/private", "text")
    os.umask(umask)
    assert stat.S_IMODE(os.stat(f"{folder}/private").st_mode) == 0o600, "the umask holds elsewhere"
    assert stat.S_IMODE(os.stat(f"{folder}/shared/new").st_mode) == 0o660, "the default list takes the place of the umask"
    assert os.getxattr(f"{folder}/shared/inner", DEFAULT) == given
    os.chmod(f"{folder}/shared", 0o755)
    assert as_user(1234, f"{folder}/shared/new", os.O_RDWR)
    assert DEFAULT not in os.listxattr(f"{folder}/shared/new")
    os.removexattr(f"{folder}/shared", DEFAULT)
    assert os.listxattr(f"{folder}/shared") == []


def main(folder):
    for part in (unnamed_files, exchanged_names, access_control):
        os.mkdir(f"{folder}/{part.__name__}")
        part(f"{folder}/{part.__name__}")


main(sys.argv[1])
