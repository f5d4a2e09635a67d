//! A client of the cluster, a pool, and an image in it. Cold.
//!
//! Everything is given back in the opposite order when it is dropped. The time of each step is
//! bounded by settings of the client.
//!
//! Unsafe code: calls of both libraries with the handles that they gave, each freed once.

use std::ffi::{CString, c_char, c_int, c_void};
use std::io;

use iolab_engine::OpenError;
use iolab_options::Settings;

use crate::libraries::{INSTALL, INSTALL_OBJECTS, Images, Rados};
use crate::options::Asked;

/// How an image is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ImageAccess {
    ReadOnly,
    ReadWrite,
}

/// A client that may be connected.
#[derive(Debug)]
struct Client {
    rados: Rados,
    handle: *mut c_void,
}

impl Drop for Client {
    fn drop(&mut self) {
        // SAFETY: a handle of rados_create2, which is used for the last time.
        unsafe { (self.rados.rados_shutdown)(self.handle) };
    }
}

/// A pool.
#[derive(Debug)]
pub(crate) struct Pool {
    client: Client,
    pub(crate) handle: *mut c_void,
}

// SAFETY: librados allows a handle to be used by any thread; a lane uses its own.
unsafe impl Send for Pool {}

impl Pool {
    /// Connects a new client, and opens the pool of the options.
    ///
    /// # Errors
    /// A missing library, or what the cluster says.
    pub(crate) fn open(asked: &Asked) -> Result<Pool, OpenError> {
        let rados = *Rados::get().map_err(|error| missing(&error.to_string(), INSTALL_OBJECTS))?;
        let client = Client::connect(rados, asked)?;
        let pool = c_text(&asked.pool)?;
        let mut handle = std::ptr::null_mut();
        // SAFETY: a connected client, a C string, and a place of ours for the answer.
        let status = unsafe { (rados.rados_ioctx_create)(client.handle, pool.as_ptr(), &mut handle) };
        check(status, || format!("pool {}", asked.pool))?;
        Ok(Pool { client, handle })
    }
}

/// The error for a library that is not there.
pub(crate) fn missing(what: &str, install: &str) -> OpenError {
    OpenError { message: format!("ceph: {what}; install it with: {install}"), errno: Some(libc::ENOENT) }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // SAFETY: a handle of rados_ioctx_create, which is used for the last time; its client is
        // shut down afterwards.
        unsafe { (self.client.rados.rados_ioctx_destroy)(self.handle) };
    }
}

/// An open image.
#[derive(Debug)]
pub(crate) struct Image {
    pub(crate) images: Images,
    pub(crate) handle: *mut c_void,
    /// Whether writes complete in a cache of the client.
    pub(crate) is_cached: bool,
    name: String,
    _pool: Pool,
}

// SAFETY: the libraries allow a handle to be used by any thread; a lane uses its own.
unsafe impl Send for Image {}

impl Image {
    /// Opens the image of this name in the pool of the options.
    ///
    /// # Errors
    /// A missing library, or what the cluster says.
    pub(crate) fn open(name: &str, options: &Settings, access: ImageAccess) -> Result<Image, OpenError> {
        let asked = Asked::of(options);
        let images = *Images::get().map_err(|error| missing(&error.to_string(), INSTALL))?;
        let pool = Pool::open(&asked)?;
        let is_cached = pool.client.setting("rbd_cache").is_none_or(|text| text != "false" && text != "0");
        let image = c_text(name)?;
        let mut handle = std::ptr::null_mut();
        let open = match access {
            ImageAccess::ReadOnly => images.rbd_open_read_only,
            ImageAccess::ReadWrite => images.rbd_open,
        };
        // SAFETY: as above; a null snapshot is the image itself.
        let status = unsafe { open(pool.handle, image.as_ptr(), &mut handle, std::ptr::null()) };
        check(status, || format!("image {}/{name}", asked.pool))?;
        Ok(Image { images, handle, is_cached, name: name.to_owned(), _pool: pool })
    }

    /// Its size, bytes.
    pub(crate) fn size_bytes(&self) -> Result<u64, OpenError> {
        let mut bytes = 0;
        // SAFETY: an open image, and a number of ours.
        let status = unsafe { (self.images.rbd_get_size)(self.handle, &mut bytes) };
        check(status, || format!("size of image {}", self.name))?;
        Ok(bytes)
    }

    /// Reads, waiting for it. Returns how many bytes came.
    pub(crate) fn read(&self, offset: u64, to: &mut [u8]) -> Result<usize, OpenError> {
        // SAFETY: an open image, and memory of this length that nobody else uses.
        let came = unsafe { (self.images.rbd_read)(self.handle, offset, to.len(), to.as_mut_ptr().cast()) };
        check(came.min(0) as c_int, || format!("reading image {}", self.name))?;
        Ok(came as usize)
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        // SAFETY: a handle of rbd_open, which is used for the last time; its pool goes afterwards.
        unsafe { (self.images.rbd_close)(self.handle) };
    }
}

impl Client {
    fn connect(rados: Rados, asked: &Asked) -> Result<Client, OpenError> {
        let (cluster, name) = (c_text(&asked.cluster)?, c_text(&format!("client.{}", asked.client))?);
        let mut handle = std::ptr::null_mut();
        // SAFETY: C strings, and a place of ours for the answer.
        let status = unsafe { (rados.rados_create2)(&mut handle, cluster.as_ptr(), name.as_ptr(), 0) };
        check(status, || format!("client {}", asked.client))?;
        let client = Client { rados, handle };
        let file = asked.configuration.as_deref().map(c_text).transpose()?;
        // SAFETY: a client, and a C string; null is the usual search for the configuration.
        let status = unsafe {
            (rados.rados_conf_read_file)(handle, file.as_ref().map_or(std::ptr::null(), |file| file.as_ptr()))
        };
        check(status, || match &asked.configuration {
            Some(file) => format!("configuration {file}"),
            None => format!("no configuration of cluster {} (CEPH_CONF names one; /etc/ceph/ceph.conf)", asked.cluster),
        })?;
        let seconds = asked.timeout_seconds.to_string();
        for option in ["client_mount_timeout", "rados_mon_op_timeout", "rados_osd_op_timeout"] {
            client.set(option, &seconds)?;
        }
        if let Some(cache) = asked.cache {
            client.set("rbd_cache", if cache { "true" } else { "false" })?;
        }
        // SAFETY: a client that is set up.
        check(unsafe { (rados.rados_connect)(handle) }, || format!("connecting to cluster {}", asked.cluster))?;
        Ok(client)
    }

    fn set(&self, option: &str, value: &str) -> Result<(), OpenError> {
        let (name, text) = (c_text(option)?, c_text(value)?);
        // SAFETY: a client and C strings.
        let status = unsafe { (self.rados.rados_conf_set)(self.handle, name.as_ptr(), text.as_ptr()) };
        check(status, || format!("setting {option}={value}"))
    }

    fn setting(&self, option: &str) -> Option<String> {
        let name = c_text(option).ok()?;
        let mut text = [0; 64];
        // SAFETY: a client, a C string, and memory of this length, whose last byte stays zero.
        let status = unsafe {
            let to: *mut c_char = text.as_mut_ptr();
            (self.rados.rados_conf_get)(self.handle, name.as_ptr(), to, text.len() - 1)
        };
        let bytes: Vec<u8> = text.iter().map(|byte| *byte as u8).take_while(|byte| *byte != 0).collect();
        (status == 0).then(|| String::from_utf8_lossy(&bytes).into_owned())
    }
}

pub(crate) fn c_text(text: &str) -> Result<CString, OpenError> {
    let wrong = |what| OpenError { message: format!("rbd: {what}"), errno: Some(libc::EINVAL) };
    iolab_c_library::c_text(text).map_err(wrong)
}

/// Turns a negative errno into an error.
pub(crate) fn check(status: c_int, what: impl FnOnce() -> String) -> Result<(), OpenError> {
    if status >= 0 {
        return Ok(());
    }
    let error = io::Error::from_raw_os_error(-status);
    Err(OpenError { message: format!("rbd: {}: {error}", what()), errno: Some(-status) })
}
