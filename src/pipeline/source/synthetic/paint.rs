//! A canvas, shapes with soft edges, and surfaces to fill them with.

use super::random::Random;
use super::texture::{SIDE, Tile};

/// Red, green and blue on a scale of 0 to 255.
pub(super) type Colour = [f32; 3];

/// What covers the canvas where.
pub(super) enum Shape {
    /// An ellipse: centre, direction of its first axis, half axes.
    Ellipse((f32, f32), (f32, f32), (f32, f32)),
    /// A rectangle: centre, direction of its first side, half sides.
    Rectangle((f32, f32), (f32, f32), (f32, f32)),
    /// All below a line that is given for each column.
    Below(Vec<f32>),
}

/// How a shape is filled.
pub(super) struct Surface<'a> {
    pub(super) colour: Colour,
    /// Brightness gained a pixel towards the right and towards the bottom …
    pub(super) slope: (f32, f32),
    /// … from here.
    pub(super) centre: (f32, f32),
    pub(super) texture: &'a Tile,
    /// Where in the texture it begins.
    pub(super) offset: (usize, usize),
    /// How much the texture changes brightness: 0.2 is ±20 %.
    pub(super) gain: f32,
    /// How much it shifts from blue to red.
    pub(super) tint: f32,
    /// Width of the edge in pixels.
    pub(super) blur: f32,
}

/// Pixels that are painted over.
pub(super) struct Canvas {
    pub(super) width: usize,
    pub(super) height: usize,
    pixels: Vec<Colour>,
}

impl Canvas {
    pub(super) fn new(width: usize, height: usize) -> Self {
        Self { width, height, pixels: vec![[0.0; 3]; width * height] }
    }

    /// Fills everything.
    pub(super) fn fill(&mut self, surface: &Surface) {
        self.paint(&Shape::Below(vec![f32::MIN; self.width]), surface);
    }

    /// Paints a shape over what is there.
    pub(super) fn paint(&mut self, shape: &Shape, surface: &Surface) {
        let (columns, rows) = self.bounds(shape, surface.blur);
        let per_blur = 1.0 / surface.blur;
        for y in rows {
            let row = &mut self.pixels[y * self.width..(y + 1) * self.width];
            let texture = surface.texture.row(y + surface.offset.1);
            let shifts = surface.texture.row(y + surface.offset.1 + SIDE / 2);
            for x in columns.clone() {
                let inside = shape.depth(x, y) * per_blur + 0.5;
                if inside <= 0.0 {
                    continue;
                }
                let at = (x + surface.offset.0) & (SIDE - 1);
                let light = 1.0
                    + surface.slope.0 * (x as f32 - surface.centre.0)
                    + surface.slope.1 * (y as f32 - surface.centre.1)
                    + surface.gain * texture[at];
                let shift = surface.tint * shifts[at];
                let [r, g, b] = surface.colour;
                let new = [r * light + shift, g * light, b * light - shift];
                let cover = inside.min(1.0);
                for (old, new) in row[x].iter_mut().zip(new) {
                    *old += cover * (new - *old);
                }
            }
        }
    }

    fn bounds(&self, shape: &Shape, blur: f32) -> (std::ops::Range<usize>, std::ops::Range<usize>) {
        // Float to integer saturates, so that what lies left of 0 begins at 0.
        let range = |centre: f32, reach: f32, end: usize| {
            let start = ((centre - reach) as usize).min(end);
            start..((centre + reach + 1.0) as usize).clamp(start, end)
        };
        match shape {
            Shape::Ellipse((x, y), _, (a, b)) => {
                let reach = a.max(*b) + blur;
                (range(*x, reach, self.width), range(*y, reach, self.height))
            }
            Shape::Rectangle((x, y), (ux, uy), (a, b)) => {
                let across = ux.abs() * a + uy.abs() * b + blur;
                let down = uy.abs() * a + ux.abs() * b + blur;
                (range(*x, across, self.width), range(*y, down, self.height))
            }
            Shape::Below(line) => {
                let top = line.iter().copied().fold(f32::MAX, f32::min) - blur;
                (0..self.width, (top as usize).min(self.height)..self.height)
            }
        }
    }

    /// To bytes, with a darker rim (`vignette` of the light is lost in the corners) and the sensor's
    /// `noise`, in levels at full light.
    pub(super) fn develop(&self, random: &mut Random, vignette: f32, noise: f32) -> Vec<u8> {
        let (half_w, half_h) = (self.width as f32 * 0.5, self.height as f32 * 0.5);
        let per_square = vignette / (half_w * half_w + half_h * half_h);
        let mut bytes = Vec::with_capacity(self.pixels.len() * 3);
        for (y, row) in self.pixels.chunks_exact(self.width).enumerate() {
            let dy = y as f32 - half_h;
            for (x, pixel) in row.iter().enumerate() {
                let dx = x as f32 - half_w;
                let light = 1.0 - per_square * (dx * dx + dy * dy);
                let mut bits = random.bits();
                for value in pixel {
                    let value = (value * light).clamp(0.0, 255.0);
                    // Two random bytes make a triangle about 0; shot noise grows with √light.
                    let triangle = ((bits & 255) + (bits >> 8 & 255)) as f32 * (1.0 / 255.0) - 1.0;
                    bits >>= 16;
                    let grain = noise * (0.4 + 0.6 * (value * (1.0 / 255.0)).sqrt());
                    bytes.push((value + grain * triangle + 0.5).clamp(0.0, 255.0) as u8);
                }
            }
        }
        bytes
    }
}

impl Shape {
    /// How far inside of the shape a pixel lies, in pixels, about; negative outside.
    fn depth(&self, x: usize, y: usize) -> f32 {
        let (x, y) = (x as f32, y as f32);
        let turned = |centre: &(f32, f32), axis: &(f32, f32)| {
            let (dx, dy) = (x - centre.0, y - centre.1);
            (dx * axis.0 + dy * axis.1, dy * axis.0 - dx * axis.1)
        };
        match self {
            Self::Ellipse(centre, axis, (a, b)) => {
                let at = turned(centre, axis);
                let at = (at.0 / a, at.1 / b);
                (1.0 - (at.0 * at.0 + at.1 * at.1).sqrt()) * a.min(*b)
            }
            Self::Rectangle(centre, axis, (a, b)) => {
                let at = turned(centre, axis);
                (a - at.0.abs()).min(b - at.1.abs())
            }
            Self::Below(line) => y - line[x as usize],
        }
    }
}
