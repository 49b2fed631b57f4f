//! Layout of a file of a parallel file system on its servers, as far as the file system reports it.

use serde::{Deserialize, Serialize};

/// Most parts of a block that are read at once by default.
const PARTS_MAX: usize = 8;
/// Smallest part: smaller requests are not worth a round trip.
const PART_MIN_BYTES: u64 = 1 << 20;

/// Source of a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LayoutKind {
    /// None: one stripe.
    Plain,
    /// Lustre, by the attribute `lustre.lov`.
    Lustre,
    /// `OrangeFS`, by the attributes `user.pvfs2.*`.
    OrangeFs,
    /// `GlusterFS` with shards, on a brick: a mount hides the attribute.
    GlusterShard,
}

/// Layout on servers of a file, or of new files in a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layout {
    /// Source of the layout.
    pub layout: LayoutKind,
    /// Bytes on a server before the next one; 0 where not known.
    pub stripe_size: u64,
    /// Number of servers; 1 where not known.
    pub stripe_count: u32,
}

impl Layout {
    /// Layout without any information.
    pub const PLAIN: Self = Self { layout: LayoutKind::Plain, stripe_size: 0, stripe_count: 1 };

    /// Returns the number of parts of a block that are best read at once, and their size: one part
    /// from each server, of complete stripes, at most `most_bytes` each.
    pub fn parts(self, most_bytes: u64) -> (usize, u64) {
        let count = (self.stripe_count as usize).clamp(1, PARTS_MAX);
        let stripes = PART_MIN_BYTES.div_ceil(self.stripe_size.max(1));
        (count, self.stripe_size.saturating_mul(stripes).clamp(1, most_bytes.max(1)))
    }
}

/// Returns the layout that the attributes of a file or folder describe; `attribute` looks one up by
/// name.
///
/// Damaged or unknown attributes are ignored.
pub fn layout_of(attribute: impl Fn(&str) -> Option<Vec<u8>>) -> Layout {
    let lustre = || lustre(&attribute("lustre.lov")?);
    let orange = || {
        let text = |name| String::from_utf8(attribute(name)?).ok();
        let count = text("user.pvfs2.num_dfiles")?;
        orange(&count, &text("user.pvfs2.dist_params").unwrap_or_default())
    };
    let shard = || shard(&attribute("trusted.glusterfs.shard.block-size")?);
    lustre().or_else(orange).or_else(shard).unwrap_or(Layout::PLAIN)
}

/// Parses `struct lov_user_md_v1` and `_v3` of `lustre_user.h`, which begin alike, or the first of
/// those in a `struct lov_comp_md_v1`; little-endian.
fn lustre(bytes: &[u8]) -> Option<Layout> {
    const SIMPLE: [u32; 2] = [0x0BD1_0BD0, 0x0BD3_0BD0];
    const COMPOSITE: u32 = 0x0BD6_0BD0;
    const ENTRIES: usize = 32;
    const OFFSET_IN_ENTRY: usize = 24;
    let magic = u32_at(bytes, 0)?;
    if magic == COMPOSITE {
        let start = u32_at(bytes, ENTRIES + OFFSET_IN_ENTRY)? as usize;
        let part = bytes.get(start..)?;
        return if SIMPLE.contains(&u32_at(part, 0)?) { lustre(part) } else { None };
    }
    let stripe_size = u64::from(u32_at(bytes, 24)?);
    let count = u32::from(u16::from_le_bytes(*bytes.get(28..)?.first_chunk()?));
    // The values for "all servers" and "default of the file system" give no number.
    let is_known = SIMPLE.contains(&magic) && stripe_size > 0 && (1..0xFFFF).contains(&count);
    is_known.then_some(Layout { layout: LayoutKind::Lustre, stripe_size, stripe_count: count })
}

/// Parses the number of data files, and parameters of the distribution such as `strip_size:65536`.
fn orange(count: &str, parameters: &str) -> Option<Layout> {
    let plain = |text: &str| text.trim_matches(|c: char| c == '\0' || c.is_whitespace()).to_owned();
    let stripe_count = plain(count).parse().ok().filter(|&count| count > 0)?;
    let named = plain(parameters);
    let size = named.split([',', '\n']).find_map(|parameter| {
        let (name, value) = parameter.split_once([':', '='])?;
        (plain(name) == "strip_size").then(|| plain(value).parse().ok())?
    });
    let stripe_size = size.unwrap_or(64 << 10);
    Some(Layout { layout: LayoutKind::OrangeFs, stripe_size, stripe_count })
}

/// Parses a number in network order. Shards are placed on servers by their hash, so two consecutive
/// shards are usually on different servers.
fn shard(bytes: &[u8]) -> Option<Layout> {
    let stripe_size = u64::from_be_bytes(*bytes.first_chunk()?);
    let layout = LayoutKind::GlusterShard;
    (stripe_size > 0).then_some(Layout { layout, stripe_size, stripe_count: 2 })
}

fn u32_at(bytes: &[u8], place: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(place..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NAMES: [&str; 4] = [
        "lustre.lov",
        "user.pvfs2.num_dfiles",
        "user.pvfs2.dist_params",
        "trusted.glusterfs.shard.block-size",
    ];

    fn of(attributes: &[(&str, &[u8])]) -> Layout {
        layout_of(|name| {
            let attribute = attributes.iter().find(|(expected, _)| *expected == name);
            attribute.map(|(_, bytes)| bytes.to_vec())
        })
    }

    fn simple(magic: u32, stripe_size: u32, count: u16) -> Vec<u8> {
        let mut bytes = magic.to_le_bytes().to_vec();
        bytes.extend([0; 20]);
        bytes.extend(stripe_size.to_le_bytes());
        bytes.extend(count.to_le_bytes());
        bytes.extend([0; 2]);
        bytes
    }

    #[test]
    fn the_layout_of_each_file_system_is_parsed() {
        let expected =
            |layout, stripe_size, stripe_count| Layout { layout, stripe_size, stripe_count };
        let eight = expected(LayoutKind::Lustre, 64 << 20, 8);
        for magic in [0x0BD1_0BD0, 0x0BD3_0BD0] {
            let bytes = simple(magic, 64 << 20, 8);
            assert_eq!(of(&[("lustre.lov", &bytes)]), eight);
            let mut composite = 0x0BD6_0BD0_u32.to_le_bytes().to_vec();
            composite.resize(80, 0);
            composite[56] = 80;
            composite.extend(&bytes);
            assert_eq!(of(&[("lustre.lov", &composite)]), eight);
            // All servers, no size, and a truncated attribute give no layout.
            assert_eq!(of(&[("lustre.lov", &simple(magic, 64 << 20, 0xFFFF))]), Layout::PLAIN);
            assert_eq!(of(&[("lustre.lov", &simple(magic, 0, 8))]), Layout::PLAIN);
            assert_eq!(of(&[("lustre.lov", &composite[..90])]), Layout::PLAIN);
        }
        let orange = [("user.pvfs2.num_dfiles", &b"00004\0"[..])];
        assert_eq!(of(&orange), expected(LayoutKind::OrangeFs, 64 << 10, 4));
        let sized = [orange[0], ("user.pvfs2.dist_params", &b"strip_size:4096\0"[..])];
        assert_eq!(of(&sized), expected(LayoutKind::OrangeFs, 4096, 4));
        let shard = [("trusted.glusterfs.shard.block-size", &[0, 0, 0, 0, 4, 0, 0, 0][..])];
        assert_eq!(of(&shard), expected(LayoutKind::GlusterShard, 64 << 20, 2));
        assert_eq!(of(&[]), Layout::PLAIN);
    }

    #[test]
    fn parts_are_multiples_of_stripes_within_a_limit() {
        let parts = |stripe_size, stripe_count| {
            Layout { layout: LayoutKind::Lustre, stripe_size, stripe_count }.parts(4 << 20)
        };
        assert_eq!(parts(64 << 10, 4), (4, 1 << 20));
        assert_eq!(parts(3 << 20, 30), (8, 3 << 20));
        assert_eq!(parts(64 << 20, 8), (8, 4 << 20));
        assert_eq!(Layout::PLAIN.parts(4 << 20).0, 1);
    }

    proptest! {
        #[test]
        fn any_bytes_give_a_layout_within_bounds(
            name in 0..NAMES.len(),
            magic in prop::sample::select(vec![0, 0x0BD1_0BD0, 0x0BD3_0BD0, 0x0BD6_0BD0_u32]),
            rest in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            let mut bytes = magic.to_le_bytes().to_vec();
            bytes.extend(rest);
            for bytes in [&bytes[..], &bytes[4..]] {
                let layout = of(&[(NAMES[name], bytes), (NAMES[1], b"3")]);
                prop_assert!(layout.stripe_count >= 1);
                prop_assert!(layout.parts(4 << 20).1 <= 4 << 20);
            }
        }
    }
}
