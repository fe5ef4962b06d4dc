"""The weights of a fitted chain, by the names of features and labels."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from taut.chain.model import ChainModel


class NamedWeights:
    """What a fitted ``ChainSVM`` says of its weights."""

    _model: ChainModel
    classes_: np.ndarray

    @property
    def coef_(self) -> Any:
        """Weights of the node features, (n_classes, n_features); sparse if only observed ones."""
        check_is_fitted(self)
        return self._model.node_weights().T

    @property
    def intercept_(self) -> np.ndarray:
        return self._model.label_weights(self._model.layout.bias_at)

    @property
    def begin_(self) -> np.ndarray:
        return self._model.label_weights(self._model.layout.begin_at)

    @property
    def end_(self) -> np.ndarray:
        return self._model.label_weights(self._model.layout.end_at)

    @property
    def transitions_(self) -> np.ndarray:
        """Weights of steps, (n_classes, n_classes), or (n_step_features, ...) if there are such."""
        check_is_fitted(self)
        weights = self._model.step_weights()
        return weights if self._model.has_step_features else weights[0]

    @property
    def attributes_(self) -> list:
        """The names of the features: attributes of text, or numbers of columns."""
        check_is_fitted(self)
        return list(self._model.attribute_names())

    @property
    def state_features_(self) -> dict:
        """{(attribute, label): weight} of the non-zero weights."""
        matrix = sparse.coo_array(self.coef_)
        labels, names = self.classes_.tolist(), self.attributes_
        return {
            (names[f], labels[k]): float(value)
            for k, f, value in zip(*matrix.coords, matrix.data, strict=True)
            if value != 0.0
        }

    @property
    def step_features_(self) -> dict:
        """{(attribute, from label, to label): weight} of the features of steps in a template."""
        check_is_fitted(self)
        labels = self.classes_.tolist()
        return {
            (name, labels[before], labels[after]): weight
            for name, before, after, weight in self._model.step_attribute_weights()
            if weight != 0.0
        }

    @property
    def transition_features_(self) -> dict:
        """{(from label, to label): weight} of the non-zero weights."""
        labels = self.classes_.tolist()
        weights = self.transitions_
        return {
            (*rest, labels[k], labels[other]): float(weights[(*rest, k, other)])
            for *rest, k, other in np.argwhere(weights).tolist()
        }
