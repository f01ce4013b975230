//! A screen as a PNG.

use std::collections::HashMap;
use std::io::Write;
use std::rc::Rc;

use png::{BitDepth, ColorType, Compression, Encoder, EncodingError, Filter};

use super::canvas::{Canvas, Masks};
use super::font::Fonts;
use super::grid::{Grid, Look};
use super::scheme::{Scheme, mix};
use crate::record::cast::Rgb;

/// Draws a screen and writes it as a PNG.
///
/// # Errors
/// Where it cannot be written.
pub fn write(
    out: impl Write,
    grid: &Grid,
    scheme: &Scheme,
    fonts: &Fonts,
) -> Result<(), EncodingError> {
    let canvas = draw(grid, scheme, fonts);
    let side = |pixels: usize| u32::try_from(pixels).unwrap_or(u32::MAX);
    let mut encoder = Encoder::new(out, side(canvas.width), side(canvas.height));
    encoder.set_color(ColorType::Rgb);
    encoder.set_depth(BitDepth::Eight);
    encoder.set_compression(Compression::High);
    // Flat colours and repeated letters are found best as they are.
    encoder.set_filter(Filter::NoFilter);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(canvas.pixels.as_flattened())?;
    writer.finish()
}

/// Draws a screen in all shades.
pub fn draw(grid: &Grid, scheme: &Scheme, fonts: &Fonts) -> Canvas<Rgb> {
    let rows = u16::try_from(grid.rows.len()).unwrap_or(u16::MAX);
    let mut canvas = Canvas::new((grid.cols, rows), fonts, scheme.bg);
    let mut ramps: HashMap<Look, Rc<[Rgb; 256]>> = HashMap::new();
    let mut ramp = |look: Look| {
        let made = ramps.entry(look).or_insert_with(|| {
            let (fg, bg) = scheme.inks(look);
            Rc::new(std::array::from_fn(|cover| mix(bg, fg, cover as u8)))
        });
        Rc::clone(made)
    };
    canvas.draw(grid, &mut Masks::new(fonts), &mut ramp);
    canvas
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::buffer::Buffer;

    #[test]
    fn a_png_decodes_to_what_was_drawn() {
        let fonts = Fonts::new(15.0);
        let grid =
            Grid::from(&Buffer::with_lines(["┌─ pipetop ─┐", "│ ▁▂▃▅▇ ⣿⡇  │", "└───────────┘"]));
        let mut bytes = Vec::new();
        write(&mut bytes, &grid, &Scheme::dark(), &fonts).unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(&bytes)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut pixels).unwrap();
        let canvas = draw(&grid, &Scheme::dark(), &fonts);
        assert_eq!(pixels, canvas.pixels.as_flattened());
        let mut again = Vec::new();
        write(&mut again, &grid, &Scheme::dark(), &fonts).unwrap();
        assert_eq!(bytes, again);
    }
}
