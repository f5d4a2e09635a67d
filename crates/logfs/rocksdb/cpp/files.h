// Files of a LogfsFileSystem: each owns one handle of the C functions, and shares the image.
#pragma once

#include <rocksdb/file_system.h>

#include <memory>
#include <string>

#include "abi.h"

namespace iolab {

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

// An open image. Files keep it open.
struct Image {
  iolab_fs* fs = nullptr;
  Image() = default;
  Image(const Image&) = delete;
  ~Image() { iolab_logfs_close(fs); }
};

// Converts a result of the C functions for RocksDB.
IOStatus StatusOf(int64_t answer);

inline iolab_name NameOf(const std::string& name) { return {name.data(), name.size()}; }

// One open file.
class Handle {
 public:
  Handle(std::shared_ptr<Image> image, iolab_file* file) : image_(std::move(image)), file_(file) {}
  Handle(const Handle&) = delete;
  ~Handle() { Close(); }

  iolab_file* file() const { return file_; }

  IOStatus Read(uint64_t offset, size_t n, Slice* result, char* scratch) const;

  // May be called twice.
  IOStatus Close();

 private:
  std::shared_ptr<Image> image_;
  iolab_file* file_;
};

std::unique_ptr<rocksdb::FSSequentialFile> NewSequential(std::unique_ptr<Handle> handle);
std::unique_ptr<rocksdb::FSRandomAccessFile> NewRandomAccess(std::unique_ptr<Handle> handle);
std::unique_ptr<rocksdb::FSWritableFile> NewWritable(std::unique_ptr<Handle> handle,
                                                     const rocksdb::FileOptions& options);
std::unique_ptr<rocksdb::FSRandomRWFile> NewRandomRW(std::unique_ptr<Handle> handle);
std::unique_ptr<rocksdb::FSDirectory> NewDirectory(std::shared_ptr<Image> image, const std::string& name);

}  // namespace iolab
