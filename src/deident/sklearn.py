"""A transformer for scikit-learn's pipelines (`pip install 'deident[sklearn]'`): texts in, scrubbed texts out.

    make_pipeline(Scrubber({"policy": "safe-harbor"}), TfidfVectorizer(), LogisticRegression())
    make_column_transformer((make_pipeline(Scrubber(), TfidfVectorizer()), "note"), ...)

It learns nothing. It is cloned, saved and sent to other processes as its settings; words and models are loaded once in
each process. A text is worked on by itself, and is a patient of its own.
"""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

from deident import api
from deident.config import Config
from deident.errors import MissingPackageError

try:
    from sklearn.base import BaseEstimator, TransformerMixin
except ImportError:
    raise MissingPackageError("scikit-learn", "sklearn") from None


class Scrubber(TransformerMixin, BaseEstimator):
    """settings, config, errors: as for `deident.load` and its `scrub`.

    A list, a column or an array of texts gives one of its kind; of a frame (pandas, polars) or a table of two
    dimensions every column is a column of texts. What is no text is refused.
    """

    def __init__(
        self,
        settings: Mapping[str, Any] | None = None,
        *,
        config: str | Path | None = None,
        errors: api.Errors = "raise",
    ) -> None:
        self.settings = settings
        self.config = config
        self.errors: api.Errors = errors

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002, N803 (scikit-learn's face)
        """Loads words and models, and says what is wrong with the settings."""
        self._loaded()
        return self

    def transform(self, X: Any) -> Any:  # noqa: N803
        """The texts without the identifiers that were found."""
        scrub: Any = self._loaded().scrub  # which of its overloads is meant, is not known here
        errors = self.errors
        if type(X).__name__ == "DataFrame":
            new = X.copy() if hasattr(X, "iloc") else X.clone()
            for place, name in enumerate(X.columns):
                if hasattr(X, "iloc"):
                    new.isetitem(place, scrub(X.iloc[:, place], errors=errors))
                else:
                    new = new.with_columns(scrub(X[name], errors=errors))
            return new
        if getattr(X, "ndim", 1) == 2:
            new = X.astype(object)
            for place in range(X.shape[1]):
                new[:, place] = scrub(X[:, place], errors=errors)
            return new
        return scrub(X, errors=errors)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags

    def _loaded(self) -> api.Deidentifier:
        config = str(self.config) if self.config is not None else None
        return _loaded(api.configured(config, changes=self.settings or {}))


@lru_cache(maxsize=4)
def _loaded(config: Config) -> api.Deidentifier:
    return api.load(config)
