//! Which kernel is the fastest for each convolution, measured on the device and remembered on disk.
//!
//! What is measured is many runs recorded as one graph, since that is how they will run: a plain call costs the host as
//! much as the kernel takes, cuDNN's ten times as much, and would hide what there is to see.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::cudnn;
use super::driver::{Event, Fault};
use super::gpu::{Choice, Gpu, Step};
use super::kernels::{FNV, fingerprint, fnv};
use super::lane::Lane;
use super::layers::Layer;
use super::tiles::{Cut, TILES};

/// Cuts of our own kernel that are tried, the most promising ones.
const TRIED: usize = 8;
/// Runs in one graph, and runs of it.
const RUNS: usize = 10;
const REPEATS: usize = 2;

/// Measures every convolution for batches of `size` images; the lane has room for them.
pub(super) fn measure(gpu: &Gpu, lane: &Lane, size: usize) -> Result<Vec<Choice>, Fault> {
    let mut known: HashMap<String, Choice> = HashMap::new();
    let mut choices = Vec::with_capacity(gpu.model().layers.len());
    for (index, guess) in gpu.guesses(size).into_iter().enumerate() {
        let Layer::Conv(conv) = &gpu.model().layers[index] else {
            choices.push(guess);
            continue;
        };
        if guess == Choice::Plain {
            choices.push(guess);
            continue;
        }
        let key = conv.shape();
        if let Some(choice) = known.get(&key) {
            choices.push(*choice);
            continue;
        }
        let cuts = conv.product(size).cuts(gpu.facts());
        let mut tried: Vec<Choice> = cuts.into_iter().take(TRIED).map(Choice::Cut).collect();
        let writes_logits = gpu.model().writes_logits(&gpu.model().layers[index]);
        if gpu.cudnn().is_some() && cudnn::can(conv) && !writes_logits {
            tried.push(Choice::Cudnn);
        }
        let mut best = (f32::INFINITY, guess);
        for choice in tried {
            match time(gpu, lane, &gpu.layer_steps(index, choice, size)) {
                Ok(ms) if ms < best.0 => best = (ms, choice),
                Ok(_) => {}
                // What cuDNN cannot do is no reason to give up.
                Err(fault) if choice == Choice::Cudnn => {
                    tracing::debug!("{}: {fault}", conv.name);
                }
                Err(fault) => return Err(fault),
            }
        }
        tracing::debug!("{} × {size}: {} in {:.4} ms", conv.name, name(best.1), best.0);
        known.insert(key, best.1);
        choices.push(best.1);
    }
    Ok(choices)
}

/// Milliseconds that these steps take; the lane has room for them.
pub(super) fn time(gpu: &Gpu, lane: &Lane, steps: &[Step]) -> Result<f32, Fault> {
    let (stream, addresses) = (lane.stream(), lane.addresses(gpu));
    let once = || steps.iter().try_for_each(|step| gpu.start(step, stream, &addresses));
    once()?;
    let graph = stream.capture(|| (0..RUNS).try_for_each(|_| once()))?;
    let (begin, end) = (Event::new(gpu.context())?, Event::new(gpu.context())?);
    stream.run(&graph)?;
    let mut best = f32::INFINITY;
    for _ in 0..REPEATS {
        stream.record(&begin)?;
        stream.run(&graph)?;
        stream.record(&end)?;
        end.wait()?;
        best = best.min(begin.until(&end)? / RUNS as f32);
    }
    Ok(best)
}

/// A choice as it is written down: `plain`, `cudnn`, `igemm_64x64/4`.
fn name(choice: Choice) -> String {
    match choice {
        Choice::Plain => "plain".into(),
        Choice::Cudnn => "cudnn".into(),
        Choice::Cut(Cut { tile, splits }) => format!("{}/{splits}", tile.kernel),
    }
}

fn parse(text: &str) -> Option<Choice> {
    match text {
        "plain" => Some(Choice::Plain),
        "cudnn" => Some(Choice::Cudnn),
        _ => {
            let (kernel, splits) = text.split_once('/')?;
            let tile = TILES.iter().find(|tile| tile.kernel == kernel)?;
            Some(Choice::Cut(Cut { tile, splits: splits.parse().ok()? }))
        }
    }
}

/// Where measurements of this device, driver, model and batch are kept; `None` where there is no place for it.
pub(super) fn place(gpu: &Gpu, driver: i32, size: usize) -> Option<PathBuf> {
    let variable =
        |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let caches =
        variable("XDG_CACHE_HOME").or_else(|| variable("HOME").map(|home| home.join(".cache")))?;
    let cudnn = gpu.cudnn().map_or(0, cudnn::Cudnn::version);
    let facts = gpu.facts();
    let mut what = format!(
        "{} {:?} {driver} {cudnn} {:016x} {size} {:?}",
        facts.name,
        facts.capability,
        fingerprint(),
        gpu.model().precision
    );
    for layer in &gpu.model().layers {
        if let Layer::Conv(conv) = layer {
            what += &conv.shape();
        }
    }
    Some(caches.join("pipetop/cuda").join(format!("{:016x}.txt", fnv(FNV, what.as_bytes()))))
}

/// What was measured before; `None` where there is nothing or it does not fit.
pub(super) fn read(gpu: &Gpu, file: &std::path::Path, size: usize) -> Option<Vec<Choice>> {
    let text = std::fs::read_to_string(file).ok()?;
    let choices: Vec<Choice> = text.lines().map(parse).collect::<Option<_>>()?;
    let fits = |(index, choice): (usize, &Choice)| gpu.may(index, *choice, size);
    (choices.len() == gpu.model().layers.len() && choices.iter().enumerate().all(fits))
        .then_some(choices)
}

/// Writes measurements down; where that fails, they are made again next time.
pub(super) fn write(file: &std::path::Path, choices: &[Choice]) {
    let text: String = choices.iter().map(|&choice| name(choice) + "\n").collect();
    // Whole or not at all: another process may be reading.
    let new = file.with_extension(format!("{}.new", std::process::id()));
    let written = file
        .parent()
        .map_or(Ok(()), std::fs::create_dir_all)
        .and_then(|()| std::fs::write(&new, text))
        .and_then(|()| std::fs::rename(&new, file));
    if let Err(error) = written {
        tracing::info!("{}: measurements are not kept: {error}", file.display());
    }
}

/// Choices for batches of `size` from those measured for others: cuDNN where the nearest size has it, and our best guess
/// elsewhere.
pub(super) fn transfer(
    measured: &HashMap<usize, Arc<[Choice]>>,
    guesses: Vec<Choice>,
    size: usize,
) -> Vec<Choice> {
    let nearest =
        measured.iter().min_by_key(|(other, _)| (other.ilog2().abs_diff(size.ilog2()), **other));
    let Some((_, nearest)) = nearest else { return guesses };
    let choose = |(guess, near): (Choice, &Choice)| {
        if *near == Choice::Cudnn { *near } else { guess }
    };
    guesses.into_iter().zip(nearest.iter()).map(choose).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_read_as_they_were_written() {
        let cut = Choice::Cut(Cut { tile: &TILES[5], splits: 4 });
        for choice in [Choice::Plain, Choice::Cudnn, cut] {
            assert_eq!(parse(&name(choice)), Some(choice));
        }
        for bad in ["", "igemm_1x1/2", "igemm_64x64", "igemm_64x64/x"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn sizes_that_were_not_measured_follow_the_nearest_one() {
        let cut = Choice::Cut(Cut { tile: &TILES[0], splits: 1 });
        let guesses = vec![cut, cut, Choice::Plain];
        assert_eq!(transfer(&HashMap::new(), guesses.clone(), 8), guesses);
        let small: Arc<[Choice]> = [cut, cut, Choice::Plain].into();
        let large: Arc<[Choice]> = [Choice::Cudnn, cut, Choice::Plain].into();
        let measured = HashMap::from([(1, small), (64, large)]);
        assert_eq!(transfer(&measured, guesses.clone(), 2), guesses);
        assert_eq!(transfer(&measured, guesses, 32), [Choice::Cudnn, cut, Choice::Plain]);
    }

    #[test]
    fn what_is_written_whole_is_what_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a/b.txt");
        write(&file, &[Choice::Plain, Choice::Cudnn]);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "plain\ncudnn\n");
        assert_eq!(std::fs::read_dir(file.parent().unwrap()).unwrap().count(), 1);
    }
}
