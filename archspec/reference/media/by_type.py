"""Facts about the media that classes take which neither arguments nor configs tell, by model type."""

from __future__ import annotations

# images
SQUARE_PATCHES = ("paddleocr_vl", "kimi_k25", "paddleocr_vl_vision", "kimi_k25_vision")
PATCHES_IN_ROW = ("paddleocr_vl_vision",)  # one row of patches of all images
MERGED_PATCHES = ("inkling2_vision",)  # a patch is one for each token of the text
PAIRS = ("efficientloftr", "lightglue", "superglue")  # each item is two images
BY_SEQUENCE = ("idefics", "colmodernvbert", "modernvbert", "perception_lm")  # pixel values are those of each
LISTED_SIZES = ("pixtral", "emu3", "apertus1p5")
SIDES = {"depth_pro": 1536}  # of images, where the config has other sizes

# videos
WITH_FRAMES = (  # their pixel values have frames
    *("instructblipvideo", "timesformer", "tvp", "videomae", "vivit"),
    *("xclip", "xclip_vision_model", "videoprism_vision_model", "vjepa2"),
)
FRAME_BY_FRAME = ("xclip_vision_model",)

# audio
MELS_FIRST = (  # in input features, other classes have frames first
    *("whisper", "qwen2_audio_encoder", "voxtral_encoder", "voxtral_realtime_encoder"),
    *("audioflamingo3_encoder", "qwen2_5_omni_bigvgan"),
    *("glmasr_encoder", "qwen2_5_omni_audio_encoder", "qwen3_omni_moe_audio_encoder", "qwen3_asr_encoder"),
    *("dots3_note_audio_encoder", "moss_transcribe_diarize_audio", "clvp_encoder", "clvp"),
)
MELS = {"gemma4_audio": 128, "gemma3n_audio": 128, "pop2piano": 512}  # that the config does not say
WITH_CHANNELS = (  # samples have channels
    *("encodec", "dac", "mimi", "mimi_encoder", "xcodec", "xcodec2", "higgs_audio_v2_tokenizer", "neucodec"),
    *("pocket_tts_audio_tokenizer", "pocket_tts_audio_tokenizer_encoder", "pe_audio", "pe_audio_encoder"),
    *("pe_audio_video", "pe_audio_video_encoder", "wavtokenizer", "wavtokenizer_encoder"),
    *("vibevoice", "vibevoice_acoustic_tokenizer", "vibevoice_acoustic_tokenizer_encoder", "vibevoice_asr"),
    *("omniasr", "omniasr_audio", "omniasr_ctc"),
)
WHOLE_CHUNKS = ("qwen3_asr_encoder",)  # frames are padded to them
STACKED_FRAMES = {"granite_speech5_encoder": 4}  # that the config does not say
UNMASKED = ("granite_speech", "granite_speech_plus", "pe_audio")  # masks of tokens, or of samples of frames
BOOL_MASKS = ("gemma3n",)
ANY_LENGTH = (  # their positions limit only the text
    *("speech_to_text", "wav2vec2-bert", "seamless_m4t", "seamless_m4t_v2"),
)
AUDIO_OR_DECODER = ("musicgen",)  # an audio is for a pass without the decoder's tokens, which it becomes

# text
TEXT_OR_AUDIO = ("pop2piano",)  # what their encoders take
LABELS = ("pp_formulanet",)  # its input_ids are labels
TOKENS_OF_ITEM = {  # fields with the tokens of an item, where no method returns as many features
    ("blip-2", "image"): "num_query_tokens",
    ("instructblip", "image"): "num_query_tokens",
    ("instructblipvideo", "video"): "num_query_tokens",
    ("gemma3n", "audio"): "audio_soft_tokens_per_image",
}
