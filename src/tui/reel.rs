//! Recording what the screen shows: begun and ended by a key, told on the screen.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::app::App;
use crate::probe::clock::Nanos;
use crate::record::cast::{DEFAULT_VERSION, Header};
use crate::record::tape::Tape;

/// How long a word on what goes well stays on the screen.
const TOLD: Nanos = 4_000_000_000;

/// Where casts go, and of which kind they are.
#[derive(Clone, Debug)]
pub struct ReelOptions {
    /// A cast that is begun with the first frame.
    pub path: Option<PathBuf>,
    /// The version of casts.
    pub version: u8,
    /// What casts are called.
    pub title: Option<String>,
    /// Whether a cast says when it was recorded; a demo that is to come out the same again does not.
    pub dated: bool,
}

impl Default for ReelOptions {
    fn default() -> Self {
        Self { path: None, version: DEFAULT_VERSION, title: None, dated: true }
    }
}

/// The recorder of a screen.
#[derive(Debug)]
pub struct Reel {
    options: ReelOptions,
    running: Option<Running>,
    /// Why a recording that was asked for at the start came to nothing.
    failed: Option<String>,
    /// What was recorded, for the person who has left.
    told: Vec<String>,
    /// When what was told on the screen has been there long enough.
    hush: Option<Nanos>,
}

#[derive(Debug)]
struct Running {
    tape: Tape,
    path: PathBuf,
    /// The latest knob change that has its mark.
    epoch: Option<u32>,
    caption: Option<String>,
}

impl Reel {
    /// A recorder; what is to be recorded from the start begins with [`Self::open`].
    pub const fn new(options: ReelOptions) -> Self {
        Self { options, running: None, failed: None, told: Vec::new(), hush: None }
    }

    /// Begins the cast that was asked for at the start, if one was.
    ///
    /// # Errors
    /// Where its file cannot be written.
    pub fn open(&mut self, now: Nanos, area: Rect) -> io::Result<()> {
        let Some(path) = self.options.path.clone() else { return Ok(()) };
        let file = File::create(&path).map_err(|error| named(&path, &error))?;
        self.begin(Box::new(file), path, now, area)
    }

    /// Begins or ends a recording, as the person asks.
    pub fn toggle(&mut self, now: Nanos, area: Rect, app: &mut App) {
        if self.running.is_some() {
            self.end(now, app);
            return;
        }
        let begun = fresh(Path::new("")).and_then(|(file, path)| {
            let name = path.display().to_string();
            self.begin(Box::new(file), path, now, area).map(|()| name)
        });
        match begun {
            Ok(name) => {
                app.tell(format!("recording into {name}: r ends it"));
                self.hush = Some(now + TOLD);
            }
            Err(error) => app.tell(format!("nothing is recorded: {error}")),
        }
        self.look(now, app);
    }

    fn begin(
        &mut self,
        out: Box<dyn Write + Send>,
        path: PathBuf,
        now: Nanos,
        area: Rect,
    ) -> io::Result<()> {
        let title = self.options.title.clone();
        let since_1970 = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let timestamp = since_1970.ok().map(|time| time.as_secs()).filter(|_| self.options.dated);
        let header = Header {
            title,
            timestamp,
            ..Header::new(self.options.version, area.width, area.height)
        };
        let tape = Tape::begin(out, &header, now).map_err(|error| named(&path, &error))?;
        self.running = Some(Running { tape, path, epoch: None, caption: None });
        Ok(())
    }

    /// Whether a recording is under way.
    pub const fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Takes in a frame as it was drawn; a recording that cannot go on ends here, and says so later.
    pub fn frame(&mut self, now: Nanos, frame: &Buffer, app: &App) {
        let Some(running) = &mut self.running else { return };
        let recorded = running.marks(now, app).and_then(|()| running.tape.frame(now, frame));
        if let Err(error) = recorded {
            self.failed = Some(format!("recording ended: {}", named(&running.path, &error)));
            self.running = None;
        }
    }

    /// Lets the screen know how things stand; whether that is news.
    pub fn look(&mut self, now: Nanos, app: &mut App) -> bool {
        if let Some(failed) = self.failed.take() {
            self.told.push(failed.clone());
            app.tell(failed);
            // It stays until a key.
            self.hush = None;
        }
        let hush = self.hush.take_if(|at| now >= *at).is_some();
        if hush {
            app.hush();
        }
        let seconds = self.running.as_ref().map(|running| running.tape.length(now).as_secs());
        app.set_recording(seconds) || hush
    }

    /// Ends the recording that is under way, if one is.
    pub fn end(&mut self, now: Nanos, app: &mut App) {
        let Some(Running { tape, path, .. }) = self.running.take() else { return };
        let seconds = tape.length(now).as_secs_f64();
        let told = match tape.end(now) {
            Ok(()) => {
                self.hush = Some(now + TOLD);
                let path = path.display();
                format!("recorded {seconds:.1} s into {path}: asciinema play {path}")
            }
            Err(error) => format!("recording ended: {}", named(&path, &error)),
        };
        self.told.push(told.clone());
        app.tell(told);
        self.look(now, app);
    }

    /// What was recorded, and what was not, in words.
    pub fn into_told(self) -> Vec<String> {
        self.told
    }
}

impl Running {
    /// Marks where knobs were turned since the last frame, and where a caption appears.
    fn marks(&mut self, now: Nanos, app: &App) -> io::Result<()> {
        if let Some(snapshot) = app.snapshot() {
            // What was turned before the recording began is not in it.
            let seen = self.epoch.replace(snapshot.epoch).unwrap_or(snapshot.epoch);
            for change in snapshot.changes.iter().filter(|change| change.epoch > seen) {
                let label = format!("{} {} → {}", change.knob, change.from, change.to);
                self.tape.mark(now, &label)?;
            }
        }
        if self.caption.as_deref() != app.caption() {
            self.caption = app.caption().map(str::to_owned);
            if let Some(caption) = &self.caption {
                self.tape.mark(now, caption)?;
            }
        }
        Ok(())
    }
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// A file that was not there before, named by the time: `pipetop-20260102-030405.cast`, with a number where
/// that is taken.
fn fresh(folder: &Path) -> io::Result<(File, PathBuf)> {
    let stem = format!("pipetop-{}", stamp());
    for number in 0..100 {
        let number = if number == 0 { String::new() } else { format!("-{number}") };
        let path = folder.join(format!("{stem}{number}.cast"));
        match File::options().write(true).create_new(true).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            opened => {
                return opened
                    .map(|file| (file, path.clone()))
                    .map_err(|error| named(&path, &error));
            }
        }
    }
    Err(io::Error::new(io::ErrorKind::AlreadyExists, format!("{stem}.cast and 99 more are taken")))
}

/// The local time as `YYYYmmdd-HHMMSS`.
fn stamp() -> String {
    #[expect(unsafe_code, reason = "std knows no local time")]
    // SAFETY: both functions write only to the values that they are given, which live through the calls;
    // a `tm` of zeros is valid.
    let now = unsafe {
        let mut now: libc::tm = std::mem::zeroed();
        let seconds = libc::time(std::ptr::null_mut());
        libc::localtime_r(&raw const seconds, &raw mut now);
        now
    };
    format!(
        "{:04}{:02}{:02}-{:02}{:02}{:02}",
        now.tm_year + 1900,
        now.tm_mon + 1,
        now.tm_mday,
        now.tm_hour,
        now.tm_min,
        now.tm_sec
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk with room for so many bytes.
    struct Disk(usize);

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let left = self.0.checked_sub(bytes.len());
            self.0 = left.ok_or(io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_full_disk_ends_the_recording_and_says_so_until_a_key() {
        let (mut reel, mut app) = (Reel::new(ReelOptions::default()), App::default());
        let area = Rect::new(0, 0, 80, 24);
        reel.begin(Box::new(Disk(2000)), "a.cast".into(), 0, area).unwrap();
        assert!(reel.look(0, &mut app));
        assert_eq!(app.recording(), Some(0));
        for second in 1..4u64 {
            let now = second * 1_000_000_000;
            let mut frame = Buffer::empty(area);
            let line = char::from(b'a' + second as u8).to_string().repeat(80);
            (0..12).for_each(|y| frame.set_string(0, y, &line, ratatui::style::Style::new()));
            reel.frame(now, &frame, &app);
            reel.look(now, &mut app);
        }
        assert_eq!(app.recording(), None);
        let notice = app.notice().unwrap();
        assert!(notice.starts_with("recording ended: a.cast: "), "{notice}");
        reel.look(60_000_000_000, &mut app);
        assert!(app.notice().is_some(), "it stays");
        assert_eq!(reel.into_told().len(), 1);
    }

    #[test]
    fn a_recording_never_takes_a_file_that_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let names: Vec<_> = (0..3).map(|_| fresh(folder.path()).unwrap().1).collect();
        assert!(names.iter().all(|name| name.extension().is_some_and(|e| e == "cast")));
        let mut unique = names.clone();
        unique.sort();
        unique.dedup();
        assert_eq!(unique.len(), 3, "{names:?}");
        let name = names[0].file_name().unwrap().to_string_lossy();
        assert!(
            name.starts_with("pipetop-20") && name.len() == "pipetop-20260102-030405.cast".len(),
            "{name}"
        );
    }
}
