"""Remarks of the engine's components, on the logger "stoker"."""
import logging

logger = logging.getLogger("stoker")


def note(text: str) -> None:
    """What a user may want to know."""
    logger.info("%s", text)


def warn(text: str) -> None:
    """What a user has to know, though the program goes on."""
    logger.warning("%s", text)
