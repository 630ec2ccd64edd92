//! Arrow tables: each is one list of columns, from which schema and builder are generated.
//!
//! The Python side adds the column `capture`, the file's name, which is the same for all rows of a file.

pub mod column;
#[macro_use]
pub mod define;
pub mod exchanges;
pub mod flow_facts;
pub mod flows;
pub mod frames;
mod keys;
pub mod networks;
pub mod packets;
pub mod schema;
pub mod tcp;
pub mod urbs;

/// Every table, in the order in which they are documented.
pub fn all() -> Vec<(&'static str, arrow_schema::SchemaRef)> {
    let mut all: Vec<_> = [packets::PACKETS, tcp::SEGMENTS, tcp::TIMEOUTS, tcp::RECOVERIES, tcp::INTERVALS]
        .iter()
        .map(|t| (t.name, t.schema()))
        .collect();
    all.push(("flows", crate::flow::flows_schema()));
    all.extend(
        [frames::FRAMES, exchanges::EXCHANGES, networks::NETWORKS, urbs::URBS].iter().map(|t| (t.name, t.schema())),
    );
    all
}
