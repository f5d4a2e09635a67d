//! Its options, named as `db_bench` names those of RocksDB.

use fjall::config::{BlockSizePolicy, CompressionPolicy};
use fjall::{CompressionType, Database, DatabaseBuilder, KeyspaceCreateOptions};
use iolab_kv::{ErrorKind, StoreError, number, options_of, unknown_option};

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Options {
    cache_size: Option<u64>,
    write_buffer_size: Option<u64>,
    block_size: Option<u32>,
    max_background_jobs: Option<usize>,
    uncompressed: bool,
}

const NAMES: &[&str] = &["cache_size", "write_buffer_size", "block_size", "max_background_jobs", "compression"];

impl Options {
    pub(crate) fn read(text: &str) -> Result<Options, StoreError> {
        let mut options = Options::default();
        for (name, value) in options_of(text)? {
            match (name, value) {
                ("cache_size", _) => options.cache_size = Some(number(name, value)?),
                ("write_buffer_size", _) => options.write_buffer_size = Some(number(name, value)?),
                ("block_size", _) => options.block_size = Some(number(name, value)?.clamp(1024, 1 << 20) as u32),
                ("max_background_jobs", _) => {
                    options.max_background_jobs = Some(number(name, value)?.clamp(1, 1024) as usize);
                }
                ("compression", "lz4") => options.uncompressed = false,
                ("compression", "none") => options.uncompressed = true,
                ("compression", _) => {
                    let message = format!("`compression={value}`: fjall supports lz4 and none");
                    return Err(StoreError::new(ErrorKind::Option, message));
                }
                _ => return Err(unknown_option("fjall", name, NAMES)),
            }
        }
        Ok(options)
    }

    pub(crate) fn apply(&self, mut builder: DatabaseBuilder<Database>) -> DatabaseBuilder<Database> {
        if let Some(bytes) = self.cache_size {
            builder = builder.cache_size(bytes);
        }
        if let Some(threads) = self.max_background_jobs {
            builder = builder.worker_threads(threads);
        }
        if self.uncompressed {
            builder = builder.journal_compression(CompressionType::None);
        }
        builder
    }

    pub(crate) fn keyspace(&self) -> KeyspaceCreateOptions {
        let mut options = KeyspaceCreateOptions::default();
        if let Some(bytes) = self.write_buffer_size {
            options = options.max_memtable_size(bytes);
        }
        if let Some(bytes) = self.block_size {
            options = options.data_block_size_policy(BlockSizePolicy::all(bytes));
        }
        if self.uncompressed {
            options = options.data_block_compression_policy(CompressionPolicy::disabled());
        }
        options
    }

    pub(crate) fn compression(&self) -> &'static str {
        if self.uncompressed { "none" } else { "lz4" }
    }
}
