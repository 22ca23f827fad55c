"""The rule of each class of transformers that prepares images or videos."""

from __future__ import annotations

from archspec.processors import cuts, images, more_patches, pages, patches, tiles, videos
from archspec.processors.images import Rule, pad_always, pad_to_largest

_STANDARD = Rule(images.resize_and_crop, pad_to_largest)
_CROPPED = Rule(images.resize_and_crop)
_IMAGES: dict[Rule, str] = {
    _STANDARD: "Bit Blip Chameleon ChineseCLIP CLIP DeiT Idefics MobileNetV1 OwlViT PI0 PPChart2Table "
    "PPDocLayoutV2 PPDocLayoutV3 PPDocLayoutV4 Pvt Sam2 Sam3 Siglip Tipsv2 Tipsv2Dpt ViT",
    _CROPPED: "Beit DINOv3ViT EfficientNet Flava LayoutLMv3 MobileNetV2 MobileViT VideoLlava VideoMAE Vivit",
    Rule(images.resize): "DepthPro EfficientLoFTR LayoutLMv2 LightGlue Segformer SegGpt SuperGlue SuperPoint "
    "UVDoc",
    Rule(
        images.detr, pad_to_largest
    ): "ConditionalDetr DeformableDetr Detr GroundingDino RfDetr RTDetr Yolos",
    Rule(images.detr, pad_always): "MaskFormer Mask2Former",
    Rule(images.resize, pad_always): "OneFormer",
    Rule(images.convnext): "ConvNext",
    Rule(images.poolformer, pad_to_largest): "PoolFormer",
    Rule(images.levit): "Levit",
    Rule(images.vilt, pad_to_largest): "Vilt BridgeTower",
    Rule(images.sam, pad_to_largest): "Sam",
    Rule(images.dpt): "CHMv2 DPT PromptDepthAnything",
    Rule(images.zoedepth): "ZoeDepth",
    Rule(images.glpn): "GLPN",
    Rule(images.perceiver): "Perceiver",
    Rule(images.llava): "Llava",
    Rule(images.owlv2): "Owlv2",
    Rule(images.janus): "DeepseekVL Janus",
    Rule(images.eomt): "Eomt",
    Rule(images.sapiens): "Sapiens2",
    Rule(images.tvp, pad_to_largest): "Tvp",
    Rule(pages.slanext, pad_to_largest): "SLANeXt",
    Rule(pages.lcnet): "PPLCNet",
    Rule(pages.text_detection): "PPOCRV5ServerDet",
    Rule(pages.keep, pages.text_recognition): "PPOCRV5ServerRec PPOCRV6SmallRec",
    Rule(images.swin2sr): "Swin2SR",
    Rule(images.vitmatte): "VitMatte",
    Rule(images.textnet): "TextNet",
    Rule(images.fuyu): "Fuyu",
    Rule(pages.donut): "Donut Nougat PPFormulaNet",
    Rule(
        patches.qwen
    ): "CohereCompass Ernie4_5_VLMoe Ernie4_5_VL_Moe HunYuanVL HYV4VL MiniMaxM3VL PaddleOCRVL "
    "Qwen2VL VideoLlama3",
    Rule(patches.glm): "Cosmos3Edge Glm46V Glm4v Glmga",
    Rule(patches.emu, pad_to_largest): "Emu3",
    Rule(patches.pixtral, patches.note_batch): "Pixtral",
    Rule(patches.siglip2): "Siglip2",
    Rule(patches.gemma4): "Gemma4 Gemma4Unified",
    Rule(patches.pix2struct): "Kosmos2_5 Pix2Struct",
    Rule(patches.kimi): "Kimi_K25",
    Rule(patches.muse): "MuseGlimmer",
    Rule(patches.emu, patches.note_batch): "Apertus1p5",
    Rule(more_patches.glm_image): "GlmImage",
    Rule(more_patches.glm5): "Glm5Next",
    Rule(more_patches.neomme): "NeoMME",
    Rule(more_patches.nemotron): "NemotronH_Omni_Reasoning_V3",
    Rule(more_patches.inkling): "Inkling2",
    Rule(tiles.got_ocr): "GotOcr2",
    Rule(tiles.cohere): "Cohere2Vision",
    Rule(tiles.ovis): "Ovis2",
    Rule(tiles.deepseek_ocr): "DeepseekOcr2 UnlimitedOcr",
    Rule(tiles.gemma3): "Gemma3",
    Rule(tiles.idefics2, tiles.pad_tiles): "Idefics2",
    Rule(tiles.idefics3): "Idefics3 SmolVLM UltraVBert",
    Rule(tiles.llama4): "Llama4",
    Rule(tiles.mllama): "Mllama",
    Rule(tiles.anyres): "LlavaNext LlavaOnevision",
    Rule(tiles.aria): "Aria",
    Rule(tiles.phi4): "Phi4Multimodal",
    Rule(cuts.minicpm): "MiniCPMOcr MiniCPMV4_6",
    Rule(cuts.lfm2): "Lfm2Vl",
    Rule(cuts.perception): "PerceptionLM",
    Rule(cuts.step3): "Step3p7",
    Rule(cuts.molmo): "Molmo2",
}
_VIDEOS: dict[Rule, str] = {
    _CROPPED: "InstructBlipVideo InternVL LlavaNextVideo LlavaOnevision PerceptionLM PeVideo Sam2Video "
    "Timesformer VideoLlava VideoMAE Videomt Vivit VJEPA2",
    Rule(videos.qwen): "Ernie4_5_VLMoe Qwen2VL VideoLlama3",
    Rule(videos.qwen3): "CohereCompass Cosmos3Edge Glm46V Glm4v Glmga Qwen3VL",
    Rule(videos.glm5): "Glm5Next",
    Rule(videos.minimax): "MiniMaxM3VL",
    Rule(videos.muse): "MuseGlimmer",
    Rule(videos.smolvlm, videos.pad_frames): "SmolVLM",
    Rule(patches.gemma4): "EmbeddingGemma2 Gemma4 Gemma4Unified",
}


def _by_class(rules: dict[Rule, str], end: str) -> dict[str, Rule]:
    return {f"{name}{end}": rule for rule, names in rules.items() for name in names.split()}


IMAGES = _by_class(_IMAGES, "ImageProcessor")
VIDEOS = _by_class(_VIDEOS, "VideoProcessor")
