"""What makes attributes of text, to arrays of a model file and back."""

from typing import Any

import numpy as np

from taut.chain.header import count, text
from taut.chain.packed_word_files import pack_word_files, packed_word_files
from taut.chain.stored_weights import smallest, whole
from taut.files.model_file import pack_strings, unpack_strings
from taut.text.attributes import AttributeEncoder
from taut.text.codes import CodeTable
from taut.text.extract import TemplateEncoder
from taut.text.numbering import Numbering
from taut.text.template import TemplateError, parse_template

Arrays = dict[str, np.ndarray]
Encoder = TemplateEncoder | AttributeEncoder


def pack_encoder(encoder: Encoder | None, arrays: Arrays) -> dict[str, Any] | None:
    """What goes into the header; arrays are added to ``arrays``."""
    if encoder is None:
        return None
    about: dict[str, Any] = {"min_freq": encoder.min_freq}
    if isinstance(encoder, AttributeEncoder):
        arrays["names"] = pack_strings(encoder.names())
        return {**about, "kind": "attributes"}
    about |= {"kind": "template", "template": encoder.template.text}
    arrays |= pack_word_files(encoder.template.files)
    about["stages"] = _pack_tables(encoder, arrays, "")
    if encoder.steps is not None:
        about["step_stages"] = _pack_tables(encoder.steps, arrays, "step.")
    return about


def _pack_tables(encoder: TemplateEncoder, arrays: Arrays, prefix: str) -> list[int]:
    for k, numbering in enumerate(encoder.values):
        arrays[f"{prefix}values.{k}"] = pack_strings(numbering.values)
    for g, tables in enumerate(encoder.tables):
        for stage, table in enumerate(tables):
            arrays[f"{prefix}codes.{g}.{stage}"] = smallest(table.keys)
    for v, kept in enumerate(encoder.kept):
        arrays[f"{prefix}kept.{v}"] = smallest(kept)
    return [len(tables) for tables in encoder.tables]


def unpack_encoder(about: dict[str, Any] | None, arrays: Arrays) -> Encoder | None:
    if about is None:
        return None
    min_freq = count(about["min_freq"], least=1)
    if about["kind"] == "attributes":
        encoder = AttributeEncoder(min_freq)
        encoder.set_names(_unpack_distinct(arrays["names"]))
        return encoder
    if about["kind"] != "template":
        raise ValueError(f"it has features of the kind {about['kind']!r}")
    try:
        template = parse_template(text(about["template"]), packed_word_files(arrays))
    except TemplateError as error:
        raise ValueError(f"its template: {error}") from None
    by_template = TemplateEncoder(template, min_freq)
    _unpack_tables(by_template, arrays, "", about["stages"])
    if by_template.steps is not None:
        _unpack_tables(by_template.steps, arrays, "step.", about["step_stages"])
    return by_template


def _unpack_tables(encoder: TemplateEncoder, arrays: Arrays, prefix: str, stages: Any) -> None:
    encoder.values = [
        Numbering(_unpack_distinct(arrays[f"{prefix}values.{k}"])) for k in range(encoder.n_values)
    ]
    if not isinstance(stages, list) or len(stages) != len(encoder.groups):
        raise ValueError("its attributes do not belong to its template")
    encoder.tables = [
        [
            CodeTable(whole(arrays, f"{prefix}codes.{g}.{stage}"))
            for stage in range(count(n_stages, len(encoder.features[group[0]].terms) + 1))
        ]
        for g, (group, n_stages) in enumerate(zip(encoder.groups, stages, strict=True))
    ]
    encoder.kept = [whole(arrays, f"{prefix}kept.{v}") for v in range(len(encoder.vectors))]
    encoder.check()


def _unpack_distinct(packed: np.ndarray) -> list[str]:
    strings = unpack_strings(packed)
    if len(set(strings)) < len(strings):
        raise ValueError("its strings are not distinct")
    return strings
