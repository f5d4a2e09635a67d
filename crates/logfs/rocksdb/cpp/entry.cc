// Gives programs a LogfsFileSystem: through the scheme `logfs:` in the registry of RocksDB, which
// is registered when this library is loaded (linked, preloaded or by dlopen), or through an
// environment for the C interface.
#include <rocksdb/env.h>
#include <rocksdb/utilities/object_registry.h>

#include <cstdlib>
#include <cstring>

#include "file_system.h"

namespace {

// Runs when the library is loaded.
const bool is_registered = [] {
  const auto pattern = rocksdb::ObjectLibrary::PatternEntry("logfs", false).AddSeparator(":");
  rocksdb::ObjectLibrary::Default()->AddFactory<rocksdb::FileSystem>(
      pattern, [](const std::string& uri, std::unique_ptr<rocksdb::FileSystem>* guard, std::string* error) {
        *guard = iolab::OpenFileSystem(uri, error);
        return guard->get();
      });
  return true;
}();

// The C interface keeps an environment in this structure (db/c.cc: `rep`, `is_default`; the same
// from version 5 to 10), and reads the first field when an environment is set in options.
struct CEnv {
  rocksdb::Env* env;
  bool is_default;
};

}  // namespace

extern "C" {

void* iolab_shim_env_open(const char* uri, char** error) {
  std::string why;
  std::shared_ptr<rocksdb::FileSystem> fs = iolab::OpenFileSystem(uri, &why);
  if (fs == nullptr || !is_registered) {
    *error = strdup(why.c_str());
    return nullptr;
  }
  return new CEnv{rocksdb::NewCompositeEnv(fs).release(), false};
}

void iolab_shim_env_close(void* env) {
  if (env != nullptr) {
    delete static_cast<CEnv*>(env)->env;
    delete static_cast<CEnv*>(env);
  }
}
}
