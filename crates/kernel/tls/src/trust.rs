//! Whom a client believes, and by what it proves who it is.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

/// Where distributions keep the certificates that a machine trusts: Debian, Fedora, SUSE, Alpine.
const BUNDLES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];
/// The variable that names another file, as for OpenSSL.
const BUNDLE_VARIABLE: &str = "SSL_CERT_FILE";

/// Files of certificates or keys that are of no use.
#[derive(Debug, thiserror::Error)]
pub enum TlsFileError {
    /// A file cannot be read, or is not in the form of PEM.
    #[error("{path}: {why}")]
    File {
        /// The file.
        path: String,
        /// The reason.
        why: String,
    },
    /// The machine has no bundle.
    #[error("this machine has no certificates of authorities (install ca-certificates), or name a file of them")]
    NoBundle,
    /// A certificate and a key that do not belong together, or another thing that rustls refuses.
    #[error("{path}: {source}")]
    Refused {
        /// The certificate's file.
        path: String,
        /// The reason.
        source: rustls::Error,
    },
}

/// Whom a client trusts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TlsTrust {
    /// Authorities whose certificates are in the machine's bundle.
    Machine,
    /// Authorities whose certificates are in a file.
    File(PathBuf),
    /// Everybody: what is sent is hidden from those who listen, and from nobody else.
    Everybody,
}

/// What a client needs for connections, made once.
#[derive(Debug, Clone)]
pub struct TlsClient {
    pub(crate) config: Arc<ClientConfig>,
}

impl TlsClient {
    /// A client that trusts these, and proves who it is by a certificate and its key if it is asked
    /// to (files of PEM).
    ///
    /// # Errors
    /// A file that is of no use.
    pub fn new(trust: &TlsTrust, identity: Option<(&Path, &Path)>) -> Result<TlsClient, TlsFileError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions();
        let builder = builder.map_err(|source| TlsFileError::Refused { path: "TLS".to_owned(), source })?;
        let builder = match trust {
            TlsTrust::Machine => builder.with_root_certificates(authorities(&machine_bundle()?)?),
            TlsTrust::File(path) => builder.with_root_certificates(authorities(path)?),
            TlsTrust::Everybody => {
                builder.dangerous().with_custom_certificate_verifier(Arc::new(BelievesAll { provider }))
            }
        };
        let config = match identity {
            None => builder.with_no_client_auth(),
            Some((certificate, key)) => builder
                .with_client_auth_cert(certificates(certificate)?, private_key(key)?)
                .map_err(|source| TlsFileError::Refused { path: certificate.display().to_string(), source })?,
        };
        Ok(TlsClient { config: Arc::new(config) })
    }
}

fn machine_bundle() -> Result<PathBuf, TlsFileError> {
    if let Some(named) = std::env::var_os(BUNDLE_VARIABLE).filter(|name| !name.is_empty()) {
        return Ok(named.into());
    }
    let found = BUNDLES.iter().map(PathBuf::from).find(|path| path.exists());
    found.ok_or(TlsFileError::NoBundle)
}

/// The certificates of authorities in a file.
pub(crate) fn authorities(path: &Path) -> Result<RootCertStore, TlsFileError> {
    let mut store = RootCertStore::empty();
    // A bundle may have old ones that nobody can use; they are passed over.
    let (taken, _) = store.add_parsable_certificates(certificates(path)?);
    if taken == 0 {
        return Err(unusable(path, "it has no certificate of an authority"));
    }
    Ok(store)
}

pub(crate) fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsFileError> {
    let found = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let found = found.map_err(|error| unusable(path, &pem_text(&error)))?;
    if found.is_empty() {
        return Err(unusable(path, "it has no certificate (-----BEGIN CERTIFICATE-----)"));
    }
    Ok(found)
}

pub(crate) fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsFileError> {
    PrivateKeyDer::from_pem_file(path).map_err(|error| unusable(path, &pem_text(&error)))
}

fn pem_text(error: &rustls::pki_types::pem::Error) -> String {
    match error {
        rustls::pki_types::pem::Error::Io(error) => error.to_string(),
        rustls::pki_types::pem::Error::NoItemsFound => "it has no private key without a password".to_owned(),
        other => other.to_string(),
    }
}

fn unusable(path: &Path, why: &str) -> TlsFileError {
    TlsFileError::File { path: path.display().to_string(), why: why.to_owned() }
}

/// Takes every certificate. The server still has to have its key.
#[derive(Debug)]
struct BelievesAll {
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for BelievesAll {
    fn verify_server_cert(
        &self,
        _certificate: &CertificateDer<'_>,
        _chain: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
