use super::*;

/// Sizes of every parity, thin and thick.
const SIZES: [CellSize; 6] = [
    CellSize { width: 9, height: 20, light: 1 },
    CellSize { width: 8, height: 17, light: 1 },
    CellSize { width: 10, height: 21, light: 2 },
    CellSize { width: 18, height: 40, light: 2 },
    CellSize { width: 25, height: 55, light: 3 },
    CellSize { width: 5, height: 10, light: 1 },
];

fn drawn(c: char, size: CellSize) -> Mask {
    mask(&shapes(c, size).expect("it is geometry"), size)
}

fn column(mask: &Mask, x: usize) -> Vec<u8> {
    mask.cover.chunks(mask.width).map(|row| row[x]).collect()
}

fn row(mask: &Mask, y: usize) -> &[u8] {
    &mask.cover[y * mask.width..(y + 1) * mask.width]
}

fn solid(c: char, size: CellSize) -> usize {
    drawn(c, size).cover.into_iter().filter(|&cover| cover == 255).count()
}

/// Characters whose lines reach the cell's edges whole.
fn lines() -> Vec<char> {
    let dashed = '┄'..='┋';
    let others = |c: &char| !dashed.contains(c) && !('╌'..='╏').contains(c);
    ('─'..='╿').filter(others).filter(|&c| !matches!(c, '╱' | '╲' | '╳')).collect()
}

#[test]
fn lines_join_at_the_edge_between_any_two_neighbours() {
    for size in SIZES {
        let masks: Vec<_> = lines().into_iter().map(|c| (c, drawn(c, size))).collect();
        // What stands at an edge, by the arm that reaches it: all that have it are the same there.
        let plain = |c| drawn(c, size);
        let (light, heavy, double) = (plain('─'), plain('━'), plain('═'));
        let level: Vec<Vec<u8>> = [&light, &heavy, &double].map(|m| column(m, 0)).into();
        let (light, heavy, double) = (plain('│'), plain('┃'), plain('║'));
        let upright: Vec<Vec<u8>> = [&light, &heavy, &double].map(|m| row(m, 0).to_vec()).into();
        let (right, bottom) = (size.width as usize - 1, size.height as usize - 1);
        for (c, mask) in &masks {
            let nothing = |edge: &[u8]| edge.iter().all(|&cover| cover == 0);
            for edge in [column(mask, 0), column(mask, right)] {
                assert!(nothing(&edge) || level.contains(&edge), "{c} {size:?} {edge:?}");
            }
            for edge in [row(mask, 0).to_vec(), row(mask, bottom).to_vec()] {
                assert!(nothing(&edge) || upright.contains(&edge), "{c} {size:?} {edge:?}");
            }
        }
        // And the arms are where the names say.
        let reaches = |c: char| {
            let mask = drawn(c, size);
            let any = |edge: &[u8]| edge.contains(&255);
            [
                any(row(&mask, 0)),
                any(&column(&mask, right)),
                any(row(&mask, bottom)),
                any(&column(&mask, 0)),
            ]
        };
        for (c, arms) in [
            ('┌', [false, true, true, false]),
            ('╭', [false, true, true, false]),
            ('╮', [false, false, true, true]),
            ('╯', [true, false, false, true]),
            ('╰', [true, true, false, false]),
            ('╝', [true, false, false, true]),
            ('┤', [true, false, true, true]),
            ('╧', [true, true, false, true]),
            ('╋', [true, true, true, true]),
            ('╶', [false, true, false, false]),
        ] {
            assert_eq!(reaches(c), arms, "{c} {size:?}");
        }
    }
}

/// How many pieces the covered pixels fall into.
fn pieces(mask: &Mask) -> usize {
    let mut left: Vec<bool> = mask.cover.iter().map(|&cover| cover > 100).collect();
    let mut pieces = 0;
    while let Some(start) = left.iter().position(|&covered| covered) {
        pieces += 1;
        let mut reached = vec![start];
        while let Some(at) = reached.pop() {
            if !std::mem::take(&mut left[at]) {
                continue;
            }
            let (x, y) = (at % mask.width, at / mask.width);
            for (dx, dy) in [(0, 1), (2, 1), (1, 0), (1, 2), (0, 0), (2, 2), (0, 2), (2, 0)] {
                let (nx, ny) = ((x + dx).wrapping_sub(1), (y + dy).wrapping_sub(1));
                if nx < mask.width && ny < mask.height && left[ny * mask.width + nx] {
                    reached.push(ny * mask.width + nx);
                }
            }
        }
    }
    pieces
}

#[test]
fn the_arms_of_a_character_meet() {
    for size in SIZES {
        for c in lines() {
            let expected = match c {
                '═' | '║' | '╔' | '╗' | '╚' | '╝' | '╟' | '╢' | '╤' | '╧' => 2,
                '╠' | '╣' | '╦' | '╩' => 3,
                '╬' => 4,
                _ => 1,
            };
            // Cells too small for three lines and the gaps beside them blur corners.
            if size.width >= 8 {
                assert_eq!(pieces(&drawn(c, size)), expected, "{c} {size:?}");
            }
        }
    }
}

#[test]
fn mirrored_characters_are_mirrored() {
    // Odd sides and an odd line: the middle is a pixel's middle.
    let size = CellSize { width: 21, height: 41, light: 3 };
    for (a, b) in [
        ('┌', '┐'),
        ('├', '┤'),
        ('╔', '╗'),
        ('╠', '╣'),
        ('╒', '╕'),
        ('╓', '╖'),
        ('╟', '╢'),
        ('╭', '╮'),
        ('╱', '╲'),
    ] {
        let mut turned = drawn(a, size);
        turned.cover.chunks_mut(21).for_each(<[u8]>::reverse);
        let b = drawn(b, size);
        let off = turned.cover.iter().zip(&b.cover).map(|(a, b)| a.abs_diff(*b)).max();
        assert!(off <= Some(2), "{a}: {off:?}");
    }
    for (a, b) in [('┌', '└'), ('╔', '╚'), ('╦', '╩'), ('╤', '╧'), ('╥', '╨'), ('╭', '╰')]
    {
        let a_mask = drawn(a, size);
        let turned: Vec<u8> = a_mask.cover.chunks(21).rev().flatten().copied().collect();
        let b = drawn(b, size);
        let off = turned.iter().zip(&b.cover).map(|(a, b)| a.abs_diff(*b)).max();
        assert!(off <= Some(2), "{a}: {off:?}");
    }
}

#[test]
fn dashes_go_on_evenly_and_leave_gaps() {
    for size in SIZES {
        let covered = |c| solid(c, size);
        for (dashed, whole) in [("┄┈╌", '─'), ("┅┉╍", '━'), ("┆┊╎", '│'), ("┇┋╏", '┃')]
        {
            for c in dashed.chars() {
                assert!(covered(c) * 10 >= covered(whole) * 4, "{c} {size:?}");
                assert!(covered(c) < covered(whole), "{c} {size:?}");
            }
        }
    }
}

#[test]
fn blocks_fill_what_they_say_to_the_pixel() {
    for size in SIZES {
        let area = (size.width * size.height) as usize;
        assert_eq!(solid('█', size), area);
        // Two halves that stand in one another's place leave no gap and no overlap.
        for (a, b) in
            [('▀', '▄'), ('▌', '▐'), ('▚', '▞'), ('▙', '▝'), ('▛', '▗'), ('▜', '▖'), ('▟', '▘')]
        {
            let (a_mask, b_mask) = (drawn(a, size), drawn(b, size));
            let once = a_mask.cover.iter().zip(&b_mask.cover).all(|(a, b)| a ^ b == 255);
            // Upper and lower half of an odd height both round up.
            let odd = size.height % 2 == 1 && a == '▀' || size.width % 2 == 1 && a == '▌';
            assert!(once || odd, "{a}{b} {size:?}");
        }
        let heights: Vec<_> = "▁▂▃▄▅▆▇█".chars().map(|c| solid(c, size)).collect();
        let widths: Vec<_> = "▏▎▍▌▋▊▉█".chars().map(|c| solid(c, size)).collect();
        assert!(heights.is_sorted_by(|a, b| if size.height >= 17 { a < b } else { a <= b }));
        assert!(widths.is_sorted_by(|a, b| if size.width >= 8 { a < b } else { a <= b }));
        let shades = ['░', '▒', '▓'].map(|c| drawn(c, size).cover);
        for (shade, cover) in shades.iter().zip([64, 128, 192]) {
            assert!(shade.iter().all(|&pixel| pixel == cover));
        }
    }
}

#[test]
fn sextants_are_in_the_order_of_their_names() {
    let size = CellSize { width: 10, height: 21, light: 1 };
    let field = |mask: &Mask, number: usize| {
        let (x, y) = ((number - 1) % 2 * 5 + 2, (number - 1) / 2 * 7 + 3);
        mask.cover[y * 10 + x] == 255
    };
    // BLOCK SEXTANT-1, -2, -12, -135's neighbours (the left half has no character), -23456.
    for (c, fields) in [
        ('\u{1fb00}', "1"),
        ('\u{1fb01}', "2"),
        ('\u{1fb02}', "12"),
        ('\u{1fb13}', "35"),
        ('\u{1fb14}', "235"),
        ('\u{1fb27}', "146"),
        ('\u{1fb28}', "1246"),
        ('\u{1fb3b}', "23456"),
    ] {
        let mask = drawn(c, size);
        let filled: String = (1..=6).filter(|&n| field(&mask, n)).map(|n| n.to_string()).collect();
        assert_eq!(filled, fields, "{:x}", c as u32);
    }
}

#[test]
fn braille_dots_are_apart_and_in_their_places() {
    for size in SIZES {
        let all = drawn('⣿', size);
        assert_eq!(pieces(&all), if size.height >= 16 { 8 } else { pieces(&all) }, "{size:?}");
        let mut together = Mask::new(all.width, all.height);
        for bit in 0..8 {
            let c = char::from_u32(0x2800 + (1 << bit)).unwrap();
            let one = drawn(c, size);
            assert!(!one.is_empty() && pieces(&one) == 1, "{c} {size:?}");
            for (sum, cover) in together.cover.iter_mut().zip(&one.cover) {
                *sum = sum.saturating_add(*cover);
            }
            let weight = |count: bool, cover: u8| if count { u32::from(cover) } else { 0 };
            let middle = |axis: fn(usize, usize) -> usize| {
                let of =
                    |(at, &cover): (usize, &u8)| axis(at, one.width) as u32 * weight(true, cover);
                let sum: u32 = one.cover.iter().enumerate().map(of).sum();
                sum as f32 / one.cover.iter().map(|&cover| u32::from(cover)).sum::<u32>() as f32
                    + 0.5
            };
            let (x, y) = (middle(|at, width| at % width), middle(|at, width| at / width));
            let column = if bit < 3 || bit == 6 { 0.25 } else { 0.75 };
            let line = [0.125, 0.375, 0.625, 0.125, 0.375, 0.625, 0.875, 0.875][bit];
            assert!((x - column * size.width as f32).abs() <= 0.75, "{c} {size:?} {x}");
            assert!((y - line * size.height as f32).abs() <= 0.75, "{c} {size:?} {y}");
        }
        assert_eq!(together, all);
        assert!(drawn('\u{2800}', size).is_empty());
    }
}

#[test]
fn diagonals_go_on_in_the_next_cell() {
    for size in SIZES {
        let rising = drawn('╱', size);
        let (last, bottom) = (size.width as usize - 1, size.height as usize - 1);
        for (x, y) in [(last, 0), (0, bottom)] {
            assert!(rising.cover[y * rising.width + x] > 60, "{size:?}");
        }
        let cross = drawn('╳', size);
        assert!(cross.cover.iter().zip(&rising.cover).all(|(both, one)| both >= one));
    }
}
