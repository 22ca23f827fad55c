"""`python docs/make_published_flops.py` writes the tables of docs/explanation/published-flops.md.

Each table is between `<!-- table: NAME -->` and `<!-- end -->`. tests/test_published_flops.py checks that the
page is current, and that archspec reproduces the published figures.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

import archspec
from archspec import ArchspecError

HERE = Path(__file__).parent
PAGE = HERE / "explanation" / "published-flops.md"
PUBLISHED = yaml.safe_load((HERE / "published-flops.yaml").read_text(encoding="utf-8"))
CLASSES = {
    "clip": "CLIPModel",
    "vit": "ViTForImageClassification",
    "swin": "SwinForImageClassification",
    "sam_vision_model": "SamVisionModel",
    "detr": "DetrForObjectDetection",
    "llava": "LlavaForConditionalGeneration",
    "llava_next": "LlavaNextForConditionalGeneration",
}
NORMS = {"timm": 5, "swin": 1}  # operations that these sources count for each element of a norm's input
TEXT = 40  # tokens of text next to an image
_TABLE = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


class Compared(NamedTuple):
    """A published figure as printed, and archspec's number in the same unit and by the same convention."""

    name: str
    published: str
    found: float

    @property
    def is_equal(self) -> bool:
        """Return True if both are equal at the digits that are printed."""
        return f"{self.found:.{digits(self.published)}f}" == self.published


def digits(text: str) -> int:
    """Return the digits after the point."""
    return len(text.partition(".")[2])


def flops(config: dict[str, Any], **lengths: Any) -> int | None:
    """Return the FLOPs of a forward pass on images as the model receives them; None for a refused class."""
    model = archspec.load(config, architecture=CLASSES[config["model_type"]])
    try:
        return int(model.forward(processed="images" in lengths, **lengths).flops)
    except ArchspecError as error:
        if "not supported" not in str(error):
            raise
        return None


def square(row: dict[str, Any]) -> dict[str, Any]:
    return {"images": [(row["side"], row["side"])]}


def norm_elements(config: dict[str, Any], side: int) -> int:
    """Return the elements of the inputs of all norms of ViT-B/16, Swin, or SAM's ViT-B and neck."""
    if config["model_type"] == "sam_vision_model":
        return (side // 16) ** 2 * (2 * 12 * 768 + 2 * 256)
    if config["model_type"] == "vit":
        return (2 * 12 + 1) * ((side // 16) ** 2 + 1) * 768
    width, depths = config["embed_dim"], config["depths"]
    stages = [(side // (4 * 2**stage)) ** 2 * width * 2**stage for stage in range(len(depths))]
    blocks = sum(2 * depth * elements for depth, elements in zip(depths, stages, strict=True))
    merges = sum(2 * elements for elements in stages[1:])  # of four times the width of the stage before
    return stages[0] + blocks + merges + stages[-1]


def clip_rows() -> Iterator[tuple[dict[str, Any], Compared]]:
    for row in PUBLISHED["clip"]:
        found = flops(row["config"], tokens=77, **square(row))
        assert found is not None
        yield row, Compared(f"{row['name']}, {row['side']}", row["published"], found / 1e9)


def image_rows() -> Iterator[tuple[dict[str, Any], int | None, dict[str, Compared]]]:
    """Yield each row, the multiply-adds of archspec, and what they are with the norms of each source."""
    for row in PUBLISHED["images"]:
        whole = flops(row["config"], **square(row))
        if whole is None:
            yield row, None, {}
            continue
        norms = norm_elements(row["config"], row["side"])
        compared = {
            source: Compared(f"{row['name']}, {row['side']}", row[source], (whole / 2 + each * norms) / 1e9)
            for source, each in NORMS.items()
            if source in row
        }
        yield row, whole // 2, compared


def llava_rows() -> Iterator[tuple[dict[str, Any], Compared]]:
    for row in PUBLISHED["llava"]:
        layers = archspec.load("LlamaModel").forward(tokens=row["tokens"]).flops
        yield row, Compared(row["name"], row["published"], layers / 2e12)


def formula(tokens: int, width: int = 4096, inner: int = 11008, layers: int = 32) -> int:
    """Return the formula of token-pruning papers: 4nd² + 2n²d + 3ndm for each layer."""
    return layers * (4 * tokens * width**2 + 2 * tokens**2 * width + 3 * tokens * width * inner)


def clip() -> list[str]:
    lines = ["| model | image | published | archspec |", "| --- | --- | ---: | ---: |"]
    for row, compared in clip_rows():
        found = f"{compared.found:.{digits(row['published']) + 1}f}"
        lines.append(f"| {row['name']} | {row['side']}×{row['side']} | {row['published']} | {found} |")
    return lines


def with_norms(source: str, title: str) -> list[str]:
    """Return the table of one source that counts norms."""
    lines = [
        f"| model | image | archspec, FLOPs / 2 | + {NORMS[source]} for each element of a norm | {title} |",
        "| --- | --- | ---: | ---: | ---: |",
    ]
    for row, found, compared in image_rows():
        if source not in row:
            continue
        cells = "not supported | " if found is None else f"{found / 1e9:.3f} | {compared[source].found:.3f}"
        lines.append(f"| {row['name']} | {row['side']}×{row['side']} | {cells} | {row[source]} |")
    return lines


def timm() -> list[str]:
    return with_norms("timm", "timm")


def swin() -> list[str]:
    return with_norms("swin", "Swin's README")


def detr_rows() -> list[tuple[tuple[int, int], tuple[int, int], int]]:
    """Return the width and height of each file and of its tensor, and the multiply-adds."""
    found = []
    model = archspec.load(PUBLISHED["detr"]["config"], architecture="DetrForObjectDetection")
    for width, height in PUBLISHED["detr"]["files"]:
        report = model.flops(images=[(height, width)])
        ((rows, columns),) = report.images
        found.append(((width, height), (columns, rows), report.flops // 2))
    return found


def detr() -> list[str]:
    lines = ["| image file | resized to | archspec, FLOPs / 2 |", "| --- | --- | ---: |"]
    for file, tensor, found in detr_rows():
        lines.append(f"| {file[0]}×{file[1]} | {tensor[0]}×{tensor[1]} | {found / 1e9:.1f} |")
    return lines


def llava() -> list[str]:
    lines = [
        "| model | image tokens | published | archspec, layers of the language model, FLOPs / 2"
        f" | archspec, the model with {TEXT} text tokens, FLOPs |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for row, compared in llava_rows():
        whole = flops(row["config"], text_tokens=TEXT, **square(row)) if "config" in row else None
        cells = (
            f"{compared.published} | {compared.found:.2f} | {'' if whole is None else f'{whole / 1e12:.2f}'}"
        )
        lines.append(f"| {row['name']} | {row['tokens']:,} | {cells} |")
    return lines


TABLES = {"clip": clip, "timm": timm, "swin": swin, "detr": detr, "llava": llava}


def page() -> str:
    """Return the page with current tables."""
    text = PAGE.read_text(encoding="utf-8")
    return _TABLE.sub(lambda match: f"{match[1]}{chr(10).join(TABLES[match[2]]())}\n{match[3]}", text)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
