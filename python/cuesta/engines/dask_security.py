"""Credentials with which Dask's processes of a session authenticate to each other.

Any process that reaches a Dask scheduler without security can run code on it. Here scheduler,
workers and client share a key that exists only in their memory, on no disk and no command line;
each connection is TLS, and both of its ends must have that key.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from importlib import import_module
from typing import Any

NO_PAGES: dict[str, list[str]] = {
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
}
"""Settings under which Dask's web servers, which cannot be turned off, have no page."""
COMMON_NAME = "cuesta-dask"
VALID = timedelta(days=365)
CLOCK_ERROR = timedelta(days=1)


def temporary() -> Any:
    """Return a `distributed.Security` with a new key, of the curve P-256, for all roles.

    Dask's own function makes a key of RSA, which takes a tenth of a second.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, COMMON_NAME)])
    now = datetime.now(tz=UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_ERROR)
        .not_valid_after(now + VALID)
    )
    certificate = builder.sign(key, hashes.SHA256())
    public = certificate.public_bytes(serialization.Encoding.PEM).decode()
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    ).decode()
    roles = ("client", "scheduler", "worker")
    return import_module("distributed").Security(
        require_encryption=True,
        tls_ca_file=public,
        **{f"tls_{role}_key": private for role in roles},
        **{f"tls_{role}_cert": public for role in roles},
    )
