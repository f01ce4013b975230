//! The command `pipetop`: reads the command line, calls one command, and maps its error to a message
//! and an exit code.

use std::io::Write;
use std::process::ExitCode;

use pipetop::cli::{Cli, Command};
use pipetop::commands::{self, Exit, Failure, without_controls};

fn main() -> ExitCode {
    let cli = match Cli::read(std::env::args_os()) {
        Ok(cli) => cli,
        Err(error) => {
            // Help goes to stdout and fails quietly where nobody reads it.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(Exit::Usage as u8));
        }
    };
    match call(cli.command()) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            report(&failure);
            failure.exit.into()
        }
    }
}

fn call(command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Doctor(args) => commands::doctor::run(&args),
        Command::Bench(args) => commands::bench::run(&args.command),
        Command::Sweep(args) => commands::sweep::run(&args),
        Command::Run(args) => commands::run::run(*args),
        Command::Render(args) => commands::render::run(&args),
        Command::Replay(args) => commands::replay::run(&args),
        Command::Classify(args) => commands::classify::run(&args),
    }
}

/// The message first, then ways out; a closed stderr is nobody's loss.
fn report(failure: &Failure) {
    if failure.is_quiet() {
        return;
    }
    let mut err = std::io::stderr().lock();
    let _ = writeln!(err, "pipetop: {}", without_controls(&failure.to_string()));
    for hint in &failure.hints {
        let _ = writeln!(err, "  {}", without_controls(hint));
    }
}
