"""Remarks of the engine's components."""
import logging

logger = logging.getLogger("stoker")


def remark(text: str) -> None:
    """What the user has to know and is no error: on the logger "stoker", as a warning, so that it is seen by default."""
    logger.warning("%s", text)
