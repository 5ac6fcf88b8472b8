"""The whole program of Stoker, for the command `stoker` of the package of that name. It has no Python interface."""
