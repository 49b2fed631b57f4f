//! Facts about a whole file that programs write into the description of its first page.

use std::collections::BTreeSet;

/// Number of images of a file, where ImageJ wrote it and says so.
pub fn image_j_images(text: &str) -> Option<u64> {
    let mut lines = text.trim_end_matches('\0').lines();
    lines.next()?.starts_with("ImageJ=").then_some(())?;
    lines.find_map(|line| line.strip_prefix("images=")?.trim().parse().ok())
}

/// Names of the files that have the planes of an OME-TIFF, where it has several.
pub fn files_of_set(text: &str) -> Vec<String> {
    if !text.contains("<OME") {
        return Vec::new();
    }
    let names: BTreeSet<&str> = text
        .split("FileName=")
        .skip(1)
        .filter_map(|rest| {
            let quote = rest.chars().next().filter(|sign| matches!(sign, '"' | '\''))?;
            rest[1..].split_once(quote).map(|(name, _)| name)
        })
        .collect();
    if names.len() < 2 { Vec::new() } else { names.into_iter().map(unescaped).collect() }
}

fn unescaped(text: &str) -> String {
    let signs = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];
    signs.iter().fold(text.to_owned(), |text, (escape, sign)| text.replace(escape, sign))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_images_is_that_of_image_j_alone() {
        let text = "ImageJ=1.54f\nimages=5\nslices=5\nloop=false\n\0";
        assert_eq!(image_j_images(text), Some(5));
        for other in ["", "images=5", "ImageJ=1.54f\n", "ImageJ=1\nimages=many", "x\nimages=2"] {
            assert_eq!(image_j_images(other), None, "{other}");
        }
    }

    #[test]
    fn the_files_of_a_set_are_those_of_its_planes() {
        let plane = |name: &str| format!("<TiffData><UUID FileName={name}>u</UUID></TiffData>");
        let set = format!("<OME>{}{}</OME>", plane("\"b&amp;c.tif\""), plane("'a.tif'"));
        assert_eq!(files_of_set(&set), ["a.tif", "b&c.tif"]);
        let single = format!("<OME>{}{}</OME>", plane("\"a.tif\""), plane("\"a.tif\""));
        for text in [single.as_str(), "", "FileName=\"a\"FileName=\"b\"", "<OME FileName=\"a"] {
            assert!(files_of_set(text).is_empty(), "{text}");
        }
    }
}
