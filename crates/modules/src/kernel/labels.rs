//! Labels of modules: by size, and as colours.

use crate::kernel::eigengene::members;
use crate::params::TieOrder;

/// Names of R's colours in the order of modules, as WGCNA's `standardColors()` prints them.
const COLOURS: &str = include_str!("colours.txt");

/// Numbers modules by falling size from 1, ties by their number; 0 is left as it is.
pub fn by_size(labels: &[u32]) -> Vec<u32> {
    by_size_with(labels, TieOrder::Number)
}

/// Numbers modules by falling size from 1; 0 is left as it is.
pub fn by_size_with(labels: &[u32], ties: TieOrder) -> Vec<u32> {
    let sizes: Vec<usize> = members(labels).iter().map(Vec::len).collect();
    let mut modules: Vec<usize> = (1..sizes.len()).filter(|&label| sizes[label] > 0).collect();
    if ties == TieOrder::Colour {
        modules.sort_by_cached_key(|&label| colour(label as u32));
    }
    modules.sort_by_key(|&label| std::cmp::Reverse(sizes[label]));
    let mut image = vec![0; sizes.len().max(1)];
    for (number, label) in (1..).zip(modules) {
        image[label] = number;
    }
    labels.iter().map(|&label| image[label as usize]).collect()
}

/// Returns the colour of a module as WGCNA names it: `grey` for 0, `turquoise` for 1. Past the last
/// colour they repeat with `.1`, `.2` and so on appended.
pub fn colour(label: u32) -> String {
    let Some(place) = (label as usize).checked_sub(1) else { return "grey".to_owned() };
    let count = COLOURS.lines().count();
    let name = COLOURS.lines().nth(place % count).unwrap_or_default();
    match place / count {
        0 => name.to_owned(),
        round => format!("{name}.{round}"),
    }
}
