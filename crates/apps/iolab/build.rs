//! Programs for tests start at a fixed address.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, wanted: &str| std::env::var(name).is_ok_and(|value| value == wanted);
    // Tests start this program thousands of times. Without optimisation it holds a quarter of a
    // million addresses, which would have to be moved at each start: a third of the time that
    // `iolab --version` takes.
    if is("PROFILE", "debug") && is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
