//! Who a server is, and whom it lets in.

use std::path::Path;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::server::WebPkiClientVerifier;

use crate::trust::{TlsFileError, authorities, certificates, private_key};

/// What a server needs for connections, made once.
#[derive(Debug, Clone)]
pub struct TlsServer {
    pub(crate) config: Arc<ServerConfig>,
}

impl TlsServer {
    /// A server with a certificate and its key (files of PEM). With `clients`, it lets those in
    /// alone whose certificates are by the authorities of that file.
    ///
    /// # Errors
    /// A file that is of no use.
    pub fn new(certificate: &Path, key: &Path, clients: Option<&Path>) -> Result<TlsServer, TlsFileError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let refused = |path: &Path, source| TlsFileError::Refused { path: path.display().to_string(), source };
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|source| refused(certificate, source))?;
        let builder = match clients {
            None => builder.with_no_client_auth(),
            Some(path) => {
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(authorities(path)?), provider);
                let verifier = verifier
                    .build()
                    .map_err(|error| TlsFileError::File { path: path.display().to_string(), why: error.to_string() })?;
                builder.with_client_cert_verifier(verifier)
            }
        };
        let config = builder
            .with_single_cert(certificates(certificate)?, private_key(key)?)
            .map_err(|source| refused(certificate, source))?;
        Ok(TlsServer { config: Arc::new(config) })
    }
}
