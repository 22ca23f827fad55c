"""The rule of each class of transformers that prepares images or videos."""

from __future__ import annotations

from archspec.processors import videos
from archspec.processors.images import budgets, pages, patches, plain, slices, tiles
from archspec.processors.images.plain import Rule, pad_always, pad_to_largest

_STANDARD = Rule(plain.resize_and_crop, pad_to_largest)
_CROPPED = Rule(plain.resize_and_crop)
_IMAGES: dict[Rule, str] = {
    _STANDARD: "Bit Blip Chameleon ChineseCLIP CLIP DeiT Idefics MobileNetV1 OwlViT PI0 PPChart2Table "
    "PPDocLayoutV2 PPDocLayoutV3 PPDocLayoutV4 Pvt Sam2 Sam3 Siglip Tipsv2 Tipsv2Dpt ViT",
    _CROPPED: "Beit DINOv3ViT EfficientNet Flava LayoutLMv3 MobileNetV2 MobileViT VideoLlava VideoMAE Vivit",
    Rule(plain.resize): "DepthPro EfficientLoFTR LayoutLMv2 LightGlue Segformer SegGpt SuperGlue SuperPoint",
    Rule(plain.resize_to_sides): "UVDoc",
    Rule(plain.detr, pad_to_largest): "ConditionalDetr DeformableDetr Detr GroundingDino RfDetr RTDetr Yolos",
    Rule(plain.detr, pad_always): "MaskFormer Mask2Former",
    Rule(plain.resize, pad_always): "OneFormer",
    Rule(plain.convnext): "ConvNext",
    Rule(plain.poolformer, pad_to_largest): "PoolFormer",
    Rule(plain.levit): "Levit",
    Rule(plain.vilt, pad_to_largest): "Vilt BridgeTower",
    Rule(plain.sam, pad_to_largest): "Sam",
    Rule(plain.dpt): "CHMv2 DPT PromptDepthAnything",
    Rule(plain.zoedepth): "ZoeDepth",
    Rule(plain.glpn): "GLPN",
    Rule(plain.perceiver): "Perceiver",
    Rule(plain.llava): "Llava",
    Rule(plain.owlv2): "Owlv2",
    Rule(plain.janus): "DeepseekVL Janus",
    Rule(plain.eomt): "Eomt",
    Rule(plain.sapiens): "Sapiens2",
    Rule(plain.tvp, pad_to_largest): "Tvp",
    Rule(pages.slanext, pad_to_largest): "SLANeXt",
    Rule(pages.lcnet): "PPLCNet",
    Rule(pages.text_detection): "PPOCRV5ServerDet",
    Rule(pages.keep, pages.text_recognition): "PPOCRV5ServerRec PPOCRV6SmallRec",
    Rule(plain.swin2sr): "Swin2SR",
    Rule(plain.vitmatte): "VitMatte",
    Rule(plain.textnet): "TextNet",
    Rule(plain.fuyu): "Fuyu",
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
    Rule(budgets.glm_image): "GlmImage",
    Rule(budgets.glm5): "Glm5Next",
    Rule(budgets.neomme): "NeoMME",
    Rule(budgets.nemotron): "NemotronH_Omni_Reasoning_V3",
    Rule(budgets.inkling): "Inkling2",
    Rule(tiles.got_ocr): "GotOcr2",
    Rule(tiles.cohere): "Cohere2Vision",
    Rule(tiles.ovis): "Ovis2",
    Rule(tiles.deepseek_ocr): "DeepseekOcr2 UnlimitedOcr",
    Rule(tiles.gemma3): "Gemma3",
    Rule(tiles.idefics2, tiles.pad_tiles): "Idefics2",
    Rule(tiles.idefics3): "Idefics3 SmolVLM UltraVBert",
    Rule(tiles.llama4): "Llama4",
    Rule(tiles.mllama): "Mllama",
    Rule(slices.anyres): "LlavaNext LlavaOnevision",
    Rule(slices.aria): "Aria",
    Rule(slices.phi4): "Phi4Multimodal",
    Rule(slices.minicpm): "MiniCPMOcr MiniCPMV4_6",
    Rule(slices.lfm2): "Lfm2Vl",
    Rule(slices.perception): "PerceptionLM",
    Rule(slices.step3): "Step3p7",
    Rule(slices.molmo): "Molmo2",
}
_VIDEOS: dict[Rule, str] = {
    _CROPPED: "InstructBlipVideo InternVL LlavaNextVideo LlavaOnevision PerceptionLM PeVideo Sam2Video "
    "Timesformer VideoLlava VideoMAE Videomt Vivit",
    Rule(videos.vjepa): "VJEPA2",
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
