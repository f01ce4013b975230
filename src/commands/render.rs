//! `pipetop render`: a cast as a film (GIF, SVG) or a still (PNG, SVG, text).

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::time::Duration;

use super::{Exit, Failure};
use crate::cli::render::{Format, RenderArgs, ThemeChoice};
use crate::record::cast::{CastError, Event, Header, Reader, Timed};
use crate::record::render::{self, Cutting, FilmError, Fonts, Grid, Scheme, canvas, gif, png, svg};

/// How long the last frame is shown for more, where nothing else is asked for.
const HOLD: Duration = Duration::from_secs(3);
/// The text's height in pixels, where nothing else is asked for; a PNG is for screens of any density.
const FONT_SIZE: f32 = 15.0;
const PNG_FONT_SIZE: f32 = 30.0;
/// Pixels that a picture may have.
const MOST_PIXELS: usize = 100_000_000;

/// Renders a cast.
///
/// # Errors
/// Where the cast cannot be read, options make no sense for it, or the picture cannot be written.
pub fn run(args: &RenderArgs) -> Result<Exit, Failure> {
    let format = args.format();
    let still = args.still || args.at.is_some() || matches!(format, Format::Png | Format::Text);
    check(args, format, still)?;
    let (header, events) = read(&args.input)?;
    let scheme = scheme(args.theme, &header);
    let size = if format == Format::Png { PNG_FONT_SIZE } else { FONT_SIZE };
    let fonts = Fonts::new(args.font_size.unwrap_or(size));
    let made = if still {
        let grid =
            render::still(&header, &events, args.at.as_ref()).map_err(|error| failure(&error))?;
        if format == Format::Png {
            fits((grid.cols, u16::try_from(grid.rows.len()).unwrap_or(u16::MAX)), &fonts)?;
        }
        picture(&grid, format, &scheme, &fonts, &title(&header, args))?
    } else {
        film(args, (&header, &events), format, (&scheme, &fonts))?
    };
    std::fs::write(&args.output, &made.bytes)
        .map_err(|error| Failure::output(&args.output.display().to_string(), &error))?;
    let size = made.bytes.len() as f64 / 1000.0;
    eprintln!("pipetop: {}: {}, {size:.0} kB", args.output.display(), made.what);
    Ok(Exit::Fine)
}

/// What is written, and what it is in words.
struct Made {
    bytes: Vec<u8>,
    what: String,
}

/// Refuses options that mean nothing here, rather than ignore them.
fn check(args: &RenderArgs, format: Format, still: bool) -> Result<(), Failure> {
    if format == Format::Gif && still {
        let option = if args.still { "--still" } else { "--at" };
        return Err(Failure::usage(format!("{option} makes a still, and a .gif is a film"))
            .hint("for a still name a .png or .svg"));
    }
    if !still {
        return Ok(());
    }
    let films = [
        ("--fps", args.fps.is_some()),
        ("--speed", args.speed.is_some()),
        ("--idle-limit", args.idle_limit.is_some()),
        ("--from", args.from.is_some()),
        ("--to", args.to.is_some()),
        ("--last-frame", args.last_frame.is_some()),
    ];
    match films.iter().find(|(_, given)| *given) {
        Some((option, _)) => {
            Err(Failure::usage(format!("{option} is for films, and this is a still"))
                .hint("for a film name a .gif, or a .svg without --at and --still"))
        }
        None => Ok(()),
    }
}

fn read(path: &Path) -> Result<(Header, Vec<Timed>), Failure> {
    if path == Path::new("-") {
        return events("stdin", io::stdin().lock());
    }
    let name = path.display().to_string();
    let file =
        File::open(path).map_err(|error| Failure::new(format!("cannot read {name}: {error}")))?;
    events(&name, BufReader::new(file))
}

fn events(name: &str, input: impl BufRead) -> Result<(Header, Vec<Timed>), Failure> {
    let bad = |error: CastError| match error {
        CastError::Io(error) => Failure::new(format!("cannot read {name}: {error}")),
        error => Failure::new(format!("{name}: {error}")),
    };
    let reader = Reader::new(input).map_err(bad)?;
    let header = reader.header().clone();
    let mut events = Vec::new();
    for event in reader {
        match event {
            Ok(event) => events.push(event),
            Err(error @ CastError::Cut { .. }) => eprintln!("pipetop: {name}: {error}: left out"),
            Err(error) => return Err(bad(error)),
        }
    }
    if !events.iter().any(|timed| matches!(timed.event, Event::Output(_))) {
        return Err(Failure::new(format!("{name}: nothing is shown in it: no line is an output")));
    }
    Ok((header, events))
}

fn scheme(choice: ThemeChoice, header: &Header) -> Scheme {
    match (choice, &header.theme) {
        (ThemeChoice::Auto, Some(theme)) => Scheme::of(theme),
        (ThemeChoice::Auto, None) | (ThemeChoice::Dark, _) => Scheme::dark(),
        (ThemeChoice::Light, _) => Scheme::light(),
        (ThemeChoice::Xterm, _) => Scheme::xterm(),
    }
}

/// What a picture shows, for those who cannot see it.
fn title(header: &Header, args: &RenderArgs) -> String {
    let name = || args.input.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    header.title.clone().or_else(name).unwrap_or_default()
}

fn failure(error: &FilmError) -> Failure {
    match error {
        FilmError::TooLarge { .. } => Failure::new(error.to_string()),
        FilmError::TooLong { .. } => Failure::new(error.to_string())
            .hint("take a part of it with --from and --to, or fewer frames with --fps"),
        FilmError::NoMarker { .. } | FilmError::Nothing { .. } => Failure::usage(error.to_string()),
    }
}

/// Refuses pictures for which there is hardly memory.
fn fits(size: (u16, u16), fonts: &Fonts) -> Result<(), Failure> {
    let (width, height) = canvas::size(size, fonts);
    if width * height <= MOST_PIXELS {
        return Ok(());
    }
    let message =
        format!("a picture of {width}×{height} pixels is too large: 100 megapixels at most");
    Err(Failure::new(message).hint("a smaller --font-size makes it smaller"))
}

fn picture(
    grid: &Grid,
    format: Format,
    scheme: &Scheme,
    fonts: &Fonts,
    title: &str,
) -> Result<Made, Failure> {
    let bytes = match format {
        Format::Text => grid.text().into_bytes(),
        Format::Png => {
            let mut bytes = Vec::new();
            png::write(&mut bytes, grid, scheme, fonts)
                .map_err(|error| Failure::new(format!("cannot make a PNG: {error}")))?;
            bytes
        }
        Format::Svg | Format::Gif => svg::still(grid, scheme, fonts, title).into_bytes(),
    };
    Ok(Made { bytes, what: format!("a still of {}×{} cells", grid.cols, grid.rows.len()) })
}

fn film(
    args: &RenderArgs,
    (header, events): (&Header, &[Timed]),
    format: Format,
    (scheme, fonts): (&Scheme, &Fonts),
) -> Result<Made, Failure> {
    let own_limit =
        header.idle_time_limit.and_then(|limit| Duration::try_from_secs_f64(limit).ok());
    let usual = Cutting::default();
    let cutting = Cutting {
        fps: args.fps.unwrap_or(usual.fps),
        speed: args.speed.unwrap_or(usual.speed),
        idle_limit: args.idle_limit.or(own_limit),
        from: args.from.clone(),
        to: args.to.clone(),
    };
    let film = render::film(header, events, &cutting).map_err(|error| failure(&error))?;
    let hold = args.last_frame.unwrap_or(HOLD);
    let bytes = if format == Format::Gif {
        fits(film.size(), fonts)?;
        let mut bytes = Vec::new();
        gif::write(&mut bytes, &film, scheme, fonts, hold)
            .map_err(|error| Failure::new(format!("cannot make a GIF: {error}")))?;
        bytes
    } else {
        svg::film(&film, scheme, fonts, &title(header, args), hold).into_bytes()
    };
    let (cols, rows) = film.size();
    let what = format!(
        "a film of {cols}×{rows} cells, {} frames, {:.1} s",
        film.frames.len(),
        (film.length + hold).as_secs_f64()
    );
    Ok(Made { bytes, what })
}
