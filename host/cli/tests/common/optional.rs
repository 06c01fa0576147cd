// SPDX-License-Identifier: Apache-2.0
//! A test target for what a machine may lack: without it each test is reported as ignored, with the reason, which cargo's own harness cannot do at run time.

/// Run these tests, one after the other; with `lacks`, none of them.
pub fn run(lacks: Option<&str>, tests: &[(&str, fn())]) {
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let chosen: Vec<_> = tests.iter().filter(|(name, _)| wanted.as_ref().is_none_or(|wanted| name.contains(wanted.as_str()))).collect();
    println!("\nrunning {} tests", chosen.len());
    for (name, test) in &chosen {
        match lacks {
            Some(reason) => println!("test {name} ... ignored, {reason}"),
            None => {
                test();
                println!("test {name} ... ok");
            }
        }
    }
    let (filtered, ran) = (tests.len() - chosen.len(), if lacks.is_some() { 0 } else { chosen.len() });
    let ignored = chosen.len() - ran;
    println!("\ntest result: ok. {ran} passed; 0 failed; {ignored} ignored; 0 measured; {filtered} filtered out\n");
}
