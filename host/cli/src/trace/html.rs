// SPDX-License-Identifier: Apache-2.0
//! A page of what a link carried, in one file that needs neither network nor server: `page.html`, with its style, its program and the data
//! put in.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::story::Story;
use super::Decoder;
use crate::exit::{Failure, Result};

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const PROGRAM: &str = include_str!("page.js");

pub fn write(file: &Path, head: &Value, story: &Story, decoder: &Decoder) -> Result {
    fs::write(file, page(&story.json(head, decoder))).map_err(|e| Failure::file("writing", &file.display().to_string(), &e))
}

fn page(data: &Value) -> String {
    // Nothing in the data ends the element that it stands in.
    let data = data.to_string().replace('<', "\\u003c");
    let (before, rest) = PAGE.split_once("/*STYLE*/").unwrap_or((PAGE, ""));
    let (middle, rest) = rest.split_once("/*DATA*/").unwrap_or((rest, ""));
    let (between, after) = rest.split_once("/*PROGRAM*/").unwrap_or((rest, ""));
    [before, STYLE, middle, &data, between, PROGRAM, after].concat()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_page_is_whole_whatever_the_data_holds() {
        let page = super::page(&serde_json::json!({"device": "</script><!--/*PROGRAM*//*STYLE*/"}));
        assert_eq!(page.matches("</script>").count(), 2);
        assert_eq!(page.matches("<!--").count(), 1, "the licence");
        assert!(page.contains(super::PROGRAM) && page.contains(super::STYLE));
        assert!(page.contains(r#"{"device":"\u003c/script>\u003c!--/*PROGRAM*//*STYLE*/"}"#));
        assert!(!page.contains("http"), "nothing is fetched");
    }
}
