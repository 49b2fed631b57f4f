package cuesta.hadoop;

/** Every bound of this client, in one place. */
final class Limits {
  /** An answer that takes longer has its reason in the store or in the under level. */
  static final long ANSWER_MS = 600;

  /** A store that has not answered a ping by then hangs. */
  static final long PING_MS = 300;

  /** An answer that takes longer than this, though the store lives, is given up. */
  static final long FILL_MS = 30_000;

  /** Writing, listing, removing and renaming wait as long as the store lives. */
  static final long UNHURRIED_MS = Long.MAX_VALUE / 4;

  /** Wait of a removal for writers that have files in the folder. */
  static final long WRITERS_MS = 10_000;

  /** Pause before the next look. */
  static final long WRITERS_PAUSE_MS = 20;

  /** A store that was lost is looked for again after so long. */
  static final long RETRY_MS = 5_000;

  /** Connections of a process to a store for reading; files are spread over them by their paths. */
  static final int LINES = 4;

  /** Connections that are kept for questions about names and changes of them, at most. */
  static final int IDLE_LINKS = 8;

  /** Most blocks that a process has leased at once; and never more than half of the memory's. */
  static final int LEASES_MAX = 64;

  /** Files that stay open for a moment after their last use, at most. */
  static final int RECENT_FILES = 8;

  /** Their approximate duration. */
  static final long RECENT_MS = 1_000;

  /** Least bytes that are asked of the under level at once where a file is read in order. */
  static final int PAST_BYTES = 1 << 20;

  /** Most bytes of an answer that come through the socket. */
  static final int PAYLOAD_BYTES = 16 << 20;

  /** Bytes of the text of an answer that no store sends. */
  static final int TEXT_BYTES = 64 << 20;

  /** Threads of a process that wait for ranges which are not in memory yet. */
  static final int READ_THREADS = 4;

  /** Small writes are collected to so many bytes. */
  static final int BUFFER_BYTES = 64 << 10;

  /** Bytes that are read at once from the under level into an array, at most. */
  static final int READ_BYTES = 256 << 10;

  /** Bytes that are written at once, at most. */
  static final int WRITE_BYTES = 256 << 10;

  /** Most blocks whose places are asked for at once. */
  static final int PLACES = 1 << 16;

  /** Bytes of one mapping; a block may have several. */
  static final int MAPPING_BITS = 30;

  private Limits() {}
}
