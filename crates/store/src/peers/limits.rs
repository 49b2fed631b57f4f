//! Limits of the connections between stores, in one place.

use std::time::Duration;

/// Time without any message after which a member is dead.
pub const DEAD: Duration = Duration::from_millis(800);
/// Interval at which a member is asked whether it lives.
pub const PING: Duration = Duration::from_millis(200);
/// Timeout of a TCP connect.
pub const CONNECT_TIMEOUT: Duration = Duration::from_millis(500);
/// Timeout of the handshake.
pub const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(1);
/// Interval at which a store looks for changes to publish, and for new members.
pub const TICK: Duration = Duration::from_millis(20);
/// Timeout of a search for the holders of blocks; holders that are not known by then are left out.
pub const PLACES_TIMEOUT: Duration = Duration::from_millis(800);
/// Most members that are asked for holders at once, each by a thread.
pub const CONCURRENT_QUERIES_MAX: usize = 16;
/// Most blocks whose holders are asked for in one message.
pub const WHERE_MAX: usize = 4096;
/// Timeout of an update to a directory that hangs, and is dead after that.
pub const DIRECTORY_TIMEOUT: Duration = Duration::from_millis(1000);
/// Most connections that have not finished their handshake.
pub const PENDING_MAX: usize = 64;
/// Most idle connections to one member.
pub const IDLE_MAX: usize = 8;
/// Most bytes of the text of a message between stores.
pub const TEXT_BYTES_MAX: u32 = 4 << 20;
/// Most bytes of the payload of a message.
pub const PAYLOAD_BYTES_MAX: u32 = 4 << 20;
/// Most bytes of a block that are asked for at once.
pub const PIECE_BYTES: usize = 2 << 20;
/// Most blocks in one update of a directory.
pub const UPDATE_BLOCKS_MAX: usize = 4096;
/// Most blocks of a directory; it ignores the rest.
pub const BLOCKS_MAX: usize = 4 << 20;
/// Most files of dead members that a directory remembers.
pub const LOST_MAX: usize = 10_000;
/// Most bytes of the log of refused connections; nothing is added after that.
pub const LOG_BYTES_MAX: u64 = 1 << 20;
/// Fewest letters of a secret: 32 hexadecimal digits are 128 bits.
pub const SECRET_LETTERS_MIN: usize = 32;
/// Most members of a job.
pub const MEMBERS_MAX: usize = 4096;
/// Most bytes of a member's name.
pub const NAME_BYTES_MAX: usize = 255;
/// Time after which the file of the secret is read again.
pub const SECRET_AGE: Duration = Duration::from_millis(250);
/// Interval at which the file of members is checked.
pub const MEMBERS_AGE: Duration = Duration::from_millis(250);
/// Timeout for a block or a file of another member, while that lives.
pub const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// Timeout for a change that another member makes, while that lives: practically none, as it may
/// have to move many bytes.
pub const CHANGE_TIMEOUT: Duration = Duration::from_secs(1 << 30);
/// Time after which an accepted connection without a question is closed.
pub const IDLE: Duration = Duration::from_secs(60);
/// Most files of other members whose owners are remembered.
pub const REMOTE_MAX: usize = 1 << 16;
/// Interval at which connections that wait for a question check whether this store ends.
pub const IDLE_LOOK: Duration = Duration::from_millis(500);
/// Interval at which a store asks directories whether its memory-only files have lost their names.
pub const SUPERSEDED_CHECK: Duration = Duration::from_millis(500);
/// Most files of such a question.
pub const SUPERSEDED_FILES_MAX: usize = 1000;
/// Longest time that a memory-only file waits to be published before it has its name all the same:
/// a directory that has not received it by then is dead.
pub const NAMED_TIMEOUT: Duration = Duration::from_secs(2);
