"""The processor of a model: the classes that transformers would choose, with their rules and parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from archspec.errors import ArchspecError, ConfigError, list_names
from archspec.processors.audios import AUDIOS, BY_PROCESSOR, Clip, whisper
from archspec.processors.canvas import Canvas, Trace
from archspec.processors.parameters import FILE, Parameters
from archspec.processors.rules import IMAGES, VIDEOS
from archspec.specs.files import read_json
from archspec.typing_light import Any, NoReturn

TABLE = "processors.json"  # which `tools/from_transformers.py` writes
_MOST = 10**9  # pixels of a side, frames or samples
_PARTS = {"images": "image_processor", "videos": "video_processor", "audios": "feature_extractor"}
KEYS = {  # of a file, that name its class; the newest first
    "images": ("image_processor_type", "feature_extractor_type"),
    "videos": ("video_processor_type",),
    "audios": ("feature_extractor_type",),
}
_MISMATCHED = ("wav2vec2-bert",)  # transformers' default extractor returns samples, the model takes frames
_RULES: dict[str, Mapping[str, Any]] = {"images": IMAGES, "videos": VIDEOS, "audios": AUDIOS}


@cache
def _table() -> dict[str, Any]:
    return dict(read_json(TABLE))


def classes(
    model_type: str, raw_config: Mapping[str, Any], preprocessor: Mapping[str, Any] | None
) -> dict[str, str]:
    """Return the classes that prepare images, videos and audios, as far as transformers has them.

    >>> classes("clip", {}, None)
    {'images': 'CLIPImageProcessor'}
    """
    found = {}
    for kind, part in _parts(preprocessor).items():
        of_config = (
            {"image_processor_type": raw_config.get("image_processor_type")} if kind == "images" else {}
        )
        name = _class_name(kind, part or {}) or _class_name(kind, of_config)
        name = name or _table()["types"].get(model_type, {}).get(kind, "")
        if part is not None and name:
            found[kind] = name
    return found


def _parts(preprocessor: Mapping[str, Any] | None) -> dict[str, Mapping[str, Any] | None]:
    """Return the parameters of each kind: a flat file is read for all kinds, as transformers does."""
    if preprocessor is None:
        return {kind: {} for kind in _PARTS}
    if not isinstance(preprocessor, Mapping):
        raise ConfigError(f"{FILE} is not a JSON object", help="pass the file of a checkpoint")
    nested = {kind: preprocessor.get(key) for kind, key in _PARTS.items()}
    for kind, part in nested.items():
        if part is not None and not isinstance(part, Mapping):
            raise ConfigError(
                f"{FILE}: {_PARTS[kind]} must be an object", help="pass the file of a checkpoint"
            )
    if any(part is not None for part in nested.values()):
        return nested
    is_video = "video_processor_type" in preprocessor and "image_processor_type" not in preprocessor
    return {kind: None if is_video and kind == "images" else preprocessor for kind in _PARTS}


def _class_name(kind: str, part: Mapping[str, Any]) -> str:
    """Return the class that a file names, if transformers has it; without the suffix of its backend."""
    for key in KEYS[kind]:
        value = part.get(key)
        if value is not None and type(value) is not str:
            raise ConfigError(f"{FILE}: {key} must be text", help=f"correct {key}, or remove it")
        name = str(value or "").removesuffix("Fast").removesuffix("Pil")
        name = name.replace("FeatureExtractor", "ImageProcessor") if kind == "images" else name
        if name in _table()[kind]:
            return name
    return ""


def read(
    model_type: str, raw_config: Mapping[str, Any], preprocessor: Mapping[str, Any] | None
) -> Processor | None:
    """Return the processor of a model type; None if no rule covers its classes.

    Args:
        model_type: The model type of the config.
        raw_config: The config, for a processor that it names.
        preprocessor: The content of preprocessor_config.json, or of a part of it; None for defaults.

    Errors: :class:`ConfigError` for a parameter that is not valid.

    >>> read("vit", {}, {"size": 384}).images([(480, 640)])
    [(384, 384)]
    """
    line = _table()["types"].get(model_type, {})
    call = _table()["processors"].get(line.get("processor"), {})
    parts, covered = _parts(preprocessor), {}
    for kind, name in classes(model_type, raw_config, preprocessor).items():
        rule = _RULES[kind].get(name)
        if rule is whisper:
            rule = BY_PROCESSOR.get(line.get("processor", ""), rule)
        if kind == "audios" and name != _class_name(kind, parts[kind] or {}) and model_type in _MISMATCHED:
            rule = None
        if rule is not None:
            defaults = _table()[kind].get(name, {})
            covered[kind] = rule, Parameters(name, defaults, parts[kind] or {}, call.get(kind))
    return Processor(model_type, covered, preprocessor is not None) if covered else None


class Processor:
    """The classes that prepare files for a model."""

    def __init__(
        self, model_type: str, covered: Mapping[str, tuple[Any, Parameters]], from_file: bool
    ) -> None:
        self.model_type, self._covered = model_type, covered
        names = [parameters.name for _, parameters in covered.values()]
        self.source = FILE if from_file else f"defaults of {list_names(names, 'and')}"

    def images(self, sizes: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        """Return the heights and widths of the tensors that images become, in order."""
        return [(size[0], size[1]) for one in self.trace_images(sizes) for size in one.tensors]

    def videos(self, sizes: Sequence[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
        """Return the frames, heights and widths that videos become; frames are those after sampling."""
        return [(size[0], size[1], size[2]) for one in self.trace_videos(sizes) for size in one.tensors]

    def audios(self, samples: Sequence[int]) -> list[int]:
        """Return the feature frames that samples become, or the samples for a model of waveforms."""
        return [size[0] for one in self.trace_audios(samples) for size in one.tensors]

    def trace_images(self, sizes: Sequence[tuple[int, int]]) -> list[Trace]:
        """Return the steps of each image of one call."""
        rule, parameters = self._rule("images")
        canvases = [Canvas((height, width)) for height, width in (_check_size(size, 2) for size in sizes)]
        return _traces(rule, parameters, canvases)

    def trace_videos(self, sizes: Sequence[tuple[int, int, int]]) -> list[Trace]:
        """Return the steps of each video of one call."""
        rule, parameters = self._rule("videos")
        canvases = [Canvas((size[1], size[2]), size[0]) for size in (_check_size(one, 3) for one in sizes)]
        for canvas in canvases if parameters.flag("do_sample_frames") else ():
            canvas.note(f"{canvas.frames:,} frames after sampling")
        return _traces(rule, parameters, canvases)

    def trace_audios(self, samples: Sequence[int]) -> list[Trace]:
        """Return the steps of each audio file of one call."""
        rule, parameters = self._rule("audios")
        lengths = [_check_size((one,), 1)[0] for one in samples]
        clips = [Clip(one, max(lengths), self.sampling_rate) for one in lengths]
        for clip in clips:
            rule(parameters, clip)
        return [clip.trace() for clip in clips]

    @property
    def sampling_rate(self) -> int:
        """The samples per second that the extractor takes."""
        return self._rule("audios")[1].integer("sampling_rate")

    def _rule(self, kind: str) -> tuple[Any, Parameters]:
        if kind not in self._covered:
            self._refuse(kind)
        return self._covered[kind]

    def _refuse(self, kind: str) -> NoReturn:
        names = {"images": "image", "videos": "video", "audios": "audio"}
        message = f"{self.model_type}: {names[kind]} files are not supported"
        raise ArchspecError(
            message, help=f"pass the sizes of the tensors; supported: {', '.join(self._covered)}"
        )


def _traces(rule: Any, parameters: Parameters, canvases: list[Canvas]) -> list[Trace]:
    for canvas in canvases:
        rule.one(parameters, canvas)
    if rule.batch is not None:
        rule.batch(parameters, canvases)
    for key in parameters.overridden:
        for canvas in canvases:
            canvas.note(f"{key} is set to {parameters.values[key]} by the model's processor")
    return [canvas.trace() for canvas in canvases]


def _check_size(size: Sequence[int], count: int) -> tuple[int, ...]:
    """Return a size of positive integers."""
    if len(size) != count or any(type(edge) is not int or not 0 < edge <= _MOST for edge in size):
        message = f"{size!r} is not a size: each number must be an integer from 1 to {_MOST:,}"
        raise ArchspecError(message, help="pass (height, width), (frames, height, width), or samples")
    return tuple(size)
