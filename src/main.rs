//! The command `pipetop`.

fn main() {}
