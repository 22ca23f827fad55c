"""Sizes of tensors as transformers' own processors return them.

Most of the classes need torchvision. Only sizes are compared, so a stand-in with its functions is enough: it
runs them on the meta device, where images of any size are free. As a script, in another process, this module
answers calls that it reads as JSON.
"""

from __future__ import annotations

import importlib
import json
import re
import resource
import subprocess
import sys
from enum import Enum
from functools import cache
from math import prod
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

MOST_PIXELS = 3_000_000  # of images that are not on the meta device
MOST_BYTES = 6 * 2**30
MODES = ("nearest", "nearest-exact", "bilinear", "bicubic", "box", "hamming", "lanczos")
NUMPY = ("VideoLlavaImageProcessor", "Emu3ImageProcessor", "VivitImageProcessor")  # of no backend
Call = dict[str, Any]  # cls, kind, parameters, sizes


def ask(calls: list[Call]) -> list[list[Any] | str]:
    """Return the sizes that each call gives, or its error."""
    done = subprocess.run(
        [sys.executable, __file__], input=json.dumps(calls), capture_output=True, text=True, check=True
    )
    found: list[list[Any] | str] = json.loads(done.stdout.splitlines()[-1])
    return found


def _install_stand_in() -> None:
    """Put modules in place of torchvision whose functions change sizes only."""
    import torch
    from torch.nn.functional import pad as torch_pad

    def resize(image: Any, size: Any, **_: Any) -> Any:
        if min(size) < 1 or 0 in image.shape:
            raise ValueError("no pixels")
        return image.new_zeros((*image.shape[:-2], *size))

    def pad(image: Any, padding: Any, fill: Any = 0, padding_mode: str = "constant") -> Any:
        left, top, right, bottom = padding if len(padding) == 4 else (*padding, *padding)
        return torch_pad(image, (left, right, top, bottom))

    def crop(image: Any, top: int, left: int, height: int, width: int) -> Any:
        return image[..., top : top + height, left : left + width]

    def same(image: Any, *_: Any, **__: Any) -> Any:
        return image

    modes = Enum("InterpolationMode", {one.upper().replace("-", "_"): one for one in MODES})
    functions: dict[str, Any] = {"resize": resize, "pad": pad, "crop": crop, "InterpolationMode": modes}
    functions |= dict.fromkeys(
        ("normalize", "grayscale_to_rgb", "to_dtype", "to_dtype_image", "gaussian_blur"), same
    )
    functions |= dict.fromkeys(
        ("pil_to_tensor", "to_pil_image", "batched_nms", "ImageReadMode", "decode_image"), same
    )
    functions |= {"rgb_to_grayscale": lambda image, num_output_channels=1: image, "__version__": "0.27.0"}
    inner = ("transforms", "transforms.functional", "transforms.v2", "transforms.v2.functional")
    for name in ("torchvision", *(f"torchvision.{one}" for one in (*inner, "ops", "ops.boxes", "io"))):
        module = sys.modules[name] = ModuleType(name)
        module.__spec__ = importlib.machinery.ModuleSpec(name, None)
        module.__dict__.update(functions)
        parent, _, last = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], last, module)
    sys.modules["torchvision.transforms.v2"].functional = sys.modules["torchvision.transforms.v2.functional"]  # type: ignore[attr-defined]
    torch.set_num_threads(1)


def _spectrogram() -> Any:
    """Return a class in place of torchaudio's, with the frames of torch."""
    import torch

    class MelSpectrogram:
        def __init__(self, n_fft: int, win_length: int, hop_length: int, n_mels: int, **_: Any) -> None:
            self.sizes, self.mels = (n_fft, hop_length, win_length), n_mels

        def to(self, device: str) -> Any:
            return self

        def __call__(self, audio: Any) -> Any:
            found = torch.stft(audio, *self.sizes, torch.hann_window(self.sizes[2]), return_complex=True)
            return found.abs()[..., : self.mels, :]

    return MelSpectrogram


@cache
def _modules() -> dict[str, str]:
    """Return the module of each class."""
    import transformers

    folder, found = Path(transformers.__file__).parent, {}
    for path in folder.glob("models/*/*_*.py"):
        if re.search(r"/(image|video)_processing_|/feature_extraction_", str(path)):
            module = ".".join(("transformers", *path.relative_to(folder).with_suffix("").parts))
            for name in re.findall(r"^class (\w+)\(", path.read_text(encoding="utf-8"), re.MULTILINE):
                found[name] = module
    return found


@cache
def _processor(name: str, parameters: str) -> Any:
    module = importlib.import_module(_modules()[name])
    if name.startswith("Granite"):
        transforms = SimpleNamespace(MelSpectrogram=_spectrogram())
        vars(module).update(
            torchaudio=SimpleNamespace(transforms=transforms), requires_backends=lambda *_: None
        )
    return getattr(module, name)(**json.loads(parameters))


def _pixels(size: list[int], device: str, is_video: bool) -> Any:
    import torch

    *frames, height, width = size
    if device == "cpu" and height * width * (frames or [1])[0] > MOST_PIXELS:
        raise MemoryError("the image is too large for the CPU")
    shape = (*frames, 3, height, width) if is_video else (3, height, width)
    return torch.zeros(shape, dtype=torch.uint8, device=device)


def answer(call: Call) -> list[Any] | str:
    """Return the sizes of the tensors of one call, or the error."""
    try:
        processor = _processor(call["cls"], json.dumps(call["parameters"]))
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    if call["kind"] == "audios":
        return _audio(processor, call)
    problem = ""
    on_cpu = call["cls"].endswith("Pil") or call["cls"] in NUMPY
    for device in ("cpu",) if on_cpu else ("meta", "cpu"):
        for tensors in ("pt", None):
            try:
                files = [_pixels(size, device, call["kind"] == "videos") for size in call["sizes"]]
                options: Call = {"return_tensors": tensors, **call.get("options", {})}
                if call["cls"].endswith("Pil") or call["cls"] in NUMPY:
                    files = [file.permute(1, 2, 0).numpy() for file in files]
                    options["input_data_format"] = "channels_last"
                if call["cls"].startswith("VitMatte"):
                    options["trimaps"] = [
                        file[..., 0] if "input_data_format" in options else file[0] for file in files
                    ]
                if call["kind"] == "videos":
                    options["do_sample_frames"] = False
                found = processor(files, **options)
                return _with_padding(_sizes(found, processor, call), found)
            except Exception as error:  # what needs values fails on the meta device
                problem = f"{type(error).__name__}: {error}"
    return problem


def _audio(processor: Any, call: Call) -> list[Any] | str:
    import numpy as np

    rng = np.random.default_rng(0)
    clips = [rng.standard_normal(samples).astype(np.float32) for samples in call["sizes"]]
    try:
        rate = {} if call["cls"].startswith("Granite") else {"sampling_rate": processor.sampling_rate}
        found = processor(clips, **rate, **call.get("options", {}))
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    key = next(one for one in ("input_features", "input_values", "audio_input_features") if one in found)
    axis = call.get("axis", -1)
    return [np.asarray(one).shape[axis] for one in found[key]]


def _rows(value: Any) -> list[Any]:
    """Return the tensors of one image or video each, in a list however nested."""
    if isinstance(value, list | tuple):
        return [one for item in value for one in _rows(item)]
    return [value]


def _sizes(found: Any, processor: Any, call: Call) -> list[Any]:
    """Return heights and widths, with frames before them for videos."""
    name, is_video = call["cls"].removesuffix("Pil"), call["kind"] == "videos"
    if hasattr(found, "shape") or isinstance(found, list):  # Idefics
        return [list(one.shape[-2:]) for one in found]
    if name.startswith("Mllama"):
        return [list(one.shape[-2:]) for one in found["pixel_values"].flatten(0, 1)]
    if re.match("LlavaNext|LlavaOnevision|Pixtral|Apertus", name) and not is_video:
        return [[int(edge) for edge in row] for row in found["image_sizes"]]
    if "image_num_crops" in found:  # Molmo 2: the canvas of 19 more patches for each crop
        edges = {-(-(19 * crops + 8) // 2): (19 * crops + 8) * 14 for crops in range(1, 9)}
        return [[edges[int(edge)] for edge in row[2:]] for row in found["image_grids"]]
    if "num_img_tokens" in found:  # Phi-4-multimodal: the image without the padding of its last crops
        return [
            _seen(*pair) for pair in zip(found["image_sizes"], found["image_attention_mask"], strict=True)
        ]
    return _from_grids(found, processor, name, is_video) or _from_pixels(found, is_video)


def _with_padding(sizes: list[Any], found: Any) -> list[Any]:
    """Add the patches of each tensor to its size, for processors that pad them."""
    pixels = {
        "spatial_shapes": "pixel_values",
        "image_position_ids": "pixel_values",
        "video_position_ids": "pixel_values_videos",
        "flattened_patches": "flattened_patches",
    }
    key = next((pixels[name] for name in pixels if name in found), None)
    return sizes if key is None else [[*size, found[key].shape[1]] for size in sizes]


def _seen(size: Any, mask: Any) -> list[int]:
    """Return the size of what a mask of the whole image and its crops lets through, in whole patches."""
    side = mask.shape[-1]
    down, across = (int(edge) // (14 * side) for edge in size)
    parts = mask[1 : 1 + down * across].reshape(down, across, side, side)
    whole = parts.transpose(1, 2).reshape(down * side, across * side)
    return [14 * int(whole[:, 0].sum()), 14 * int(whole[0].sum())]


def _from_grids(found: Any, processor: Any, name: str, is_video: bool) -> list[Any]:
    """Return sizes in patches, times the size of a patch."""
    patch = getattr(processor, "patch_size", None)
    for key in ("image_grid_thw", "video_grid_thw"):
        if key in found:
            of_inkling = name.startswith("Inkling2")
            height, width = (processor.size[one] if of_inkling else patch for one in ("height", "width"))
            step = 1 if name.startswith("Ernie") else getattr(processor, "temporal_patch_size", 1) or 1
            rows = [[int(one) for one in row] for row in found[key]]
            sizes = [[t * step, h * height, w * width] for t, h, w in rows]
            return sizes if is_video else [size[1:] for size in sizes]
    for key in ("spatial_shapes", "image_grid_hw", "image_grids", "target_sizes"):
        if key in found and (patch or key == "spatial_shapes"):
            side = patch or processor.encoder_patch_size
            return [[int(edge) * side for edge in row] for row in found[key]]
    if "video_position_ids" in found:
        counts = [int(one) for one in found["num_frames_per_video"]]
        starts = [sum(counts[:place]) for place in range(len(counts))]
        side, positions = _side(found["pixel_values_videos"], processor), found["video_position_ids"]
        return [
            [count, *_extent(positions[start], side)] for count, start in zip(counts, starts, strict=True)
        ]
    if "image_position_ids" in found:
        side = _side(found["pixel_values"], processor)
        return [_extent(one, side) for one in found["image_position_ids"]]
    if "flattened_patches" in found:
        sides = [patch["height"], patch["width"]] if isinstance(patch, dict) else [patch.height, patch.width]  # type: ignore[union-attr]
        rows = found["flattened_patches"]
        return [[int(one[:, axis].max()) * sides[axis] for axis in (0, 1)] for one in rows]
    return []


def _from_pixels(found: Any, is_video: bool) -> list[Any]:
    keys = ("pixel_values_local", "pixel_values", "image_pixel_values", "pixel_values_images", "images")
    result = []
    for row in (one for key in (*keys, "pixel_values_videos") if key in found for one in _rows(found[key])):
        shape = list(row.shape)
        dims = 4 if is_video else 3
        size = [shape[-4], *shape[-2:]] if is_video else shape[-2:]
        result += [size] * prod(shape[:-dims])
    return result


def _side(pixels: Any, processor: Any) -> int:
    """Return the side of a patch: Gemma 4's unified model merges patches."""
    merged = pixels.shape[-1] != 3 * processor.patch_size**2
    return int(processor.patch_size * (processor.pooling_kernel_size if merged else 1))


def _extent(positions: Any, side: int) -> list[int]:
    return [(int(positions[:, axis].max()) + 1) * side for axis in (1, 0)]


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    _install_stand_in()
    print(json.dumps([answer(call) for call in json.load(sys.stdin)]))
