"""Write pictures as a GIF, or by ffmpeg as an MP4."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from daedalus.errors import InputError


def save_frames(frames: Iterator[Any], rate: float, file: Path) -> None:
    """Write frames of equal, even size, `rate` of them per second; the extension, .gif or .mp4, chooses the format."""
    if file.suffix.lower() == ".mp4":
        _save_movie(frames, rate, file)
    else:
        _save_gif(frames, rate, file)


def _save_gif(frames: Iterator[Any], rate: float, file: Path) -> None:
    """All frames in one palette, taken from the first of them."""
    first = next(frames)
    palette = first.quantize(255)
    every = [palette, *(frame.quantize(palette=palette, dither=0) for frame in frames)]
    every[0].save(
        file, save_all=True, append_images=every[1:], duration=round(1000 / rate), loop=0, optimize=False, disposal=1
    )


def _save_movie(frames: Iterator[Any], rate: float, file: Path) -> None:
    """H.264 by ffmpeg, which gets the frames as they are drawn."""
    program = shutil.which("ffmpeg")
    if program is None:
        raise InputError(
            "A film as MP4 needs ffmpeg.",
            "no program `ffmpeg` was found on the path",
            because="Daedalus does not contain a video codec.",
            remedy=f"write {file.with_suffix('.gif').name!r}, or install ffmpeg",
        )
    first = next(frames)
    width, height = first.size
    command = [
        program, "-y", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}",
        "-r", f"{rate:.6g}", "-i", "-", "-pix_fmt", "yuv420p", "-movflags", "+faststart", str(file.absolute()),
    ]  # fmt: skip
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdin is not None
    complaint = b""
    try:
        process.stdin.write(first.tobytes())
        for frame in frames:
            process.stdin.write(frame.tobytes())
    except BrokenPipeError:
        pass  # ffmpeg has ended early; its complaint is reported below
    finally:
        _, complaint = process.communicate()
    if process.returncode:
        raise InputError(
            "The film could not be written.",
            f"ffmpeg says: {complaint.decode(errors='replace').strip()[-300:] or f'exit code {process.returncode}'}",
            remedy=f"write {file.with_suffix('.gif').name!r}",
        )
