//! What is in a picture.

use super::paint::{Canvas, Colour, Shape, Surface};
use super::random::Random;
use super::texture::{SIDE, Textures};

/// Colours of sky, leaves, earth, stone, sand, skin, flowers, evening and night.
const PALETTE: [Colour; 16] = [
    [139.0, 178.0, 214.0],
    [196.0, 213.0, 228.0],
    [92.0, 118.0, 60.0],
    [54.0, 78.0, 43.0],
    [133.0, 141.0, 73.0],
    [116.0, 86.0, 60.0],
    [74.0, 57.0, 46.0],
    [142.0, 138.0, 132.0],
    [96.0, 97.0, 102.0],
    [201.0, 178.0, 140.0],
    [214.0, 168.0, 138.0],
    [176.0, 62.0, 54.0],
    [222.0, 148.0, 62.0],
    [112.0, 84.0, 128.0],
    [48.0, 62.0, 88.0],
    [30.0, 33.0, 40.0],
];

/// The painter of one picture.
struct Painter<'a> {
    random: &'a mut Random,
    textures: &'a Textures,
    canvas: Canvas,
    /// The few colours of this picture.
    colours: [Colour; 5],
    /// Light comes from there.
    light: (f32, f32),
    /// All texture of this picture is stronger or weaker by this.
    detail: f32,
}

/// One picture, RGB, 3 bytes a pixel.
pub(super) fn render(
    random: &mut Random,
    textures: &Textures,
    width: usize,
    height: usize,
) -> Vec<u8> {
    let colours = std::array::from_fn(|_| PALETTE[random.below(PALETTE.len())]);
    let light = random.direction();
    let detail = random.between(0.5, 1.3);
    let canvas = Canvas::new(width, height);
    let mut painter = Painter { random, textures, canvas, colours, light, detail };
    match painter.random.below(4) {
        0 => painter.landscape(),
        1 => painter.thicket(),
        2 => painter.street(),
        _ => painter.close_up(),
    }
    let Painter { random, canvas, .. } = painter;
    let vignette = random.between(0.0, 0.35);
    let noise = random.between(1.5, 6.0);
    canvas.develop(random, vignette, noise)
}

impl<'a> Painter<'a> {
    /// Sky, ridges one before the other, things on the ground.
    fn landscape(&mut self) {
        let sky = self.sky();
        self.fill(sky, 0.05, true);
        let ridges = 2 + self.random.below(3);
        let height = self.canvas.height as f32;
        for ridge in 0..ridges {
            let nearness = (ridge + 1) as f32 / ridges as f32;
            let level = height * (self.random.between(0.3, 0.45) + 0.4 * nearness * nearness);
            let rough = height * self.random.between(0.04, 0.16);
            let line = self.line(level, rough);
            // Haze: what is far takes on the sky's colour and loses its texture.
            let own = self.colours[1 + ridge % 4];
            let colour = std::array::from_fn(|c| sky[c] + nearness * (own[c] - sky[c]));
            let mut surface = self.surface(colour, 0.35 * nearness);
            surface.blur = 1.2;
            self.canvas.paint(&Shape::Below(line), &surface);
        }
        let (width, height) = (self.canvas.width as f32, height);
        let ground = ((0.0, 0.6 * height), (width, 1.05 * height));
        let cover = self.random.between(0.05, 0.5);
        self.leaves(ground, false, cover, 0.08);
    }

    /// Things upon things, all over.
    fn thicket(&mut self) {
        self.fill(self.colours[0].map(|v| 0.7 * v), 0.25, false);
        let (width, height) = (self.canvas.width as f32, self.canvas.height as f32);
        let cover = self.random.between(1.2, 2.6);
        self.leaves(((0.0, 0.0), (width, height)), false, cover, 0.3);
    }

    /// Houses with rows of windows under a sky.
    fn street(&mut self) {
        let sky = self.sky();
        self.fill(sky, 0.04, true);
        let (width, height) = (self.canvas.width as f32, self.canvas.height as f32);
        for _ in 0..4 + self.random.below(6) {
            let half =
                (width * self.random.between(0.06, 0.2), height * self.random.between(0.2, 0.55));
            let centre = (self.random.unit() * width, height * self.random.between(0.75, 1.0));
            let lean = self.random.between(-0.03, 0.03);
            let axis = ((1.0 - lean * lean).sqrt(), lean);
            self.house(centre, axis, half);
        }
        let street = ((0.0, 0.8 * height), (width, 1.05 * height));
        self.leaves(street, false, 0.2, 0.06);
    }

    fn house(&mut self, centre: (f32, f32), axis: (f32, f32), half: (f32, f32)) {
        let wall = self.colour();
        let mut surface = self.surface(wall, 0.2);
        self.lit(&mut surface, centre, half.0.max(half.1));
        self.canvas.paint(&Shape::Rectangle(centre, axis, half), &surface);
        let pitch = (half.0 * self.random.between(0.18, 0.4)).max(7.0);
        let fill = self.random.between(0.3, 0.42);
        let glass = wall.map(|v| 0.35 * v + 12.0);
        let frame = wall.map(|v| 1.15 * v + 8.0);
        let (columns, rows) = ((half.0 / pitch) as i32, (half.1 / (1.3 * pitch)) as i32);
        for row in -rows..=rows {
            for column in -columns..=columns {
                let (u, v) = (column as f32 * pitch * 2.0 * 0.48, row as f32 * pitch * 1.3 * 0.96);
                if u.abs() + pitch * fill > half.0 || v.abs() + pitch * fill > half.1 {
                    continue;
                }
                let at = (centre.0 + u * axis.0 - v * axis.1, centre.1 + u * axis.1 + v * axis.0);
                let size = (pitch * fill, pitch * fill * 1.3);
                let lit =
                    if self.random.chance(0.15) { 90.0 } else { self.random.between(-8.0, 25.0) };
                let surface = self.surface(frame, 0.06);
                let rim = (size.0 + 1.3, size.1 + 1.3);
                self.canvas.paint(&Shape::Rectangle(at, axis, rim), &surface);
                let surface = self.surface(glass.map(|v| v + lit), 0.25);
                self.canvas.paint(&Shape::Rectangle(at, axis, size), &surface);
            }
        }
    }

    /// A sharp thing before a ground that is out of focus.
    fn close_up(&mut self) {
        self.fill(self.colours[0], 0.12, true);
        let (width, height) = (self.canvas.width as f32, self.canvas.height as f32);
        let size = width.min(height);
        for _ in 0..10 + self.random.below(14) {
            let radius = size * self.random.between(0.08, 0.3);
            let colour = self.colour();
            let mut surface = self.surface(colour, 0.0);
            surface.blur = size * self.random.between(0.08, 0.2);
            let centre = (self.random.unit() * width, self.random.unit() * height);
            let shape = Shape::Ellipse(
                centre,
                (1.0, 0.0),
                (radius, radius * self.random.between(0.7, 1.2)),
            );
            self.canvas.paint(&shape, &surface);
        }
        let middle =
            (width * self.random.between(0.35, 0.65), height * self.random.between(0.4, 0.65));
        let reach = size * self.random.between(0.22, 0.4);
        let colour = self.colour();
        let mut surface = self.surface(colour, 0.45);
        self.lit(&mut surface, middle, reach);
        let axis = self.random.direction();
        self.canvas.paint(&Shape::Ellipse(middle, axis, (reach, reach * 0.75)), &surface);
        let heap = ((middle.0 - reach, middle.1 - reach), (middle.0 + reach, middle.1 + reach));
        let cover = self.random.between(0.2, 1.2);
        self.leaves(heap, true, cover, 0.12);
    }

    /// Shapes in a box until they have painted `cover` times its area; the largest is `largest` of
    /// the canvas's shorter side. A `round` heap keeps to the ellipse in the box. Radii are spread as r⁻³, by which the model is free of scale.
    fn leaves(
        &mut self,
        (low, high): ((f32, f32), (f32, f32)),
        round: bool,
        cover: f32,
        largest: f32,
    ) {
        let size = self.canvas.width.min(self.canvas.height) as f32;
        let (least, most) = (3.5_f32.max(size * 0.008), size * largest);
        let tail = 1.0 - (least / most) * (least / most);
        let mut left = cover * (high.0 - low.0) * (high.1 - low.1);
        while left > 0.0 {
            let radius = least / (1.0 - self.random.unit() * tail).sqrt();
            let flat = self.random.between(0.35, 1.0);
            left -= 3.0 * radius * radius * flat;
            let (u, v) = (self.random.between(-1.0, 1.0), self.random.between(-1.0, 1.0));
            if round && u * u + v * v > 1.0 {
                continue;
            }
            let centre = (
                0.5 * (low.0 + high.0 + u * (high.0 - low.0)),
                0.5 * (low.1 + high.1 + v * (high.1 - low.1)),
            );
            let axis = self.random.direction();
            let colour = self.colour_at(centre);
            let mut surface = self.surface(colour, 0.45);
            self.lit(&mut surface, centre, radius);
            let halves = (radius, radius * flat);
            let shape = if self.random.chance(0.8) {
                Shape::Ellipse(centre, axis, halves)
            } else {
                Shape::Rectangle(centre, axis, halves)
            };
            self.canvas.paint(&shape, &surface);
        }
    }

    /// Blue, overcast or evening.
    fn sky(&mut self) -> Colour {
        const SKIES: [Colour; 4] = [
            [138.0, 178.0, 222.0],
            [205.0, 212.0, 220.0],
            [226.0, 184.0, 150.0],
            [110.0, 140.0, 184.0],
        ];
        SKIES[self.random.below(SKIES.len())].map(|v| v + self.random.between(-14.0, 14.0))
    }

    fn fill(&mut self, colour: Colour, gain: f32, calm: bool) {
        let mut surface = self.surface(colour, gain);
        if calm {
            surface.texture = &self.textures.smooth;
        }
        let (width, height) = (self.canvas.width as f32, self.canvas.height as f32);
        self.lit(&mut surface, (0.5 * width, 0.5 * height), width.max(height));
        self.canvas.fill(&surface);
    }

    /// One of the picture's colours, lighter or darker, a little off.
    fn colour(&mut self) -> Colour {
        let own = self.colours[self.random.below(self.colours.len())];
        self.near(own)
    }

    /// A colour that neighbours share, mostly: like things stand together.
    fn colour_at(&mut self, (x, y): (f32, f32)) -> Colour {
        if self.random.chance(0.12) {
            return self.colour();
        }
        let value = self.textures.smooth.row(y as usize)[x as usize & (SIDE - 1)];
        let place = 0.5 + 0.5 * value + self.random.between(-0.12, 0.12);
        let index = (place * self.colours.len() as f32) as usize;
        let own = self.colours[index.min(self.colours.len() - 1)];
        self.near(own)
    }

    fn near(&mut self, own: Colour) -> Colour {
        let bright = self.random.between(0.55, 1.3);
        own.map(|value| value * bright + self.random.between(-10.0, 10.0))
    }

    fn surface(&mut self, colour: Colour, gain: f32) -> Surface<'a> {
        let textures = self.textures;
        let texture = match self.random.below(8) {
            0 | 1 => &textures.smooth,
            2..=4 => &textures.natural,
            5 | 6 => &textures.fine,
            _ => &textures.streaks,
        };
        Surface {
            colour,
            slope: (0.0, 0.0),
            centre: (0.0, 0.0),
            texture,
            offset: (self.random.below(SIDE), self.random.below(SIDE)),
            gain: gain * self.detail * self.random.between(0.3, 1.2),
            tint: gain * self.random.between(0.0, 30.0),
            blur: self.random.between(0.8, 1.8),
        }
    }

    /// Lights a surface from the picture's side: a thing at `centre` with that `radius`.
    fn lit(&mut self, surface: &mut Surface, centre: (f32, f32), radius: f32) {
        let shade = self.random.between(0.1, 0.5) / radius;
        surface.slope = (self.light.0 * shade, self.light.1 * shade);
        surface.centre = centre;
    }

    /// A line across the canvas that wanders about `level`.
    fn line(&mut self, level: f32, rough: f32) -> Vec<f32> {
        let row = self.textures.smooth.row(self.random.below(SIDE));
        let start = self.random.below(SIDE);
        (0..self.canvas.width).map(|x| level + rough * row[(start + x) & (SIDE - 1)]).collect()
    }
}
