#!/usr/bin/env python3
"""Make the fonts in assets/fonts, with which `pipetop render` and screenshots draw text.

    python3 -m venv venv && venv/bin/pip install fonttools==4.68.0
    venv/bin/python scripts/subset_fonts.py JETBRAINS_DIR DEJAVU_DIR

JETBRAINS_DIR holds JetBrainsMono-Regular.ttf and -Bold.ttf (version 2.242, OFL 1.1; Debian:
fonts-jetbrains-mono), DEJAVU_DIR holds DejaVuSansMono.ttf (version 2.37, Bitstream Vera licence;
Debian: fonts-dejavu-mono or -core).

JetBrains Mono keeps all its characters but those that are drawn as geometry; DejaVu Sans Mono keeps
the symbols that JetBrains Mono lacks. Ligatures, kerning, hints and names (but for the copyright and the
licence) are dropped: a terminal shows one character a cell.
"""

import sys
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont

OUT = Path(__file__).resolve().parent.parent / "assets" / "fonts"

# Drawn as geometry: boxes and blocks, braille, Powerline's triangles. Also no private use.
DRAWN = [(0x2500, 0x259F), (0x2800, 0x28FF), (0xE000, 0xF8FF)]
# What is taken from DejaVu: Greek that JetBrains lacks, punctuation to arrows and shapes.
SYMBOLS = [(0x370, 0x3FF), (0x2010, 0x27BF), (0x2900, 0x2BFF)]


def chars(font):
    return {c for c in font.getBestCmap() if not any(a <= c <= b for a, b in DRAWN)}


def write(source, keep, name):
    options = subset.Options()
    options.hinting = False
    options.layout_features = []
    options.name_IDs = [0, 1, 2, 13, 14]
    options.name_languages = [0x409]
    options.notdef_outline = True
    options.glyph_names = False
    options.legacy_kern = False
    options.recalc_timestamp = False
    options.drop_tables += ["GSUB", "GPOS", "GDEF", "kern", "FFTM", "meta", "DSIG", "gasp"]
    font = subset.load_font(str(source), options)
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=sorted(keep))
    subsetter.subset(font)
    subset.save_font(font, str(OUT / name), options)
    print(f"{name}: {len(keep)} characters, {(OUT / name).stat().st_size} bytes")


def main():
    jetbrains, dejavu = map(Path, sys.argv[1:3])
    OUT.mkdir(parents=True, exist_ok=True)
    have = set()
    for weight in ("Regular", "Bold"):
        source = jetbrains / f"JetBrainsMono-{weight}.ttf"
        have = chars(TTFont(source))
        write(source, have, f"JetBrainsMono-{weight}.ttf")
    source = dejavu / "DejaVuSansMono.ttf"
    symbols = {c for c in chars(TTFont(source)) if any(a <= c <= b for a, b in SYMBOLS)}
    write(source, symbols - have, "DejaVuSansMono-Symbols.ttf")


if __name__ == "__main__":
    main()
