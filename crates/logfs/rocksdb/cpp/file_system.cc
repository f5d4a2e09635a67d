// A FileSystem of RocksDB whose files are in an image of logfs. Operations on names call the C
// functions; files are in files.cc. Paths begin at the root of the image, with or without a slash.
#include "file_system.h"

namespace iolab {
namespace {

using rocksdb::FileLock;
using rocksdb::FileOptions;

class Lock : public FileLock {
 public:
  explicit Lock(std::string name) : name(std::move(name)) {}
  const std::string name;
};

class LogfsFileSystem : public rocksdb::FileSystem {
 public:
  explicit LogfsFileSystem(std::shared_ptr<Image> image) : image_(std::move(image)) {}

  const char* Name() const override { return "LogfsFileSystem"; }

  IOStatus NewSequentialFile(const std::string& name, const FileOptions&,
                             std::unique_ptr<rocksdb::FSSequentialFile>* result, IODebugContext*) override {
    return Open(name, IOLAB_EXISTING, result, NewSequential);
  }

  IOStatus NewRandomAccessFile(const std::string& name, const FileOptions&,
                               std::unique_ptr<rocksdb::FSRandomAccessFile>* result, IODebugContext*) override {
    return Open(name, IOLAB_EXISTING, result, NewRandomAccess);
  }

  IOStatus NewWritableFile(const std::string& name, const FileOptions& options,
                           std::unique_ptr<rocksdb::FSWritableFile>* result, IODebugContext*) override {
    return Open(name, IOLAB_FRESH, result, NewWritable, options);
  }

  IOStatus ReopenWritableFile(const std::string& name, const FileOptions& options,
                              std::unique_ptr<rocksdb::FSWritableFile>* result, IODebugContext*) override {
    return Open(name, IOLAB_OR_NEW, result, NewWritable, options);
  }

  IOStatus NewRandomRWFile(const std::string& name, const FileOptions&,
                           std::unique_ptr<rocksdb::FSRandomRWFile>* result, IODebugContext*) override {
    return Open(name, IOLAB_OR_NEW, result, NewRandomRW);
  }

  IOStatus NewDirectory(const std::string& name, const IOOptions&, std::unique_ptr<rocksdb::FSDirectory>* result,
                        IODebugContext*) override {
    iolab_status status;
    const IOStatus found = StatusOf(iolab_logfs_status(image_->fs, NameOf(name), &status));
    if (found.ok()) {
      *result = iolab::NewDirectory(image_, name);
    }
    return found;
  }

  IOStatus FileExists(const std::string& name, const IOOptions&, IODebugContext*) override {
    iolab_status status;
    const IOStatus found = StatusOf(iolab_logfs_status(image_->fs, NameOf(name), &status));
    return found.IsPathNotFound() ? IOStatus::NotFound(name) : found;
  }

  IOStatus GetChildren(const std::string& directory, const IOOptions&, std::vector<std::string>* result,
                       IODebugContext*) override {
    result->clear();
    const auto take = [](void* context, const char* name, size_t length) {
      static_cast<std::vector<std::string>*>(context)->emplace_back(name, length);
    };
    return StatusOf(iolab_logfs_children(image_->fs, NameOf(directory), take, result));
  }

  IOStatus DeleteFile(const std::string& name, const IOOptions&, IODebugContext*) override {
    return Do(name, IOLAB_UNLINK);
  }

  IOStatus CreateDir(const std::string& name, const IOOptions&, IODebugContext*) override {
    return Do(name, IOLAB_MAKE_DIRECTORY);
  }

  IOStatus CreateDirIfMissing(const std::string& name, const IOOptions& options, IODebugContext* debug) override {
    bool is_directory = false;
    const IOStatus found = IsDirectory(name, options, &is_directory, debug);
    if (found.ok()) {
      return is_directory ? found : IOStatus::IOError(name, "exists and is no directory");
    }
    return Do(name, IOLAB_MAKE_DIRECTORY);
  }

  IOStatus DeleteDir(const std::string& name, const IOOptions&, IODebugContext*) override {
    return Do(name, IOLAB_REMOVE_DIRECTORY);
  }

  IOStatus GetFileSize(const std::string& name, const IOOptions&, uint64_t* size, IODebugContext*) override {
    iolab_status status = {};
    const IOStatus found = StatusOf(iolab_logfs_status(image_->fs, NameOf(name), &status));
    *size = status.size;
    return found;
  }

  IOStatus GetFileModificationTime(const std::string& name, const IOOptions&, uint64_t* seconds,
                                   IODebugContext*) override {
    iolab_status status = {};
    const IOStatus found = StatusOf(iolab_logfs_status(image_->fs, NameOf(name), &status));
    *seconds = status.modified_seconds;
    return found;
  }

  IOStatus IsDirectory(const std::string& name, const IOOptions&, bool* is_directory, IODebugContext*) override {
    iolab_status status = {};
    const IOStatus found = StatusOf(iolab_logfs_status(image_->fs, NameOf(name), &status));
    *is_directory = status.is_directory != 0;
    return found;
  }

  IOStatus NumFileLinks(const std::string& name, const IOOptions&, uint64_t* count, IODebugContext*) override {
    iolab_status status = {};
    const IOStatus found = StatusOf(iolab_logfs_status(image_->fs, NameOf(name), &status));
    *count = status.links;
    return found;
  }

  IOStatus AreFilesSame(const std::string& first, const std::string& second, const IOOptions&, bool* are_same,
                        IODebugContext*) override {
    iolab_status one = {};
    iolab_status other = {};
    IOStatus found = StatusOf(iolab_logfs_status(image_->fs, NameOf(first), &one));
    if (found.ok()) {
      found = StatusOf(iolab_logfs_status(image_->fs, NameOf(second), &other));
    }
    *are_same = found.ok() && one.inode == other.inode;
    return found;
  }

  IOStatus RenameFile(const std::string& from, const std::string& to, const IOOptions&, IODebugContext*) override {
    return StatusOf(iolab_logfs_rename(image_->fs, NameOf(from), NameOf(to)));
  }

  IOStatus LinkFile(const std::string& from, const std::string& to, const IOOptions&, IODebugContext*) override {
    return StatusOf(iolab_logfs_link(image_->fs, NameOf(from), NameOf(to)));
  }

  IOStatus Truncate(const std::string& name, size_t size, const IOOptions&, IODebugContext*) override {
    iolab_file* file = nullptr;
    IOStatus status = StatusOf(iolab_logfs_file_open(image_->fs, NameOf(name), IOLAB_EXISTING, &file));
    if (status.ok()) {
      Handle handle(image_, file);
      status = StatusOf(iolab_logfs_file_truncate(file, size));
    }
    return status;
  }

  IOStatus LockFile(const std::string& name, const IOOptions&, FileLock** lock, IODebugContext*) override {
    *lock = nullptr;
    iolab_file* file = nullptr;
    IOStatus status = StatusOf(iolab_logfs_file_open(image_->fs, NameOf(name), IOLAB_OR_NEW, &file));
    if (status.ok()) {
      Handle made(image_, file);
      status = Do(name, IOLAB_LOCK);
    }
    if (status.ok()) {
      *lock = new Lock(name);
    }
    return status;
  }

  IOStatus UnlockFile(FileLock* lock, const IOOptions&, IODebugContext*) override {
    std::unique_ptr<Lock> held(static_cast<Lock*>(lock));
    return Do(held->name, IOLAB_UNLOCK);
  }

  IOStatus GetTestDirectory(const IOOptions& options, std::string* path, IODebugContext* debug) override {
    *path = "/test";
    return CreateDirIfMissing(*path, options, debug);
  }

  IOStatus GetAbsolutePath(const std::string& path, const IOOptions&, std::string* absolute,
                           IODebugContext*) override {
    *absolute = !path.empty() && path.front() == '/' ? path : "/" + path;
    return IOStatus::OK();
  }

  IOStatus GetFreeSpace(const std::string&, const IOOptions&, uint64_t* bytes, IODebugContext*) override {
    return StatusOf(iolab_logfs_free_bytes(image_->fs, bytes));
  }

 private:
  IOStatus Do(const std::string& name, iolab_name_operation operation) {
    return StatusOf(iolab_logfs_name(image_->fs, NameOf(name), operation));
  }

  template <typename File, typename Make, typename... More>
  IOStatus Open(const std::string& name, iolab_how how, std::unique_ptr<File>* result, Make make,
                const More&... more) {
    result->reset();
    iolab_file* file = nullptr;
    const IOStatus status = StatusOf(iolab_logfs_file_open(image_->fs, NameOf(name), how, &file));
    if (status.ok()) {
      *result = make(std::make_unique<Handle>(image_, file), more...);
    }
    return status;
  }

  std::shared_ptr<Image> image_;
};

}  // namespace

std::unique_ptr<rocksdb::FileSystem> OpenFileSystem(const std::string& uri, std::string* error) {
  auto image = std::make_shared<Image>();
  const IOStatus status = StatusOf(iolab_logfs_open(NameOf(uri), &image->fs));
  if (!status.ok()) {
    *error = status.getState() != nullptr ? status.getState() : status.ToString();
    return nullptr;
  }
  return std::make_unique<LogfsFileSystem>(std::move(image));
}

}  // namespace iolab
