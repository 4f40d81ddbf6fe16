"""The SASL mechanisms that a node offers and speaks, by their registered names."""

from typing import Final

PLAIN: Final = "PLAIN"
SCRAM_SHA_256: Final = "SCRAM-SHA-256"
SCRAM_SHA_512: Final = "SCRAM-SHA-512"
OAUTHBEARER: Final = "OAUTHBEARER"
KERBEROS: Final = "GSSAPI"
SCRAM_NUMBERS: Final = {SCRAM_SHA_256: 1, SCRAM_SHA_512: 2}
"""How requests and the metadata name them."""
WITH_PASSWORDS: Final = (PLAIN, *SCRAM_NUMBERS)
"""Those that prove who it is by a password, as nodes do at each other."""
MECHANISMS: Final = (*WITH_PASSWORDS, OAUTHBEARER)
_MODULES: Final = "org.apache.kafka.common.security"
MODULES: Final = {
    PLAIN: f"{_MODULES}.plain.PlainLoginModule",
    **dict.fromkeys(SCRAM_NUMBERS, f"{_MODULES}.scram.ScramLoginModule"),
    OAUTHBEARER: f"{_MODULES}.oauthbearer.OAuthBearerLoginModule",
}
"""By which class JAAS names each."""
