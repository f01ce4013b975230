//! The same picture as PNG, drawn here with a font that comes along, so that it looks alike everywhere.

use std::sync::Arc;

use resvg::usvg::fontdb::{FaceInfo, ID, Language, Source, Stretch, Style, Weight};
use resvg::{tiny_skia, usvg};

/// `JetBrains Mono`, under the SIL Open Font License 1.1 (`assets/fonts/JetBrainsMono-OFL.txt`), regular and bold.
const FONTS: [(Weight, &[u8]); 2] = [
    (Weight::NORMAL, include_bytes!("../../../assets/fonts/JetBrainsMono-Regular.ttf")),
    (Weight::BOLD, include_bytes!("../../../assets/fonts/JetBrainsMono-Bold.ttf")),
];

/// Pixels of the PNG for one of the SVG's, so that it is sharp on dense screens and on paper.
const SCALE: f32 = 2.0;

/// The bytes of a PNG of an SVG.
///
/// # Errors
/// Where it cannot be drawn, in words.
pub fn render(svg: &str) -> Result<Vec<u8>, String> {
    let mut options = usvg::Options::default();
    let fonts = options.fontdb_mut();
    for (weight, font) in FONTS {
        // The database would read these from the files, which are cut down and lack some of it.
        fonts.push_face_info(FaceInfo {
            id: ID::dummy(),
            source: Source::Binary(Arc::new(font)),
            index: 0,
            families: vec![("JetBrains Mono".to_owned(), Language::English_UnitedStates)],
            post_script_name: "JetBrainsMono".to_owned(),
            style: Style::Normal,
            weight,
            stretch: Stretch::Normal,
            monospaced: true,
        });
    }
    let tree = usvg::Tree::from_str(svg, &options)
        .map_err(|error| format!("the chart cannot be drawn as PNG: {error}"))?;
    let size = tree.size();
    let (width, height) = (size.width() * SCALE, size.height() * SCALE);
    let mut pixels = tiny_skia::Pixmap::new(width.ceil() as u32, height.ceil() as u32)
        .ok_or("the chart cannot be drawn as PNG: it is too large")?;
    resvg::render(&tree, tiny_skia::Transform::from_scale(SCALE, SCALE), &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| format!("the chart cannot be written as PNG: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dark(svg: &str) -> usize {
        let png = render(svg).unwrap();
        let image = image::load_from_memory(&png).unwrap().to_luma8();
        image.pixels().filter(|pixel| pixel.0[0] < 100).count()
    }

    #[test]
    fn text_is_drawn_with_the_font_that_comes_along() {
        use super::super::picture::{Picture, Type};
        let picture = |text: &str, bold: bool| {
            let mut picture = Picture::default();
            let look = Type::new(20.0, "#000000");
            picture.text(5.0, 30.0, if bold { look.bold() } else { look }, text);
            picture.finish((120.0, 40.0), "t", "d")
        };
        let (none, plain, bold) = (
            dark(&picture("", false)),
            dark(&picture("σκλ±×", false)),
            dark(&picture("σκλ±×", true)),
        );
        assert_eq!(none, 0);
        assert!(plain > 100 && bold > plain, "{plain}, {bold}");
    }

    #[test]
    fn what_is_no_svg_is_told() {
        assert!(render("<svg").unwrap_err().contains("cannot be drawn"));
    }
}
