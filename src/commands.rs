//! What the subcommands do, apart from their command lines.

pub mod classify;
