//! Every bound between stores, in one place.

use std::time::Duration;

/// A member of which nothing was heard for so long is dead.
pub const DEAD: Duration = Duration::from_millis(800);
/// How often a member is asked whether it is there.
pub const PING: Duration = Duration::from_millis(200);
/// How long a connection may take to be made.
pub const CONNECT: Duration = Duration::from_millis(500);
/// For both ends of a connection to prove that they have the secret.
pub const HANDSHAKE: Duration = Duration::from_secs(1);
/// How often it is looked whether there is something to tell, and whether members changed.
pub const TICK: Duration = Duration::from_millis(20);
/// How long it may take at most to find where blocks are; what is not known by then is nowhere.
pub const PLACES: Duration = Duration::from_millis(800);
/// Members that are asked at once where blocks are, each by a thread.
pub const ASKED_AT_ONCE: usize = 16;
/// Blocks whose places are asked for in one message.
pub const WHERE_MAX: usize = 4096;
/// How long a change of a directory waits at most for one that hangs, before that is dead.
pub const TELL: Duration = Duration::from_millis(1000);
/// Connections that have proved nothing yet.
pub const PENDING_MAX: usize = 64;
/// Connections to one member that are kept for the next question.
pub const IDLE_MAX: usize = 8;
/// Bytes of the text of a message between stores.
pub const TEXT_BYTES_MAX: u32 = 4 << 20;
/// Bytes that one message carries besides.
pub const PAYLOAD_BYTES_MAX: u32 = 4 << 20;
/// Bytes that are asked for at once.
pub const PIECE_BYTES: usize = 2 << 20;
/// Blocks that are told in one message.
pub const TOLD_MAX: usize = 4096;
/// Blocks whose places a directory keeps; it is told of more in vain.
pub const BLOCKS_MAX: usize = 4 << 20;
/// Files of dead members that a directory remembers.
pub const LOST_MAX: usize = 10_000;
/// Bytes of the log of refused connections; nothing is added then.
pub const LOG_BYTES_MAX: u64 = 1 << 20;
/// Letters of a secret, at least: 32 hexadecimal digits are 128 bits.
pub const SECRET_LETTERS_MIN: usize = 32;
/// Members of a job.
pub const MEMBERS_MAX: usize = 4096;
/// Bytes of a member's name.
pub const NAME_BYTES_MAX: usize = 255;
/// How long a secret is taken for the one in its file.
pub const SECRET_AGE: Duration = Duration::from_millis(250);
/// How often the file of members is looked at.
pub const MEMBERS_AGE: Duration = Duration::from_millis(250);
/// How long a block or a file of another member is waited for, while that lives.
pub const ANSWER: Duration = Duration::from_secs(30);
/// How long a change that another member makes is waited for, while that lives: as long as there
/// are bytes.
pub const CHANGE: Duration = Duration::from_secs(1 << 30);
/// An accepted connection on which nothing was asked for so long is closed.
pub const IDLE: Duration = Duration::from_secs(60);
/// Files of other members whose places are remembered.
pub const REMOTE_MAX: usize = 1 << 16;
/// How often it is looked whether this store ends, on connections that wait for a question.
pub const IDLE_LOOK: Duration = Duration::from_millis(500);
/// A store asks directories this often whether files in its memory alone have lost their names.
pub const LATER: Duration = Duration::from_millis(500);
/// For so many files at once.
pub const LATER_MAX: usize = 1000;
/// How long a file in memory alone waits to be told, and then has its name all the same: whoever
/// was to hear it is dead by then.
pub const NAMED: Duration = Duration::from_secs(2);
