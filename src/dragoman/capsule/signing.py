"""Whether a capsule is our own: an HMAC-SHA256 over all of it, under the caller's key.

What is signed is the capsule without its ``mac``, as JSON with sorted keys, so that stores which
keep the keys of an object in another order do no harm. Any other change is one.
"""

from __future__ import annotations

import msgspec

from ..errors import CapsuleError, Unsupported
from ..model import Json

SHORTEST = 16
"""How many bytes a key has at least."""
PURPOSE = b"dragoman capsule\0"
"""So that what is signed here is nothing that the key signs elsewhere."""

_canonical = msgspec.json.Encoder(order="sorted").encode


def sign(capsule: dict[str, Json], key: bytes | None) -> None:
    """Add the ``mac`` of a capsule, if there is a key."""
    if key is not None:
        capsule["mac"] = mac(capsule, key)


def verify(capsule: dict[str, Json], key: bytes | None) -> None:
    """Refuse a capsule that the key did not sign, and one that is signed where there is no key."""
    found = capsule.get("mac")
    if key is None:
        if found is not None:
            # A key that was forgotten would otherwise never be missed.
            what = "it is signed, and no key was given to verify it"
            raise CapsuleError(what, "/mac")
        return
    import hmac

    expected = mac(capsule, key)
    if found is None:
        raise CapsuleError("it is not signed, and a key was given", "/mac")
    if found.__class__ is not str or not hmac.compare_digest(found.encode(), expected.encode()):
        raise CapsuleError("it was not signed with this key, or was changed afterwards", "/mac")


def mac(capsule: dict[str, Json], key: bytes) -> str:
    import hashlib
    import hmac  # needed only by those who sign

    if not isinstance(key, bytes | bytearray):
        raise Unsupported("key= is bytes, e.g. secrets.token_bytes(32)")
    if len(key) < SHORTEST:
        raise Unsupported(f"key= has {len(key)} bytes; at least {SHORTEST} are needed")
    signed = {name: value for name, value in capsule.items() if name != "mac"}
    return hmac.new(key, PURPOSE + _bytes(signed), hashlib.sha256).hexdigest()


def _bytes(value: Json) -> bytes:
    try:
        return _canonical(value)
    except UnicodeEncodeError:  # half of a surrogate pair
        import json

        return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
    except RecursionError:
        raise CapsuleError("nested too deeply") from None
