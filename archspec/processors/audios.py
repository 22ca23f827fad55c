"""Feature extractors: from samples to feature frames, or to samples where a model takes a waveform."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil

from archspec.errors import ArchspecError
from archspec.processors.canvas import MOST_TILES, Trace
from archspec.processors.parameters import Parameters
from archspec.processors.resizing import align
from archspec.typing_light import NoReturn

Rule = Callable[[Parameters, "Clip"], None]
_MULTIPLES = ("pad_to_multiple_of", "hop_length", "samples_per_token")  # keys of a codec's frame
_TOO_SHORT = "is too short: it has no feature frame"
_FBANK = 400, 160  # samples of a frame, and between frames


class Clip:
    """An audio file as an extractor changes it; ``longest`` are the samples of the longest of a call."""

    def __init__(self, samples: int, longest: int, rate: int) -> None:
        self.samples, self.longest, self.rate = samples, longest, rate
        self.tensors: list[int] = [samples]
        self.steps: list[str] = []

    def refuse(self, message: str) -> NoReturn:
        raise ArchspecError(
            f"an audio file of {self.samples:,} samples {message}", help="pass another length"
        )

    def change(self, length: int, verb: str, unit: str = "samples") -> None:
        if length < 1:
            self.refuse(_TOO_SHORT)
        if [length] != self.tensors:
            self.steps.append(f"{verb} {length:,} {unit}")
        self.tensors = [length]

    def trace(self) -> Trace:
        return Trace((self.samples,), tuple((length,) for length in self.tensors), tuple(self.steps))


def pad_and_cut(
    p: Parameters, clip: Clip, default: object, most: int | None, cut: bool, multiple: int = 0
) -> int:
    """Return the samples after padding and truncation, as `SequenceFeatureExtractor.pad` does both."""
    padding = default if p.call.get("padding") is None else p.call["padding"]
    cut = cut if p.call.get("truncation") is None else bool(p.call["truncation"])
    if p.call.get("pad_to_multiple_of"):
        multiple = p.integer("pad_to_multiple_of")
    most = most if most is None or not multiple else align(most, multiple)
    samples, longest = clip.samples, clip.longest
    if cut and most is not None:
        samples, longest = min(samples, most), min(longest, most)
    if padding == "max_length" and most is not None:
        samples = max(samples, most)
    elif padding in (True, "longest"):
        samples = align(longest, multiple) if multiple else longest
    return samples


def waveform(p: Parameters, clip: Clip) -> None:
    """Take the samples; a processor pads the clips of a call to the longest."""


def multiple_of(p: Parameters, clip: Clip) -> None:
    """Pad the clips of a call to the longest, in whole frames of a codec."""
    key = next(one for one in _MULTIPLES if p.get(one) is not None)
    clip.change(align(clip.longest, p.integer(key)), "padded to")


def encodec(p: Parameters, clip: Clip) -> None:
    """Pad the clips of a call to the longest, in whole chunks if a checkpoint has chunks."""
    clip.change(_encodec_length(p, clip), "padded to")


def _encodec_length(p: Parameters, clip: Clip) -> int:
    if p.get("chunk_length_s") is None or p.get("overlap") is None:
        return clip.longest
    chunk = int(p.number("chunk_length_s") * clip.rate)
    stride = max(1, int((1.0 - p.number("overlap", 0, 1)) * chunk))
    return max((ceil(clip.longest / stride) - 1) * stride + chunk, clip.longest)


def longest(p: Parameters, clip: Clip) -> None:
    """Pad the clips of a call to the longest."""
    clip.change(clip.longest, "padded to")


def whisper(p: Parameters, clip: Clip) -> None:
    """Pad to windows of 30 seconds; the frames of a window are its samples by the hop length."""
    samples = _whisper_samples(p, clip)
    clip.change(samples, "cut to" if samples < clip.samples else "padded to")
    clip.change(samples // p.integer("hop_length"), "in", "frames")


def _whisper_samples(p: Parameters, clip: Clip) -> int:
    samples = pad_and_cut(p, clip, "max_length", p.integer("chunk_length") * clip.rate, True)
    if samples <= p.integer("n_fft") // 2:
        clip.refuse(_TOO_SHORT)
    return samples


def whisper_packed(p: Parameters, clip: Clip) -> None:
    """Keep the frames of the file: the model drops those of the padding (Qwen Omni)."""
    samples, hop = _whisper_samples(p, clip), p.integer("hop_length")
    frames = min(-(-min(clip.samples, samples) // hop), samples // hop)
    if samples < clip.samples:
        clip.change(samples, "cut to")
    clip.change(frames, "in", "frames")


def whisper_windows(p: Parameters, clip: Clip) -> None:
    """Split into windows of 30 seconds, each one a tensor (Audio Flamingo 3, Voxtral)."""
    seconds, hop = p.integer("chunk_length"), p.integer("hop_length")
    count = -(-clip.samples // (seconds * clip.rate))
    if p.get("max_audio_len") is not None and count > (most := p.integer("max_audio_len") // seconds):
        clip.change(most * seconds * clip.rate, "cut to")
        count = most
    if count > MOST_TILES:
        clip.refuse(f"becomes {count:,} windows, more than the {MOST_TILES:,} that are supported")
    clip.steps.append(f"{count:,} windows of {seconds} seconds")
    if seconds * clip.rate < hop:
        p.refuse("hop_length", f"is larger than a window of {seconds} seconds")
    clip.tensors = [seconds * clip.rate // hop] * count


def ast(p: Parameters, clip: Clip) -> None:
    """Take frames, padded or cut to a fixed number."""
    if _fbank(clip.samples) < 1:
        clip.refuse(_TOO_SHORT)
    clip.change(p.integer("max_length"), "padded or cut to", "frames")


def _fbank(samples: int) -> int:
    length, hop = _FBANK
    return 1 + (samples - length) // hop


def seamless(p: Parameters, clip: Clip) -> None:
    """Stack frames; a call pads its clips to the longest, in an even number of frames."""
    if _fbank(clip.samples) < 1:
        clip.refuse(_TOO_SHORT)
    stride = p.integer("stride")
    clip.change(align(_fbank(clip.longest), 2) // stride, "in", f"stacks of {stride} frames")


def speech_to_text(p: Parameters, clip: Clip) -> None:
    """Take frames of each clip."""
    clip.change(_fbank(clip.samples), "in", "frames")


def clap(p: Parameters, clip: Clip) -> None:
    """Take frames of a window, which a shorter clip is repeated or padded to."""
    p.choice("truncation", "fusion", "rand_trunc")
    window = p.integer("max_length_s") * clip.rate
    verb = "cut or fused to" if clip.samples > window else "padded to"
    frames = window // p.integer("hop_length") + 1
    clip.change(frames, verb, "frames")


def take_centered(p: Parameters, clip: Clip) -> None:
    """Frames of a Fourier transform that is centered: one more than whole hops (Parakeet)."""
    samples = pad_and_cut(p, clip, "longest", None, False)
    clip.change(1 + samples // p.integer("hop_length"), "in", "frames")


def gemma(p: Parameters, clip: Clip) -> None:
    """Cut at 30 seconds, pad to multiples of 128 samples, take frames (Gemma 3n, Gemma 4)."""
    length = round(clip.rate * p.number("frame_length_ms") / 1000.0)
    hop = _step(p, "hop_length_ms", clip.rate * p.number("hop_length_ms") / 1000.0)
    samples = pad_and_cut(p, clip, "longest", 480_000, True, 128)
    left = length // 2 if p.name.startswith("Gemma4") else 0
    clip.change((samples + left - length - 1) // hop + 1, "in", "frames")


def gemma4_unified(p: Parameters, clip: Clip) -> None:
    """Take blocks of samples as frames."""
    clip.change(ceil(clip.longest / p.integer("audio_samples_per_token")), "in", "frames")


def take_unpadded(p: Parameters, clip: Clip) -> None:
    """Frames without padding (Phi-4, LASR)."""
    samples = pad_and_cut(p, clip, "longest", None, False)
    clip.change((samples - p.integer("win_length")) // p.integer("hop_length") + 1, "in", "frames")


def granite(p: Parameters, clip: Clip) -> None:
    """Stack frames by two; the last odd one is dropped."""
    if clip.longest <= p.integer("n_fft") // 2:
        clip.refuse(_TOO_SHORT)
    clip.change((clip.longest // p.integer("hop_length") + 1) // 2, "in", "stacks of 2 frames")


def clvp(p: Parameters, clip: Clip) -> None:
    """Pad or cut to a length in seconds, and take centered frames."""
    samples = pad_and_cut(p, clip, "max_length", p.integer("default_audio_length") * clip.rate, True)
    clip.change(1 + samples // p.integer("hop_length"), "padded or cut to", "frames")


def cohere_asr(p: Parameters, clip: Clip) -> None:
    """Take centered frames; a long file is split at its quietest points, which its length does not tell."""
    limit = max(0.0, p.number("max_audio_clip_s") - p.number("overlap_chunk_second", 0))
    if clip.longest / clip.rate > limit:
        clip.refuse(f"is longer than {limit:g} seconds, and is split by its content")
    take_centered(p, clip)


def kyutai(p: Parameters, clip: Clip) -> None:
    """Add silence before and after the samples."""
    before = int(p.number("audio_silence_prefix_seconds", 0) * clip.rate)
    after = int((p.number("audio_delay_seconds", 0) + 1.0) * clip.rate)
    clip.change(before + _encodec_length(p, clip) + after, "padded to")


def qwen3_asr(p: Parameters, clip: Clip) -> None:
    """Take frames of all samples, in whole windows of the encoder."""
    least = p.integer("min_length", 0)
    longer = Clip(max(clip.samples, least), max(clip.longest, least), clip.rate)
    samples = pad_and_cut(p, longer, "max_length", p.integer("chunk_length") * clip.rate, False)
    if samples <= p.integer("n_fft") // 2:
        clip.refuse(_TOO_SHORT)
    frames = align(samples // p.integer("hop_length"), 2 * p.integer("n_window"))
    clip.change(frames, "in", "frames")


def voxtral_realtime(p: Parameters, clip: Clip) -> None:
    """Take centered frames without the last one."""
    if clip.longest <= p.integer("n_fft") // 2:
        clip.refuse(_TOO_SHORT)
    clip.change(clip.longest // p.integer("hop_length"), "in", "frames")


def univnet(p: Parameters, clip: Clip) -> None:
    """Cut to a length in seconds, and take frames of the samples with their reflection."""
    samples = pad_and_cut(p, clip, True, p.integer("max_length_s") * clip.rate, True)
    length, hop = p.integer("filter_length"), p.integer("hop_length")
    edge = int((length - hop) / 2)
    clip.change(1 + (samples + 2 * edge - length) // hop, "in", "frames")


def inkling(p: Parameters, clip: Clip) -> None:
    """Take a frame for each started step."""
    step = _step(p, "audio_token_duration_s", p.number("audio_token_duration_s") * clip.rate)
    clip.change(-(-clip.longest // step), "in", "frames")


def _step(p: Parameters, key: str, samples: float) -> int:
    """Return the whole samples between frames."""
    if round(samples) < 1:
        p.refuse(key, "is less than a sample")
    return round(samples)


AUDIOS: dict[str, Rule] = {
    name: rule
    for rule, names in {
        whisper: "Whisper",
        waveform: "Wav2Vec2 SpeechT5",
        longest: "OmniASR WavTokenizer",
        multiple_of: "Dac Dia MuseSpark PeAudio VibeVoiceAcousticTokenizer",
        encodec: "Encodec",
        kyutai: "KyutaiSpeechToText",
        clvp: "Clvp",
        cohere_asr: "CohereAsr",
        qwen3_asr: "Qwen3ASR",
        voxtral_realtime: "VoxtralRealtime",
        univnet: "UnivNet",
        inkling: "Inkling",
        whisper_windows: "MossTranscribeDiarize",
        ast: "AST",
        seamless: "SeamlessM4T",
        speech_to_text: "Speech2Text",
        clap: "Clap",
        take_centered: "Parakeet NemotronAsrStreaming",
        gemma: "Gemma3nAudio Gemma4Audio",
        gemma4_unified: "Gemma4UnifiedAudio",
        take_unpadded: "Phi4Multimodal Lasr",
        granite: "GraniteSpeech",
    }.items()
    for name in (f"{one}FeatureExtractor" for one in names.split())
}
BY_PROCESSOR: dict[str, Rule] = {  # a model's processor that prepares audio by itself
    **dict.fromkeys(("Qwen2_5OmniProcessor", "Qwen3OmniMoeProcessor"), whisper_packed),
    **dict.fromkeys(
        ("AudioFlamingo3Processor", "GlmAsrProcessor", "MusicFlamingoProcessor"), whisper_windows
    ),
    "VoxtralProcessor": whisper_windows,
}
