"""Video processors: frames, height and width of the tensors of a video.

Frames are those that a processor samples from a file: how many that are depends on the file's frame rate.
"""

from __future__ import annotations

from collections.abc import Sequence

from archspec.processors import resizing
from archspec.processors.canvas import Canvas
from archspec.processors.images import budgets, patches
from archspec.processors.images.patches import pixel_limits, resize_to_pixels, whole_patches
from archspec.processors.images.plain import pad_to_largest
from archspec.processors.parameters import Parameters, Size
from archspec.processors.resizing import align

_VJEPA_RESIZE = 256, 224  # the shortest edge, to the side of the crop
_ERNIE_STEP = 2


def whole_frames(p: Parameters, video: Canvas) -> None:
    """Repeat the last frame up to whole temporal patches."""
    frames = align(video.frames, p.integer("temporal_patch_size"))
    if frames != video.frames:
        video.note(f"padded to {frames:,} frames")
    video.frames = frames


def qwen(p: Parameters, video: Canvas) -> None:
    """Limit the pixels of a frame (Qwen2-VL)."""
    factor = p.integer("patch_size") * p.integer("merge_size")
    if p.name.startswith("Ernie") and p.integer("temporal_patch_size") != _ERNIE_STEP:
        p.refuse("temporal_patch_size", f"must be {_ERNIE_STEP} for {p.name}")
    if p.flag("do_resize"):
        least, most = pixel_limits(p)
        if p.flag("cap_pixels_per_frame"):
            total = int(p.integer("max_video_tokens") * factor * factor * 0.9)
            per_frame = total * p.integer("temporal_patch_size") // video.frames
            most = max(min(most, per_frame), int(least * 1.05))
        if p.name.startswith("VideoLlama"):
            most = most // video.frames
            if most < 1:
                video.refuse("has more frames than longest_edge has pixels")
        resize_to_pixels(p, video, (least, most))
    else:
        whole_patches(p, video, factor)
    whole_frames(p, video)


def qwen3(p: Parameters, video: Canvas) -> None:
    """Limit the pixels of all frames together (Qwen3-VL)."""
    factor = p.integer("patch_size") * p.integer("merge_size")
    if p.flag("do_resize"):
        least, most = p.edges("size", "shortest_edge", "longest_edge")
        if p.get("cap_pixels_per_frame"):
            frame = min(p.integer("max_video_tokens") * factor * factor, most // video.frames)
            most = max(frame, int(least * 1.05)) * video.frames
        _resize_frames(p, video, (least, most), factor)
    else:
        whole_patches(p, video, factor)
    whole_frames(p, video)


def _resize_frames(p: Parameters, video: Canvas, limits: Size, factor: int) -> None:
    step, frames = p.integer("temporal_patch_size"), video.frames
    if frames < step:
        video.refuse(f"has fewer frames than a temporal patch, {step}")
    size = resizing.enlarge_to_factor(video.size, factor)
    resize_to_pixels(p, video, limits, (frames, round(frames / step) * step), size)


def pad_frames(p: Parameters, videos: Sequence[Canvas]) -> None:
    """Pad all videos of a call to the most frames and the largest sides."""
    frames = max((video.frames for video in videos), default=0)
    pad_to_largest(p, videos)
    for video in videos:
        if p.flag("do_pad") and video.frames < frames:
            video.note(f"padded to {frames:,} frames")
            video.frames = frames


def vjepa(p: Parameters, video: Canvas) -> None:
    """Resize by the side of the crop, whatever the size of a file (V-JEPA 2)."""
    height, width = p.sides("crop_size")
    if p.flag("do_resize"):
        video.resize(resizing.fit_shortest(video.size, int(height * _VJEPA_RESIZE[0] / _VJEPA_RESIZE[1])))
    if p.flag("do_center_crop"):
        video.crop((height, width))


def glm5(p: Parameters, video: Canvas) -> None:
    """Limit the tokens of all frames together (GLM-5)."""
    budgets.glm5(p, video)
    whole_frames(p, video)


def minimax(p: Parameters, video: Canvas) -> None:
    """Limit the pixels of a frame, and split the frames into segments (MiniMax-M3)."""
    factor = p.integer("patch_size") * p.integer("merge_size")
    if p.flag("do_resize"):
        resize_to_pixels(p, video, (p.integer("min_pixels"), p.integer("max_pixels")))
    else:
        whole_patches(p, video, factor)
    whole_frames(p, video)
    step = p.integer("temporal_patch_size")
    if p.get("vision_segment_max_frames") is not None:
        video.segment(p.integer("vision_segment_max_frames") * step)


def muse(p: Parameters, video: Canvas) -> None:
    """Limit the tokens of a frame (Muse)."""
    patches.muse(p, video)
    whole_frames(p, video)


def smolvlm(p: Parameters, video: Canvas) -> None:
    """Resize to the square of a tile (SmolVLM)."""
    if p.flag("do_resize"):
        (tile,) = p.edges("max_image_size", "longest_edge")
        keys = p.size()
        if "longest_edge" not in keys and "height" not in keys:
            p.refuse("size", f"has keys that {p.name} does not support")
        video.resize((tile, tile))
