"""Who authenticates a request that no key in a header can: AWS signatures, Google's credentials.

Both need packages of their vendors, which are extras and imported here where they are used.
Credentials are found as the vendors' own SDKs find them: variables, profiles, roles, the metadata
of a machine. That may take a while, so requests are signed in a thread of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, ClassVar, TypeAlias

from ..core.endpoint import Auth
from ..errors import MissingExtra, Unsupported
from .errors import AuthenticationFailed
from .secrets import Headers, Secrets

Sign: TypeAlias = Callable[[str, bytes, Mapping[str, str]], Mapping[str, str]]
"""The url, body and headers of a request; the headers that it needs besides."""

SCOPE = "https://www.googleapis.com/auth/cloud-platform"


class Signer:
    """Signs requests; what must not be shown of that it tells to the secrets."""

    def __init__(self, sign: Sign, secrets: Secrets) -> None:
        self._sign = sign
        self._secrets = secrets

    @staticmethod
    def of(sign: Sign, secrets: Secrets) -> Signer:
        return Signer(sign, secrets)

    def __call__(self, url: str, body: bytes, headers: Mapping[str, str]) -> Headers:
        added = {name.lower(): value for name, value in self._sign(url, body, headers).items()}
        for value in added.values():
            self._secrets.hear((value, value.partition(" ")[2]))
        return Headers({**headers, **added})

    def setting(self, name: str) -> str | None:
        """What the credentials know of the address: the project of an account, for one."""
        return None


class AwsSigner(Signer):
    """AWS Signature Version 4, by botocore."""

    service: ClassVar[str] = "bedrock"

    def __init__(self, settings: Mapping[str, str], secrets: Secrets) -> None:
        super().__init__(self.sign, secrets)
        session = self.session()
        self._region = settings.get("region") or session.get_config_variable("region")
        if not self._region:
            raise Unsupported("a signature needs a region: give settings= or set AWS_REGION")
        self._credentials = session.get_credentials()
        if self._credentials is None:
            raise AuthenticationFailed(
                "no AWS credentials: set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and "
                "AWS_SECRET_ACCESS_KEY, or a profile, or give key="
            )

    @staticmethod
    def session() -> Any:
        try:
            import botocore.session
        except ModuleNotFoundError as missing:
            raise MissingExtra("AWS signatures", "bedrock") from missing
        return botocore.session.get_session()

    @classmethod
    def region(cls) -> str | None:
        """The region of the profile; None also where botocore is not installed to read it."""
        with suppress(MissingExtra):
            found: str | None = cls.session().get_config_variable("region")
            return found
        return None

    def sign(self, url: str, body: bytes, headers: Mapping[str, str]) -> Mapping[str, str]:
        from botocore.auth import SigV4Auth
        from botocore.awsrequest import AWSRequest
        from botocore.exceptions import BotoCoreError

        problem: str | None = None
        try:
            known = self._credentials.get_frozen_credentials()
        except BotoCoreError as error:  # a session that has expired, a role that is not given
            problem = type(error).__name__
        if problem is not None:
            raise AuthenticationFailed(f"AWS gave no credentials: {problem}")
        self._secrets.hear((known.access_key, known.secret_key, known.token or ""))
        # Only what nobody on the way changes is signed.
        signed = {k: v for k, v in headers.items() if k == "content-type" or k[:6] == "x-amz-"}
        request = AWSRequest("POST", url, headers=signed, data=body)
        SigV4Auth(known, self.service, self._region).add_auth(request)
        return {name: value for name, value in request.headers.items() if name not in signed}


class GoogleSigner(Signer):
    """Google's application default credentials, by google-auth."""

    def __init__(self, settings: Mapping[str, str], secrets: Secrets) -> None:
        super().__init__(self.sign, secrets)
        try:
            import google.auth
            import google.auth.exceptions
        except ModuleNotFoundError as missing:
            raise MissingExtra("Google's default credentials", "vertex") from missing
        try:
            self._credentials, self._project = google.auth.default(scopes=[SCOPE])
        except google.auth.exceptions.DefaultCredentialsError:
            raise AuthenticationFailed(
                "no Google credentials: set GOOGLE_APPLICATION_CREDENTIALS, or run "
                "`gcloud auth application-default login`, or give key="
            ) from None

    def setting(self, name: str) -> str | None:
        return self._project if name == "project" else None

    def sign(self, url: str, body: bytes, headers: Mapping[str, str]) -> Mapping[str, str]:
        import google.auth.exceptions
        from google.auth.transport.requests import Request

        problem: str | None = None
        if not self._credentials.valid:
            try:
                self._credentials.refresh(Request())  # type: ignore[no-untyped-call]
            except google.auth.exceptions.GoogleAuthError as error:
                problem = type(error).__name__  # its text may hold what must not be shown
        if problem is not None:
            raise AuthenticationFailed(f"Google gave no token for these credentials: {problem}")
        added = {"authorization": f"Bearer {self._credentials.token}"}
        if quota := getattr(self._credentials, "quota_project_id", None):
            added["x-goog-user-project"] = quota
        return added


SIGNERS: dict[Auth, type[AwsSigner] | type[GoogleSigner]] = {
    "aws": AwsSigner,
    "google": GoogleSigner,
}
