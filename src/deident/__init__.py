"""deident: find and remove, or replace, the identifiers of people in clinical free text."""

__version__ = "0.1.0"
