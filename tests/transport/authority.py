"""A certificate authority of a test, and what it signs."""

from __future__ import annotations

import datetime as dt
import ipaddress
import ssl
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.transport.certificate import SIGNING

__all__ = ["Authority"]


class Authority:
    """Issues certificates below `folder`, as PEM."""

    def __init__(self, folder: Path, name: str = "ca") -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        found = (
            self._build(self._name, self._key)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(SIGNING, critical=True)
        )
        self.certificate = self._write(f"{name}.crt", found.sign(self._key, hashes.SHA256()))

    def _build(
        self, subject: x509.Name, key: ec.EllipticCurvePrivateKey
    ) -> x509.CertificateBuilder:
        now = dt.datetime.now(dt.UTC)
        own, signer = key.public_key(), self._key.public_key()
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(own)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(own), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(signer), critical=False
            )
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - dt.timedelta(days=1))
            .not_valid_after(now + dt.timedelta(days=1))
        )

    def issue(self, name: str, host: str = "localhost") -> tuple[Path, Path]:
        """A certificate for a name, and its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        names = [x509.DNSName(host), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        found = self._build(subject, key).add_extension(
            x509.SubjectAlternativeName(names), critical=False
        )
        path = self._write(f"{name}.crt", found.sign(self._key, hashes.SHA256()))
        private = self._folder / f"{name}.key"
        private.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        return path, private

    def client_context(self, name: str = "") -> ssl.SSLContext:
        """For a client that trusts this authority, and has a certificate of it if it has a name."""
        context = ssl.create_default_context(cafile=str(self.certificate))
        if name:
            context.load_cert_chain(*map(str, self.issue(name)))
        return context

    def _write(self, name: str, certificate: x509.Certificate) -> Path:
        path = self._folder / name
        path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        return path
