"""The images, videos and audio that a class takes, by its arguments and the configs of its towers."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from archspec.costs.records import Call
from archspec.reference.contents import configs_in, parameters_of
from archspec.reference.media import by_type

_TOWERS = {
    "vision": ("vision_config", "backbone_config", "image_config", "encoder_config", "encoder"),
    "audio": ("audio_config", "audio_encoder_config", "encoder_config", "audio_encoder", "encoder"),
}
_IMAGES = ("pixel_values", "flattened_patches", "pixel_values_images", "image_pixel_values")
_GRIDS = ("image_grid_thw", "grid_thw", "image_grid_hw")
_SAMPLES = ("input_values", "audio_values")
FEATURES = ("input_features", "audio_mel", "spectrogram", "mel_spectrogram")
POSITIONS = {"image_position_ids", "pixel_position_ids"}  # of patches
_PADDED = {  # arguments of classes that take patches of each item, padded to the same number
    "images": {"spatial_shapes", "flattened_patches", *POSITIONS},
    "videos": {"video_position_ids"},
}
CROPS_OVERLAP = 8  # patches of Molmo 2's neighboring crops
_MERGES = (
    *("spatial_merge_size", "merge_size", "downsample_factor", "downsample_ratio"),
    *("pooling_kernel_size", "merge_kernel_size"),
)


def kinds_of(names: set[str], model_type: str) -> tuple[str, ...]:
    """Return which media a class takes, by the names of its arguments."""
    pixels = bool(names & {*_IMAGES, "grid_thw"})
    taken = {
        "images": pixels and model_type not in by_type.WITH_FRAMES,
        "videos": "pixel_values_videos" in names or (pixels and model_type in by_type.WITH_FRAMES),
        "audios": bool(names & {*_SAMPLES, *FEATURES}) and model_type not in by_type.AUDIO_OR_DECODER,
    }
    return tuple(kind for kind, has in taken.items() if has)


class Receiver:
    """A model that receives the media of a forward pass."""

    def __init__(self, model: Any, call: Call) -> None:
        self.model, self.call, self.config = model, call, model.config
        self.names = parameters_of(model)

    @property
    def items(self) -> tuple[tuple[Any, ...], ...]:
        """Return the sizes of the images, videos and audios."""
        return self.call.images, self.call.videos, self.call.audios

    @property
    def padded_patch(self) -> int:
        """Return the height and width of a patch where patches are padded."""
        return int(self.find("model_patch_size", among=self.tower("vision"), default=self.patch))

    def double_patches(self, kind: str, size: tuple[int, ...]) -> int:
        """Return twice the patches of an item for a class that pads them, or 0."""
        height, width = size[-2:]
        pads = bool(self.names & _PADDED.get(kind, set()))
        return 2 * (height // self.padded_patch) * (width // self.padded_patch) if pads else 0

    def patch_count(self, kind: str, counts: list[int]) -> int:
        """Return the patches of each tensor of images or videos: of the largest, or with more padding."""
        return max(dict(self.call.padded).get(kind, 0), *counts)

    def find(self, *names: str, among: Any = None, default: Any = None) -> Any:
        """Return the first of some fields that a config or one within it has."""
        inner = list(configs_in(self.config if among is None else among))
        found = (getattr(one, name, None) for name in names for one in inner)
        return next((value for value in found if value is not None), default)

    def tower(self, kind: str) -> Any:
        """Return the config of the vision or audio tower: the model's own if it is a tower."""
        outer = getattr(self.config, "thinker_config", self.config)
        inner = (getattr(outer, name, None) for name in _TOWERS[kind])
        return next((one for one in inner if hasattr(one, "to_dict")), outer)

    @cached_property
    def channels(self) -> int:
        """Channels of an image."""
        found = self.find("num_channels", "in_channels", "in_chans", among=self.tower("vision"), default=3)
        return found if isinstance(found, int) else 3

    @cached_property
    def patch(self) -> int:
        """Height and width of a patch."""
        found = self.find("patch_size", "spatial_patch_size", among=self.tower("vision"), default=16)
        return int(found if isinstance(found, int) else found[-1])

    @cached_property
    def merge(self) -> int:
        """Patches that become one token, along the height."""
        found = self.find(*_MERGES, default=1)
        found = found[0] if isinstance(found, list | tuple) else found
        window = self.find("window_kernel_size", default=[1])[0]  # MiniCPM-V merges twice
        return found * window if isinstance(found, int) else 1

    @cached_property
    def windows(self) -> int:
        """Windows of patches along the height, or in all; 0 for a tower without a number of them."""
        if "image_token_pooling" in self.names and self.side:  # crops that overlap
            return self.side[0] // self.patch - CROPS_OVERLAP
        return int(self.find("num_windows", among=self.tower("vision"), default=0))

    @cached_property
    def frames_of_patch(self) -> int:
        """Frames of a video that become one patch."""
        found = self.find(
            "temporal_patch_size", "patch_temporal", "tubelet_size", among=self.tower("vision"), default=1
        )
        return int(found if isinstance(found, int) else found[0])

    @cached_property
    def side(self) -> tuple[int, int] | None:
        """Return height and width in the vision tower's config."""
        tower = self.tower("vision")
        found = self.find("image_size", "input_size", among=tower)
        if getattr(tower, "model_args", None):  # timm's
            found = tower.model_args.get("img_size", found)
        if self.config.model_type in by_type.SIDES:
            found = by_type.SIDES[self.config.model_type]
        if isinstance(found, dict):
            found = (found.get("height"), found.get("width"))
        if isinstance(found, int):
            found = found, found
        return (found[0], found[1]) if isinstance(found, list | tuple) and len(found) == 2 else None

    @property
    def frames(self) -> int | None:
        """Return the frames of a video in the config."""
        found = self.find("num_frames", "frames_per_clip", among=self.tower("vision"))
        return found if isinstance(found, int) else None

    @property
    def length(self) -> int | None:
        """Return the length of an audio in the config."""
        if self.config.model_type == "audio-spectrogram-transformer":
            return int(self.config.max_length)
        positions = self.find("max_source_positions", among=self.tower("audio"))
        if self.takes_samples or not positions or self.config.model_type in by_type.ANY_LENGTH:
            return None
        return 2 * int(positions)

    @property
    def takes_samples(self) -> bool:
        """Return True if an audio is a waveform."""
        return any(name in self.names for name in _SAMPLES)

    @property
    def takes_patches(self) -> bool:
        """Return True if images are given as patches, of any number."""
        return bool(self.grid_name or "flattened_patches" in self.names) or bool(
            self.names & {"spatial_shapes", "target_sizes", "pixel_position_ids", "image_position_ids"}
        )

    @property
    def mixes(self) -> bool:
        """Return True if images of a call may have several sizes."""
        cropped = bool({"image_token_pooling", "image_pixel_values"} & self.names)
        tiles = cropped or bool(self.find("image_grid_pinpoints"))
        return self.takes_patches or self.lists_sizes or tiles

    @property
    def lists_sizes(self) -> bool:
        """Return True if images are padded to the largest, with a list of their sizes."""
        one = {self.config.model_type, self.tower("vision").model_type} & {*by_type.LISTED_SIZES}
        return "image_sizes" in self.names and bool(one)

    @property
    def has_text(self) -> bool:
        """Return True if a class takes tokens, too."""
        return self.decodes or "input_ids" in self.names

    @property
    def reads_ids(self) -> bool:
        """Return True if a class reads token ids next to a decoder's; those may be labels."""
        return "input_ids" in self.names and self.config.model_type not in by_type.LABELS

    @property
    def keeps_cache(self) -> bool:
        """Return True if a class takes a cache."""
        return bool(self.names & {"cache", "past_key_values"})

    @property
    def grid_name(self) -> str:
        """Return the argument for the sizes of images as patches; '' for images that are not patches."""
        return next((name for name in _GRIDS if name in self.names), "")

    @property
    def kinds(self) -> tuple[str, ...]:
        """Return which media the class takes."""
        towers = {"images": "vision_config", "videos": "vision_config", "audios": "audio_config"}
        found = kinds_of(self.names, self.config.model_type)
        return tuple(kind for kind in found if getattr(self.config, towers[kind], True) is not None)

    @property
    def decodes(self) -> bool:
        """Return True if `tokens` are a decoder's, which has other arguments than its encoder."""
        own = bool(self.names & {"decoder_input_ids", "decoder_input_values"})
        text = getattr(self.config, "text_config", None)
        whole = getattr(self.config, "is_encoder_decoder", False)
        return own and bool(whole or getattr(text, "is_encoder_decoder", False))
