// The functions that the C++ part calls, implemented in src/abi.rs and its folder. They return 0, a
// count, or a negative errno(3); iolab_logfs_message then returns the message for the calling
// thread. Names are bytes with a length; they are not kept after the call.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

struct iolab_fs;    // an open image
struct iolab_file;  // an open file

struct iolab_name {
  const char* bytes;
  size_t length;
};

struct iolab_status {
  uint64_t size;
  uint64_t modified_seconds;
  uint64_t inode;
  uint32_t links;
  uint32_t is_directory;
};

struct iolab_read {
  uint64_t offset;
  char* into;
  size_t length;
  int64_t answer;
};

enum iolab_how : uint32_t { IOLAB_EXISTING = 0, IOLAB_FRESH = 1, IOLAB_OR_NEW = 2 };

enum iolab_name_operation : uint32_t {
  IOLAB_UNLINK = 0,
  IOLAB_MAKE_DIRECTORY = 1,
  IOLAB_REMOVE_DIRECTORY = 2,
  IOLAB_SYNC_DIRECTORY = 3,
  IOLAB_LOCK = 4,
  IOLAB_UNLOCK = 5,
};

size_t iolab_logfs_message(char* into, size_t length);

int32_t iolab_logfs_open(iolab_name uri, iolab_fs** opened);
void iolab_logfs_close(iolab_fs* fs);
int32_t iolab_logfs_status(iolab_fs* fs, iolab_name path, iolab_status* status);
int32_t iolab_logfs_children(iolab_fs* fs, iolab_name path, void (*take)(void*, const char*, size_t), void* context);
int32_t iolab_logfs_name(iolab_fs* fs, iolab_name path, uint32_t operation);
int32_t iolab_logfs_rename(iolab_fs* fs, iolab_name from, iolab_name to);
int32_t iolab_logfs_link(iolab_fs* fs, iolab_name from, iolab_name to);
int32_t iolab_logfs_free_bytes(iolab_fs* fs, uint64_t* bytes);

int32_t iolab_logfs_file_open(iolab_fs* fs, iolab_name path, uint32_t how, iolab_file** opened);
int32_t iolab_logfs_file_close(iolab_file* file);
int64_t iolab_logfs_file_read(iolab_file* file, uint64_t offset, char* into, size_t length);
void iolab_logfs_file_read_many(iolab_file* file, iolab_read* reads, size_t count);
int32_t iolab_logfs_file_append(iolab_file* file, const char* bytes, size_t length);
int32_t iolab_logfs_file_write(iolab_file* file, uint64_t offset, const char* bytes, size_t length);
int32_t iolab_logfs_file_sync(iolab_file* file);
int32_t iolab_logfs_file_send(iolab_file* file);
int32_t iolab_logfs_file_truncate(iolab_file* file, uint64_t size);
uint64_t iolab_logfs_file_size(iolab_file* file);
}
