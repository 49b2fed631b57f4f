//! Encoding of a part of the vertices, for engines that keep no state between supersteps.

use cuesta_core::Result;

use super::messages::{Edge, Name, put_edge, put_neighbour, read_edge, read_neighbour};
use super::part::{Vertex, VertexPart, check};
use super::ranking::{put_ranks, read_ranks};
use crate::kernel::codec::{self, ByteReader};
use crate::kernel::internal;

impl VertexPart {
    /// Encodes the part.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend((self.vertices.len() as u64).to_le_bytes());
        for vertex in self.vertices.iter().chain(&self.done) {
            bytes.extend(vertex.name.to_le_bytes());
            vertex.next.iter().for_each(|&next| put_neighbour(next, &mut bytes));
            put_ranks(vertex.ranks.as_deref(), &mut bytes);
            for edges in &vertex.edges {
                bytes.extend((edges.len() as u32).to_le_bytes());
                edges.iter().for_each(|&edge| put_edge(edge, &mut bytes));
            }
            bytes.push(u8::from(vertex.is_removed));
            codec::put_fragment(&vertex.piece, &vertex.codes, &mut bytes);
        }
        bytes
    }

    /// Decodes the output of [`VertexPart::to_bytes`]; empty bytes are a part without vertices.
    ///
    /// # Errors
    /// `Defect` when bytes are missing.
    pub fn from_bytes(k: usize, parts: usize, bytes: &[u8]) -> Result<Self> {
        if bytes.is_empty() {
            return Self::begin(k, parts, &[]);
        }
        let mut reader = ByteReader(bytes);
        let live = reader.u64()? as usize;
        let mut vertices = Vec::new();
        while !reader.is_empty() {
            let name = Name::from_le_bytes(reader.array()?);
            let next = [read_neighbour(&mut reader)?, read_neighbour(&mut reader)?];
            let ranks = read_ranks(&mut reader)?;
            let edges = [read_edges(&mut reader)?, read_edges(&mut reader)?];
            let [is_removed] = reader.array()?;
            let mut codes = Vec::new();
            let piece = reader.fragment(&mut codes)?;
            check(&codes, k)?;
            let is_removed = is_removed != 0;
            vertices.push(Vertex { name, next, piece, codes, ranks, edges, is_removed });
        }
        if live > vertices.len() {
            return Err(internal("vertices of a part are gone"));
        }
        let done = vertices.split_off(live);
        Ok(Self { k, parts, vertices, done })
    }
}

fn read_edges(reader: &mut ByteReader<'_>) -> Result<Vec<Edge>> {
    (0..reader.u32()?).map(|_| read_edge(reader)).collect()
}
