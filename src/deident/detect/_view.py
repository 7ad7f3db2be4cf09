from deident.view import View, row_of, view

__all__ = ["View", "row_of", "view"]
