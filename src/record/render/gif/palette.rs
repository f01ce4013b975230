//! The palette of a film: its colours and the shades between them, or where these are too many, the
//! 255 that stand for them best.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use super::super::film::Film;
use super::super::grid::{Cell, Row};
use super::super::scheme::{Scheme, mix};
use crate::record::cast::Rgb;

/// Colours of a GIF at most; one more is transparent.
const MOST: usize = 255;
/// Steps between ground and text at most and at least, where all colours are to fit.
const STEPS: std::ops::RangeInclusive<u8> = 4..=16;
/// Rounds in which the stand-ins are moved to the middle of what they stand for.
const ROUNDS: usize = 6;

/// A palette, and how finely it shades.
pub(super) struct Palette {
    colors: Vec<Rgb>,
    steps: u8,
}

impl Palette {
    /// The palette of a film.
    pub(super) fn of(film: &Film, scheme: &Scheme) -> Self {
        let pairs = pairs(film, scheme);
        for steps in STEPS.rev() {
            let colors = colors(&pairs, steps, MOST);
            if colors.len() <= MOST {
                return Self { colors: colors.into_keys().collect(), steps };
            }
        }
        let steps = *STEPS.start();
        let mut stand_ins = quantize(&colors(&pairs, steps, usize::MAX));
        // The ground is most of every picture.
        if let Some(nearest) = nearest(&stand_ins, scheme.bg) {
            stand_ins[nearest] = scheme.bg;
        }
        Self { colors: stand_ins, steps }
    }

    /// Red, green and blue of each colour.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.colors.as_flattened().to_vec();
        // The transparent one.
        bytes.extend([0; 3]);
        bytes
    }

    /// The index that stands for no change.
    pub(super) fn transparent(&self) -> Option<u8> {
        u8::try_from(self.colors.len()).ok()
    }

    /// The index of a colour, or of the nearest.
    pub(super) fn index(&self, color: Rgb) -> u8 {
        nearest(&self.colors, color).unwrap_or_default() as u8
    }

    /// The index for each cover, from the ground's colour to the text's.
    pub(super) fn ramp(&self, (fg, bg): (Rgb, Rgb)) -> [u8; 256] {
        let shades: Vec<u8> =
            (0..=self.steps).map(|step| self.index(shade(bg, fg, step, self.steps))).collect();
        std::array::from_fn(|cover| {
            let step = (cover * usize::from(self.steps) * 2 + 255) / 510;
            shades[step]
        })
    }
}

/// A shade between ground and text.
fn shade(bg: Rgb, fg: Rgb, step: u8, steps: u8) -> Rgb {
    mix(bg, fg, ((u32::from(step) * 510 + u32::from(steps)) / (2 * u32::from(steps))) as u8)
}

/// What is seen of a pair of inks.
#[derive(Clone, Copy, Default)]
struct Use {
    /// Cells in all frames' changed rows.
    cells: u64,
    /// Anything but the ground.
    text: bool,
}

/// The pairs of text's and ground's colours that are in a film.
fn pairs(film: &Film, scheme: &Scheme) -> BTreeMap<(Rgb, Rgb), Use> {
    let mut pairs: BTreeMap<(Rgb, Rgb), Use> = BTreeMap::new();
    let mut seen: HashSet<*const Cell> = HashSet::new();
    pairs.insert((scheme.bg, scheme.bg), Use::default());
    for row in film.frames.iter().flat_map(|frame| &frame.grid.rows) {
        if !seen.insert(Row::as_ptr(row).cast()) {
            continue;
        }
        for cell in Arc::as_ref(row) {
            let (fg, bg) = scheme.inks(cell.look);
            let blank = cell.is_blank() || cell.width == 0;
            let pair = pairs.entry(if blank { (bg, bg) } else { (fg, bg) }).or_default();
            pair.cells += 1;
            pair.text |= !blank;
        }
    }
    pairs
}

/// All colours that the pairs make, with how often; no more once there are more than `enough`.
fn colors(pairs: &BTreeMap<(Rgb, Rgb), Use>, steps: u8, enough: usize) -> BTreeMap<Rgb, u64> {
    let mut colors = BTreeMap::new();
    for (&(fg, bg), used) in pairs {
        if colors.len() > enough {
            break;
        }
        let last = if used.text { steps } else { 0 };
        for step in 0..=last {
            *colors.entry(shade(bg, fg, step, steps)).or_insert(1) += used.cells;
        }
    }
    colors
}

fn distance(a: Rgb, b: Rgb) -> u32 {
    // Eyes see green best and blue least.
    let weighted = [3, 4, 2].into_iter().zip(a.into_iter().zip(b));
    weighted.map(|(weight, (a, b))| weight * u32::from(a.abs_diff(b)).pow(2)).sum()
}

fn nearest(colors: &[Rgb], color: Rgb) -> Option<usize> {
    (0..colors.len()).min_by_key(|&index| distance(colors[index], color))
}

/// The [`MOST`] colours that stand for all best: boxes of colours are halved where they are worst, then
/// each stand-in moves to the mean of what is nearest to it.
fn quantize(colors: &BTreeMap<Rgb, u64>) -> Vec<Rgb> {
    // Colours that hardly differ are one to begin with: 32 768 at most.
    let mut near: BTreeMap<Rgb, Vec<(Rgb, f64)>> = BTreeMap::new();
    for (&color, &count) in colors {
        near.entry(color.map(|channel| channel >> 3)).or_default().push((color, count as f64));
    }
    let all: Vec<(Rgb, f64)> = near
        .into_values()
        .map(|near| (mean(&near), near.iter().map(|(_, count)| count).sum::<f64>().sqrt()))
        .collect();
    let mut boxes = vec![all.clone()];
    while boxes.len() < MOST {
        let worst = (0..boxes.len()).max_by(|&a, &b| {
            let error = |index: usize| spread(&boxes[index]).1;
            error(a).total_cmp(&error(b))
        });
        let Some(worst) = worst.filter(|&index| boxes[index].len() > 1) else { break };
        let mut split = boxes.swap_remove(worst);
        let (axis, _) = spread(&split);
        split.sort_by_key(|(color, _)| (color[axis], *color));
        let half = split.iter().map(|(_, weight)| weight).sum::<f64>() / 2.0;
        let mut sum = 0.0;
        let at = split.iter().position(|(_, weight)| {
            sum += weight;
            sum >= half
        });
        let upper = split.split_off(at.unwrap_or_default().clamp(1, split.len() - 1));
        boxes.extend([split, upper]);
    }
    let mut stand_ins: Vec<Rgb> = boxes.iter().map(|colors| mean(colors)).collect();
    for _ in 0..ROUNDS {
        let mut groups = vec![Vec::new(); stand_ins.len()];
        for &color in &all {
            groups[nearest(&stand_ins, color.0).unwrap_or_default()].push(color);
        }
        for (stand_in, group) in stand_ins.iter_mut().zip(&groups) {
            if !group.is_empty() {
                *stand_in = mean(group);
            }
        }
    }
    stand_ins.sort_unstable();
    stand_ins.dedup();
    stand_ins
}

fn mean(colors: &[(Rgb, f64)]) -> Rgb {
    let total: f64 = colors.iter().map(|(_, weight)| weight).sum();
    std::array::from_fn(|axis| {
        let sum: f64 = colors.iter().map(|(color, weight)| f64::from(color[axis]) * weight).sum();
        (sum / total).round() as u8
    })
}

/// The axis along which colours lie furthest apart, and how far (squared, summed).
fn spread(colors: &[(Rgb, f64)]) -> (usize, f64) {
    let middle = mean(colors);
    let along = |axis: usize| -> f64 {
        let off = |color: Rgb| f64::from(color[axis]) - f64::from(middle[axis]);
        colors.iter().map(|(color, weight)| off(*color).powi(2) * weight).sum()
    };
    let axes = [0, 1, 2].map(|axis| (axis, along(axis)));
    axes.into_iter().fold((0, -1.0), |most, axis| if axis.1 > most.1 { axis } else { most })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::render::{Frame, Grid};
    use ratatui::buffer::Buffer;
    use ratatui::layout::Rect;
    use ratatui::style::{Color, Style};
    use std::time::Duration;

    fn film(colors: usize) -> Film {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 100, 30));
        for n in 0..colors {
            let color = Color::Rgb((n * 7) as u8, (n * 13 % 251) as u8, (n / 3) as u8);
            let (x, y) = ((n % 100) as u16, (n / 100) as u16);
            buffer.set_string(x, y, "x", Style::new().fg(color));
        }
        let frames = vec![Frame { at: Duration::ZERO, grid: Grid::from(&buffer) }];
        Film { frames, length: Duration::ZERO }
    }

    #[test]
    fn few_colours_are_all_there_with_fine_shades() {
        let scheme = Scheme::dark();
        let palette = Palette::of(&film(12), &scheme);
        assert_eq!(palette.steps, 16);
        let (fg, bg) = ([7, 13, 0], scheme.bg);
        let ramp = palette.ramp((fg, bg));
        assert_eq!(palette.colors[usize::from(ramp[0])], bg);
        assert_eq!(palette.colors[usize::from(ramp[255])], fg);
        assert_eq!(palette.index(bg), ramp[0]);
        assert!(!palette.colors.contains(&[1, 2, 3]));
        assert!(
            palette.transparent().is_some_and(|index| usize::from(index) == palette.colors.len())
        );
    }

    #[test]
    fn more_colours_mean_coarser_shades() {
        let steps = |colors| Palette::of(&film(colors), &Scheme::dark()).steps;
        assert!(steps(20) > steps(40) && steps(40) >= 4);
    }

    #[test]
    fn too_many_colours_are_stood_for_by_near_ones() {
        let scheme = Scheme::dark();
        let film = film(2900);
        let palette = Palette::of(&film, &scheme);
        assert!(palette.colors.len() <= MOST && palette.colors.len() > 200);
        assert!(palette.colors.contains(&scheme.bg));
        let pairs = pairs(&film, &scheme);
        let off: Vec<f64> = pairs
            .keys()
            .map(|(fg, _)| {
                f64::from(distance(palette.colors[usize::from(palette.index(*fg))], *fg))
            })
            .collect();
        let mean = (off.iter().sum::<f64>() / off.len() as f64 / 9.0).sqrt();
        assert!(mean < 16.0, "off by {mean} of 255");
    }
}
