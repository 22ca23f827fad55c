"""Runs llama.cpp's converter on small random models, and writes formulas/gguf.json from its output.

`python -m tools.from_llama LLAMA_CPP RECORDS [CLASS...]` takes a source tree of llama.cpp. It adds
conversions to RECORDS, a file of JSON lines, and writes the rules that reproduce all of them. Each parameter
has one value everywhere, so that the values of a converted tensor name the parameters in it.
"""

from __future__ import annotations

import ast
import copy
import json
import math
import random
import sys
import tempfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import archspec
from archspec.errors import ArchspecError
from archspec.reference import build, config_of, model_class
from archspec.specs.library import shipped_library
from archspec.specs.records import Spec, model_types
from archspec.verifying.generate.sampling import Sampler, valid_configs
from tools.llama_metadata import SCORING, keys_of
from tools.llama_rules import is_loadable, template, write_rules

MAX_PARAMS = 80_000_000
_STEP, _FIRST, _MOST = 2.0**-16, 0.25, 16_000  # the values of parameters: _FIRST + _STEP * index
_PARTS = ("thinker_config", "text_config")
_COMMON = {"factor": 8.0, "original_max_position_embeddings": 4096, "rope_theta": 10000.0}
_ROPES = (
    {"rope_type": "llama3", "low_freq_factor": 1.0, "high_freq_factor": 4.0, **_COMMON},
    {"rope_type": "longrope", "short_factor": [1.0], "long_factor": [1.0], **_COMMON},
    {"rope_type": "yarn", **_COMMON},
    {"rope_type": "yarn", "attention_factor": 1.0, **_COMMON},
    {"rope_type": "yarn", "beta_fast": 32.0, "beta_slow": 1.0, **_COMMON},
    {"rope_type": "yarn", "mscale": 1.0, "mscale_all_dim": 1.0, **_COMMON},
)
_KEYS: dict[str, dict[str, Any]] = {  # of published configs, which transformers does not write
    "gpt_neox": {"rotary_pct": 0.25},
    "cohere2": {"rotary_pct": 0.25},
    "minimax_m2": {"rotary_dim": 4},
    "t5": {"decoder_start_token_id": 0},
    "attn_config": {"clip_qkv": 8.0},  # of dbrx
    "deepseek_v32": {"scoring_func": "sigmoid"},
    "hunyuan_v1_moe": {"moe_intermediate_size": [96], "moe_topk": [1], "num_shared_expert": [1]},
}

_MROPE = {"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [1, 1, 1]}}
_STATED: dict[str, dict[str, Any]] = {  # keys of published configs that llama.cpp reads
    **dict.fromkeys(("qwen2_vl", "qwen2_5_vl", "qwen3_vl", "qwen3_vl_moe", "qwen3_asr"), _MROPE),
    "qwen3_omni_moe": _MROPE,
    "exaone_moe": {"scoring_func": "sigmoid"},
    "modernbert": {"layer_norm_eps": 1e-5},
    "eurobert": {"classifier_pooling": "mean"},
    "gpt2": {"n_ctx": 64},
    "bloom": {"seq_length": 64},
    "bitnet": {"tie_word_embeddings": True},
}


class Converter:
    """llama.cpp's converter without a vocabulary."""

    def __init__(self, source: str) -> None:
        sys.path.insert(0, source)
        conversion = import_module("conversion")  # llama.cpp's
        self.find, self.base, self.no_mtp = conversion.get_model_class, conversion.base, set[str]()
        tables = ast.parse(Path(source, "conversion", "__init__.py").read_text(encoding="utf-8")).body
        texts = next(node for node in tables if isinstance(node, ast.AnnAssign))  # TEXT_MODEL_MAP
        known, listed = set(archspec.architectures()), ast.literal_eval(texts.value or ast.Dict([], []))
        self.classes = [name for name in listed if name in known]
        for name in dir(self.base.TextModel):
            if name.startswith("_set_vocab"):
                setattr(self.base.TextModel, name, lambda *_, **__: None)

    def keys(self, architecture: str = "") -> set[str]:
        """Return the keys of configs that the converter of a class reads, or of all classes."""
        return keys_of(self.find(architecture) if architecture else self.base.TextModel)

    def convert(
        self, architecture: str, raw: dict[str, Any], zero: bool = False, path: Path | None = None
    ) -> dict[str, Any]:
        """Return the tensors and metadata of a converted model; with ``zero``, biases are 0.

        With ``path``, write the file.
        """
        model_type = shipped_library().model_type_of(architecture)
        model, names = _tagged(architecture, raw, model_type, zero)
        with tempfile.TemporaryDirectory() as folder:
            model.save_pretrained(folder)
            saved = _complete(Path(folder), architecture)
            cls = self.find(architecture)
            for table in ("_alpha_n", "_alpha_p", "_beta", "_eps"):  # of Apertus, kept from the last model
                getattr(cls, table, {}).clear()
            cls.set_vocab, cls.no_mtp = (lambda _: None), architecture in self.no_mtp
            writer = cls(Path(folder), self.base.gguf.LlamaFileType.MOSTLY_F16, Path(folder, "x"), eager=True)
            writer = getattr(writer, "impl", writer)
            writer.hparams |= {} if model_type != "gpt_neox" else _KEYS[model_type]
            sources = _watch(writer, names)
            writer.prepare_tensors()
            writer.prepare_metadata(vocab_only=False)
            if path is not None:
                writer.gguf_writer.write_header_to_file(path=path)
                writer.gguf_writer.write_kv_data_to_file()
                writer.gguf_writer.write_tensors_to_file()
                writer.gguf_writer.close()
        tensors = {
            name: [[*one.shape], one.dtype.name, sources.get(name, [])]
            for part in writer.gguf_writer.tensors
            for name, one in part.items()
        }
        values = {key: value for part in writer.gguf_writer.kv_data for key, value in part.items()}
        shapes = {name: [*one.shape] for name, one in model.state_dict().items() if name in set(names)}
        kinds = {key: [one.type.name, one.value] for key, one in values.items()}
        found = {
            "cls": architecture,
            "raw": raw,
            "saved": saved,
            "hf": shapes,
            "tensors": tensors,
            "kv": kinds,
        }
        return found | {"no_mtp": architecture in self.no_mtp}

    def attempt(self, architecture: str, raw: dict[str, Any], path: Path | None = None) -> dict[str, Any]:
        """Return :meth:`convert`, with biases of 0 or without layers for prediction if it requires this."""
        try:
            return self.convert(architecture, raw, path=path)
        except ValueError as error:
            if "not zero" not in str(error):
                raise
            return self.convert(architecture, raw, zero=True, path=path)
        except AssertionError:
            if not self.find(architecture).supports_mtp_export or architecture in self.no_mtp:
                raise
            self.no_mtp.add(architecture)
            return self.convert(architecture, raw, path=path)


def _tagged(architecture: str, raw: dict[str, Any], model_type: str, zero: bool) -> tuple[Any, list[str]]:
    """Return a model whose parameters have one value each, and their names in the order of the values."""
    import torch

    model = build(model_class(architecture, model_type), config_of(model_type, raw))
    model.to_empty(device="cpu")
    model.tie_weights()
    first: dict[int, str] = {}
    for name, one in model.state_dict(keep_vars=True).items():
        if id(one) not in first:
            value = 0 if zero and name.endswith(".bias") else _FIRST + _STEP * len(first)
            one.data = torch.full(tuple(one.shape), value if one.is_floating_point() else 0, dtype=one.dtype)
            first[id(one)] = name
    return model, [*first.values()]


def _complete(folder: Path, architecture: str) -> dict[str, Any]:
    """Add a vocabulary, and keys of published configs, to a saved model; return its config."""
    saved: dict[str, Any] = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    saved["architectures"] = [architecture]
    for name, part in [("", saved), *((name, one) for name, one in saved.items() if isinstance(one, dict))]:
        keys = _KEYS.get(part.get("model_type") or name, {})
        part |= {key: one for key, one in keys.items() if not part.get(key)}
        if isinstance(size := part.get("vocab_size"), int):
            words = {"vocab": {str(index): index for index in range(size)}, "type": "WordPiece"}
            text = json.dumps({"model": words, "added_tokens": []})
            (folder / "tokenizer.json").write_text(text, encoding="utf-8")
    (folder / "config.json").write_text(json.dumps(saved), encoding="utf-8")
    return saved


def _watch(writer: Any, names: list[str]) -> dict[str, list[str]]:
    """Return a table that the converter fills: the parameters in each tensor, `?` for other values."""
    found, modify = dict[str, list[str]](), writer.modify_tensors

    def watched(data: Any, name: str, block: int | None) -> Iterator[tuple[str, Any]]:
        for new, one in modify(data, name, block):
            ends = one.reshape(-1, one.shape[-1])[:, [0, -1]] if one.ndim > 1 else one
            tags = {_name_of(value, names) for value in ends.float().unique().tolist()}
            found[new] = sorted(tags, key=lambda tag: names.index(tag) if tag in names else -1)
            yield new, one

    writer.modify_tensors = watched
    return found


def _name_of(value: float, names: list[str]) -> str:
    """Return the parameter of a value, also if the converter added 1 or took the exponential."""
    for inverse in (value, value - 1, math.log(-value) if value < 0 else 0):
        index = round((inverse - _FIRST) / _STEP)
        if 0 <= index < min(len(names), _MOST) and abs(inverse - _FIRST - _STEP * index) < _STEP / 50:
            return names[index]
    return "0" if value == 0 else "?"


class Configs:
    """Configs of one class that its spec accepts: small ones, random ones, and ones with other tensors."""

    def __init__(self, architecture: str, seed: int) -> None:
        library = shipped_library()
        self.architecture, self.seen = architecture, set[str]()
        self.spec = library.load(library.model_type_of(architecture))
        self.sampler, self.random = Sampler(self.spec, seed), random.Random(seed)
        self.stated = _STATED.get(self.spec.model_type, {})

    def names(self, raw: dict[str, Any]) -> set[str]:
        """Return the names of parameters without indices; none if the config is rejected or too large."""
        try:
            model = archspec.load({**raw, "architectures": [self.architecture]})
            return {template(one.name) for one in model.tensors()} if model.params < MAX_PARAMS else set()
        except ArchspecError:
            return set()

    def draw(self, count: int) -> Iterator[dict[str, Any]]:
        """Yield configs; the caller adds those that were converted to ``sampler.accepted``."""
        starts = [*valid_configs(self.spec), *(shrink(self.spec, part) for part in (16, 8, 32, 4))]
        for turn in range(count):
            share = self.random.choice((0.2, 0.5, 1.0))
            raw = with_keys(starts.pop(0), self.stated) if starts else self._next(share, turn)
            yield from [raw] if self.names(raw) else []
        for _ in range(10 * count):  # tensors that no config had so far, such as biases
            raw = self._next(0.5, 0)
            yield from [raw] if self.names(raw) - self.seen else []
        head = self.spec.fields.get("head_dim")  # if it is null, transformers rejects other rotary embeddings
        size = {"head_dim": 32} if head and head.falsy else {}
        for raw in self.sampler.accepted[:1]:
            usual = self.stated.get("rope_parameters", {})
            yield from (with_keys(raw, {"rope_parameters": usual | rope} | size) for rope in _ROPES)
            yield from (with_keys(raw, {name: "sigmoid"}) for name in SCORING)
            yield with_keys(raw, {"head_dim": 32})

    def _next(self, share: float, turn: int) -> dict[str, Any]:
        if self.sampler.accepted and turn % 3:
            return with_keys(self.sampler.sample(), self.stated)
        self.sampler.drawn = self.sampler.draw_config(share)
        found = self.sampler.mend(lambda raw: bool(self.names(raw)))
        return with_keys(found or self.sampler.drawn, self.stated)


def shrink(spec: Spec, part: int) -> dict[str, Any]:
    """Return the default config with few layers and a part of its widths, in sub-configs, too."""
    raw = Sampler(spec, 1).draw_config(0)
    for name, field in spec.fields.items():
        if field.sub_config is not None and (kinds := model_types(field.sub_config)):
            raw[name] = {"model_type": kinds[0], **shrink(shipped_library().load(kinds[0]), part)}
            continue
        try:
            value = None if field.computed or name in raw else Sampler(spec, 1).drawing.default(field, raw)
        except ArchspecError:
            continue
        if type(value) is int and value >= 2**15:
            raw[name] = 1 if name.endswith("token_id") else 96
        elif type(value) is int and value > 1 and "dense" in name:  # the rest has experts
            raw[name] = 1
        elif type(value) is int and value >= 256 and "pos" not in name:
            raw[name] = value // part
        elif (
            type(value) is int and value >= 32 and ("head" in name or "expert" in name) and "dim" not in name
        ):
            raw[name] = value // 8
    return raw


def with_keys(raw: dict[str, Any], keys: dict[str, Any]) -> dict[str, Any]:
    """Return a config with other values of some keys, in the text model if there is one."""
    part = new = copy.deepcopy(raw)
    for name in _PARTS:
        part = part[name] if isinstance(part.get(name), dict) else part
    part |= copy.deepcopy(keys)
    return new


def main(source: str, records: str, *only: str, count: int = 16, seed: int = 1) -> None:
    """Record conversions of all classes, or of ``only`` some, and write the rules."""
    converter = Converter(source)
    with Path(records).open("a", encoding="utf-8") as file:
        for architecture in only or converter.classes:
            configs, refusals = Configs(architecture, seed), list[str]()
            for raw in configs.draw(count):
                try:
                    found = converter.attempt(architecture, copy.deepcopy(raw))
                except Exception as error:  # a converter may raise anything
                    refusals.append(f"{type(error).__name__}: {error}")
                    continue
                if not is_loadable(found):
                    refusals.append("llama.cpp rejects the file")
                    continue
                configs.seen |= configs.names(raw)
                configs.sampler.accepted.append(raw)
                file.write(json.dumps(found, default=str) + "\n")
            print(architecture, len(configs.sampler.accepted), *refusals[:1], flush=True)
    write_rules(converter.keys, records)


if __name__ == "__main__":
    main(*sys.argv[1:])
