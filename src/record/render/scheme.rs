//! Colour schemes: what a terminal's colours are.

use super::grid::{Color, Look, flags};
use crate::record::cast::{Rgb, Theme};

/// A terminal's colours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scheme {
    /// Of text.
    pub fg: Rgb,
    /// Of the ground.
    pub bg: Rgb,
    /// The first 16 of the palette.
    pub palette: [Rgb; 16],
    /// The least contrast of text against its ground, in tenths; 10 leaves all colours as they are.
    least_contrast: u8,
    /// Whether the greys of the palette of 256 go from light to dark, so that what is faint on a dark
    /// ground is faint on a light one.
    greys_turned: bool,
}

const fn rgb(hex: u32) -> Rgb {
    let [_, r, g, b] = hex.to_be_bytes();
    [r, g, b]
}

impl Scheme {
    /// Light text on a dark ground.
    pub const fn dark() -> Self {
        Self {
            fg: rgb(0xd7_dae0),
            bg: rgb(0x16_181d),
            palette: [
                rgb(0x2b_2f38),
                rgb(0xcf_5d66),
                rgb(0x78_ae68),
                rgb(0xc4_9c4e),
                rgb(0x4c_86d6),
                rgb(0xa3_78d1),
                rgb(0x46_a0a8),
                rgb(0xb9_bec8),
                rgb(0x6b_7280),
                rgb(0xee_8891),
                rgb(0xa9_d69a),
                rgb(0xed_cb84),
                rgb(0x8c_bcf5),
                rgb(0xcf_abf0),
                rgb(0x82_d1d5),
                rgb(0xf4_f5f7),
            ],
            least_contrast: 10,
            greys_turned: false,
        }
    }

    /// Dark text on a light ground. Colours of the palette of 256 that were chosen for a dark ground
    /// are darkened until they can be read.
    pub const fn light() -> Self {
        Self {
            fg: rgb(0x24_292f),
            bg: rgb(0xff_ffff),
            palette: [
                rgb(0x24_292f),
                rgb(0xb3_1d28),
                rgb(0x22_863a),
                rgb(0x9a_6700),
                rgb(0x05_5cc5),
                rgb(0x6f_42c1),
                rgb(0x1b_7c83),
                rgb(0x6e_7781),
                rgb(0x57_606a),
                rgb(0xcb_2431),
                rgb(0x28_a745),
                rgb(0xb0_8800),
                rgb(0x21_88ff),
                rgb(0x8a_63d2),
                rgb(0x31_92aa),
                rgb(0x8c_959f),
            ],
            least_contrast: 28,
            greys_turned: true,
        }
    }

    /// xterm's own colours.
    pub const fn xterm() -> Self {
        Self {
            fg: rgb(0xe5_e5e5),
            bg: rgb(0x00_0000),
            palette: [
                rgb(0x00_0000),
                rgb(0xcd_0000),
                rgb(0x00_cd00),
                rgb(0xcd_cd00),
                rgb(0x00_00ee),
                rgb(0xcd_00cd),
                rgb(0x00_cdcd),
                rgb(0xe5_e5e5),
                rgb(0x7f_7f7f),
                rgb(0xff_0000),
                rgb(0x00_ff00),
                rgb(0xff_ff00),
                rgb(0x5c_5cff),
                rgb(0xff_00ff),
                rgb(0x00_ffff),
                rgb(0xff_ffff),
            ],
            least_contrast: 10,
            greys_turned: false,
        }
    }

    /// A cast's own colours. Of 8 colours the bright ones are the same.
    pub fn of(theme: &Theme) -> Self {
        let mut palette = Self::xterm().palette;
        let colors = theme.palette.iter().cycle();
        for (to, from) in palette.iter_mut().zip(colors) {
            *to = *from;
        }
        Self { fg: theme.fg, bg: theme.bg, palette, least_contrast: 10, greys_turned: false }
    }

    /// The colours of a cell's text and ground.
    pub fn inks(&self, look: Look) -> (Rgb, Rgb) {
        let (mut fg, mut bg) = (self.color(look.fg, self.fg), self.color(look.bg, self.bg));
        if look.has(flags::REVERSE) {
            (fg, bg) = (bg, fg);
            if self.least_contrast > 10 {
                // What is text elsewhere is ground here, and as dark as there.
                bg = self.readable(bg, self.bg);
            }
        }
        fg = self.readable(fg, bg);
        if look.has(flags::DIM) {
            fg = mix(bg, fg, 150);
        }
        if look.has(flags::HIDDEN) {
            fg = bg;
        }
        (fg, bg)
    }

    fn color(&self, color: Color, default: Rgb) -> Rgb {
        match color {
            Color::Default => default,
            Color::Rgb(rgb) => rgb,
            Color::Indexed(index @ 0..=15) => self.palette[usize::from(index)],
            Color::Indexed(index @ 16..=231) => {
                let level = |n: u8| if n == 0 { 0 } else { 55 + 40 * n };
                let cube = index - 16;
                [level(cube / 36), level(cube / 6 % 6), level(cube % 6)]
            }
            Color::Indexed(index) if self.greys_turned => [8 + 10 * (255 - index); 3],
            Color::Indexed(index) => [8 + 10 * (index - 232); 3],
        }
    }

    /// A colour of text, moved towards black or white until it can be read on its ground.
    fn readable(&self, fg: Rgb, bg: Rgb) -> Rgb {
        let least = f32::from(self.least_contrast) / 10.0;
        if least <= 1.0 || fg == bg {
            return fg;
        }
        let towards = if luminance(bg) > 0.18 { [0; 3] } else { [255; 3] };
        let tries = (0..=16).map(|step| mix(fg, towards, step * 15));
        tries.clone().find(|&color| contrast(color, bg) >= least).unwrap_or(towards)
    }
}

/// A colour between two: 0 is the first, 255 the second.
pub fn mix(from: Rgb, to: Rgb, share: u8) -> Rgb {
    std::array::from_fn(|channel| {
        let (from, to) = (i32::from(from[channel]), i32::from(to[channel]));
        let share = i32::from(share);
        ((from * (255 - share) + to * share + 127) / 255) as u8
    })
}

/// A colour's lightness as light: 0 black to 1 white.
fn luminance(color: Rgb) -> f32 {
    // Gamma 2 in place of sRGB's curve: only comparisons are made with it, and a square is exact.
    let linear = color.map(|channel| f32::from(channel) / 255.0 * f32::from(channel) / 255.0);
    0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
}

/// Contrast as WCAG defines it: 1 none to 21.
fn contrast(a: Rgb, b: Rgb) -> f32 {
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_palette_is_xterms() {
        let scheme = Scheme::xterm();
        let color = |index| scheme.color(Color::Indexed(index), [9; 3]);
        assert_eq!(color(75), [0x5f, 0xaf, 0xff]);
        assert_eq!((color(16), color(231)), ([0; 3], [255; 3]));
        assert_eq!((color(232), color(255)), ([8; 3], [238; 3]));
        assert_eq!(color(9), [255, 0, 0]);
        assert_eq!(scheme.color(Color::Default, [9; 3]), [9; 3]);
    }

    #[test]
    fn looks_become_inks() {
        let scheme = Scheme::xterm();
        let look = |flags| Look { fg: Color::Indexed(9), bg: Color::Default, flags };
        assert_eq!(scheme.inks(look(0)), ([255, 0, 0], [0; 3]));
        assert_eq!(scheme.inks(look(flags::REVERSE)), ([0; 3], [255, 0, 0]));
        assert_eq!(scheme.inks(look(flags::HIDDEN)), ([0; 3], [0; 3]));
        assert_eq!(scheme.inks(look(flags::DIM)), ([150, 0, 0], [0; 3]));
    }

    #[test]
    fn all_colours_can_be_read_in_the_light() {
        let scheme = Scheme::light();
        for index in 0..=254 {
            let (fg, bg) = scheme.inks(Look { fg: Color::Indexed(index), ..Look::default() });
            assert!(fg == bg || contrast(fg, bg) >= 2.8, "{index}: {fg:?} on {bg:?}");
        }
        assert_eq!(mix([0, 100, 255], [255, 100, 0], 255), [255, 100, 0]);
        assert_eq!(mix([0, 100, 255], [255, 100, 0], 0), [0, 100, 255]);
    }

    #[test]
    fn a_cast_brings_its_own_colours() {
        let palette: Vec<Rgb> = (0..8).map(|n| [n; 3]).collect();
        let theme = Theme { fg: [1, 2, 3], bg: [4, 5, 6], palette };
        let scheme = Scheme::of(&theme);
        assert_eq!((scheme.palette[3], scheme.palette[11]), ([3; 3], [3; 3]));
        assert_eq!(scheme.inks(Look::default()), ([1, 2, 3], [4, 5, 6]));
    }
}
