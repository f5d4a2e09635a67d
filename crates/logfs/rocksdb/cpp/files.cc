// Files of a LogfsFileSystem. They wait only in the C functions, and their only state is a
// position.
#include "files.h"

#include <cerrno>
#include <vector>

namespace iolab {

IOStatus StatusOf(int64_t answer) {
  if (answer >= 0) {
    return IOStatus::OK();
  }
  char message[1024];
  const Slice said(message, iolab_logfs_message(message, sizeof message));
  switch (-answer) {
    case ENOENT:
      return IOStatus::PathNotFound(said);
    case ENOSPC: {
      // As for files of the kernel: space may become free again.
      IOStatus status = IOStatus::NoSpace(said);
      status.SetRetryable(true);
      return status;
    }
    case EBUSY:
      return IOStatus::Busy(said);
    default:
      return IOStatus::IOError(said);
  }
}

IOStatus Handle::Read(uint64_t offset, size_t n, Slice* result, char* scratch) const {
  const int64_t found = iolab_logfs_file_read(file_, offset, scratch, n);
  *result = Slice(scratch, found > 0 ? static_cast<size_t>(found) : 0);
  return StatusOf(found);
}

IOStatus Handle::Close() {
  if (file_ == nullptr) {
    return IOStatus::OK();
  }
  const int32_t answer = iolab_logfs_file_close(file_);
  file_ = nullptr;
  image_.reset();
  return StatusOf(answer);
}

namespace {

class SequentialFile : public rocksdb::FSSequentialFile {
 public:
  explicit SequentialFile(std::unique_ptr<Handle> handle) : handle_(std::move(handle)) {}

  IOStatus Read(size_t n, const IOOptions&, Slice* result, char* scratch, IODebugContext*) override {
    IOStatus status = handle_->Read(at_, n, result, scratch);
    at_ += result->size();
    return status;
  }

  IOStatus PositionedRead(uint64_t offset, size_t n, const IOOptions&, Slice* result, char* scratch,
                          IODebugContext*) override {
    return handle_->Read(offset, n, result, scratch);
  }

  IOStatus Skip(uint64_t n) override {
    at_ += n;
    return IOStatus::OK();
  }

  IOStatus InvalidateCache(size_t, size_t) override { return IOStatus::OK(); }

 private:
  std::unique_ptr<Handle> handle_;
  uint64_t at_ = 0;
};

class RandomAccessFile : public rocksdb::FSRandomAccessFile {
 public:
  explicit RandomAccessFile(std::unique_ptr<Handle> handle) : handle_(std::move(handle)) {}

  IOStatus Read(uint64_t offset, size_t n, const IOOptions&, Slice* result, char* scratch,
                IODebugContext*) const override {
    return handle_->Read(offset, n, result, scratch);
  }

  // All at once: the file system has one thread, but the disk has a queue.
  IOStatus MultiRead(rocksdb::FSReadRequest* requests, size_t count, const IOOptions&, IODebugContext*) override {
    std::vector<iolab_read> reads(count);
    for (size_t i = 0; i < count; ++i) {
      reads[i] = {requests[i].offset, requests[i].scratch, requests[i].len, 0};
    }
    iolab_logfs_file_read_many(handle_->file(), reads.data(), count);
    for (size_t i = 0; i < count; ++i) {
      const int64_t found = reads[i].answer;
      requests[i].result = Slice(requests[i].scratch, found > 0 ? static_cast<size_t>(found) : 0);
      requests[i].status = StatusOf(found);
    }
    return IOStatus::OK();
  }

  IOStatus InvalidateCache(size_t, size_t) override { return IOStatus::OK(); }

 private:
  std::unique_ptr<Handle> handle_;
};

class WritableFile : public rocksdb::FSWritableFile {
 public:
  WritableFile(std::unique_ptr<Handle> handle, const rocksdb::FileOptions& options)
      : FSWritableFile(options), handle_(std::move(handle)) {}

  // RocksDB's overload with a checksum of the data calls this too.
  using rocksdb::FSWritableFile::Append;

  IOStatus Append(const Slice& data, const IOOptions&, IODebugContext*) override {
    return StatusOf(iolab_logfs_file_append(handle_->file(), data.data(), data.size()));
  }

  IOStatus Truncate(uint64_t size, const IOOptions&, IODebugContext*) override {
    return StatusOf(iolab_logfs_file_truncate(handle_->file(), size));
  }

  IOStatus Close(const IOOptions&, IODebugContext*) override { return handle_->Close(); }

  // For files of the kernel this passes bytes to its cache, where they survive the process. There
  // is no such cache here: see the crate's documentation.
  IOStatus Flush(const IOOptions&, IODebugContext*) override { return IOStatus::OK(); }

  IOStatus Sync(const IOOptions&, IODebugContext*) override {
    return StatusOf(iolab_logfs_file_sync(handle_->file()));
  }

  IOStatus RangeSync(uint64_t, uint64_t, const IOOptions&, IODebugContext*) override {
    return StatusOf(iolab_logfs_file_send(handle_->file()));
  }

  bool IsSyncThreadSafe() const override { return true; }

  uint64_t GetFileSize(const IOOptions&, IODebugContext*) override {
    return iolab_logfs_file_size(handle_->file());
  }

  // A log never reserves space.
  void PrepareWrite(size_t, size_t, const IOOptions&, IODebugContext*) override {}

  IOStatus InvalidateCache(size_t, size_t) override { return IOStatus::OK(); }

 private:
  std::unique_ptr<Handle> handle_;
};

class RandomRWFile : public rocksdb::FSRandomRWFile {
 public:
  explicit RandomRWFile(std::unique_ptr<Handle> handle) : handle_(std::move(handle)) {}

  IOStatus Write(uint64_t offset, const Slice& data, const IOOptions&, IODebugContext*) override {
    return StatusOf(iolab_logfs_file_write(handle_->file(), offset, data.data(), data.size()));
  }

  IOStatus Read(uint64_t offset, size_t n, const IOOptions&, Slice* result, char* scratch,
                IODebugContext*) const override {
    return handle_->Read(offset, n, result, scratch);
  }

  IOStatus Flush(const IOOptions&, IODebugContext*) override { return IOStatus::OK(); }

  IOStatus Sync(const IOOptions&, IODebugContext*) override {
    return StatusOf(iolab_logfs_file_sync(handle_->file()));
  }

  IOStatus Close(const IOOptions&, IODebugContext*) override { return handle_->Close(); }

 private:
  std::unique_ptr<Handle> handle_;
};

class Directory : public rocksdb::FSDirectory {
 public:
  Directory(std::shared_ptr<Image> image, const std::string& name) : image_(std::move(image)), name_(name) {}

  IOStatus Fsync(const IOOptions&, IODebugContext*) override {
    return StatusOf(iolab_logfs_name(image_->fs, NameOf(name_), IOLAB_SYNC_DIRECTORY));
  }

  IOStatus Close(const IOOptions&, IODebugContext*) override { return IOStatus::OK(); }

 private:
  std::shared_ptr<Image> image_;
  std::string name_;
};

}  // namespace

std::unique_ptr<rocksdb::FSSequentialFile> NewSequential(std::unique_ptr<Handle> handle) {
  return std::make_unique<SequentialFile>(std::move(handle));
}

std::unique_ptr<rocksdb::FSRandomAccessFile> NewRandomAccess(std::unique_ptr<Handle> handle) {
  return std::make_unique<RandomAccessFile>(std::move(handle));
}

std::unique_ptr<rocksdb::FSWritableFile> NewWritable(std::unique_ptr<Handle> handle,
                                                     const rocksdb::FileOptions& options) {
  return std::make_unique<WritableFile>(std::move(handle), options);
}

std::unique_ptr<rocksdb::FSRandomRWFile> NewRandomRW(std::unique_ptr<Handle> handle) {
  return std::make_unique<RandomRWFile>(std::move(handle));
}

std::unique_ptr<rocksdb::FSDirectory> NewDirectory(std::shared_ptr<Image> image, const std::string& name) {
  return std::make_unique<Directory>(std::move(image), name);
}

}  // namespace iolab
