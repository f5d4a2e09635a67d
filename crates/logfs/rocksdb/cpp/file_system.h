// A FileSystem of RocksDB whose files are in an image of logfs.
#pragma once

#include "files.h"

namespace iolab {

// Opens the image that a URI names. Returns null on failure; `error` then says why.
std::unique_ptr<rocksdb::FileSystem> OpenFileSystem(const std::string& uri, std::string* error);

}  // namespace iolab
