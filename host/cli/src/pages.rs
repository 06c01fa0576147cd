// SPDX-License-Identifier: Apache-2.0
//! `completions` and `man`: made from the same definition as the help.

use std::io;
use std::path::Path;

use clap::{Command, CommandFactory};
use clap_mangen::Man;

use crate::args::{self, Cli};
use crate::exit::{Failure, Result, USAGE};

pub fn completions(what: &args::Completions) -> Result {
    let mut script = Vec::new();
    clap_complete::generate(what.shell, &mut Cli::command(), "towpath", &mut script);
    crate::output::print(&String::from_utf8_lossy(&script))
}

pub fn man(what: &args::Man) -> Result {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    if let Some(folder) = &what.dir {
        return write_all(&command, folder);
    }
    let mut page = &command;
    for verb in &what.verb {
        let known = || page.get_subcommands().map(Command::get_name).collect::<Vec<_>>().join(", ");
        page = page
            .find_subcommand(verb)
            .ok_or_else(|| Failure::new(USAGE, format!("no page for {verb:?} under {}; there are: {}", page.get_name(), known())))?;
    }
    let text = render(page).map_err(|e| Failure::file("writing", "the page", &e))?;
    crate::output::print(&text)
}

/// One page for the command and one for each verb below it.
fn write_all(command: &Command, folder: &Path) -> Result {
    std::fs::create_dir_all(folder).map_err(|e| Failure::file("making", &folder.display().to_string(), &e))?;
    let file = folder.join(Man::new(command.clone()).get_filename());
    render(command).and_then(|page| std::fs::write(&file, page)).map_err(|e| Failure::file("writing", &file.display().to_string(), &e))?;
    command.get_subcommands().try_for_each(|verb| write_all(verb, folder))
}

fn render(command: &Command) -> io::Result<String> {
    let mut page = Vec::new();
    Man::new(command.clone()).manual("Towpath").render(&mut page)?;
    // What stands after the help is the exit codes; man-pages(7) has a name for that.
    Ok(String::from_utf8_lossy(&page).replace(".SH EXTRA", ".SH \"EXIT STATUS\""))
}
